"""A width cut into heads."""
from __future__ import annotations

from course_lib.exercises.draws import normal, uneven
from course_lib.grading.exercise.exercise import Exercise

exercise = Exercise(
    "split_heads", chapter="13", place=4, title="Into heads",
    contract="x (B, T, h * d). Return (B, h, T, d): head j owns the features j * d to (j + 1) * d - 1 of every "
             "position.",
    points=["multi-head"], difficulty=2, minutes=5)


@exercise.reference(
    reshaped="Your heads hold features of other positions: the memory was cut in pieces of the new shape. Cut the "
             "last axis first, then exchange two axes.",
    interleaved="Head j gets every h-th feature in your result. It owns a block: the features j * d to (j + 1) * d - "
                "1.",
    axes_left="Your result is (B, T, h, d). Positions and heads still have to change places.",
    time_last="You exchange positions and features before you cut: your heads hold pieces of time.",
    sizes_exchanged="You cut the width into d heads of width h.",
    backwards="Your heads are in reversed order.",
    batch_mixed="Your heads hold features of other rows of the batch.",
)
def split_heads_reference(x, h, bugs=frozenset()):
    B, T, D = x.shape
    d = D // h
    if "reshaped" in bugs:
        return x.reshape(B, h, T, d)
    if "interleaved" in bugs:
        return x.reshape(B, T, d, h).permute(0, 3, 1, 2)
    if "time_last" in bugs:
        return x.transpose(1, 2).reshape(B, h, T, d)
    if "batch_mixed" in bugs:
        return x.reshape(h, B, T, d).transpose(0, 1)
    if "sizes_exchanged" in bugs:
        return x.reshape(B, T, d, h).transpose(1, 2)
    parts = x.reshape(B, T, h, d)
    if "axes_left" in bugs:
        return parts
    if "backwards" in bugs:
        parts = parts.flip(2)
    return parts.transpose(1, 2)


def split_cases(generator):
    found = []
    for heads in ((2, 3), (4, 5), (1, 1)):
        h, B, T, d = uneven(generator, heads, (2, 3), (4, 7), (6, 9))
        found.append((normal(generator, B, T, h * d), h))
    return found


exercise.compare("values", split_cases, points=3)
exercise.gradient("gradient", split_cases, wrt=(0,), points=1)
exercise.unchanged(split_cases)
exercise.hint(
    "The shape is right and the values are not.",
    "reshape never moves a number: it only cuts the row of memory elsewhere. Go from (B, T, h * d) to (B, T, h, d) "
    "with it, since that cuts the last axis alone. The rest is an exchange of axes.")
exercise.hint(
    "Which features belong to head 0.",
    "The first d of them. x.reshape(B, T, h, d)[:, :, 0] is x[:, :, :d]; x.reshape(B, T, d, h)[..., 0] is every h-th.")
