"""Who peeks?"""
from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from course_lib.exercises.draws import normal, uneven
from course_lib.exercises.findings import Findings, counted, plainly
from course_lib.grading.checks import Fault, Record
from course_lib.grading.exercise import Exercise

exercise = Exercise(
    "find_peeking", chapter="13", place=6, title="Find who peeks",
    contract="layer is a function: for x (B, T, d) it returns (B, T, e), each sequence of the batch by itself; no "
             "gradient comes through. Return a sorted list of the pairs (i, j), counted from 0, with j > i, for "
             "which position i of the result depends on position j of x, for some x. For a causal layer the list is "
             "empty.",
    points=["causal-mask"], difficulty=4, minutes=35, kind="find")


@exercise.reference(
    at_zero="You look at the input of zeros only. Some paths open only for certain inputs, and a value of zero hides "
            "its weight: try many random ones.",
    one_feature="You change the first feature of a position only. A path may start at any of them: change the whole "
                "row.",
    one_output="You look at one feature of the result only. A path may end in any of them: look at the whole row.",
    suffix="You change position j and all after it. Then whoever reads the last position seems to read those before it "
           "too. Change position j alone.",
    itself_too="Your list holds pairs (i, i). A position may read its own token; only later ones are peeking.",
    earlier_too="Your list holds pairs with j < i. The past may be read.",
    all_reads="Your list holds every pair (i, j) for which i reads j. The past and a position itself may be read; only j > i "
              "is peeking.",
    exchanged="Your pairs are the wrong way round: the output comes first, the input that it reads second.",
    from_one="You count from 1. Positions count from 0 here.",
    next_only="You look one position ahead only. A path may lead from any later position.",
    nearest_only="You stop at the first later position that a row reads. List all of them.",
    unsorted="Your list is not sorted.",
)
def find_peeking_reference(layer, T, d, bugs=frozenset()):
    generator, reads = torch.Generator().manual_seed(0), torch.zeros(T, T, dtype=torch.bool)
    x = torch.zeros(1, T, d) if "at_zero" in bugs else 2 * torch.randn(64, T, d, generator=generator)
    before, changed = layer(x), 1 if "one_feature" in bugs else d
    for j in range(T):
        other = x.clone()
        last = T if "suffix" in bugs else j + 1
        other[:, j:last, :changed] = 2 * torch.randn(len(x), last - j, changed, generator=generator)
        moved = (layer(other) - before).abs()[..., :1 if "one_output" in bugs else None]
        reads[:, j] = moved.amax(dim=(0, 2)) > 1e-6                            # (T,): which positions noticed
    pairs = [(i, j) for i, j in reads.nonzero().tolist()]
    past, itself = bugs & {"earlier_too", "all_reads"}, bugs & {"itself_too", "all_reads"}
    found = [(i, j) for i, j in pairs if i < j or i > j and past or i == j and itself]
    if "next_only" in bugs:
        found = [(i, j) for i, j in found if j == i + 1]
    if "nearest_only" in bugs:
        found = [(i, j) for i, j in found if j == min(b for a, b in found if a == i)]
    if "exchanged" in bugs:
        found = [(j, i) for i, j in found]
    if "from_one" in bugs:
        found = [(i + 1, j + 1) for i, j in found]
    return sorted(found, reverse="unsorted" in bugs)


def suspect(generator: torch.Generator, T: int, d: int, kind: str, paths: list[tuple[int, int, int]] = ()):
    """A layer of attention; a path (i, j, sign) leads from one feature of x_j to one of output i, where sign * x_i is
    above 1/2. d paths or more use every feature, at both ends."""
    starts, ends = (torch.randperm(d, generator=generator).tolist() * 2 for _ in range(2))
    Wq, Wk, Wv = (normal(generator, d, d, scale=1 / math.sqrt(d)).double() for _ in range(3))
    sees = torch.ones(T, T, dtype=torch.bool).tril()
    sees[1, 2] = kind == "one too far"

    def layer(x: Tensor) -> Tensor:
        x = x.detach().double()
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
    return layer


OPENS = "open for some inputs"
FORMULAS = {                                             # what a learner is told of a layer that went wrong
    "sound": "softmax(scores, masked) v",
    "one too far": "softmax(scores, masked, one row one too far) v",
    "softmax first": "(softmax(scores) * mask) v",
}


def peeking_cases(generator):
    """From short sequences to long ones, so that the first that goes wrong is the smallest."""
    T, d = uneven(generator, (5, 6), (3, 4))
    hidden = [(0, 2, 1), (1, T - 1, -1), (2, 3, -1), (0, T - 1, 1)]
    return [(suspect(generator, T - 2, d, "softmax first"), T - 2, d),
            (suspect(generator, T - 1, d, "sound", hidden[:1]), T - 1, d),
            (suspect(generator, T, d, "sound"), T, d),
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
