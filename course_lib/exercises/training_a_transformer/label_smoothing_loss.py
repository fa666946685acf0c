"""Smoothed targets."""
from __future__ import annotations

import torch

from course_lib.exercises.draws import integer, normal, uneven
from course_lib.grading.exercise import Exercise

exercise = Exercise(
    "label_smoothing_loss", chapter="training-a-transformer", place=2, title="Cross-entropy with smoothed targets",
    contract="logits (N, K), target (N,) with integers, eps, and pad, an integer. The smoothed target gives "
             "(1 - eps) to the target, and eps / K to each of the K classes, the target included. Return the "
             "mean cross-entropy in nats over the rows whose target is not pad: a tensor of shape ().",
    points=["label-smoothing"], difficulty=3, minutes=15,
    forbid=("F.cross_entropy(label_smoothing=...)",))


@exercise.step
def smoothed(one_hot, eps):
    return (1 - eps) * one_hot + eps / one_hot.shape[1]


@exercise.step
def target_of(one_hot, eps, pad):
    return smoothed(one_hot, eps)


@exercise.step
def cross_entropy(q, log_p):
    """The terms (N, K), to be added up over the classes."""
    return -q * log_p


@exercise.step
def mean_over_rows(terms, real):
    """Of terms (N, K): the sum over the classes, and the mean over the rows that are real (N,)."""
    return terms.sum(1)[real].mean()


@exercise.reference()
def label_smoothing_loss_reference(logits, target, eps, pad):
    one_hot = torch.nn.functional.one_hot(target, logits.shape[1]).to(logits.dtype)
    return mean_over_rows(cross_entropy(target_of(one_hot, eps, pad), logits.log_softmax(1)), target != pad)


@exercise.misconception(
    cross_entropy,
    "Your result is the KL divergence, which F.kl_div computes: the cross-entropy minus the entropy of the smoothed target. The "
    "cross-entropy is asked for.")
def divergence(q, log_p):
    return cross_entropy.original(q, log_p) + torch.special.xlogy(q, q)


@exercise.misconception(
    target_of,
    "As in the Annotated Transformer you give the class pad no probability and share eps among the K - 2 remaining classes. Here "
    "pad is a class like the others; each class gets eps / K.")
def none_for_padding(one_hot, eps, pad):
    q = (1 - eps) * one_hot + eps / (one_hot.shape[1] - 2) * (1 - one_hot)
    return q.index_fill(1, torch.tensor([pad]), 0)


@exercise.misconception(
    smoothed,
    "Your eps is shared among the K - 1 other classes, which is the slide's form. Torch's form, asked for here, gives eps / K "
    "to all K classes, the target included.")
def slides_form(one_hot, eps):
    return (1 - eps) * one_hot + eps / (one_hot.shape[1] - 1) * (1 - one_hot)


@exercise.misconception(smoothed, "Your loss does not depend on eps.")
def not_smoothed(one_hot, eps):
    return one_hot


@exercise.misconception(smoothed, "Your eps and 1 - eps are exchanged: most of the weight belongs to the target.")
def swapped(one_hot, eps):
    return smoothed.original(one_hot, 1 - eps)


@exercise.misconception(smoothed, "You give eps to each class. Together the classes get eps, so each gets eps / K.")
def rest_unshared(one_hot, eps):
    return (1 - eps) * one_hot + eps


@exercise.misconception(mean_over_rows, "Rows whose target is pad are in your mean. Leave them out.")
def padding_counted(terms, real):
    return terms.sum(1).mean()


@exercise.misconception(
    mean_over_rows,
    "Rows of padding add nothing to your sum, but you still divide by N. Divide by the number of rows that count.")
def padding_in_the_count(terms, real):
    return terms.sum(1)[real].sum() / len(terms)


@exercise.misconception(mean_over_rows, "You return the sum over the rows. The mean is asked for.")
def summed(terms, real):
    return terms.sum(1)[real].sum()


@exercise.misconception(
    mean_over_rows,
    "Your mean runs over the classes too, so it is K times too small. Sum over the classes, and take the mean over the rows.")
def mean_of_all(terms, real):
    return terms[real].mean()


def smoothing_cases(generator):
    """Uneven sizes; as many rows as classes."""
    cases = []
    for eps, square in ((0.1, False), (0.35, False), (0.2, True)):
        N, K = (6, 6) if square else uneven(generator, (6, 11), (3, 7))
        pad = integer(generator, 0, K - 1)
        target = torch.randint(K, (N,), generator=generator)
        target[:2] = pad                                                       # padding, and a row that is not
        target[2] = (pad + 1) % K
        target = target[torch.randperm(N, generator=generator)]
        cases.append((normal(generator, N, K, scale=2.0), target, eps, pad))
    return cases


def exact_cases(generator):
    """eps = 0 leaves the plain loss; logits so large that a softmax and then a logarithm would be infinite."""
    N, K = uneven(generator, (5, 8), (3, 4))
    target = torch.randint(1, K, (N,), generator=generator)
    return [(normal(generator, N, K), target, 0.0, 0), (normal(generator, N, K, scale=300.0), target, 0.1, 0)]


exercise.compare("values", smoothing_cases, points=4)
exercise.compare("without smoothing, and with large logits", exact_cases, points=1)
exercise.gradient("gradient", lambda generator: smoothing_cases(generator) + exact_cases(generator), wrt=(0,), points=1)
exercise.unchanged(smoothing_cases)
exercise.hint(
    "Where to begin.",
    "The cross-entropy with targets q is -(q * log_p).sum(dim=1), with log_p = logits.log_softmax(dim=1). Build q, (N, K).")
exercise.hint(
    "Your value is near, and grows apart as eps grows.",
    "The target has 1 - eps + eps / K: the share eps / K goes to all classes. On the slide the target has 1 - eps.")
exercise.hint(
    "It fails only where there is padding.",
    "Choose the rows first: real = target != pad. Both the sum and the number to divide by are theirs.")
