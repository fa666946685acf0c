"""The sinusoidal table."""
from __future__ import annotations

import torch

from course_lib.exercises.draws import uneven
from course_lib.grading.exercise import Exercise

exercise = Exercise(
    "positional_encoding", chapter="positions", place=1, title="The table of sines and cosines",
    contract="T positions, counted from 0, and a width d. Return the table (T, d): sin(k / 10000^(2i/d)) in column 2i "
             "of row k, and the cosine of the same angle in column 2i + 1. An odd d ends with a sine.",
    points=["sinusoidal"], difficulty=2, minutes=10)


@exercise.step
def positions(T):
    return torch.arange(T, dtype=torch.float64)


@exercise.step
def exponents(d):
    """2i/d in both columns of pair i, (d,)."""
    column = torch.arange(d, dtype=torch.float64)
    return 2 * (column // 2) / d


@exercise.step
def angles(k, exponent):
    return k[:, None] / 10000 ** exponent                                      # (T, d)


@exercise.step
def sines_and_cosines(angle):
    table = angle.sin()
    table[:, 1::2] = angle[:, 1::2].cos()
    return table


@exercise.reference()
def positional_encoding_reference(T, d):
    return sines_and_cosines(angles(positions(T), exponents(d)))


@exercise.misconception(
    positions,
    "Your positions start at 1. The first row belongs to position 0: its sines are 0 and its cosines 1.")
def from_one(T):
    return positions.original(T) + 1


@exercise.misconception(
    exponents,
    "Each of your columns has a frequency of its own. A sine and the cosine beside it share one: i counts pairs, not columns.")
def own_speed(d):
    return torch.arange(d, dtype=torch.float64) / d


@exercise.misconception(
    angles,
    "Your frequencies are those of base 100. That is the slide's small example, and also what an exponent of i/d gives, since "
    "100 is the root of 10000. It is 10000, to the power 2i/d.")
def base_of_the_example(k, exponent):
    return k[:, None] / 100 ** exponent


@exercise.misconception(
    sines_and_cosines,
    "Your sines stand in the left half and your cosines in the right half. They alternate here: 2i and 2i + 1.")
def halves(angle):
    return torch.cat([angle[:, 0::2].sin(), angle[:, 1::2].cos()], dim=1)


@exercise.misconception(
    sines_and_cosines,
    "With an odd width your last column is 0. It is a sine like the others; only its cosine is missing.")
def odd_zero(angle):
    table, d = sines_and_cosines.original(angle), angle.shape[1]
    table[:, d - d % 2:] = 0
    return table


@exercise.misconception(sines_and_cosines, "With an odd width your last column holds cosines. An even column holds sines.")
def odd_cosine(angle):
    table, d = sines_and_cosines.original(angle), angle.shape[1]
    table[:, d - d % 2:] = angle[:, d - d % 2:].cos()
    return table


def table_cases(generator):
    sizes = [uneven(generator, (5, 30), (3, 6)), uneven(generator, (20, 40), (2, 4)), [1, 3], [2, 1], [6, 3]]
    return [(T, 2 * half + odd) for (T, half), odd in zip(sizes, (0, 1, 0, 1, 0), strict=True)]


exercise.compare("values", table_cases, points=5)
exercise.hint(
    "How to fill the columns in pairs.",
    "Make the angles first: positions (T, 1) times speeds (1, d/2) give (T, d/2). Then their sines go into the columns "
    "0::2 of an empty table and their cosines into 1::2.")
exercise.hint(
    "The first two columns are right and the others are not.",
    "There the exponent counts. Pair i has the exponent 2i/d, with i = 0, 1, ..., so for d = 4 the second pair divides "
    "by the square root of 10000.")
exercise.hint(
    "An odd width raises an error.",
    "There is one sine more than there are cosines. Make enough speeds for the sines, and cut the cosines to fit.")
