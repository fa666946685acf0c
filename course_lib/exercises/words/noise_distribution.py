"""The distribution from which negatives are drawn."""
from __future__ import annotations

import torch

from course_lib.exercises.draws import integer
from course_lib.grading.exercise.exercise import Exercise

exercise = Exercise(
    "noise_distribution", chapter="10", place=4, title="From counts to noise",
    contract="counts (V,) says how often each word occurs: whole numbers, integers or floats, some of them 0 perhaps. Return (V,) "
             "probabilities, floats, proportional to counts to the power 0.75.",
    points=["word2vec"], difficulty=1, minutes=10)


@exercise.reference(
    power_one="Your probabilities are the plain shares. The counts are raised to the power 0.75 first.",
    alike="All words have the same probability.",
    root="Your power is 0.5. It is 0.75.",
    after_the_shares="You raise the shares to the power and stop there: they no longer sum to one.",
    not_normalised="Your numbers do not sum to one: divide by their sum.",
    over_the_counts="You divide by the sum of the counts. Divide by the sum of the powers.",
    softmax="You take a softmax: it turns a difference of counts into a ratio. Divide by the sum.",
    plus_one="You add 1 to the counts: a word that never occurs then is drawn.",
)
def noise_distribution_reference(counts, bugs=frozenset()):
    counts = counts.double() + ("plus_one" in bugs)
    if "alike" in bugs:
        return torch.full_like(counts, 1 / len(counts))
    power = 1.0 if "power_one" in bugs else 0.5 if "root" in bugs else 0.75
    weights = counts**power
    if "after_the_shares" in bugs:
        return (counts / counts.sum())**power
    if "not_normalised" in bugs:
        return weights
    if "over_the_counts" in bugs:
        return weights / counts.sum()
    return weights.log_softmax(dim=0).exp() if "softmax" in bugs else weights / weights.sum()


def count_cases(generator):
    """Integers and floats, from 0 to ten thousands."""
    cases = []
    for number in range(4):
        V = integer(generator, 4, 7) if number % 2 else 3
        counts = torch.randint(1, 10 ** (number + 2), (V,), generator=generator)
        counts[0], counts[1] = 3 * counts[2] + 5, 0
        cases.append((counts if number % 2 else counts.float(),))
    return cases


exercise.compare("values", count_cases, points=2)
exercise.unchanged(count_cases)
exercise.hint(
    "Your probabilities do not sum to one.",
    "Two steps, in this order: the power of each count, then each divided by the sum of all of them.")
exercise.hint(
    "Integers come back, or an error about integers.",
    "counts.double() makes floats of them.")
