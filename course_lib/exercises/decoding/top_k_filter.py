"""The k largest logits."""
from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from course_lib.exercises.decoding._shared import FINITE, Filtered
from course_lib.exercises.draws import integer, normal
from course_lib.grading.checks import Fault, Record
from course_lib.grading.exercise import Exercise

TIES = "Of logits that tie with the k-th largest you drop some. Keep all that tie."

exercise = Exercise(
    "top_k_filter", chapter="decoding", place=2, title="Top-k",
    contract="logits (..., V). Return logits of the same shape in which the k largest of each row keep their value and "
             "place and the others are -inf. Whatever ties with the k-th largest is kept. k may exceed V.",
    points=["top-k"], difficulty=2, minutes=10)


@exercise.step
def kth_largest(logits, k):
    return logits.sort(dim=-1, descending=True).values[..., k - 1:k]


@exercise.step
def kept(logits, k):
    return logits >= kth_largest(logits, min(k, logits.shape[-1]))


@exercise.step
def filled(logits, keep):
    return logits.masked_fill(~keep, -torch.inf)


@exercise.reference()
@exercise.step
def top_k_filter_reference(logits, k):
    return filled(logits, kept(logits, k))


@exercise.misconception(filled, "You set the others to 0. A logit of 0 is a probability like any other; -inf is none.")
def zeroed(logits, keep):
    return logits.masked_fill(~keep, 0.0)


@exercise.misconception(filled, FINITE)
def large_negative(logits, keep):
    return logits.masked_fill(~keep, -1e9)


@exercise.misconception(
    top_k_filter_reference,
    "You return the k values, packed together. They have to keep their places in the vocabulary.")
def packed(logits, k):
    return logits.sort(dim=-1, descending=True).values[..., :k]


@exercise.misconception(top_k_filter_reference, "Your result is sorted. Every logit keeps its place in the vocabulary.")
def sorted_out(logits, k):
    return top_k_filter_reference.original(logits, k).sort(dim=-1, descending=True).values


@exercise.misconception(kept, "You keep the k smallest logits. Keep the largest.")
def smallest(logits, k):
    return kept.original(-logits, k)


@exercise.misconception(kept, TIES)
def ties_dropped(logits, k):
    ranked = logits.sort(dim=-1, descending=True, stable=True).indices
    return torch.zeros_like(logits, dtype=torch.bool).scatter(-1, ranked[..., :k], True)


@exercise.misconception(kept, "You keep only what is larger than the k-th largest. The k-th itself stays too.")
def strict(logits, k):
    return logits > kth_largest(logits, min(k, logits.shape[-1]))


@exercise.misconception(kth_largest, "You take the k largest of all rows together. Each row has its own.")
def whole_batch(logits, k):
    return logits.flatten().sort(descending=True).values[k - 1]


@exercise.misconception(
    top_k_filter_reference,
    "You return log-probabilities. The logits that are kept keep their value.")
def normalised(logits, k):
    return top_k_filter_reference.original(logits, k).log_softmax(-1)


@exercise.misconception(kept, "You keep one logit too many in each row: k, not k + 1.")
def one_more(logits, k):
    return kept.original(logits, k + 1)


def k_cases(generator):
    found = []
    for shape in ((integer(generator, 3, 4), 7), (2, 3, 6), (8,)):
        logits, k = normal(generator, *shape, scale=2.0), integer(generator, 2, 4)
        ranked = logits.sort(dim=-1, descending=True)
        tied = ranked.values[..., k - 1:k]                             # the (k + 1)-th becomes equal to the k-th
        if len(found) == 0:
            logits = logits.scatter(-1, ranked.indices[..., k:k + 1], tied)
        found.append((logits, k))
    square = normal(generator, 5, 5)
    return [*found, (square, 2), (square[:1].round(), 2), (torch.zeros(2, 4), 1)]


def wide_k_cases(generator):
    return [(normal(generator, 3, 5), 5 + integer(generator, 1, 4)), (normal(generator, 2, 4), 1)]


@dataclass
class Kept(Filtered):
    """As Filtered; and it knows a dropped tie whichever of the two it was, since torch.topk may take either."""

    def value_fault(self, record: Record) -> Fault | None:
        fault = super().value_fault(record)
        got, right = record.outcome.value, record.expected
        if fault and got.shape == right.shape and only_ties_differ(got, right):
            return Fault(TIES)
        return fault


def only_ties_differ(got: Tensor, right: Tensor) -> bool:
    """Whether all that is missing is some, not all, of the least logits that are kept."""
    least = right.masked_fill(right == -torch.inf, torch.inf).amin(dim=-1, keepdim=True)
    tied = right == least
    missing = tied & (got == -torch.inf)
    return torch.equal(got.masked_fill(missing, 0), right.masked_fill(missing, 0)) and not (missing == tied).all(-1).any()


exercise.checks.append(Kept("values", 3, k_cases))
exercise.checks.append(Filtered("k = 1, and k above V", 1, wide_k_cases))
exercise.unchanged(k_cases)
exercise.hint(
    "You have the k largest values, and not their places.",
    "You need only the smallest of them, logits.topk(k).values[..., -1:]. Compare every logit with it: what is at least "
    "as large stays.")
exercise.hint(
    "k larger than V raises an error.",
    "topk asks for k <= V. Then all logits stay: use min(k, V).")
