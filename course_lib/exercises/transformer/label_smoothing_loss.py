"""Smoothed targets."""
from __future__ import annotations

import torch

from course_lib.exercises.draws import integer, normal, uneven
from course_lib.grading.exercise import Exercise

exercise = Exercise(
    "label_smoothing_loss", chapter="15", place=2, title="Cross-entropy with smoothed targets",
    contract="logits (N, K), target (N,) with integers, eps, and pad, an integer. The smoothed target gives "
             "(1 - eps) to the target, and eps / K to each of the K classes, the target included. Return the "
             "mean cross-entropy in nats over the rows whose target is not pad: a tensor of shape ().",
    points=["label-smoothing"], difficulty=3, minutes=15,
    forbid=("F.cross_entropy(label_smoothing=...)",))


@exercise.reference(
    slides_form="Your eps is shared among the K - 1 other classes: that is the slide's form. This one, torch's, gives "
                "eps / K to all K, the target included.",
    not_smoothed="Your loss does not depend on eps.",
    swapped="Your eps and 1 - eps are exchanged: most of the weight belongs to the target.",
    rest_unshared="Each class of yours gets eps. Together they get eps: eps / K each.",
    padding_counted="Rows whose target is pad are in your mean. Leave them out.",
    padding_in_the_count="Rows of padding add nothing to your sum, but you still divide by N. Divide by the number of "
                         "rows that count.",
    summed="You return the sum over the rows. The mean is asked for.",
    mean_of_all="Your mean runs over the classes too: it is K times too small. Sum over the classes, and take the mean over the "
                "rows.",
    base_two="Your loss is in bits. Use the natural logarithm.",
    plus_entropy="You subtract the entropy of the targets: that is the divergence. The cross-entropy is asked for.",
    pad_column="You drop the column of pad from the logits. Only its rows are left out: pad remains a class.",
)
def label_smoothing_loss_reference(logits, target, eps, pad, bugs=frozenset()):
    real, K = target != pad, logits.shape[1]
    log_p = logits.masked_fill(torch.arange(K) == pad, -1e4).log_softmax(1) if "pad_column" in bugs else \
        logits.log_softmax(dim=1)                                              # (N, K)
    one_hot = torch.nn.functional.one_hot(target, K).to(logits.dtype)
    if "not_smoothed" in bugs:
        q = one_hot
    elif "slides_form" in bugs:
        q = (1 - eps) * one_hot + eps / (K - 1) * (1 - one_hot)
    elif "swapped" in bugs:
        q = eps * one_hot + (1 - eps) / K
    elif "rest_unshared" in bugs:
        q = (1 - eps) * one_hot + eps
    else:
        q = (1 - eps) * one_hot + eps / K
    if "pad_column" in bugs:
        q, log_p = q.masked_fill(torch.arange(K) == pad, 0), log_p.masked_fill(torch.arange(K) == pad, 0)
    losses = -(q * log_p).sum(dim=1)                                           # (N,)
    if "plus_entropy" in bugs:
        losses = losses + (q * q.clamp(min=1e-30).log()).sum(dim=1)
    if "base_two" in bugs:
        losses = losses / torch.log(torch.tensor(2.0, dtype=losses.dtype))
    if "padding_counted" in bugs:
        return losses.mean()
    if "mean_of_all" in bugs:
        return losses[real].mean() / K
    if "summed" in bugs:
        return losses[real].sum()
    return losses[real].sum() / (len(losses) if "padding_in_the_count" in bugs else real.sum())


def smoothing_cases(generator):
    found = []
    for eps in (0.1, 0.35):
        N, K = uneven(generator, (6, 11), (3, 7))
        pad = integer(generator, 0, K - 1)
        target = torch.randint(K, (N,), generator=generator)
        target[:2] = pad                                                       # padding, and a row that is not
        target[2] = (pad + 1) % K
        target = target[torch.randperm(N, generator=generator)]
        found.append((normal(generator, N, K, scale=2.0), target, eps, pad))
    return found


def exact_cases(generator):
    """eps = 0 leaves the plain loss; logits so large that a softmax and then a logarithm would be infinite."""
    N, K = uneven(generator, (5, 8), (3, 4))
    target = torch.randint(1, K, (N,), generator=generator)
    return [(normal(generator, N, K), target, 0.0, 0), (normal(generator, N, K, scale=300.0), target, 0.1, 0)]


exercise.compare("values", smoothing_cases, points=4)
exercise.compare("without smoothing, and with large logits", exact_cases, points=1)
exercise.gradient("gradient", smoothing_cases, wrt=(0,), points=1)
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
