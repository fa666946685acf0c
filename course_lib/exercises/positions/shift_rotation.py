"""An offset as a matrix."""
from __future__ import annotations

import torch

from course_lib.exercises.draws import integer
from course_lib.grading.exercise import Exercise

exercise = Exercise(
    "shift_rotation", chapter="positions", place=2, title="An offset as a matrix",
    contract="o is an offset, of either sign; d an even width; n the base. Return the matrix R (d, d) with "
             "p(k + o) = R p(k) for every position k, where p(k) is row k of the sinusoidal table of width d and base "
             "n, sines in the even and cosines in the odd places.",
    points=["sinusoid-offsets"], difficulty=3, minutes=20)


@exercise.step
def frequencies(d, n):
    """Of the d/2 pairs."""
    return float(n) ** (-torch.arange(0, d, 2, dtype=torch.float64) / d)


@exercise.step
def angles(o, omega):
    return o * omega


@exercise.step
def rotation(angle):
    """A block [[cos, sin], [-sin, cos]] for each angle."""
    c, s = angle.cos(), angle.sin()
    return torch.block_diag(*torch.stack([c, s, -s, c], dim=1).unflatten(1, (2, 2)))


@exercise.reference()
def shift_rotation_reference(o, d, n):
    return rotation(angles(o, frequencies(d, n)))


@exercise.misconception(frequencies, "All your blocks turn by the same angle. Pair i turns by o times its own frequency.")
def one_speed(d, n):
    return torch.ones(d // 2, dtype=torch.float64)


@exercise.misconception(frequencies, "Your matrix does not depend on the base n that was passed.")
def base_fixed(d, n):
    return frequencies.original(d, 10000)


@exercise.misconception(
    frequencies,
    "Your pair i has the frequency n ** (-i / d). It is n ** (-2i / d), because the exponent of the table counts columns and pair i begins in "
    "column 2i.")
def half_exponent(d, n):
    return frequencies.original(2 * d, n)[:d // 2]


@exercise.misconception(
    angles,
    "Your matrix takes p(k + o) back to p(k): it turns the other way. With the sine first, the block is "
    "[[cos, sin], [-sin, cos]].")
def turned_back(o, omega):
    return -o * omega


@exercise.misconception(rotation, "Your blocks are reflections: their determinant is -1. One of the two sines takes a minus sign.")
def mirrored(angle):
    R = rotation.original(angle)
    R[1::2] *= -1
    return R


@exercise.misconception(
    rotation,
    "Your matrix is for a table with all sines first and all cosines after them. Here they alternate.")
def halves(angle):
    c, s = angle.cos().diag(), angle.sin().diag()
    return torch.cat([torch.cat([c, s], dim=1), torch.cat([-s, c], dim=1)])


def rotation_cases(generator):
    return [(integer(generator, 1, 5), 2 * integer(generator, 2, 3), 10000.0),
            (-integer(generator, 1, 9), 2 * integer(generator, 3, 5), float(integer(generator, 20, 200))),
            (integer(generator, 10, 40), 8, float(integer(generator, 300, 900))), (0, 4, 50.0), (3, 2, 50.0)]


exercise.compare("values", rotation_cases, points=5)
exercise.hint(
    "Where the matrix comes from.",
    "Take one pair. sin(a + b) = sin a cos b + cos a sin b, and cos(a + b) = cos a cos b - sin a sin b, with "
    "a = omega k and b = omega o. The factors of sin a and cos a are the entries.")
exercise.hint(
    "One pair works, and you have d/2 of them.",
    "The pairs do not mix. Put each 2 x 2 block on the diagonal: torch.block_diag(*blocks), or fill R[0::2, 0::2] and "
    "its three companions with diagonal matrices.")
exercise.hint(
    "A test of your own.",
    "Make the table, multiply R with row 3 and compare with row 3 + o. Then another row: R must not know k. Then a "
    "negative o.")
