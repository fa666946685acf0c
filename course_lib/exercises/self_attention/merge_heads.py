"""Heads put together again."""
from __future__ import annotations

from course_lib.exercises.draws import normal, uneven
from course_lib.grading.exercise.exercise import Exercise

exercise = Exercise(
    "merge_heads", chapter="13", place=5, title="Heads side by side",
    contract="x (B, h, T, d). Return (B, T, h * d): the heads side by side at every position, head 0 first.",
    points=["multi-head"], difficulty=2, minutes=5)


@exercise.reference(
    reshaped="Your rows hold values of other positions: the memory was cut in pieces of the new shape. Exchange two "
             "axes first, then join the last two.",
    interleaved="The features of the heads alternate in your result. All features of head 0 come first, then those of "
                "head 1.",
    added="You added the heads. They stand side by side, h * d features for each position.",
    averaged="You averaged over the heads. They stand side by side, h * d features for each position.",
    backwards="The last head comes first in your result.",
    along_time="You put the heads one after another in time. They stand side by side in the features.",
    first_only="Your result holds the first head only.",
)
def merge_heads_reference(x, bugs=frozenset()):
    B, h, T, d = x.shape
    if "reshaped" in bugs:
        return x.reshape(B, T, h * d)
    if "interleaved" in bugs:
        return x.permute(0, 2, 3, 1).reshape(B, T, h * d)
    if "added" in bugs or "averaged" in bugs:
        return x.sum(1) if "added" in bugs else x.mean(1)
    if "along_time" in bugs:
        return x.reshape(B, h * T, d)
    if "first_only" in bugs:
        return x[:, 0]
    if "backwards" in bugs:
        x = x.flip(1)
    return x.transpose(1, 2).reshape(B, T, h * d)


def merge_cases(generator):
    found = []
    for heads in ((2, 3), (4, 5), (1, 1)):
        h, B, T, d = uneven(generator, heads, (2, 3), (4, 7), (6, 9))
        found.append((normal(generator, B, h, T, d),))
    return found


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
