"""Broken pairs of encoder and encoding."""
from __future__ import annotations

import torch
from torch import Tensor

from course_lib.exercises.draws import integer, uniform
from course_lib.exercises.findings import Findings
from course_lib.exercises.positions.positional_encoding import positional_encoding_reference
from course_lib.grading.exercise import Exercise

exercise = Exercise(
    "find_position_fault", chapter="14", place=4, title="Find the broken pairs",
    contract="encode is a function: for positions (N,), integers from 0 to n - 1, it returns a table (N, d), d even. "
             "Columns 2i and 2i + 1 are pair i. A pair is sound if the inner product of its two numbers at k with its "
             "two numbers at k + o depends on the offset o only, for all positions below n and every offset, 0 included; "
             "1e-4 is left for rounding. Return the sorted list of the other pairs, counted from 0.",
    points=["sinusoid-offsets"], difficulty=4, minutes=30, kind="find")


@exercise.reference(
    compared_with_the_formula="You list pairs that are not the paper's. A pair with another speed, length or starting "
                              "angle is sound if its inner products depend on the offset only.",
    lengths_only="You only look at the length of each pair, which is offset 0. A hand can keep its length and still "
                 "turn unevenly.",
    neighbours_only="You only compare neighbours. Some pairs are fine at offset 1 and break at offset 2.",
    no_lengths="Your list misses a pair that keeps its products at offsets 1, 2 and 3 while its length changes: offset 0 is an "
               "offset too.",
    start_only="You only look at the first positions. Some pairs break further on: use all n of them.",
    columns="Your list holds columns. Pair i is the columns 2i and 2i + 1.",
    from_one="You count the pairs from 1. They count from 0.",
    sound_ones="Your list holds the sound pairs. The broken ones are asked for.",
    every_pair="Your list holds every pair. Rounding alone moves an inner product by 1e-15, so two of them count as equal "
               "when they are near; and a pair is two neighbours, the columns 2i and 2i + 1.",
    unsorted="Your list is not sorted.",
)
def find_position_fault_reference(encode, d, n, bugs=frozenset()):
    positions = torch.arange(8 if "start_only" in bugs else n)
    table = encode(positions).double()
    pairs = table.unflatten(1, (-1, 2))                                        # (n, d/2, 2)
    products = torch.einsum("kic,jic->ikj", pairs, pairs)                      # (d/2, n, n)
    moved = (products[:, 1:, 1:] - products[:, :-1, :-1]).abs()                # along each diagonal: zero if sound
    if "lengths_only" in bugs:
        moved = moved.diagonal(dim1=1, dim2=2)
    if "neighbours_only" in bugs:
        moved = moved.diagonal(offset=1, dim1=1, dim2=2)
    if "no_lengths" in bugs:
        moved = torch.cat([moved.diagonal(offset=o, dim1=1, dim2=2) for o in (1, 2)], dim=1)
    broken = moved.flatten(1).amax(dim=1) > 1e-4
    if "compared_with_the_formula" in bugs:
        right = positional_encoding_reference(n, d).unflatten(1, (-1, 2))
        broken = (pairs - right).abs().amax(dim=(0, 2)) > 1e-4
    if "sound_ones" in bugs:
        broken = ~broken
    if "every_pair" in bugs:
        broken = torch.ones_like(broken)
    found = broken.nonzero().flatten().tolist()
    if "columns" in bugs:
        found = [column for i in found for column in (2 * i, 2 * i + 1)]
    return sorted((i + ("from_one" in bugs) for i in found), reverse="unsorted" in bugs)


SOUND = ["paper", "swapped", "long", "late start"]
BROKEN = ["two speeds", "growing", "stops", "two sines", "back and forth", "by turns"]


def encoder(kinds: list[str], speeds: Tensor, n: int):
    """A table function with one pair of each kind, in this order."""
    def encode(positions: Tensor) -> Tensor:
        k, columns = positions.double(), []
        for kind, w in zip(kinds, speeds.tolist(), strict=True):
            angle = w * k
            if kind == "late start":
                angle = angle + 0.9
            if kind == "stops":
                angle = w * k.clamp(max=0.7 * n)
            if kind == "back and forth":                                           # two steps forwards, two back
                angle = w * torch.tensor([0.0, 1.0, 2.0, 1.0], dtype=torch.float64)[positions % 4]
            if kind == "by turns":             # an eighth of a turn; long, short: r times 1/r, and 0 at a right angle
                angle = w + torch.pi / 4 * k
            a, b = angle.sin(), angle.cos()
            if kind == "two speeds":
                b = (1.4 * angle).cos()
            if kind == "two sines":
                b = (angle + 0.3).sin()
            if kind == "swapped":
                a, b = b, a
            size = 1.7 if kind == "long" else 1 + 0.03 * k if kind == "growing" else 1
            if kind == "by turns":
                size = 1.3 ** (1 - 2 * (k % 2))
            columns += [size * a, size * b]
        return torch.stack(columns, dim=1)

    return encode


def fault_cases(generator):
    found = []
    for sound, broken in ((4, 0), (2, 2), (3, 3), (2, len(BROKEN))):
        kinds = [SOUND[j] for j in torch.randperm(4, generator=generator)[:sound].tolist()]
        kinds += [BROKEN[j] for j in torch.randperm(len(BROKEN), generator=generator)[:broken].tolist()]
        kinds = [kinds[j] for j in torch.randperm(len(kinds), generator=generator).tolist()]
        n, d = integer(generator, 40, 60), 2 * len(kinds)
        speeds = uniform(generator, len(kinds), low=0.2, high=1.3).double()
        speeds = torch.where(torch.tensor([kind == "paper" for kind in kinds]),
                             10000.0 ** (-2 * torch.arange(len(kinds)) / d).double(), speeds)
        found.append((encoder(kinds, speeds, n), d, n))
    return found


exercise.checks.append(Findings(
    "values", 5, fault_cases, holder="One of the tables", noun="broken pair",
    tip="Some break late, at certain offsets or by their length."))
exercise.hint(
    "What to look at.",
    "Call encode on all positions and cut the table into pairs, (n, d/2, 2). For one pair, the n x n matrix of inner "
    "products holds offset o on its o-th diagonal.")
exercise.hint(
    "You find some of the broken pairs.",
    "A sound pair has one number on every diagonal of that matrix. Compare each entry with the one to its lower right: "
    "all diagonals, from the first position to the last.")
exercise.hint(
    "You list pairs that are not broken.",
    "Do not compare with the formula: another speed, a longer hand, another start or the cosine first is another table, "
    "and a sound one. And leave room for rounding: 1e-4 is plenty.")
