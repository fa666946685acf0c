"""The smallest set whose mass reaches p."""
from __future__ import annotations

import torch

from course_lib.exercises.decoding._shared import FINITE, Filtered
from course_lib.exercises.draws import integer, normal
from course_lib.grading.exercise import Exercise

exercise = Exercise(
    "top_p_filter", chapter="decoding", place=3, title="Top-p",
    contract="logits (..., V), 0 < p <= 1. In each row keep the smallest set of most likely tokens whose probabilities "
             "sum to p or more, at least one; they keep value and place, the others are -inf.",
    points=["top-p"], difficulty=3, minutes=15)


@exercise.step
def nucleus(mass, p):
    """The tokens before which the probabilities, from the largest down, sum to less than p."""
    return mass.cumsum(-1) - mass < p


@exercise.step
def unsorted(keep, places):
    return torch.zeros_like(keep).scatter(-1, places, keep)


@exercise.step
def filled(logits, keep):
    return logits.masked_fill(~keep, -torch.inf)


@exercise.reference()
@exercise.step
def top_p_filter_reference(logits, p):
    ranked = logits.sort(dim=-1, descending=True, stable=True)
    return filled(logits, unsorted(nucleus(ranked.values.softmax(-1), p), ranked.indices))


@exercise.misconception(
    nucleus,
    "The token that crosses p is missing from your set. It belongs to it: without it the mass stays below p.")
def crossing_dropped(mass, p):
    return with_first(mass.cumsum(-1) < p)


def with_first(keep):
    """The mask, with the first token of each row."""
    return torch.cat([torch.ones_like(keep[..., :1]), keep[..., 1:]], dim=-1)


@exercise.misconception(
    nucleus,
    "The token that crosses p is missing from your set: without it the mass stays below p. Where the most probable token crosses p at "
    "once, your row is empty.")
def below_p(mass, p):
    return mass.cumsum(-1) < p


@exercise.misconception(filled, FINITE)
def large_negative(logits, keep):
    return logits.masked_fill(~keep, -1e9)


@exercise.misconception(nucleus, "You keep one token too many. The set is complete with the token that reaches p.")
def one_more(mass, p):
    keep = nucleus.original(mass, p)
    return torch.cat([torch.ones_like(keep[..., :1]), keep[..., :-1]], dim=-1)


@exercise.misconception(
    nucleus,
    "You keep the tokens whose own probability is at least p. The sum over the kept tokens has to reach p.")
def threshold(mass, p):
    return with_first(mass >= p)


@exercise.misconception(
    unsorted,
    "Your mask is in sorted order, and you apply it to logits in the order of the vocabulary: the tokens that you keep are not the "
    "most probable ones.")
def positions(keep, places):
    return keep


@exercise.misconception(
    unsorted,
    "Your mask is taken back to the vocabulary in the wrong direction: gather by the sorted indices sorts a second time, scatter "
    "puts each entry at the place of its token.")
def sorted_twice(keep, places):
    return keep.gather(-1, places)


@exercise.misconception(
    top_p_filter_reference,
    "You return the logits in sorted order. Index v of a row belongs to token v, so what is kept has to be put back in its place.")
def left_sorted(logits, p):
    ranked = logits.sort(dim=-1, descending=True, stable=True).values
    return filled(ranked, nucleus(ranked.softmax(-1), p))


def p_cases(generator):
    cases = []
    for shape, p in (((4, 7), 0.6), ((2, 3, 6), 0.85), ((9,), 0.4)):
        while True:                                                    # no sum hangs on the last digits
            logits = normal(generator, *shape, scale=1.2)
            ranked = logits.softmax(-1).sort(dim=-1, descending=True).values
            sums = ranked.cumsum(-1)
            if (sums - p).abs().min() > 1e-3 and ranked[..., 0].min() < p and ((sums < p).sum(-1) + 1).max() > 2:
                break
        cases.append((logits, p))
    two = normal(generator, 5)
    two[integer(generator, 0, 1)], two[integer(generator, 2, 4)] = 6.0, 5.7       # each of them holds more than p
    return [*cases, (two, 0.3)]


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
