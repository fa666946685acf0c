"""Smoothed targets in the slide's form."""
from __future__ import annotations

import torch

from course_lib.exercises.draws import integer, normal
from course_lib.exercises.transformer.label_smoothing_loss import smoothing_cases
from course_lib.grading.exercise import Exercise

exercise = Exercise(
    "slide_smoothing_loss", chapter="15", place=3, title="Smoothing as on the slide, by torch",
    contract="logits (N, K), target (N,) with integers, eps, and pad, an integer. The smoothed target gives 1 - eps to the "
             "target and eps / (K - 1) to each of the other K - 1 classes. Return the mean cross-entropy in nats over the rows "
             "whose target is not pad: a tensor of shape ().",
    points=["label-smoothing"], difficulty=2, minutes=15)


@exercise.reference(
    torchs_form="Your eps is shared among all K classes, the target included: that is torch's form. Here the target has 1 - eps, "
                "and eps is shared among the K - 1 others.",
    wrong_way="You convert eps the wrong way round. torch leaves a target 1 - e + e / K: for 1 - eps its e is the larger one.",
    target_keeps_all="Your target keeps 1, so that the shares sum to 1 + eps. It has 1 - eps.",
    rest_unshared="Each of the other classes has eps in yours. Together they have eps.",
    swapped="Your eps and 1 - eps are exchanged: most of the weight belongs to the target.",
    not_smoothed="Your loss does not depend on eps.",
    padding_counted="Rows whose target is pad are in your mean. Leave them out.",
    padding_in_the_count="Rows of padding add nothing to your sum, but you still divide by N. Divide by the number of rows that "
                         "count.",
    summed="You return the sum over the rows. The mean is asked for.",
)
def slide_smoothing_loss_reference(logits, target, eps, pad, bugs=frozenset()):
    real, K = target != pad, logits.shape[1]
    one_hot = torch.nn.functional.one_hot(target, K).to(logits.dtype)          # (N, K)
    share = eps / (K - 1)
    if "torchs_form" in bugs:
        one, share = 1 - eps + eps / K, eps / K
    elif "wrong_way" in bugs:
        e = eps * (K - 1) / K
        one, share = 1 - e + e / K, e / K
    elif "swapped" in bugs:
        one, share = eps, (1 - eps) / (K - 1)
    elif "not_smoothed" in bugs:
        one, share = 1.0, 0.0
    else:
        one = 1.0 if "target_keeps_all" in bugs else 1 - eps
    if "rest_unshared" in bugs:
        share = eps
    q = one * one_hot + share * (1 - one_hot)
    losses = -(q * logits.log_softmax(dim=1)).sum(dim=1)                       # (N,)
    if "padding_counted" in bugs:
        return losses.mean()
    if "summed" in bugs:
        return losses[real].sum()
    return losses[real].sum() / (len(losses) if "padding_in_the_count" in bugs else real.sum())


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
