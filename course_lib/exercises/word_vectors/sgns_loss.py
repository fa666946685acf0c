"""The loss of skip-gram with negative sampling."""
from __future__ import annotations

import torch
import torch.nn.functional as F

from course_lib.exercises.draws import normal, uneven
from course_lib.grading.exercise import Exercise

exercise = Exercise(
    "sgns_loss", chapter="word-vectors", place=2, title="The loss of skip-gram",
    contract="center (B, D) are vectors v of centre words, context (B, D) vectors u_o of words that stood near them, negatives "
             "(B, K, D) vectors u_k of drawn words. Return -log sigmoid(u_o . v) - sum over k of log sigmoid(-u_k . v), the mean "
             "over the batch: a tensor of shape (). Products may be hundreds; the result stays finite.",
    points=["word2vec"], difficulty=2, minutes=15)


@exercise.step
def log_sigmoid(x):
    return F.logsigmoid(x)


@exercise.step
def negative_terms(products):
    """Of each row, (B,), from the products with its negatives (B, K)."""
    return log_sigmoid(-products).sum(dim=1)


@exercise.step
def loss(true, drawn):
    """From the products with the true words (B,) and with the negatives (B, K)."""
    return -(log_sigmoid(true) + negative_terms(drawn)).mean()


@exercise.reference()
def sgns_loss_reference(center, context, negatives):
    return loss((center * context).sum(dim=1), (negatives * center[:, None]).sum(dim=2))


@exercise.misconception(
    log_sigmoid,
    "Large products give an infinite loss or NaN: a sigmoid rounds to 0, and its logarithm is infinite. logsigmoid never computes "
    "the probability.")
def underflows(x):
    return torch.sigmoid(x).log()


@exercise.misconception(log_sigmoid, "The logarithm is missing: you add up probabilities.")
def no_logarithm(x):
    return torch.sigmoid(x)


@exercise.misconception(
    negative_terms,
    "Your negatives are pulled towards the center, as the true pair is: their product goes into the sigmoid with a minus.")
def sign(products):
    return log_sigmoid(products).sum(dim=1)


@exercise.misconception(negative_terms, "You take the mean over the K negatives. Their terms are added.")
def mean_over_negatives(products):
    return log_sigmoid(-products).mean(dim=1)


@exercise.misconception(
    negative_terms,
    "You add up the products with the negatives and take one logarithm of the sigmoid of their sum. Each negative has its own.")
def summed_inside(products):
    return log_sigmoid(-products.sum(dim=1))


@exercise.misconception(loss, "Your result is the sum over the batch. The mean is asked for.")
def summed(true, drawn):
    return loss.original(true, drawn) * len(true)


@exercise.misconception(loss, "You divide by the number of all terms, B (K + 1). The mean is over the B rows.")
def over_all_terms(true, drawn):
    return loss.original(true, drawn) / (1 + drawn.shape[1])


@exercise.misconception(loss, "You let the words compete in one softmax. Each pair has its own sigmoid.")
def softmax(true, drawn):
    return -torch.cat([true[:, None], drawn], dim=1).log_softmax(dim=1)[:, 0].mean()


def vector_cases(generator):
    sizes = [*(uneven(generator, (3, 4), (2, 5), (5, 8)) for _ in range(3)), (1, 3, 5), (4, 1, 6)]
    return [(normal(generator, B, D), normal(generator, B, D), normal(generator, B, K, D)) for B, K, D in sizes]


def large_cases(generator):
    """Products of some hundreds, of either sign."""
    found = []
    for center, context, negatives in vector_cases(generator)[:3]:
        center, context = 20 * center, 20 * context
        context[0], negatives[0, 1] = -center[0], center[0]
        found.append((center, context, negatives))
    return found


def gradient_cases(generator):
    """Of ordinary products; and of larger ones, in double precision."""
    return vector_cases(generator) + [tuple(3 * each.double() for each in case) for case in large_cases(generator)]


exercise.compare("values", vector_cases, points=2)
exercise.compare("large products", large_cases, points=1)
exercise.gradient("gradient", gradient_cases, wrt=(0, 1, 2), points=1)
exercise.unchanged(vector_cases)
exercise.hint(
    "You do not know how to multiply (B, K, D) with (B, D).",
    'torch.einsum("bkd,bd->bk", negatives, center), or a None that makes center (B, 1, D).')
exercise.hint(
    "Your value is right for K = 1 only.",
    "The K terms of a row are added; the mean comes after, over the rows.")
exercise.hint(
    "Large products give inf.",
    "torch.nn.functional.logsigmoid takes the product itself.")
