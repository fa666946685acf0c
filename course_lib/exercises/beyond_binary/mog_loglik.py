"""The likelihood of a mixture of Gaussians."""
from __future__ import annotations

import math

import torch

from course_lib.exercises.draws import integer, normal, uneven, uniform
from course_lib.grading.exercise import Exercise

exercise = Exercise(
    "mog_loglik", chapter="05", place=3, title="The log-density of a mixture of Gaussians",
    contract="x (B,); logits, mu, log_sigma (B, K), one mixture for each row. With pi = softmax(logits) and "
             "sigma = exp(log_sigma), return ln sum_j pi_j N(x; mu_j, sigma_j^2), shape (B,). It must be finite far from "
             "every mean.",
    points=["rnade"], difficulty=3, minutes=20, forbid=("torch.distributions.MixtureSameFamily",))


@exercise.reference(
    equal_weights="Your result does not depend on the logits: every component has weight 1/K.",
    no_weights="You add the densities without their weights. The area is then K, not 1.",
    raw_logits="Your weights are the exponentials of the logits, and do not sum to one. Normalise them: log_softmax.",
    probabilities="You add the weights to the logarithms of the densities. Their logarithms are added: ln pi + ln N.",
    plus_sigma="You add log sigma. The Gaussian is divided by sigma, so it is subtracted.",
    over_batch="Your weights sum to one over the batch. Each row has a mixture of its own: normalise over its components.",
    mean_of_logs="You average the logarithms of the densities. The mixture is the logarithm of the average: log-sum-exp.",
    nearest="You keep the largest component only. The density is the sum over all of them.",
    literal="Far from every mean your result is minus infinity: all exponentials have become 0. Use log-sum-exp.",
    variance="You use exp(log_sigma) as the variance. It is the deviation; the variance is its square.",
    no_sigma="The factor 1 / sigma of the Gaussian is missing: narrow components must be higher.",
    no_constant="The factor 1 / sqrt(2 pi) of the Gaussian is missing.",
    no_half="The one half in the exponent of the Gaussian is missing.",
)
def mog_loglik_reference(x, logits, mu, log_sigma, bugs=frozenset()):
    if "variance" in bugs:
        log_sigma = log_sigma / 2
    z = (x[:, None] - mu) / log_sigma.exp()                                    # (B, K)
    logs = -z ** 2 if "no_half" in bugs else -z ** 2 / 2
    if "no_sigma" not in bugs:
        logs = logs + log_sigma if "plus_sigma" in bugs else logs - log_sigma
    if "no_constant" not in bugs:
        logs = logs - math.log(2 * math.pi) / 2
    weights = logits.log_softmax(dim=1)
    if "equal_weights" in bugs:
        weights = torch.zeros_like(logits).log_softmax(dim=1)
    if "no_weights" in bugs:
        weights = torch.zeros_like(logits)
    if "probabilities" in bugs:
        weights = logits.softmax(dim=1)
    if "raw_logits" in bugs:
        weights = logits
    if "over_batch" in bugs:
        weights = logits.log_softmax(dim=0)
    if "mean_of_logs" in bugs:
        return (weights.exp() * logs).sum(dim=1)
    if "nearest" in bugs:
        return (weights + logs).amax(dim=1)
    return (weights + logs).exp().sum(dim=1).log() if "literal" in bugs else torch.logsumexp(weights + logs, dim=1)


def mixtures(generator, B: int, K: int, spread: float = 1.5):
    mu = normal(generator, B, K, scale=2.0)
    x = mu.mean(dim=1) + normal(generator, B, scale=spread)
    return x, normal(generator, B, K), mu, normal(generator, B, K, scale=0.6)


def mog_cases(generator):
    shapes = [uneven(generator, (4, 6), (3, 5)), uneven(generator, (2, 4), (5, 7)), [1, integer(generator, 3, 5)]]
    return [mixtures(generator, *shape) for shape in shapes]


def far_cases(generator):
    x, logits, mu, log_sigma = mixtures(generator, *uneven(generator, (4, 6), (3, 5)))
    return [(x + 80 * (2 * (uniform(generator, len(x)) < 0.5).float() - 1), logits, mu, log_sigma)]


exercise.compare("values", mog_cases, points=4)
exercise.compare("far from every mean", far_cases, points=1)
exercise.unchanged(mog_cases)
exercise.gradient("gradient", mog_cases, wrt=(1, 2, 3), points=1)
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
