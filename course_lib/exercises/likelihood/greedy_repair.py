"""A repair by greedy decoding, corrected."""
from __future__ import annotations

from itertools import cycle

import torch

from course_lib.exercises.draws import integer, normal
from course_lib.exercises.remembered import with_rule
from course_lib.exercises.telling import telling
from course_lib.grading.exercise import Exercise

exercise = Exercise(
    "greedy_repair", chapter="likelihood", place=3, title="Mend a repair",
    contract="next_log_probs takes a list of values and returns (K,), the log-probabilities of the value that follows them. x is "
             "a list of whole numbers in 0..K - 1. Return a new list of the same length: entry i is the most probable of the "
             "values within eps of x[i] and within 0..K - 1, given the entries before it in the new list. Of equally probable "
             "values take the nearest to x[i], the lower one if two are as near. x stays as it is.",
    points=["pixeldefend"], difficulty=3, minutes=25, kind="find")


@exercise.step
def prefix(repaired, x):
    """What the next value is predicted from."""
    return list(repaired)


@exercise.step
def candidates(came, eps, K, repaired):
    """The values within eps of the one that came."""
    return list(range(max(0, came - eps), min(K - 1, came + eps) + 1))


@exercise.step
def chosen(log_p, values, came):
    """The most probable value, of equally probable ones the nearest; probabilities are compared to six digits."""
    return max(values, key=lambda v: (round(float(log_p[v]), 6), -abs(v - came)))


@exercise.reference()
def greedy_repair_reference(next_log_probs, x, eps):
    repaired = []
    for came in x:
        log_p = next_log_probs(prefix(repaired, x))
        repaired.append(chosen(log_p, candidates(came, eps, len(log_p), repaired), came))
    return repaired


@exercise.misconception(
    prefix,
    "You predict from the values that came. They may be the attacker's: predict from those that you have repaired.")
def reads_what_came(repaired, x):
    return list(x[:len(repaired)])


@exercise.misconception(
    candidates,
    "Your box leaves the range: a negative index counts from the end of the list. Keep to 0..K - 1.")
def wraps(came, eps, K, repaired):
    return list(range(max(-K, came - eps), min(K - 1, came + eps) + 1))


@exercise.misconception(candidates, "Your box ends one value too early: x[i] + eps belongs to it.")
def no_upper_end(came, eps, K, repaired):
    return [v for v in candidates.original(came, eps, K, repaired) if v < came + eps] or [came]


@exercise.misconception(candidates, "Your box is around the value that was repaired last. It is around x[i].")
def wanders(came, eps, K, repaired):
    return candidates.original(repaired[-1] if repaired else came, eps, K, repaired)


@exercise.misconception(
    chosen,
    "You take the most probable of all values and then move it into the box. The most probable *within the box* may be another one.")
def clipped_after(log_p, values, came):
    return min(values[-1], max(values[0], int(log_p.argmax())))


@exercise.misconception(chosen, "Of equally probable values you take the first. The nearest to x[i] is asked for.")
def far_ties(log_p, values, came):
    return max(values, key=lambda v: round(float(log_p[v]), 6))


@exercise.misconception(chosen, "You take the least probable value of the box.")
def least(log_p, values, came):
    return min(values, key=lambda v: (round(float(log_p[v]), 6), abs(v - came)))


@exercise.misconception(
    chosen,
    "You change a value only if it is less probable than 1 / K. The most probable in the box is always taken.")
def stays_if_likely(log_p, values, came):
    return came if float(log_p[came].exp()) >= 1 / len(log_p) else chosen.original(log_p, values, came)


RULE = "next_log_probs takes a list of the values so far, whole numbers from 0 to {}."


def chain(generator, K):
    """A model in which the next value depends on the last two."""
    table = normal(generator, K, K, K, scale=2.0).log_softmax(dim=-1)
    return with_rule(RULE.format(K - 1), lambda before: table[([0, 0, *before])[-2], ([0, 0, *before])[-1]])


def lattice(generator, K):
    """A model of whole numbers as logits: many values are equally probable."""
    table = torch.randint(0, 3, (K, K), generator=generator).float().log_softmax(dim=-1)
    return with_rule(RULE.format(K - 1), lambda before: table[([0, *before])[-1]])


def lists_to_repair(generator):
    """Models with and without ties, until each way of going wrong gives another list, and no two the same."""
    kinds = cycle([chain, lattice])

    def draw():
        K, eps = integer(generator, 6, 8), integer(generator, 1, 2)
        return next(kinds)(generator, K), torch.randint(K, (integer(generator, 8, 10),), generator=generator).tolist(), eps

    found = telling(draw, exercise.solve, exercise.misconceptions)
    model, x, _ = found[0]
    return [*found, (model, x, 0), (model, x, 20), (model, [], 1), (lambda before: torch.tensor([0.4, 0.2, 0.4]).log(), [1], 1)]


exercise.compare("values", lists_to_repair, points=5)
exercise.unchanged(lists_to_repair)
exercise.hint(
    "You do not see the first fault.",
    "Follow the second entry by hand. What does the model read when it is predicted, and what should it read?")
exercise.hint(
    "Your values stay within the box and are not the right ones.",
    "Compare the probabilities of the values in the box only: range(max(0, x[i] - eps), min(K - 1, x[i] + eps) + 1).")
exercise.hint(
    "Only a few entries differ.",
    "Where two values are equally probable, the nearer one is asked for: a key with two parts, the log-probability and minus the "
    "distance.")
