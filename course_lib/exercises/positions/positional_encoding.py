"""The sinusoidal table."""
from __future__ import annotations

import math

import torch

from course_lib.exercises.draws import uneven
from course_lib.grading.exercise import Exercise

exercise = Exercise(
    "positional_encoding", chapter="14", place=1, title="The table of sines and cosines",
    contract="T positions, counted from 0, and a width d. Return the table (T, d): sin(k / 10000^(2i/d)) in column 2i "
             "of row k, and the cosine of the same angle in column 2i + 1. An odd d ends with a sine.",
    points=["sinusoidal"], difficulty=2, minutes=10)


@exercise.reference(
    from_one="Your positions start at 1. The first row belongs to position 0: its sines are 0 and its cosines 1.",
    transposed="Your table has a column for each position. A row for each is asked for.",
    halves="Your sines stand in the left half and your cosines in the right half. They alternate here: 2i and 2i + 1.",
    cosine_first="Your even columns hold the cosines. Column 2i is the sine, column 2i + 1 the cosine.",
    own_speed="Each of your columns has a speed of its own. A sine and the cosine beside it share one: i counts pairs, "
              "not columns.",
    base_of_the_example="Your speeds are those of base 100. That is the slide's small example, and also what an "
                        "exponent of i/d gives, since 100 is the root of 10000. It is 10000, to the power 2i/d.",
    upside_down="Your angles grow with the column: the power of 10000 divides the position.",
    all_sines="Your odd columns hold sines too. They hold the cosine of the same angle.",
    degrees="Your angles are taken as degrees. torch.sin and the formula mean radians.",
    odd_zero="With an odd width your last column is 0. It is a sine like the others; only its cosine is missing.",
    odd_cosine="With an odd width your last column holds cosines. An even column holds sines.",
    odd_dropped="With an odd width your table is one column short. The last sine stays, without a cosine.",
)
def positional_encoding_reference(T, d, bugs=frozenset()):
    k = torch.arange(T, dtype=torch.float64) + ("from_one" in bugs)
    column = torch.arange(d, dtype=torch.float64)
    pair = column if "own_speed" in bugs else 2 * (column // 2)                # 2i in both columns of pair i
    base = 100.0 if "base_of_the_example" in bugs else 10000.0
    omega = base ** ((1 if "upside_down" in bugs else -1) * pair / d)
    angle = k[:, None] * omega                                                 # (T, d)
    if "degrees" in bugs:
        angle = angle * math.pi / 180
    even = (torch.arange(d) % 2 == 0) != ("cosine_first" in bugs)
    table = torch.where(even | ("all_sines" in bugs), angle.sin(), angle.cos())
    if "halves" in bugs:
        table = torch.cat([table[:, 0::2], table[:, 1::2]], dim=1)
    if d % 2 and "odd_zero" in bugs:
        table[:, -1] = 0
    if d % 2 and "odd_cosine" in bugs:
        table[:, -1] = angle[:, -1].cos()
    if "odd_dropped" in bugs:
        table = table[:, :d - d % 2]
    return table.T if "transposed" in bugs else table


def table_cases(generator):
    sizes = [uneven(generator, (5, 30), (3, 6)), uneven(generator, (20, 40), (2, 4)), [1, 3], [2, 1]]
    return [(T, 2 * half + odd) for (T, half), odd in zip(sizes, (0, 1, 0, 1), strict=True)]


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
