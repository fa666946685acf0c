"""An offset as a matrix."""
from __future__ import annotations

import torch

from course_lib.exercises.draws import integer
from course_lib.grading.exercise import Exercise

exercise = Exercise(
    "shift_rotation", chapter="14", place=2, title="An offset as a matrix",
    contract="o is an offset, of either sign; d an even width; n the base. Return the matrix R (d, d) with "
             "p(k + o) = R p(k) for every position k, where p(k) is row k of the sinusoidal table of width d and base "
             "n, sines in the even and cosines in the odd places.",
    points=["sinusoid-offsets"], difficulty=3, minutes=20)


@exercise.reference(
    turned_back="Your matrix takes p(k + o) back to p(k): it turns the other way. With the sine first, the block is "
                "[[cos, sin], [-sin, cos]].",
    mirrored="Your blocks are reflections: their determinant is -1. One of the two sines takes a minus sign.",
    one_speed="All your blocks turn by the same angle. Pair i turns by o times its own frequency.",
    diagonal_only="Your matrix is diagonal. The new sine needs the old cosine as well.",
    halves="Your matrix is for a table with all sines first and all cosines after them. Here they alternate.",
    slow_first="Your pairs are in the wrong order: the first one turns fastest.",
    half_exponent="Your angles fall too slowly from pair to pair: the frequency of pair i is n^(-2i/d).",
    base_fixed="Your matrix does not use the base n that was passed.",
    sign_ignored="An offset backwards turns your pairs forwards.",
)
def shift_rotation_reference(o, d, n, bugs=frozenset()):
    i = torch.arange(d // 2, dtype=torch.float64)
    n = 10000.0 if "base_fixed" in bugs else float(n)
    omega = n ** (-(1 if "half_exponent" in bugs else 2) * i / d)
    if "one_speed" in bugs:
        omega = torch.ones_like(omega)
    if "slow_first" in bugs:
        omega = omega.flip(0)
    angle = omega * (abs(o) if "sign_ignored" in bugs else o)
    cos, sin = angle.cos(), angle.sin()
    if "diagonal_only" in bugs:
        sin = torch.zeros_like(sin)
    if "turned_back" in bugs:
        sin = -sin
    R = torch.zeros(d, d, dtype=torch.float64)
    even, odd = 2 * torch.arange(d // 2), 2 * torch.arange(d // 2) + 1
    if "halves" in bugs:
        even, odd = torch.arange(d // 2), torch.arange(d // 2) + d // 2
    mirrored = "mirrored" in bugs
    R[even, even], R[even, odd] = cos, sin
    R[odd, even], R[odd, odd] = (sin, -cos) if mirrored else (-sin, cos)
    return R


def rotation_cases(generator):
    return [(integer(generator, 1, 5), 2 * integer(generator, 2, 3), 10000.0),
            (-integer(generator, 1, 9), 2 * integer(generator, 3, 5), float(integer(generator, 20, 200))),
            (integer(generator, 10, 40), 8, float(integer(generator, 300, 900)))]


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
