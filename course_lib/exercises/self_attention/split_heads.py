"""A width cut into heads."""
from __future__ import annotations

from course_lib.exercises.draws import normal, uneven
from course_lib.grading.exercise import Exercise

exercise = Exercise(
    "split_heads", chapter="self-attention", place=4, title="Into heads",
    contract="x (B, T, h * d). Return (B, h, T, d): head j owns the features j * d to (j + 1) * d - 1 of every "
             "position.",
    points=["multi-head"], difficulty=2, minutes=5)


@exercise.step
def cut(x, h):
    """The features of each position in h blocks, (B, T, h, d)."""
    return x.reshape(*x.shape[:2], h, -1)


@exercise.step
def heads_first(parts):
    return parts.transpose(1, 2)


@exercise.reference()
@exercise.step
def split_heads_reference(x, h):
    return heads_first(cut(x, h))


@exercise.misconception(
    split_heads_reference,
    "Your heads hold features of other positions: the memory was cut in pieces of the new shape. Cut the last axis "
    "first, then exchange two axes.")
def reshaped(x, h):
    B, T, D = x.shape
    return x.reshape(B, h, T, D // h)


@exercise.misconception(
    cut,
    "Head j gets every h-th feature in your result. It owns a block: the features j * d to (j + 1) * d - 1.")
def interleaved(x, h):
    return x.reshape(*x.shape[:2], -1, h).transpose(2, 3)


@exercise.misconception(heads_first, "Your result is (B, T, h, d). Positions and heads still have to change places.")
def axes_left(parts):
    return parts


@exercise.misconception(
    split_heads_reference,
    "You exchange positions and features before you cut: your heads hold pieces of time.")
def time_last(x, h):
    return reshaped(x.transpose(1, 2).reshape(x.shape), h)


@exercise.misconception(cut, "You cut the width into d heads of width h.")
def sizes_exchanged(x, h):
    return x.reshape(*x.shape[:2], -1, h)


def split_cases(generator):
    """Uneven sizes, one head; all sizes equal; a batch of one, vectors of one number; one position."""
    sizes = [uneven(generator, heads, (2, 3), (4, 7), (6, 9)) for heads in ((2, 3), (4, 5), (1, 1))]
    sizes += [(3, 3, 3, 3), (4, 1, 5, 1), (2, 3, 1, 4)]
    return [(normal(generator, B, T, h * d), h) for h, B, T, d in sizes]


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
