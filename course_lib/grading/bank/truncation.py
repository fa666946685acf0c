"""Chapter 17: the filters before a draw, top-k and top-p."""
from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from course_lib.grading.bank.draws import integer, normal
from course_lib.grading.checks import Compare, Fault, Record
from course_lib.grading.exercise import Exercise

TIES = "Of logits that tie with the k-th largest you drop some. Keep all that tie."

top_k_filter = Exercise(
    "top_k_filter", chapter="17", title="Top-k",
    contract="logits (..., V). Return logits of the same shape in which the k largest of each row keep their value and "
             "place and the others are -inf. Whatever ties with the k-th largest is kept. k may exceed V.",
    points=["top-k"], difficulty=2, minutes=15)


@top_k_filter.reference(
    zeroed="You set the others to 0. A logit of 0 is a probability like any other; -inf is none.",
    packed="You return the k values, packed together. They have to keep their places in the vocabulary.",
    sorted_out="Your result is sorted. Every logit keeps its place in the vocabulary.",
    smallest="You keep the k smallest logits. Keep the largest.",
    ties_dropped=TIES,
    strict="You keep only what is larger than the k-th largest. The k-th itself stays too.",
    whole_batch="You take the k largest of all rows together. Each row has its own.",
    absolute="You compare the sizes of the logits without their signs. A large negative logit is unlikely.",
    normalised="You return log-probabilities. The logits that are kept keep their value.",
    one_more="You keep one logit too many in each row: k, not k + 1.",
)
def top_k_filter_reference(logits, k, bugs=frozenset()):
    V = logits.shape[-1]
    k = min(k + ("one_more" in bugs), V)
    key = -logits if "smallest" in bugs else logits.abs() if "absolute" in bugs else logits
    ranked = key.sort(dim=-1, descending=True, stable=True)
    if "whole_batch" in bugs:
        least = key.flatten().sort(descending=True).values[k - 1]
    else:
        least = ranked.values[..., k - 1:k]
    keep = key > least if "strict" in bugs else key >= least
    if "ties_dropped" in bugs:
        keep = torch.zeros_like(keep).scatter(-1, ranked.indices[..., :k], True)
    if "packed" in bugs:
        return ranked.values[..., :k]
    out = logits.masked_fill(~keep, 0.0 if "zeroed" in bugs else -torch.inf)
    if "normalised" in bugs:
        out = out.log_softmax(-1)
    return out.sort(dim=-1, descending=True).values if "sorted_out" in bugs else out


def k_cases(generator):
    found = []
    for shape in ((integer(generator, 3, 4), 7), (2, 3, 6), (8,)):
        logits, k = normal(generator, *shape, scale=2.0), integer(generator, 2, 4)
        ranked = logits.sort(dim=-1, descending=True)
        tied = ranked.values[..., k - 1:k]                             # the (k + 1)-th becomes equal to the k-th
        if len(found) == 0:
            logits = logits.scatter(-1, ranked.indices[..., k:k + 1], tied)
        found.append((logits, k))
    return found


def wide_k_cases(generator):
    return [(normal(generator, 3, 5), 5 + integer(generator, 1, 4)), (normal(generator, 2, 4), 1)]


@dataclass
class Kept(Compare):
    """As Compare; and it knows a dropped tie whichever of the two it was, since torch.topk may take either."""

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


top_k_filter.checks.append(Kept("values", 3, k_cases))
top_k_filter.compare("k = 1, and k above V", wide_k_cases, points=1)
top_k_filter.unchanged(k_cases)
top_k_filter.hint(
    "You have the k largest values, and not their places.",
    "You need only the smallest of them, logits.topk(k).values[..., -1:]. Compare every logit with it: what is at least "
    "as large stays.")
top_k_filter.hint(
    "k larger than V raises an error.",
    "topk asks for k <= V. Then all logits stay: use min(k, V).")

top_p_filter = Exercise(
    "top_p_filter", chapter="17", title="Top-p",
    contract="logits (..., V), 0 < p <= 1. In each row keep the smallest set of most likely tokens whose probabilities "
             "sum to p or more, at least one; they keep value and place, the others are -inf.",
    points=["top-p"], difficulty=3, minutes=25)


@top_p_filter.reference(
    crossing_dropped="The token that crosses p is missing from your set. It belongs to it: without it the mass stays "
                     "below p.",
    one_more="You keep one token too many. The set is complete with the token that reaches p.",
    positions="You filter in sorted order and forget to go back: the tokens that you keep are not the likely ones.",
    sorted_twice="Your answers are taken back to the vocabulary in the wrong direction: gather by the sorted indices sorts a "
                 "second time, scatter puts each at the place of its token.",
    sorted_out="Your result is sorted. Every logit keeps its place in the vocabulary.",
    least_likely="You gather from the least likely token up. Begin with the most likely.",
    threshold="You keep the tokens whose own probability is at least p. The sum over the kept is to reach p.",
    raw_sums="You add logits. They are no probabilities before the softmax.",
    zeroed="You set the others to 0. A logit of 0 is a probability like any other; -inf is none.",
    normalised="You return log-probabilities. The logits that are kept keep their value.",
    whole_batch="Your softmax or your sum runs over the whole batch. Each row has its own.",
)
def top_p_filter_reference(logits, p, bugs=frozenset()):
    ranked = logits.sort(dim=-1, descending="least_likely" not in bugs, stable=True)
    mass = ranked.values if "raw_sums" in bugs else ranked.values.softmax(-1)
    if "whole_batch" in bugs:
        mass = mass / mass.flatten(0, -2).shape[0] if mass.ndim > 1 else mass
    before = mass.cumsum(-1) - mass                                    # what the likelier ones hold together
    keep = before < p
    if "crossing_dropped" in bugs:
        keep = mass.cumsum(-1) < p
    if "one_more" in bugs:
        keep = torch.cat([torch.ones_like(keep[..., :1]), keep[..., :-1]], dim=-1)
    keep[..., 0] = True
    if "threshold" in bugs:
        keep = mass >= p
        keep[..., 0] = True
    if "sorted_twice" in bugs:
        keep = keep.gather(-1, ranked.indices)
    elif "positions" not in bugs:
        keep = torch.zeros_like(keep).scatter(-1, ranked.indices, keep)
    out = logits.masked_fill(~keep, 0.0 if "zeroed" in bugs else -torch.inf)
    if "normalised" in bugs:
        out = out.log_softmax(-1)
    return out.sort(dim=-1, descending=True).values if "sorted_out" in bugs else out


def p_cases(generator):
    found = []
    for shape, p in (((4, 7), 0.6), ((2, 3, 6), 0.85), ((9,), 0.4)):
        while True:                                                    # no sum hangs on the last digits
            logits = normal(generator, *shape, scale=1.2)
            ranked = logits.softmax(-1).sort(dim=-1, descending=True).values
            sums = ranked.cumsum(-1)
            if (sums - p).abs().min() > 1e-3 and ranked[..., 0].min() < p and ((sums < p).sum(-1) + 1).max() > 2:
                break
        found.append((logits, p))
    two = normal(generator, 5)
    two[integer(generator, 0, 1)], two[integer(generator, 2, 4)] = 6.0, 5.7       # each of them holds more than p
    return [*found, (two, 0.3)]


def narrow_cases(generator):
    """One token holds more than p; and all of them are needed."""
    peaked = normal(generator, 3, 5)
    peaked[torch.arange(3), torch.tensor([2, 0, 4])] += 6.0
    return [(peaked, 0.2), (normal(generator, 2, 6), 0.9999)]


top_p_filter.compare("values", p_cases, points=4)
top_p_filter.compare("one token, and all of them", narrow_cases, points=1)
top_p_filter.unchanged(p_cases)
top_p_filter.hint(
    "You do not know how to find the smallest set.",
    "Sort by probability, largest first, and take the cumulative sum. A token is needed if those before it do not reach "
    "p yet.")
top_p_filter.hint(
    "Your set is one token too small, or empty.",
    "Ask about the sum *before* a token: cumsum minus its own probability. For the most likely one that is 0, so it is "
    "always kept.")
top_p_filter.hint(
    "Your mask is in sorted order.",
    "sort returns the indices too. torch.zeros_like(mask).scatter(-1, indices, mask) puts every entry back to its place.")
