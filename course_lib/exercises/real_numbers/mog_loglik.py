"""The likelihood of a mixture of Gaussians."""
from __future__ import annotations

import math

import torch

from course_lib.exercises.draws import integer, normal, uneven, uniform
from course_lib.grading.exercise import Exercise

exercise = Exercise(
    "mog_loglik", chapter="real-numbers", place=1, title="The log-density of a mixture of Gaussians",
    contract="x (B,); logits, mu, log_sigma (B, K), one mixture for each row. With pi = softmax(logits) and "
             "sigma = exp(log_sigma), return ln sum_j pi_j N(x; mu_j, sigma_j^2), shape (B,). It must be finite far from "
             "every mean.",
    points=["rnade"], difficulty=3, minutes=20, forbid=("torch.distributions.MixtureSameFamily",))


@exercise.step
def log_weights(logits):
    return logits.log_softmax(dim=1)


@exercise.step
def log_normal(x, mu, log_sigma):
    """ln N(x; mu_j, sigma_j^2) of every component, (B, K)."""
    z = (x[:, None] - mu) / log_sigma.exp()
    return -z ** 2 / 2 - log_sigma - math.log(2 * math.pi) / 2


@exercise.step
def log_mixture(log_pi, log_densities):
    return torch.logsumexp(log_pi + log_densities, dim=1)


@exercise.reference()
def mog_loglik_reference(x, logits, mu, log_sigma):
    return log_mixture(log_weights(logits), log_normal(x, mu, log_sigma))


@exercise.misconception(log_weights, "You add the densities without their weights. The area is then K, not 1.")
def no_weights(logits):
    return torch.zeros_like(logits)


@exercise.misconception(
    log_weights,
    "Your weights are the exponentials of the logits, which do not sum to one. Normalize them with log_softmax.")
def raw_logits(logits):
    return logits


@exercise.misconception(
    log_weights,
    "You add the weights to the logarithms of the densities. Their logarithms are added: ln pi + ln N.")
def probabilities(logits):
    return logits.softmax(dim=1)


@exercise.misconception(
    log_normal,
    "You use exp(log_sigma) as the variance. It is the standard deviation; the variance is its square.")
def variance(x, mu, log_sigma):
    return log_normal.original(x, mu, log_sigma / 2)


@exercise.misconception(log_normal, "You add log sigma. The Gaussian is divided by sigma, so it is subtracted.")
def plus_sigma(x, mu, log_sigma):
    return log_normal.original(x, mu, log_sigma) + 2 * log_sigma


@exercise.misconception(log_normal, "The factor 1 / sigma of the Gaussian is missing: narrow components must be higher.")
def no_sigma(x, mu, log_sigma):
    return log_normal.original(x, mu, log_sigma) + log_sigma


@exercise.misconception(
    log_mixture,
    "You average the logarithms of the densities. The mixture is the logarithm of the average: log-sum-exp.")
def mean_of_logs(log_pi, log_densities):
    return (log_pi.exp() * log_densities).sum(dim=1)


@exercise.misconception(
    log_mixture,
    "Far from every mean your result is minus infinity, because all exponentials have become 0. Use log-sum-exp.")
def literal(log_pi, log_densities):
    return (log_pi + log_densities).exp().sum(dim=1).log()


def mixtures(generator, B: int, K: int, spread: float = 1.5):
    mu = normal(generator, B, K, scale=2.0)
    x = mu.mean(dim=1) + normal(generator, B, scale=spread)
    return x, normal(generator, B, K), mu, normal(generator, B, K, scale=0.6)


def mog_cases(generator):
    shapes = [uneven(generator, (4, 6), (3, 5)), uneven(generator, (2, 4), (5, 7)), [1, integer(generator, 3, 5)],
              [integer(generator, 3, 5), 1]]
    return [mixtures(generator, *shape) for shape in shapes]


def far_cases(generator, distance: float = 80):
    x, logits, mu, log_sigma = mixtures(generator, *uneven(generator, (4, 6), (3, 5)))
    return [(x + distance * (2 * (uniform(generator, len(x)) < 0.5).float() - 1), logits, mu, log_sigma)]


def gradient_cases(generator):
    """Near the means; and in double precision so far away that every density is 0."""
    return mog_cases(generator) + [tuple(each.double() for each in case) for case in far_cases(generator, 800)]


exercise.compare("values", mog_cases, points=4)
exercise.compare("far from every mean", far_cases, points=1)
exercise.unchanged(mog_cases)
exercise.gradient("gradient", gradient_cases, wrt=(1, 2, 3), points=1)
exercise.hint(
    "The shapes do not fit.",
    "x is (B,), the means are (B, K). x[:, None] is (B, 1), and every component of a row meets the same x.")
exercise.hint(
    "You see minus infinity far from the means.",
    "Never leave the logarithms: add ln pi to ln N, both (B, K), and finish with torch.logsumexp(..., dim=1).")
exercise.hint(
    "Your values are off, and you cannot tell why.",
    "ln N has three parts: -ln sigma, -ln(2 pi) / 2 and -(x - mu)^2 / (2 sigma^2). Try K = 1, and compare with "
    "torch.distributions.Normal.")
