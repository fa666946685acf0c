"""Chapter 17: beam search, the filters before a draw, the narrowest beam that escapes the greedy trap, and the
slide's generateBeam, repaired."""
from course_lib.grading.bank.ch17_decoding import beam_search, generate_beam, greedy_trap, top_k_filter, top_p_filter

EXERCISES = [each.exercise for each in (beam_search, top_k_filter, top_p_filter, greedy_trap, generate_beam)]
