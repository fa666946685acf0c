"""Broken pairs of encoder and encoding."""
from __future__ import annotations

import torch
from torch import Tensor

from course_lib.exercises.draws import integer, uniform
from course_lib.exercises.findings import Findings
from course_lib.exercises.positions.positional_encoding import positional_encoding_reference
from course_lib.exercises.remembered import with_rule
from course_lib.grading.exercise import Exercise

exercise = Exercise(
    "find_position_fault", chapter="positions", place=4, title="Find the broken pairs",
    contract="encode is a function: for positions (N,), integers from 0 to n - 1, it returns a table (N, d), d even. "
             "Columns 2i and 2i + 1 are pair i. A pair is sound if the inner product of its two numbers at k with its "
             "two numbers at k + o depends on the offset o only, for all positions below n and every offset, 0 included; "
             "1e-4 is left for rounding. Return the sorted list of the other pairs, counted from 0.",
    points=["sinusoid-offsets"], difficulty=4, minutes=30, kind="find")


@exercise.step
def positions(n):
    return torch.arange(n)


@exercise.step
def differences(table):
    """Of inner products at the same offset, (d/2, n - 1, n - 1): [i, k, j] is that of pair i at k + 1 and j + 1 minus that
    at k and j."""
    pairs = table.unflatten(1, (-1, 2))                                        # (n, d/2, 2)
    products = torch.einsum("kic,jic->ikj", pairs, pairs)                      # (d/2, n, n)
    return products[:, 1:, 1:] - products[:, :-1, :-1]


@exercise.step
def is_broken(table):
    return differences(table).abs().flatten(1).amax(dim=1) > 1e-4


@exercise.reference()
def find_position_fault_reference(encode, d, n):
    return is_broken(encode(positions(n)).double()).nonzero().flatten().tolist()


@exercise.misconception(positions, "You use the first positions only. Some pairs break further on: use all n of them.")
def start_only(n):
    return torch.arange(8)


def at_offsets(table, *offsets):
    moved = differences.original(table)
    return torch.cat([moved.diagonal(offset=o, dim1=1, dim2=2) for o in offsets], dim=1)


@exercise.misconception(
    differences,
    "You only compare the lengths of each pair, which is offset 0. A pair can keep its length and still turn unevenly.")
def lengths_only(table):
    return at_offsets(table, 0)


@exercise.misconception(
    differences,
    "You only compare neighboring positions. Some pairs are sound at offset 1 and break at offset 2.")
def neighbours_only(table):
    return at_offsets(table, 1)


@exercise.misconception(
    differences,
    "Your list misses a pair whose inner products are sound at offsets 1, 2 and 3 while its length changes: offset 0 is an "
    "offset too.")
def no_lengths(table):
    return at_offsets(table, 1, 2)


@exercise.misconception(
    is_broken,
    "You list pairs that differ from the paper's. A pair with another frequency, length or initial angle is sound if its inner "
    "products depend on the offset only.")
def compared_with_the_formula(table):
    return ((table - positional_encoding_reference(*table.shape)).abs() > 1e-4).any(0).unflatten(0, (-1, 2)).any(1)


@exercise.misconception(
    is_broken,
    "Your list holds every pair. Rounding alone changes an inner product by 1e-15, so two of them count as equal when they are "
    "near; and a pair is two neighbors, the columns 2i and 2i + 1.")
def every_pair(table):
    return torch.ones(table.shape[1] // 2, dtype=torch.bool)


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

    return with_rule(f"encode takes positions of shape (N,), a tensor of integers from 0 to {n - 1}.", encode)


def fault_cases(generator):
    cases = []
    for sound, broken in ((4, 0), (2, 2), (3, 3), (2, len(BROKEN))):
        kinds = [SOUND[j] for j in torch.randperm(4, generator=generator)[:sound].tolist()]
        kinds += [BROKEN[j] for j in torch.randperm(len(BROKEN), generator=generator)[:broken].tolist()]
        kinds = [kinds[j] for j in torch.randperm(len(kinds), generator=generator).tolist()]
        n, d = integer(generator, 40, 60), 2 * len(kinds)
        speeds = uniform(generator, len(kinds), low=0.2, high=1.3).double()
        speeds = torch.where(torch.tensor([kind == "paper" for kind in kinds]),
                             10000.0 ** (-2 * torch.arange(len(kinds)) / d).double(), speeds)
        cases.append((encoder(kinds, speeds, n), d, n))
    return cases


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
