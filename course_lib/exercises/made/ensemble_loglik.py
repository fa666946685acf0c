"""Several orders as one model."""
from __future__ import annotations

import math

import torch
import torch.nn.functional as F

from course_lib.exercises.draws import bits, integer, normal, uneven
from course_lib.grading.exercise import Exercise

exercise = Exercise(
    "ensemble_loglik", chapter="06", place=3, title="Several orders, one likelihood",
    contract="logits (K, B, D): the logits of all D factors of B rows under each of K orders; x (B, D) holds 0 and 1. Each "
             "order k is a model p_k. Return the log-likelihood of each row under p(x) = (1/K) sum_k p_k(x), shape (B,), "
             "in nats. It must stay finite for thousands of variables and for large logits.",
    points=["made-orderings"], difficulty=3, minutes=20)


@exercise.reference(
    averaged_logits="You average the logits of the orders. Then each variable helps to predict the others both ways, and "
                    "the probabilities of all x sum to more than 1.",
    per_variable="You average the orders variable by variable. Multiply the factors of one order first: what is averaged is "
                 "the joint probability.",
    averaged_logs="You average log-probabilities over the orders. The logarithm comes after the average.",
    no_log_K="Your values are too large by log K: the mixture has weights 1/K.",
    over_K="You divide the logsumexp by K. The weight 1/K stands inside the logarithm: subtract log K.",
    best_only="Your values are those of the best order alone. All K take part.",
    negated="Your values are positive: this is the loss. The log-likelihood is asked for.",
    ones_only="You add up the variables that are 1 only. A 0 has a probability too.",
    mean_of_variables="You average over the variables. The log-likelihood of a row is their sum.",
    saturated="Where logits are large your result is not finite: the sigmoid became 0 or 1 before you took its logarithm. Take "
              "both in one step: F.logsigmoid.",
    underflow="Your probabilities underflow to 0 when there are many variables. Stay in logarithms: use logsumexp.",
)
def ensemble_loglik_reference(logits, x, bugs=frozenset()):
    if "averaged_logits" in bugs:
        logits = logits.mean(dim=0, keepdim=True)
    K = len(logits)
    factors = F.logsigmoid(torch.where(x == 1, logits, -logits))               # (K, B, D), log p_k(x_i | before)
    if "saturated" in bugs:
        p = torch.sigmoid(logits)
        factors = torch.where(x == 1, p, 1 - p).log()
    if "ones_only" in bugs:
        factors = factors * x
    if "per_variable" in bugs:
        return (factors.logsumexp(dim=0) - math.log(K)).sum(dim=-1)
    each = factors.mean(dim=-1) if "mean_of_variables" in bugs else factors.sum(dim=-1)      # (K, B)
    if "averaged_logs" in bugs:
        return each.mean(dim=0)
    if "best_only" in bugs:
        return each.amax(dim=0)
    if "underflow" in bugs:
        return each.exp().mean(dim=0).log()
    total = each.logsumexp(dim=0)
    result = total if "no_log_K" in bugs else total / K if "over_K" in bugs else total - math.log(K)
    return -result if "negated" in bugs else result


def ensemble_cases(generator):
    sizes = [uneven(generator, (2, 4), (3, 5), (4, 7)), [3, 1, integer(generator, 4, 6)], [2, 4, 1]]
    return [(normal(generator, K, B, D, scale=1.5), bits(generator, B, D)) for K, B, D in sizes]


def long_cases(generator):
    K, B, D = integer(generator, 2, 4), 3, integer(generator, 1500, 2500)
    return [(normal(generator, K, B, D), bits(generator, B, D))]


def large_cases(generator):
    """In every row and order a variable that the model is sure of and wrong about: once so that the likelihood still fits in
    single precision, though 1 - p does not, and once beyond, in both directions."""
    found = []
    for size in (30, 150):
        K, B, D = uneven(generator, (2, 4), (4, 5), (6, 7))
        logits, x = normal(generator, K, B, D), bits(generator, B, D)
        for b in range(B):
            zero, one = torch.randperm(D, generator=generator)[:2].tolist()
            x[b, zero], logits[:, b, zero] = 0.0, size + normal(generator, K)
            if size > 100:
                x[b, one], logits[:, b, one] = 1.0, -size + normal(generator, K)
        found.append((logits, x))
    return found


exercise.compare("values", ensemble_cases, points=3)
exercise.compare("many variables", long_cases, points=1)
exercise.compare("large logits", large_cases, points=1)
exercise.unchanged(ensemble_cases)
exercise.gradient("gradient", ensemble_cases, wrt=(0,), points=1)
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
