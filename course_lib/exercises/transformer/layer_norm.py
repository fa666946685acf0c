"""Layer norm."""
from __future__ import annotations

import torch

from course_lib.exercises.draws import integer, normal, uneven, uniform
from course_lib.grading.exercise import Exercise

exercise = Exercise(
    "layer_norm", chapter="transformer", place=1, title="Layer norm",
    contract="x (..., d) of any number of axes, gamma (d,), beta (d,), eps. Return gamma * (x - mean) / "
             "sqrt(variance + eps) + beta, mean and population variance being those of the last axis. Same shape as x.",
    points=["layer-norm"], difficulty=2, minutes=10, forbid=("F.layer_norm",))


@exercise.step
def moments(x):
    """Mean and variance of each row, (..., 1)."""
    return x.mean(dim=-1, keepdim=True), x.var(dim=-1, keepdim=True, correction=0)


@exercise.step
def root(variance, eps):
    return (variance + eps).sqrt()


@exercise.step
def normalized(x, eps):
    mean, variance = moments(x)
    return (x - mean) / root(variance, eps)


@exercise.step
def scaled(rows, gamma, beta):
    return gamma * rows + beta


@exercise.reference()
def layer_norm_reference(x, gamma, beta, eps=1e-5):
    return scaled(normalized(x, eps), gamma, beta)


@exercise.misconception(moments, "Your variance divides by d - 1. Layer norm divides by d.")
def sample_variance(x):
    return x.mean(dim=-1, keepdim=True), x.var(dim=-1, keepdim=True)


@exercise.misconception(
    root,
    "Your eps is added to the standard deviation. It stands inside the root, beside the variance.")
def eps_outside(variance, eps):
    return variance.clamp(min=1e-30).sqrt() + eps                              # its gradient at 0 is that of torch.std, 0


@exercise.misconception(root, "You divide by the variance. Divide by its root.")
def no_root(variance, eps):
    return variance + eps


@exercise.misconception(root, "Your eps is missing: a row whose entries are all alike gives NaN instead of beta.")
def no_eps(variance, eps):
    return variance.sqrt()


@exercise.misconception(
    root,
    "Your result does not depend on eps: a number of its own, such as torch's 1e-5, stands in its place.")
def own_eps(variance, eps):
    return (variance + 1e-5).sqrt()


@exercise.misconception(
    moments,
    "Your mean is taken over the first axis: the rows are mixed. Each row is normalised by itself.")
def first_axis(x):
    return x.mean(dim=0, keepdim=True), x.var(dim=0, keepdim=True, correction=0)


@exercise.misconception(moments, "You take one mean and one variance of the whole tensor. Each row has its own.")
def whole(x):
    return x.mean(), x.var(correction=0)


@exercise.misconception(normalized, "You do not subtract the mean. That is RMSNorm, or a variance alone.")
def not_centred(x, eps):
    return x / root(moments(x)[1], eps)


@exercise.misconception(
    scaled,
    "Your gamma multiplies beta too. It multiplies the normalised row; beta is added afterwards.")
def beta_scaled(rows, gamma, beta):
    return gamma * (rows + beta)


@exercise.misconception(
    moments,
    "The values are right, but no gradient passes through your mean and variance. They are functions of x.")
def detached(x):
    return tuple(one.detach() for one in moments.original(x))


def layer_norm_cases(generator):
    found = []
    for axes in (1, 2, 0, None, None):
        sizes = [4, 4] if len(found) == 3 else [1, 3, 1] if axes is None else uneven(generator, (2, 5), (3, 7), (4, 9))[2 - axes:]
        d = sizes[-1]
        x = normal(generator, *sizes, scale=2.0) + uniform(generator, 1, low=-3.0, high=3.0)
        found.append((x, 1 + normal(generator, d), normal(generator, d), float(uniform(generator, 1, low=0.05, high=0.4))))
    return found


def flat_row_cases(generator):
    """A row whose entries are all alike, and the default eps."""
    d = integer(generator, 4, 7)
    x = torch.cat([torch.full((1, d), 2.5), normal(generator, 2, d) + torch.arange(d)[torch.randperm(d, generator=generator)]])
    return [(x, 1 + normal(generator, d), normal(generator, d))]


def value_cases(generator):
    """With such a row too, so that an eps that is left out can be told from one that is another."""
    return [*layer_norm_cases(generator), (*flat_row_cases(generator)[0], float(uniform(generator, 1, low=0.05, high=0.4)))]


exercise.compare("values", value_cases, points=4)
exercise.compare("a row that is all alike", flat_row_cases, points=1)
exercise.gradient("gradient", value_cases, wrt=(0, 1, 2), points=1)
exercise.unchanged(layer_norm_cases)
exercise.hint(
    "The shapes do not fit, or fit by accident.",
    "Take the mean with dim=-1 and keepdim=True: (..., 1) broadcasts against (..., d), whatever the other axes are.")
exercise.hint(
    "Your values are a little too small.",
    "torch.var divides by d - 1 unless you pass correction=0. Or square the centred row and take its mean.")
exercise.hint(
    "Only the row of equal entries fails.",
    "Its variance is 0, so eps alone keeps the root away from 0: (variance + eps).sqrt().")
