"""The distribution from which negatives are drawn."""
from __future__ import annotations

import torch

from course_lib.exercises.draws import integer
from course_lib.grading.exercise import Exercise

exercise = Exercise(
    "noise_distribution", chapter="word-vectors", place=1, title="From counts to noise",
    contract="counts (V,) says how often each word occurs: whole numbers, integers or floats, some of them 0 perhaps. Return (V,) "
             "probabilities, floats, proportional to counts to the power 0.75.",
    points=["word2vec"], difficulty=1, minutes=10)


@exercise.step
def powers(counts):
    return counts ** 0.75


@exercise.step
def shares(weights, counts):
    return weights / weights.sum()


@exercise.step
def noise(counts):
    return shares(powers(counts), counts)


@exercise.reference()
def noise_distribution_reference(counts):
    return noise(counts.double())


@exercise.misconception(
    powers,
    "Your probabilities are the plain shares. The counts are raised to the power 0.75 first.")
def power_one(counts):
    return counts


@exercise.misconception(powers, "All words have the same probability.")
def alike(counts):
    return torch.ones_like(counts)


@exercise.misconception(powers, "Your power is 0.5. It is 0.75.")
def root(counts):
    return counts.sqrt()


@exercise.misconception(noise, "You raise the shares to the power and stop there: they no longer sum to one.")
def after_the_shares(counts):
    return powers(counts / counts.sum())


@exercise.misconception(shares, "Your numbers do not sum to one: divide by their sum.")
def not_normalised(weights, counts):
    return weights


@exercise.misconception(shares, "You divide by the sum of the counts. Divide by the sum of the powers.")
def over_the_counts(weights, counts):
    return weights / counts.sum()


@exercise.misconception(shares, "You take a softmax: it turns a difference of counts into a ratio. Divide by the sum.")
def softmax(weights, counts):
    return weights.softmax(dim=0)


@exercise.misconception(noise, "You add 1 to the counts: a word that never occurs then is drawn.")
def plus_one(counts):
    return noise.original(counts + 1)


@exercise.misconception(
    powers,
    "You use the count 1 for a word that never occurs, so it has a positive probability. Its count is 0, and 0 to the "
    "power 0.75 is 0.")
def zero_as_one(counts):
    return counts.clamp(min=1) ** 0.75


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
