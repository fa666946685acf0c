"""Where a block puts its norm."""
from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from course_lib.exercises.draws import normal, uneven
from course_lib.exercises.findings import Words, counted
from course_lib.exercises.remembered import with_rule
from course_lib.grading.exercise import Exercise

exercise = Exercise(
    "find_placements", chapter="transformer", place=2, title="Which arrangement is it?",
    contract="blocks is a list of functions (T, d) -> (T, d), f is a layer, also (T, d) -> (T, d). Each block was meant "
             'to be one of "post", LN(x + f(x)); "pre", x + f(LN(x)); "inner", x + LN(f(x)), with LN without gamma and '
             'beta and eps = 1e-5. Return a list with one of these names for each block, and "none" for a block that '
             "differs from all three by more than rounding.",
    points=["residual", "layer-norm", "transformer-block"], difficulty=3, minutes=20, kind="find")


@exercise.step
def probe(d, rows=6):
    return 3 * torch.randn(rows, d, generator=torch.Generator().manual_seed(0), dtype=torch.float64) + 1


@exercise.step
def layer_norm(x):
    return norm(x)


@exercise.step
def formulas(x, f):
    return {"post": layer_norm(x + f(x)), "pre": x + f(layer_norm(x)), "inner": x + layer_norm(f(x))}


@exercise.step
def name_of(out, expected, tolerance=1e-4):
    gaps = {name: float((out - value).abs().max()) for name, value in expected.items()}
    nearest = min(gaps, key=gaps.get)
    return "none" if gaps[nearest] > tolerance else nearest


@exercise.reference()
def find_placements_reference(blocks, f, d):
    x = probe(d)
    expected = formulas(x, f)
    return [name_of(block(x).double(), expected) for block in blocks]


@exercise.misconception(
    probe,
    "You try the blocks on a single token. A norm that mixes tokens shows only where there are several.")
def one_token(d):
    return probe.original(d, rows=1)


@exercise.misconception(layer_norm, "Your layer norm divides by d - 1, so you accept the blocks that have this fault.")
def sample_variance(x):
    return norm(x, correction=1)


@exercise.misconception(
    formulas,
    "Your names post and pre are exchanged. Post normalizes after the residual connection, pre before the sublayer.")
def post_and_pre(x, f):
    right = formulas.original(x, f)
    return right | {"post": right["pre"], "pre": right["post"]}


@exercise.misconception(
    formulas,
    "Your names pre and inner are exchanged. Pre normalizes the input of the sublayer, inner its output.")
def pre_and_inner(x, f):
    right = formulas.original(x, f)
    return right | {"pre": right["inner"], "inner": right["pre"]}


@exercise.misconception(
    name_of,
    'You never answer "none". A block that differs from all three formulas is none of the three.')
def never_none(out, expected):
    return name_of.original(out, expected, math.inf)


@exercise.misconception(
    name_of,
    'You answer "none" for every block. Compare with a tolerance, because the functions round differently from you.')
def only_none(out, expected):
    return "none"


@exercise.misconception(
    name_of,
    "You test only the mean and the variance of the outputs. A block can return rows of mean 0 and variance 1 and still have "
    "left out the residual connection.")
def shape_alone(out, expected):
    normalized = out.mean(1).abs().max() < 1e-3 and (out.var(1, correction=0) - 1).abs().max() < 1e-2
    return "post" if normalized else name_of.original(out, expected)


@exercise.misconception(
    name_of,
    "Your tolerance is so wide that you accept a block whose norm is off by three in a thousand. Rounding is below 1e-5, so "
    "1e-4 is enough.")
def loose(out, expected):
    return name_of.original(out, expected, 0.01)


def norm(x: Tensor, correction: int = 0, dim: int = -1) -> Tensor:
    """Layer norm without gamma and beta; `correction` 1 is the fault of dividing by d - 1, `dim` 0 that of mixing tokens."""
    mean, variance = x.mean(dim, keepdim=True), x.var(dim, keepdim=True, correction=correction)
    return (x - mean) / (variance + 1e-5).sqrt()


KINDS = {
    "post": lambda x, f: norm(x + f(x)),
    "pre": lambda x, f: x + f(norm(x)),
    "inner": lambda x, f: x + norm(f(x)),
    "no skip": lambda x, f: norm(f(x)),
    "skip from the norm": lambda x, f: norm(x) + f(norm(x)),
    "a gain": lambda x, f: 1.003 * norm(x + f(x)),
    "sample variance": lambda x, f: norm(x + f(x), correction=1) if len(x) > 1 else norm(x + f(x)),
    "mixes tokens": lambda x, f: x + f(norm(x, dim=0) if len(x) > 1 else norm(x)),
    "twice": lambda x, f: x + f(norm(x)) + x,
    "not centred": lambda x, f: x + f(x) / (f(x).square().mean(-1, keepdim=True) + 1e-5).sqrt(),
}


FORMULAS = {
    "post": "LN(x + f(x))", "pre": "x + f(LN(x))", "inner": "x + LN(f(x))", "no skip": "LN(f(x))",
    "skip from the norm": "LN(x) + f(LN(x))", "a gain": "1.003 LN(x + f(x))", "sample variance": "LN(x + f(x)) over d - 1",
    "mixes tokens": "x + f(LN over rows)", "twice": "2 x + f(LN(x))", "not centred": "x + f(x)/rms",
}


def block(kind: str, f):
    def made(x):
        return KINDS[kind](x, f)

    made.formula = FORMULAS[kind]                        # what a learner sees of one in a case that is drawn to be shown
    return with_rule("A block takes x of shape (T, d), floats, with the d that your function is given.", made)


def placement_cases(generator):
    cases = []
    for number in (5, 7, 10):
        d, hidden = uneven(generator, (4, 7), (8, 12))
        widen, narrow = normal(generator, d, hidden).double(), normal(generator, hidden, d).double()

        def f(x, widen=widen, narrow=narrow):
            return ((x.double() @ widen).tanh() @ narrow).to(x.dtype)          # blocks answer in the precision of x

        kinds = ["post", "pre", "inner", "no skip", "sample variance", "a gain"] + list(KINDS)[-4:]
        kinds = kinds[:number] if number > 5 else ["inner", "post", "mixes tokens", "pre", "pre"]
        kinds = [kinds[j] for j in torch.randperm(len(kinds), generator=generator).tolist()]
        if kinds[0] == kinds[-1]:                                              # so that an order can be told
            kinds.sort()
        cases.append(([block(kind, f) for kind in kinds], f, d))
    return cases


@dataclass
class Names(Words):
    """As Words, for the names of all blocks."""

    def told(self, got: Sequence[str], expected: list[str]) -> str:
        if len(got) != len(expected):
            return f"Your list has {counted(len(got), 'name')} for {counted(len(expected), 'block')}."
        wrong = [i for i, (mine, right) in enumerate(zip(got, expected, strict=True)) if mine != right]
        return (f"Of {counted(len(got), 'block')} you name {len(wrong)} wrongly. The first of those is block {wrong[0]}, counted "
                f"from 0, which you call {got[wrong[0]]!r}.")


exercise.checks.append(Names("values", 5, placement_cases, names=("post", "pre", "inner", "none")))
exercise.hint(
    "What to feed the blocks.",
    "Any x of several rows whose mean is not 0 and whose spread is not 1: 3 * torch.randn(6, d) + 1. On rows that are "
    "normalised already the norm does nothing: x + f(LN(x)) and LN(x) + f(LN(x)) are the same there.")
exercise.hint(
    "What to compare the outputs with.",
    "Compute the three formulas yourself on the same x, with the f that you are given. Compare each with the block's output.")
exercise.hint(
    "A block that is none of the three gets a name.",
    "Compare all entries with a small tolerance, 1e-4 say. Population variance; each row by itself; more than one row.")
