"""Heads put together again."""
from __future__ import annotations

from course_lib.exercises.draws import normal, uneven
from course_lib.grading.exercise import Exercise

exercise = Exercise(
    "merge_heads", chapter="self-attention", place=5, title="Heads side by side",
    contract="x (B, h, T, d). Return (B, T, h * d): the heads side by side at every position, head 0 first.",
    points=["multi-head"], difficulty=2, minutes=5)


@exercise.reference()
@exercise.step
def merge_heads_reference(x):
    return x.transpose(1, 2).flatten(2)


@exercise.misconception(
    merge_heads_reference,
    "Your rows hold values of other positions: the memory was cut in pieces of the new shape. Exchange two axes "
    "first, then join the last two.")
def reshaped(x):
    B, h, T, d = x.shape
    return x.reshape(B, T, h * d)


@exercise.misconception(
    merge_heads_reference,
    "The features of the heads alternate in your result. All features of head 0 come first, then those of head 1.")
def interleaved(x):
    return x.permute(0, 2, 3, 1).flatten(2)


@exercise.misconception(
    merge_heads_reference,
    "You added the heads. They stand side by side, h * d features for each position.")
def added(x):
    return x.sum(1)


@exercise.misconception(
    merge_heads_reference,
    "You put the heads one after another in time. They stand side by side in the features.")
def along_time(x):
    return x.flatten(1, 2)


@exercise.misconception(merge_heads_reference, "Your result holds the first head only.")
def first_only(x):
    return x[:, 0]


def merge_cases(generator):
    """Uneven sizes, one head; all sizes equal; a batch of one, vectors of one number; one position."""
    sizes = [uneven(generator, heads, (2, 3), (4, 7), (6, 9)) for heads in ((2, 3), (4, 5), (1, 1))]
    sizes += [(3, 3, 3, 3), (4, 1, 5, 1), (2, 3, 1, 4)]
    return [(normal(generator, B, h, T, d),) for h, B, T, d in sizes]


exercise.compare("values", merge_cases, points=3)
exercise.gradient("gradient", merge_cases, wrt=(0,), points=1)
exercise.unchanged(merge_cases)
exercise.hint(
    "The shape is right and the values are not.",
    "Before two axes can be joined they must stand next to each other: (B, h, T, d) to (B, T, h, d) first, then "
    "reshape.")
exercise.hint(
    "view complains about strides.",
    "transpose moves no number, it only renames the axes, and view cannot join what does not lie together. reshape, or "
    "flatten, copies where it has to.")
exercise.hint(
    "A test of your own.",
    "merge_heads(split_heads(x, h)) is x, for every h that divides the width.")
