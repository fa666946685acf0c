"""The loss of skip-gram with negative sampling."""
from __future__ import annotations

import torch
import torch.nn.functional as F

from course_lib.exercises.draws import normal, uneven
from course_lib.grading.exercise import Exercise

exercise = Exercise(
    "sgns_loss", chapter="10", place=3, title="The loss of skip-gram",
    contract="center (B, D) are vectors v of centre words, context (B, D) vectors u_o of words that stood near them, negatives "
             "(B, K, D) vectors u_k of drawn words. Return -log sigmoid(u_o . v) - sum over k of log sigmoid(-u_k . v), the mean "
             "over the batch: a tensor of shape (). Products may be hundreds; the result stays finite.",
    points=["word2vec"], difficulty=2, minutes=15)


@exercise.reference(
    sign="Your negatives are pulled towards the centre, as the true pair is: their product goes into the sigmoid with a minus.",
    mean_over_negatives="You take the mean over the K negatives. Their terms are added.",
    summed_inside="You add up the products with the negatives and take one logarithm of the sigmoid of their sum. Each negative has its own.",
    first_negative="Only the first negative of each row counts. All K do.",
    summed="Your result is the sum over the batch. The mean is asked for.",
    over_all_terms="You divide by the number of all terms, B (K + 1). The mean is over the B rows.",
    no_logarithm="The logarithm is missing: you add up probabilities.",
    underflows="Large products give an infinite loss or NaN: a sigmoid rounds to 0, and its logarithm is infinite. logsigmoid never "
               "goes through the probability.",
    softmax="You let the words compete in one softmax. Each pair has its own sigmoid.",
)
def sgns_loss_reference(center, context, negatives, bugs=frozenset()):
    true = (center * context).sum(dim=1)                                       # (B,)
    drawn = (negatives * center[:, None]).sum(dim=2)                           # (B, K)
    if "softmax" in bugs:
        return -torch.cat([true[:, None], drawn], dim=1).log_softmax(dim=1)[:, 0].mean()
    log = torch.sigmoid if "no_logarithm" in bugs else (lambda x: torch.sigmoid(x).log()) if "underflows" in bugs else F.logsigmoid
    if "summed_inside" in bugs:
        drawn = drawn.sum(1, keepdim=True)
    below = log(drawn if "sign" in bugs else -drawn)
    below = below[:, 0] if "first_negative" in bugs else below.mean(1) if "mean_over_negatives" in bugs else below.sum(1)
    loss = -(log(true) + below)
    if "summed" in bugs:
        return loss.sum()
    return loss.mean() / (1 + drawn.shape[1] if "over_all_terms" in bugs else 1)


def vector_cases(generator):
    found = []
    for _ in range(3):
        B, K, D = uneven(generator, (3, 4), (2, 5), (5, 8))
        found.append((normal(generator, B, D), normal(generator, B, D), normal(generator, B, K, D)))
    return found


def large_cases(generator):
    """Products of some hundreds, of either sign."""
    found = []
    for center, context, negatives in vector_cases(generator):
        center, context = 20 * center, 20 * context
        context[0], negatives[0, 1] = -center[0], center[0]
        found.append((center, context, negatives))
    return found


exercise.compare("values", vector_cases, points=2)
exercise.compare("large products", large_cases, points=1)
exercise.gradient("gradient", vector_cases, wrt=(0, 1, 2), points=1)
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
