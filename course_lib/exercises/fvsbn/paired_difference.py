"""The paired difference of two models and its standard error."""
from __future__ import annotations

import math

import torch

from course_lib.exercises.draws import integer, normal
from course_lib.grading.exercise import Exercise

exercise = Exercise(
    "paired_difference", chapter="fvsbn", place=6, title="The paired difference of two models",
    contract="a and b (N,): the losses of two models on the same N test images, in the same order. Return (mean, error), two numbers: the mean of a - b "
             "and its standard error s / sqrt(N), where s is the standard deviation of the N differences with N - 1 in the denominator. With N = 1 the "
             "standard error is not defined; return NaN for it.",
    points=["fvsbn"], difficulty=1, minutes=10)


@exercise.step
def differences(a, b):
    return a - b


@exercise.step
def variance(a, b):
    """Of one item."""
    return differences(a, b).var()


@exercise.step
def error(variance, N):
    return math.sqrt(variance / N)


@exercise.step
def single():
    return math.nan


@exercise.reference()
def paired_difference_reference(a, b):
    d = differences(a, b).double()
    return d.mean().item(), single() if len(d) == 1 else error(variance(a.double(), b.double()).item(), len(d))


@exercise.misconception(differences, "Your difference has the wrong sign. Subtract the losses of the second model from the losses of the first model.")
def exchanged(a, b):
    return b - a


@exercise.misconception(differences, "You take absolute values of the differences. Their signs show which model is better on an image.")
def absolute(a, b):
    return (a - b).abs()


@exercise.misconception(
    variance,
    "Your standard error is computed as if the two models had different test images: you add the variances of a and of b. Compute the variance of the "
    "differences a - b, which contains the correlation of the two losses.")
def unpaired(a, b):
    return a.var() + b.var()


@exercise.misconception(variance, "You divide the sum of squares by N instead of N - 1, so your standard deviation is too small on average.")
def biased(a, b):
    return (a - b).var(unbiased=False)


@exercise.misconception(variance, "You compute the standard error of the first model's loss. Compute the standard error of the mean difference.")
def first_model(a, b):
    return a.var()


@exercise.misconception(error, "You return the standard deviation of a single difference. The standard error of their mean is smaller by the factor sqrt(N).")
def deviation(variance, N):
    return math.sqrt(variance)


@exercise.misconception(error, "You divide the standard deviation by N. The standard error of the mean is s / sqrt(N).")
def by_count(variance, N):
    return math.sqrt(variance) / N


@exercise.misconception(error, "You return the squared standard error. Take the square root.")
def squared(variance, N):
    return variance / N


@exercise.misconception(single, "With one item you return the standard error 0, as if the difference were exact. One difference does not show how much differences vary; return NaN.")
def certain():
    return 0.0


def loss_cases(generator):
    """Losses that are positively correlated, with differences of both signs; few images, so that N - 1 and N differ."""
    cases = []
    for low, high in ((5, 8), (12, 20), (2, 2), (40, 60)):
        N = integer(generator, low, high)
        image = 3 * normal(generator, N)
        shift = (0.4 + torch.rand(1, generator=generator)) * (1 if len(cases) % 2 else -1)
        cases.append((image + normal(generator, N), image + normal(generator, N) + shift))
    return cases


def one_item(generator):
    return [(normal(generator, 1, scale=3.0), normal(generator, 1, scale=3.0))]


exercise.compare("mean and standard error", loss_cases, points=4)
exercise.compare("one item", one_item, points=1)
exercise.unchanged(loss_cases)
exercise.hint(
    "You do not know how to begin.",
    "Compute the N differences d = a - b first. The mean and the standard error are computed from d alone.")
exercise.hint(
    "Your standard error is too large or too small by a factor.",
    "d.std() divides by N - 1. Divide this standard deviation by the square root of N.")
exercise.hint(
    "The case of one item fails.",
    "For N = 1 torch's std() is NaN, because N - 1 is 0, and it prints a warning. You can also test for this case and return math.nan.")
