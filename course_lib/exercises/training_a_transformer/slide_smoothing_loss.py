"""Smoothed targets in the slide's form."""
from __future__ import annotations

import torch

from course_lib.exercises.draws import integer, normal
from course_lib.exercises.training_a_transformer.label_smoothing_loss import smoothing_cases
from course_lib.grading.exercise import Exercise

exercise = Exercise(
    "slide_smoothing_loss", chapter="training-a-transformer", place=3, title="Smoothing as on the slide, by torch",
    contract="logits (N, K), target (N,) with integers, eps, and pad, an integer. The smoothed target gives 1 - eps to the "
             "target and eps / (K - 1) to each of the other K - 1 classes. Return the mean cross-entropy in nats over the rows "
             "whose target is not pad: a tensor of shape ().",
    points=["label-smoothing"], difficulty=2, minutes=15)


def targets(one_hot, share, rest):
    """`share` for the target, `rest` for each other class."""
    return share * one_hot + rest * (1 - one_hot)


@exercise.step
def smoothed(one_hot, eps):
    return targets(one_hot, 1 - eps, eps / (one_hot.shape[1] - 1))


@exercise.step
def target_of(one_hot, eps, pad):
    return smoothed(one_hot, eps)


@exercise.step
def cross_entropy(q, log_p):
    """The terms (N, K), to be added up over the classes."""
    return -q * log_p


@exercise.step
def mean_over_rows(losses, real):
    return losses[real].mean()


@exercise.reference()
def slide_smoothing_loss_reference(logits, target, eps, pad):
    one_hot = torch.nn.functional.one_hot(target, logits.shape[1]).to(logits.dtype)
    return mean_over_rows(cross_entropy(target_of(one_hot, eps, pad), logits.log_softmax(1)).sum(1), target != pad)


@exercise.misconception(
    cross_entropy,
    "Your result is the KL divergence, which F.kl_div computes: the cross-entropy minus the entropy of the smoothed target. The "
    "cross-entropy is asked for.")
def divergence(q, log_p):
    return cross_entropy.original(q, log_p) + torch.special.xlogy(q, q)


@exercise.misconception(
    target_of,
    "As in the Annotated Transformer you give the class pad no probability and share eps among the K - 2 remaining classes. Here "
    "pad is a class like the others; eps is shared among the K - 1 others.")
def none_for_padding(one_hot, eps, pad):
    q = (1 - eps) * one_hot + eps / (one_hot.shape[1] - 2) * (1 - one_hot)
    return q.index_fill(1, torch.tensor([pad]), 0)


@exercise.misconception(
    smoothed,
    "Your eps is shared among all K classes, the target included, which is torch's form. Here the target has 1 - eps, and eps "
    "is shared among the K - 1 others.")
def torchs_form(one_hot, eps):
    return (1 - eps) * one_hot + eps / one_hot.shape[1]


@exercise.misconception(
    smoothed,
    "You convert eps in the wrong direction. torch leaves a target 1 - e + e / K, so its e has to be the larger one for 1 - "
    "eps.")
def wrong_way(one_hot, eps):
    return torchs_form(one_hot, eps * (one_hot.shape[1] - 1) / one_hot.shape[1])


@exercise.misconception(smoothed, "Your target keeps 1, so that the shares sum to 1 + eps. It has 1 - eps.")
def target_keeps_all(one_hot, eps):
    return targets(one_hot, 1, eps / (one_hot.shape[1] - 1))


@exercise.misconception(smoothed, "Each of the other classes has eps in yours. Together they have eps.")
def rest_unshared(one_hot, eps):
    return targets(one_hot, 1 - eps, eps)


@exercise.misconception(smoothed, "Your eps and 1 - eps are exchanged: most of the weight belongs to the target.")
def swapped(one_hot, eps):
    return smoothed.original(one_hot, 1 - eps)


@exercise.misconception(smoothed, "Your loss does not depend on eps.")
def not_smoothed(one_hot, eps):
    return one_hot


@exercise.misconception(mean_over_rows, "Rows whose target is pad are in your mean. Leave them out.")
def padding_counted(losses, real):
    return losses.mean()


@exercise.misconception(
    mean_over_rows,
    "Rows of padding add nothing to your sum, but you still divide by N. Divide by the number of rows that count.")
def padding_in_the_count(losses, real):
    return losses[real].sum() / len(losses)


def two_classes(generator):
    """K = 2, where the two forms differ most, by a factor of two in eps; and a pad that is no class."""
    N = integer(generator, 5, 8)
    return [(normal(generator, N, 2), torch.randint(2, (N,), generator=generator), 0.2, -1)]


exercise.compare("values", smoothing_cases, points=4)
exercise.compare("two classes", two_classes, points=1)
exercise.gradient("gradient", smoothing_cases, wrt=(0,), points=1)
exercise.unchanged(smoothing_cases)
exercise.hint(
    "Where to begin.",
    "You may build q and sum, or call F.cross_entropy with a label_smoothing of your own choice. With torch's e the other classes "
    "have e / K each. Set that equal to eps / (K - 1).")
exercise.hint(
    "Your value is near, and grows apart as eps grows.",
    "Write down what the target has in your form for K = 2 and eps = 0.2. On the slide it is 0.8.")
exercise.hint(
    "It fails only where pad is no class.",
    "pad may be a number that is no class, as -1. Compare the targets with it, or give it as ignore_index; take no column by it.")
