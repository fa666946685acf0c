"""Chapter 11: a window's weights permuted, what a gap reads through convolutions and of two recurrent networks, ELMo's mixture."""
from course_lib.grading.bank.ch11_fill_the_gap import gap_states, layer_mixture, permuted_window, words_read

EXERCISES = [each.exercise for each in (permuted_window, words_read, gap_states, layer_mixture)]
