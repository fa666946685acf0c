"""Chapter 17: beam search, the filters before a draw, the narrowest beam that escapes the greedy trap, the slide's
generateBeam, repaired, and a beam that draws."""
from course_lib.grading.bank.ch17_decoding import (
    beam_search,
    generate_beam,
    greedy_trap,
    stochastic_beam,
    top_k_filter,
    top_p_filter,
)

EXERCISES = [each.exercise for each in (beam_search, top_k_filter, top_p_filter, greedy_trap, generate_beam, stochastic_beam)]
