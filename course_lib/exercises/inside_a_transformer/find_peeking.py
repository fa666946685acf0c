"""Who peeks?"""
from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from course_lib.exercises.draws import normal, uneven
from course_lib.exercises.findings import Findings, counted, plainly
from course_lib.exercises.remembered import with_rule
from course_lib.grading.checks import Fault, Record
from course_lib.grading.exercise import Exercise

exercise = Exercise(
    "find_peeking", chapter="inside-a-transformer", place=1, title="Find who peeks",
    contract="layer is a function: for x (B, T, d) it returns (B, T, e), each sequence of the batch by itself; no "
             "gradient comes through. Return a sorted list of the pairs (i, j), counted from 0, with j > i, for "
             "which position i of the result depends on position j of x, for some x. For a causal layer the list is "
             "empty.",
    points=["causal-mask"], difficulty=4, minutes=35, kind="find")


@exercise.step
def sequences(generator, T, d):
    return 2 * torch.randn(64, T, d, generator=generator)


@exercise.step
def with_position_replaced(x, j, generator):
    other = x.clone()
    other[:, j] = 2 * torch.randn(len(x), x.shape[2], generator=generator)
    return other


@exercise.step
def changed_positions(before, after):
    """Booleans (T,): which positions of the result differ in some sequence and some feature."""
    return (after - before).abs().amax(dim=(0, 2)) > 1e-6


@exercise.step
def dependencies(layer, T, d):
    """Booleans (T, T), [i, j]: whether position i of the result depends on position j of x."""
    generator = torch.Generator().manual_seed(0)
    x = sequences(generator, T, d)
    before = layer(x)
    return torch.stack([changed_positions(before, layer(with_position_replaced(x, j, generator))) for j in range(T)], dim=1)


@exercise.step
def peeks(depends):
    return depends.triu(1)


@exercise.reference()
def find_peeking_reference(layer, T, d):
    return [(i, j) for i, j in peeks(dependencies(layer, T, d)).nonzero().tolist()]


@exercise.misconception(
    sequences,
    "You use the input of zeros only. Some paths open only for certain inputs, and a value of zero hides its weight: try "
    "many random ones.")
def at_zero(generator, T, d):
    return torch.zeros(1, T, d)


@exercise.misconception(
    with_position_replaced,
    "You change the first feature of a position only. A path may start at any of them: change the whole row.")
def one_feature(x, j, generator):
    other = with_position_replaced.original(x, j, generator)
    other[:, j, 1:] = x[:, j, 1:]
    return other


@exercise.misconception(
    with_position_replaced,
    "You add the same number to all features of a position. A layer that subtracts the mean of the features does not see it: change "
    "each feature by another number.")
def same_shift(x, j, generator):
    other = x.clone()
    other[:, j] += 2 * torch.randn(len(x), 1, generator=generator)
    return other


@exercise.misconception(
    with_position_replaced,
    "You change position j and all after it. Then a position that depends on the last one seems to depend on those before it "
    "too. Change position j alone.")
def suffix(x, j, generator):
    for later in range(j, x.shape[1]):
        x = with_position_replaced.original(x, later, generator)
    return x


@exercise.misconception(
    changed_positions,
    "You compare one feature of the result only. A path may end in any of them: compare the whole row.")
def one_output(before, after):
    return changed_positions.original(before[..., :1], after[..., :1])


@exercise.misconception(
    peeks,
    "Your list holds every pair (i, j) for which i depends on j. A position may depend on the past and on itself; only j > i "
    "is peeking.")
def all_reads(depends):
    return depends


@exercise.misconception(peeks, "You test one position ahead only. A path may lead from any later position.")
def next_only(depends):
    return depends.triu(1).tril(1)


def suspect(generator: torch.Generator, T: int, d: int, kind: str, paths: list[tuple[int, int, int]] = ()):
    """A layer of attention; a path (i, j, sign) leads from one feature of x_j to one of output i, where sign * x_i is
    above 1/2. d paths or more use every feature, at both ends."""
    starts, ends = (torch.randperm(d, generator=generator).tolist() * 2 for _ in range(2))
    Wq, Wk, Wv = (normal(generator, d, d, scale=1 / math.sqrt(d)).double() for _ in range(3))
    sees = torch.ones(T, T, dtype=torch.bool).tril()
    sees[1, 2] = kind == "one too far"

    def layer(x: Tensor) -> Tensor:
        x = x.detach().double()
        if kind == "centered":
            x = x - x.mean(dim=-1, keepdim=True)
        scores, v = x @ Wq @ (x @ Wk).mT / math.sqrt(d), x @ Wv               # (B, T, T), (B, T, d)
        if kind == "softmax first":
            weights = scores.softmax(-1) * sees
        else:
            weights = scores.masked_fill(~sees, -math.inf).softmax(-1)
        out = weights @ v
        for (i, j, sign), start, end in zip(paths, starts, ends, strict=False):
            gate = 0.3 * (sign * x[:, i, 0] - 0.5).clamp(min=0)                # (B,)
            out[:, i, end] += gate * x[:, j, start]
        return out

    layer.formula = FORMULAS[kind] + (f" + {counted(len(paths), 'path')} {OPENS}" if paths else "")
    return with_rule(f"layer takes x of shape (B, {T}, {d}), floats.", layer)


OPENS = "open for some inputs"
FORMULAS = {                                             # what a learner is told of a layer that went wrong
    "sound": "softmax(scores, masked) v",
    "one too far": "softmax(scores, masked, one row one too far) v",
    "softmax first": "(softmax(scores) * mask) v",
    "centered": "softmax(scores, masked) v, x centered",
}


def peeking_cases(generator):
    """From short sequences to long ones, so that the first that goes wrong is the smallest."""
    T, d = uneven(generator, (5, 6), (3, 4))
    hidden = [(0, 2, 1), (1, T - 1, -1), (2, 3, -1), (0, T - 1, 1)]
    return [(suspect(generator, T - 2, d, "softmax first"), T - 2, d),
            (suspect(generator, T - 1, d, "sound", hidden[:1]), T - 1, d),
            (suspect(generator, T, d, "sound"), T, d),
            (suspect(generator, T, d, "centered", hidden), T, d),
            (suspect(generator, T, d, "one too far", hidden), T, d)]


@dataclass
class Peeking(Findings):
    """As Findings; the message says of which layer, at which position something is missing, and which pair is too many, and why."""

    def value_fault(self, record: Record) -> Fault | None:
        fault, (layer, T, d) = super().value_fault(record), record.args
        try:
            got, right = ([plainly(one) for one in pairs] for pairs in (record.outcome.value, record.expected))
        except TypeError:                                # it is told so
            return fault
        missed, extra = [one for one in right if one not in got], [one for one in got if one not in right]
        if fault is None or not missed + extra:
            return fault
        first = "" if len(missed) == 1 else "the first "
        lacks = [f"misses {'it' if len(right) == 1 else len(missed)}, {first}at position {missed[0][0]} of the result"] if missed else []
        holds = [f"holds {extra[0]}{f' and {len(extra) - 1} more' * (len(extra) > 1)}, where {why(extra[0], T)}"] if extra else []
        return Fault(f"The layer {layer.formula}, with T = {T} and d = {d}, has {counted(len(right), self.noun)}. Your list "
                     f"{', and '.join(lacks + holds)}." + (f" {self.tip}" if missed and OPENS in layer.formula else ""))


def why(pair: int | tuple, T: int) -> str:
    """Why a pair does not belong into the list."""
    if not isinstance(pair, tuple) or len(pair) != 2 or not all(isinstance(one, int) for one in pair):
        return "two whole numbers are asked for"
    if not all(0 <= one < T for one in pair):
        return f"positions go from 0 to {T - 1}"
    if pair[1] <= pair[0]:
        return "the second position is not later than the first"
    return f"position {pair[0]} of the result stays as it is, whatever stands at position {pair[1]}"


exercise.checks.append(Peeking(
    "values", 5, peeking_cases, noun="such pair", kind="pairs (i, j) of whole numbers",
    tip="Some paths are open for certain inputs only, and begin and end in a single feature."))
exercise.hint(
    "What to do with a function that lets no gradient through.",
    "Change x[:, j], leave the other positions, and see which positions of the result move. If i moves, it reads j.")
exercise.hint(
    "You find some pairs, not all.",
    "A path may be open only where a position has certain values. Take a batch of a few dozen random sequences, with "
    "large values of both signs, and change all features of position j. A pair counts if it shows once.")
exercise.hint(
    "You find pairs in a causal layer.",
    "Rounding moves results by 1e-7 or so: ask for more than 1e-6. And keep j > i only: the past and the position "
    "itself may be read.")
