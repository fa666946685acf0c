"""Chapter 13: a width cut into heads and put together again, and a layer that looks where it must not."""
from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from course_lib.grading.bank.draws import normal, uneven
from course_lib.grading.checks import Compare, Fault, Record
from course_lib.grading.exercise import Exercise

# Into heads

split_heads = Exercise(
    "split_heads", chapter="13", title="Into heads",
    contract="x (B, T, h * d). Return (B, h, T, d): head j owns the features j * d to (j + 1) * d - 1 of every "
             "position.",
    points=["multi-head"], difficulty=2, minutes=10)


@split_heads.reference(
    reshaped="Your heads hold features of other positions: the memory was cut in pieces of the new shape. Cut the "
             "last axis first, then exchange two axes.",
    interleaved="Head j gets every h-th feature in your result. It owns a block: the features j * d to (j + 1) * d - "
                "1.",
    axes_left="Your result is (B, T, h, d). Positions and heads still have to change places.",
    time_last="You exchange positions and features before you cut: your heads hold pieces of time.",
    sizes_exchanged="You cut the width into d heads of width h.",
    backwards="Your heads are in reversed order.",
    batch_mixed="Your heads hold features of other rows of the batch.",
)
def split_heads_reference(x, h, bugs=frozenset()):
    B, T, D = x.shape
    d = D // h
    if "reshaped" in bugs:
        return x.reshape(B, h, T, d)
    if "interleaved" in bugs:
        return x.reshape(B, T, d, h).permute(0, 3, 1, 2)
    if "time_last" in bugs:
        return x.transpose(1, 2).reshape(B, h, T, d)
    if "batch_mixed" in bugs:
        return x.reshape(h, B, T, d).transpose(0, 1)
    if "sizes_exchanged" in bugs:
        return x.reshape(B, T, d, h).transpose(1, 2)
    parts = x.reshape(B, T, h, d)
    if "axes_left" in bugs:
        return parts
    if "backwards" in bugs:
        parts = parts.flip(2)
    return parts.transpose(1, 2)


def split_cases(generator):
    found = []
    for heads in ((2, 3), (4, 5), (1, 1)):
        h, B, T, d = uneven(generator, heads, (2, 3), (4, 7), (6, 9))
        found.append((normal(generator, B, T, h * d), h))
    return found


split_heads.compare("values", split_cases, points=3)
split_heads.gradient("gradient", split_cases, wrt=(0,), points=1)
split_heads.unchanged(split_cases)
split_heads.hint(
    "The shape is right and the values are not.",
    "reshape never moves a number: it only cuts the row of memory elsewhere. Go from (B, T, h * d) to (B, T, h, d) "
    "with it, since that cuts the last axis alone. The rest is an exchange of axes.")
split_heads.hint(
    "You are not sure which features belong to head 0.",
    "The first d of them. x.reshape(B, T, h, d)[:, :, 0] is x[:, :, :d]; x.reshape(B, T, d, h)[..., 0] is every h-th.")

# And back

merge_heads = Exercise(
    "merge_heads", chapter="13", title="Heads side by side",
    contract="x (B, h, T, d). Return (B, T, h * d): the heads side by side at every position, head 0 first.",
    points=["multi-head"], difficulty=2, minutes=10)


@merge_heads.reference(
    reshaped="Your rows hold values of other positions: the memory was cut in pieces of the new shape. Exchange two "
             "axes first, then join the last two.",
    interleaved="The features of the heads alternate in your result. All features of head 0 come first, then those of "
                "head 1.",
    added="You added the heads. They stand side by side, h * d features for each position.",
    averaged="You averaged over the heads. They stand side by side, h * d features for each position.",
    backwards="The last head comes first in your result.",
    along_time="You put the heads one after another in time. They stand side by side in the features.",
    first_only="Your result holds the first head only.",
)
def merge_heads_reference(x, bugs=frozenset()):
    B, h, T, d = x.shape
    if "reshaped" in bugs:
        return x.reshape(B, T, h * d)
    if "interleaved" in bugs:
        return x.permute(0, 2, 3, 1).reshape(B, T, h * d)
    if "added" in bugs or "averaged" in bugs:
        return x.sum(1) if "added" in bugs else x.mean(1)
    if "along_time" in bugs:
        return x.reshape(B, h * T, d)
    if "first_only" in bugs:
        return x[:, 0]
    if "backwards" in bugs:
        x = x.flip(1)
    return x.transpose(1, 2).reshape(B, T, h * d)


def merge_cases(generator):
    found = []
    for heads in ((2, 3), (4, 5), (1, 1)):
        h, B, T, d = uneven(generator, heads, (2, 3), (4, 7), (6, 9))
        found.append((normal(generator, B, h, T, d),))
    return found


merge_heads.compare("values", merge_cases, points=3)
merge_heads.gradient("gradient", merge_cases, wrt=(0,), points=1)
merge_heads.unchanged(merge_cases)
merge_heads.hint(
    "The shape is right and the values are not.",
    "Before two axes can be joined they must stand next to each other: (B, h, T, d) to (B, T, h, d) first, then "
    "reshape.")
merge_heads.hint(
    "view complains about strides.",
    "transpose moves no number, it only renames the axes, and view cannot join what does not lie together. reshape, or "
    "flatten, copies where it has to.")
merge_heads.hint(
    "You want to be sure.",
    "merge_heads(split_heads(x, h)) is x, for every h that divides the width.")

# Who peeks?

find_peeking = Exercise(
    "find_peeking", chapter="13", title="Find who peeks",
    contract="layer is a function: for x (B, T, d) it returns (B, T, e), each sequence of the batch by itself; no "
             "gradient comes through. Return a sorted list of the pairs (i, j), counted from 0, with j > i, for "
             "which position i of the result depends on position j of x, for some x. For a causal layer the list is "
             "empty.",
    points=["causal-mask"], difficulty=4, minutes=35, kind="find")


@find_peeking.reference(
    at_zero="You look at the input of zeros only. Some paths open only for certain inputs, and a value of zero hides "
            "its weight: try many random ones.",
    one_feature="You change the first feature of a position only. A path may start at any of them: change the whole "
                "row.",
    itself_too="Your list holds pairs (i, i). A position may read its own token; only later ones are peeking.",
    earlier_too="Your list holds pairs with j < i. The past may be read.",
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
        other[:, j, :changed] = 2 * torch.randn(len(x), changed, generator=generator)
        reads[:, j] = (layer(other) - before).abs().amax(dim=(0, 2)) > 1e-6    # (T,): which positions noticed
    pairs = [(i, j) for i, j in reads.nonzero().tolist()]
    if "earlier_too" in bugs:
        found = [(i, j) for i, j in pairs if i != j]
    else:
        found = [(i, j) for i, j in pairs if i < j or i == j and "itself_too" in bugs]
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
    """A layer of attention; a path (i, j, sign) leads from x_j to output i where sign * x_i is above 1/2."""
    side = normal(generator, d).double()
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
        for i, j, sign in paths:
            gate = 0.3 * (sign * x[:, i, :1] - 0.5).clamp(min=0)
            out[:, i] = out[:, i] + gate * x[:, j, -1:] * side
        return out

    return layer


def peeking_cases(generator):
    T, d = uneven(generator, (5, 6), (3, 4))
    hidden = [(0, 2, 1), (1, T - 1, -1), (2, 3, -1), (0, T - 1, 1)]
    return [(suspect(generator, T, d, "sound"), T, d),
            (suspect(generator, T - 1, d, "sound", hidden[:1]), T - 1, d),
            (suspect(generator, T, d, "one too far", hidden), T, d),
            (suspect(generator, T - 2, d, "softmax first"), T - 2, d)]


@dataclass
class Pairs(Compare):
    """As Compare; the message counts what is missing from the list and what should not be in it."""

    def value_fault(self, record: Record) -> Fault | None:
        fault = super().value_fault(record)
        right = record.expected
        try:
            got = {(int(i), int(j)) for i, j in record.outcome.value}
        except (TypeError, ValueError):
            return fault and Fault("Your list should hold pairs (i, j) of whole numbers.")
        missed, extra = len({*right} - got), len(got - {*right})
        if not fault or not missed + extra:
            return fault
        return Fault(f"One of the layers has {len(right)} such pairs. Your list misses {missed} of them"
                     + (f", and holds {extra} that do not belong there." if extra else ".")
                     + (" Some paths are open for certain inputs only." if missed else ""))


find_peeking.checks.append(Pairs("values", 5, peeking_cases))
find_peeking.hint(
    "You only have a function, and gradients do not come through.",
    "Change x[:, j], leave the other positions, and see which positions of the result move. If i moves, it reads j.")
find_peeking.hint(
    "You find some pairs, not all.",
    "A path may be open only where a position has certain values. Take a batch of a few dozen random sequences, with "
    "large values of both signs, and change all features of position j. A pair counts if it shows once.")
find_peeking.hint(
    "You find pairs in a causal layer.",
    "Rounding moves results by 1e-7 or so: ask for more than 1e-6. And keep j > i only: the past and the position "
    "itself may be read.")

EXERCISES = [split_heads, merge_heads, find_peeking]
