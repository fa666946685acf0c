"""Chapter 12: Bahdanau's attention, a gradient through a random choice, scores with faults to be found, and a decoder of one's own."""
from course_lib.grading.bank.ch12_attention import additive_attention, choice_gradients, find_scores, own_decoder

EXERCISES = [each.exercise for each in (additive_attention, choice_gradients, find_scores, own_decoder)]
