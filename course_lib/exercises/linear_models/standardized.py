"""Standardization of a training set and a test set by the training set's statistics."""
from __future__ import annotations

import torch

from course_lib.exercises.draws import integer, normal, uniform
from course_lib.grading.exercise import Exercise

exercise = Exercise(
    "standardized", chapter="linear-models", place=1, title="Standardization without leakage",
    contract="train (B, D) and test (C, D), B >= 2, C >= 1. Each feature of both sets is shifted by its mean on the training set and divided by "
             "its standard deviation on the training set, the square root of the mean squared deviation. A feature that is constant on the "
             "training set is only shifted. Return (train, test), standardized. The arguments are left as they were.",
    points=["linear-regression"], difficulty=1, minutes=10)


@exercise.step
def sources(train, test):
    """The rows whose statistics scale the training set, and those whose statistics scale the test set."""
    return train, train


@exercise.step
def center(rows):
    return rows.mean(dim=0)


@exercise.step
def scale(rows):
    return rows.std(dim=0, correction=0)


@exercise.step
def constant(rows):
    """Which features are constant. Rounding can make the deviation of a constant 1e-8 instead of 0."""
    return (rows == rows[0]).all(dim=0)


@exercise.step
def divisor(rows):
    return torch.where(constant(rows), 1.0, scale(rows))


@exercise.reference()
@exercise.step
def standardized_reference(train, test):
    return tuple((rows - center(source)) / divisor(source) for rows, source in zip((train, test), sources(train, test)))


@exercise.misconception(
    sources, "You compute the mean and the deviation on all rows, so the test set affects the training. Use the training set only.")
def pooled(train, test):
    return (torch.cat([train, test]),) * 2


@exercise.misconception(
    sources, "You standardize the test set by its own statistics. The model was trained with those of the training set, so use them for both sets.")
def each_its_own(train, test):
    return train, test


@exercise.misconception(center, "You subtract one mean of all entries. Each feature has its own mean.")
def one_mean(rows):
    return rows.mean()


@exercise.misconception(center, "You do not subtract the mean, so the features are not centered.")
def not_centered(rows):
    return torch.zeros_like(rows[0])


@exercise.misconception(scale, "You divide by the variance. Divide by its square root, the standard deviation.")
def variance(rows):
    return rows.var(dim=0, correction=0)


@exercise.misconception(scale, "Your deviation has B - 1 in the denominator. Use the mean of the squared deviations (correction=0).")
def sample_deviation(rows):
    return rows.std(dim=0)


@exercise.misconception(scale, "You divide by the range of each feature. Divide by its standard deviation.")
def value_range(rows):
    return rows.amax(dim=0) - rows.amin(dim=0)


@exercise.misconception(divisor, "You divide by 0 where a feature is constant on the training set. Divide by 1 there.")
def divided_by_zero(rows):
    return scale(rows)


def sets(generator):
    """Features of different units and means; the test set is shifted, and may have a single row."""
    cases = []
    for D, C in ((3, integer(generator, 4, 6)), (1, 2), (2, 1)):
        B, unit = integer(generator, 5, 8), uniform(generator, D, low=2, high=9)
        mean = uniform(generator, D, low=2, high=6)
        cases.append((mean + unit * normal(generator, B, D), mean + 1 + unit * normal(generator, C, D)))
    return cases


def constant_features(generator):
    """One feature is constant on the training set and not on the test set."""
    train, test = normal(generator, 6, 3, scale=3.0), normal(generator, 4, 3, scale=3.0)
    train[:, integer(generator, 0, 2)] = float(integer(generator, 1, 4))
    return [(train, test)]


exercise.compare("both sets", sets, points=3)
exercise.compare("a constant feature", constant_features, points=1)
exercise.unchanged(sets)
exercise.hint("The training set is right, but the test set is not.",
              "Store the mean and the deviation of the training set, and use the same two vectors for both sets.")
exercise.hint("Your result contains nan or inf.",
              "A constant feature has deviation 0. Replace the zeros by ones before you divide.")
