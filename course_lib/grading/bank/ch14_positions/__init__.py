"""Chapter 14: the sinusoidal table, an offset as a matrix, the combined encoding, a table with broken pairs, and rotary
attention of one's own."""
from course_lib.grading.bank.ch14_positions import (
    combined_position,
    find_position_fault,
    own_rotary_attention,
    positional_encoding,
    shift_rotation,
)

EXERCISES = [each.exercise for each in (
    positional_encoding, shift_rotation, combined_position, find_position_fault, own_rotary_attention)]
