"""The smallest set whose mass reaches p."""
from __future__ import annotations

import torch

from course_lib.exercises.decoding._shared import FINITE, Filtered
from course_lib.exercises.draws import integer, normal
from course_lib.grading.exercise import Exercise

exercise = Exercise(
    "top_p_filter", chapter="17", place=3, title="Top-p",
    contract="logits (..., V), 0 < p <= 1. In each row keep the smallest set of most likely tokens whose probabilities "
             "sum to p or more, at least one; they keep value and place, the others are -inf.",
    points=["top-p"], difficulty=3, minutes=15)


@exercise.reference(
    crossing_dropped="The token that crosses p is missing from your set. It belongs to it: without it the mass stays "
                     "below p.",
    below_p="The token that crosses p is missing from your set: without it the mass stays below p. Where the likeliest token "
            "crosses p at once, your row is empty.",
    large_negative=FINITE,
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
    if "below_p" in bugs:
        keep = mass.cumsum(-1) < p
    if "threshold" in bugs:
        keep = mass >= p
        keep[..., 0] = True
    if "sorted_twice" in bugs:
        keep = keep.gather(-1, ranked.indices)
    elif "positions" not in bugs:
        keep = torch.zeros_like(keep).scatter(-1, ranked.indices, keep)
    out = logits.masked_fill(~keep, 0.0 if "zeroed" in bugs else -1e9 if "large_negative" in bugs else -torch.inf)
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


exercise.checks.append(Filtered("values", 4, p_cases))
exercise.checks.append(Filtered("one token, and all of them", 1, narrow_cases))
exercise.unchanged(p_cases)
exercise.hint(
    "How to find the smallest set.",
    "Sort by probability, largest first, and take the cumulative sum. A token is needed if those before it do not reach "
    "p yet.")
exercise.hint(
    "Your set is one token too small, or empty.",
    "Ask about the sum *before* a token: cumsum minus its own probability. For the most likely one that is 0, so it is "
    "always kept.")
exercise.hint(
    "Your mask is in sorted order.",
    "sort returns the indices too. torch.zeros_like(mask).scatter(-1, indices, mask) puts every entry back to its place.")
