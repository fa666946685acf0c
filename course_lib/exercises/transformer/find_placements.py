"""Where a block puts its norm."""
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from course_lib.exercises.draws import normal, uneven
from course_lib.exercises.findings import Words, counted
from course_lib.grading.exercise import Exercise

exercise = Exercise(
    "find_placements", chapter="15", place=7, title="Which arrangement is it?",
    contract="blocks is a list of functions (T, d) -> (T, d), f is a layer, also (T, d) -> (T, d). Each block was meant "
             'to be one of "post", LN(x + f(x)); "pre", x + f(LN(x)); "inner", x + LN(f(x)), with LN without gamma and '
             'beta and eps = 1e-5. Return a list with one of these names for each block, and "none" for a block that '
             "differs from all three by more than rounding.",
    points=["residual", "layer-norm", "transformer-block"], difficulty=3, minutes=20, kind="find")


@exercise.reference(
    post_and_pre="Your names post and pre are exchanged. Post normalises after the sum; pre before the layer.",
    pre_and_inner="Your names pre and inner are exchanged: one normalises what the layer reads, the other what it returns.",
    never_none='You never answer "none". A block that fits no formula exactly is none of the three.',
    only_none="You find none of the three anywhere. Compare with a tolerance: the functions round differently from you.",
    sample_variance="Your layer norm divides by d - 1, and so takes the blocks with that fault for right.",
    shape_alone="You look at the mean and the spread of the outputs only. A block can return rows of mean 0 and variance 1 "
                "and still have left out the skip connection.",
    one_token="You try the blocks on a single token. A norm that mixes tokens shows only where there are several.",
    loose="Your tolerance is so wide that a block whose norm is off by three in a thousand passes for a sound one. Rounding is "
          "below 1e-5, and 1e-4 leaves room enough.",
    backwards="Your list is in the opposite order: one name for each block, in the blocks' order.",
)
def find_placements_reference(blocks, f, d, bugs=frozenset()):
    generator = torch.Generator().manual_seed(0)
    x = 3 * torch.randn(1 if "one_token" in bugs else 6, d, generator=generator, dtype=torch.float64) + 1
    correction = int("sample_variance" in bugs)
    wanted = {"post": norm(x + f(x), correction), "pre": x + f(norm(x, correction)), "inner": x + norm(f(x), correction)}
    if "post_and_pre" in bugs:
        wanted = {"post": wanted["pre"], "pre": wanted["post"], "inner": wanted["inner"]}
    if "pre_and_inner" in bugs:
        wanted = {"post": wanted["post"], "pre": wanted["inner"], "inner": wanted["pre"]}
    names = []
    for block in blocks:
        out = block(x).double()
        gaps = {name: float((out - want).abs().max()) for name, want in wanted.items()}
        name = min(gaps, key=gaps.get)
        if gaps[name] > (0.01 if "loose" in bugs else 1e-4) and "never_none" not in bugs:
            name = "none"
        if "shape_alone" in bugs and bool((out.mean(1).abs() < 1e-3).all() and ((out.var(1, correction=0) - 1).abs() < 1e-2).all()):
            name = "post"
        names.append("none" if "only_none" in bugs else name)
    return names[::-1] if "backwards" in bugs else names


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
    return made


def placement_cases(generator):
    found = []
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
        found.append(([block(kind, f) for kind in kinds], f, d))
    return found


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
