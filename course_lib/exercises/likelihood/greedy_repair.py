"""A repair by greedy decoding, mended."""
from __future__ import annotations

from itertools import cycle

import torch

from course_lib.exercises.draws import integer, normal
from course_lib.exercises.telling import telling
from course_lib.grading.exercise import Exercise

exercise = Exercise(
    "greedy_repair", chapter="09", place=3, title="Mend a repair",
    contract="next_log_probs takes a list of values and returns (K,), the log-probabilities of the value that follows them. x is "
             "a list of whole numbers in 0..K - 1. Return a new list of the same length: entry i is the most probable of the "
             "values within eps of x[i] and within 0..K - 1, given the entries before it in the new list. Of equally probable "
             "values take the nearest to x[i], the lower one if two are as near. x stays as it is.",
    points=["pixeldefend"], difficulty=3, minutes=25, kind="find")


@exercise.reference(
    reads_what_came="You predict from the values that came. They may be the attacker's: predict from those that you have "
                    "repaired.",
    clipped_after="You take the most probable of all values and then move it into the box. The most probable *within the box* may "
                  "be another one.",
    wraps="Your box leaves the range: a negative index counts from the end of the list. Keep to 0..K - 1.",
    no_upper_end="Your box ends one value too early: x[i] + eps belongs to it.",
    wanders="Your box is around the value that was repaired last. It is around x[i].",
    far_ties="Of equally probable values you take the first. The nearest to x[i] is asked for.",
    least="You take the least probable value of the box.",
    stays_if_likely="You change a value only if it is less probable than 1 / K. The most probable in the box is taken always.",
)
def greedy_repair_reference(next_log_probs, x, eps, bugs=frozenset()):
    repaired = []
    for i, came in enumerate(x):
        log_p = next_log_probs(list(x[:i]) if "reads_what_came" in bugs else list(repaired))
        K = len(log_p)
        middle = repaired[-1] if "wanders" in bugs and repaired else came
        low, high = max(0, middle - eps), min(K - 1, middle + eps)
        if "wraps" in bugs:
            low = max(-K, middle - eps)
        if "no_upper_end" in bugs:
            high = max(low, high - (middle + eps == high))
        values = list(range(low, high + 1))
        if "clipped_after" in bugs:
            values = [min(high, max(low, int(log_p.argmax())))]
        sign = -1 if "least" in bugs else 1
        ties = 0 if "far_ties" in bugs else 1
        best = max(values, key=lambda v: (sign * round(float(log_p[v]), 6), -ties * abs(v - came)))
        if "stays_if_likely" in bugs and float(log_p[came].exp()) >= 1 / K:
            best = came
        repaired.append(best)
    return repaired


FAULTS = ["reads_what_came", "clipped_after", "wraps", "no_upper_end", "wanders", "far_ties", "least", "stays_if_likely"]


def chain(generator, K):
    """A model in which the next value depends on the last two."""
    table = normal(generator, K, K, K, scale=2.0).log_softmax(dim=-1)
    return lambda before: table[([0, 0, *before])[-2], ([0, 0, *before])[-1]]


def lattice(generator, K):
    """A model of whole numbers as logits: many values are equally probable."""
    table = torch.randint(0, 3, (K, K), generator=generator).float().log_softmax(dim=-1)
    return lambda before: table[([0, *before])[-1]]


def lists_to_repair(generator):
    """Models with and without ties, until each way of going wrong gives another list, and no two the same."""
    kinds = cycle([chain, lattice])

    def draw():
        K, eps = integer(generator, 6, 8), integer(generator, 1, 2)
        return next(kinds)(generator, K), torch.randint(K, (integer(generator, 8, 10),), generator=generator).tolist(), eps

    found = telling(draw, greedy_repair_reference, FAULTS)
    model, x, _ = found[0]
    return [*found, (model, x, 0), (model, x, 20), (model, [], 1)]


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
