"""Several orders as one model."""
from __future__ import annotations

import math

import torch
import torch.nn.functional as F

from course_lib.exercises.draws import bits, integer, normal, uneven
from course_lib.grading.exercise import Exercise

exercise = Exercise(
    "ensemble_loglik", chapter="made", place=3, title="Several orders, one likelihood",
    contract="logits (K, B, D): the logits of all D factors of B rows under each of K orders; x (B, D) holds 0 and 1. Each "
             "order k is a model p_k. Return the log-likelihood of each row under p(x) = (1/K) sum_k p_k(x), shape (B,), "
             "in nats. It must stay finite for thousands of variables and for large logits.",
    points=["made-orderings"], difficulty=3, minutes=20)


@exercise.step
def log_factors(logits, x):
    """Of each variable given those before it in the order, (K, B, D)."""
    return F.logsigmoid(torch.where(x == 1, logits, -logits))


@exercise.step
def log_mean(log_p):
    """The logarithm of the mean over the first axis."""
    return log_p.logsumexp(dim=0) - math.log(len(log_p))


@exercise.reference()
@exercise.step
def ensemble_loglik_reference(logits, x):
    return log_mean(log_factors(logits, x).sum(dim=-1))


@exercise.misconception(
    ensemble_loglik_reference,
    "You average the logits of the orders. Then each variable helps to predict the others both ways, and the probabilities of all x "
    "sum to more than 1.")
def averaged_logits(logits, x):
    return log_factors(logits.mean(dim=0), x).sum(dim=-1)


@exercise.misconception(
    ensemble_loglik_reference,
    "You average the orders variable by variable. Multiply the factors of one order first: the average is over joint probabilities.")
def per_variable(logits, x):
    return log_mean(log_factors(logits, x)).sum(dim=-1)


@exercise.misconception(
    log_mean, "You average log-probabilities over the orders. The logarithm comes after the average.")
def averaged_logs(log_p):
    return log_p.mean(dim=0)


@exercise.misconception(log_mean, "Your values are too large by log K: the mixture has weights 1/K.")
def no_log_K(log_p):
    return log_p.logsumexp(dim=0)


@exercise.misconception(
    log_mean, "You divide the logsumexp by K. The weight 1/K stands inside the logarithm: subtract log K.")
def over_K(log_p):
    return log_p.logsumexp(dim=0) / len(log_p)


@exercise.misconception(log_mean, "Your values are those of the best order alone. All K take part.")
def best_only(log_p):
    return log_p.amax(dim=0)


@exercise.misconception(
    log_mean,
    "Your probabilities underflow to 0 when there are many variables. Stay in logarithms: use logsumexp.")
def underflow(log_p):
    return log_p.exp().mean(dim=0).log()


@exercise.misconception(
    log_factors,
    "Where logits are large your result is not finite: the sigmoid became 0 or 1 before you took its logarithm. Compute both in one "
    "step: F.logsigmoid.")
def saturated(logits, x):
    p = torch.sigmoid(logits)
    return torch.where(x == 1, p, 1 - p).log()


def ensemble_cases(generator):
    sizes = [uneven(generator, (2, 4), (3, 5), (4, 7)), [3, 1, integer(generator, 4, 6)], [2, 4, 1]]
    return [(normal(generator, K, B, D, scale=1.5), bits(generator, B, D)) for K, B, D in sizes]


def long_cases(generator):
    K, B, D = integer(generator, 2, 4), 3, integer(generator, 1500, 2500)
    return [(normal(generator, K, B, D), bits(generator, B, D))]


def large_cases(generator, sizes=(30, 150)):
    """In every row and order a variable that the model is sure of and wrong about: once so that the likelihood still fits in
    single precision, though 1 - p does not, and once beyond, in both directions."""
    cases = []
    for size in sizes:
        K, B, D = uneven(generator, (2, 4), (4, 5), (6, 7))
        logits, x = normal(generator, K, B, D), bits(generator, B, D)
        for b in range(B):
            zero, one = torch.randperm(D, generator=generator)[:2].tolist()
            x[b, zero], logits[:, b, zero] = 0.0, size + normal(generator, K)
            if size > 100:
                x[b, one], logits[:, b, one] = 1.0, -size + normal(generator, K)
        cases.append((logits, x))
    return cases


def gradient_cases(generator):
    """Of ordinary logits; and of large ones, in double precision."""
    return ensemble_cases(generator) + [(logits.double(), x.double()) for logits, x in large_cases(generator, (45, 900))]


exercise.compare("values", ensemble_cases, points=3)
exercise.compare("many variables", long_cases, points=1)
exercise.compare("large logits", large_cases, points=1)
exercise.unchanged(ensemble_cases)
exercise.gradient("gradient", gradient_cases, wrt=(0,), points=1)
exercise.hint(
    "You do not know over what to sum first.",
    "First over the variables: that gives log p_k(x) for each order, (K, B). Then combine the K numbers of a row.")
exercise.hint(
    "Your result is better than every single order.",
    "A mixture of K models cannot beat the best of them on a row. Something was averaged before the factors of an order "
    "were multiplied.")
exercise.hint(
    "With many variables you get minus infinity.",
    "exp of -1000 is 0 in floating point. torch.logsumexp takes the largest term out before it exponentiates.")
exercise.hint(
    "With large logits you get minus infinity or NaN.",
    "The sigmoid of 150 is 1 in floating point, and 1 - 1 has no logarithm. F.logsigmoid(z) is the logarithm of the sigmoid in one "
    "step, and 1 - sigmoid(z) is sigmoid(-z).")
