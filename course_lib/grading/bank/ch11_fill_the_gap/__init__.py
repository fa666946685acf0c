"""Chapter 11: a window's weights permuted, what two recurrent networks may read at a gap, ELMo's mixture of layers."""
from course_lib.grading.bank.ch11_fill_the_gap import gap_states, layer_mixture, permuted_window

EXERCISES = [each.exercise for each in (permuted_window, gap_states, layer_mixture)]
