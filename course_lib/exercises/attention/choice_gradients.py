"""REINFORCE with a baseline, draw by draw."""
from __future__ import annotations

import torch
import torch.nn.functional as F

from course_lib.exercises.draws import normal, uneven
from course_lib.grading.exercise import Exercise

exercise = Exercise(
    "choice_gradients", chapter="12", place=2, title="The gradient of a choice",
    contract="scores (S,) give the probabilities of S slots by a softmax, losses (S,) the loss of each, slots (N,), int64, N at least "
             "2, the slots that were drawn. Return (N, S): for each draw (loss of its slot - b) times the gradient of log P(its "
             "slot) by the scores, where b is the mean loss of the other draws.",
    points=["context-vectors"], difficulty=2, minutes=20)


@exercise.reference(
    no_baseline="You do not subtract the baseline b.",
    own_loss="Your baseline is the mean over all draws, this one included. Then it depends on the draw, and the estimate is biased: "
             "take the mean over the others.",
    over_all="You add the losses of the other draws and divide by N. There are N - 1 others.",
    expected="Your baseline is the expected loss over all slots. Here it is the mean loss of the other draws.",
    turned="Your estimates have the wrong sign. They are gradients of the expected loss, which go up where the loss is large.",
    no_minus_p="Your gradient of log P is the one-hot vector of the slot. The softmax's normaliser has a gradient too: minus P.",
    of_p="You take the gradient of P in the place of that of log P: each draw comes with its probability already.",
    one_number="You return the loss part only: the same number in every slot.",
)
def choice_gradients_reference(scores, losses, slots, bugs=frozenset()):
    p, N = scores.softmax(0), len(slots)
    found = losses[slots]                                                      # (N,)
    b = (found.sum() - found) / (N - 1)
    if "over_all" in bugs:
        b = (found.sum() - found) / N
    if "no_baseline" in bugs:
        b = 0
    if "own_loss" in bugs:
        b = found.mean()
    if "expected" in bugs:
        b = p @ losses
    slope = F.one_hot(slots, len(p)) - (0 if "no_minus_p" in bugs else p)      # (N, S)
    if "of_p" in bugs:
        slope = slope * p[slots, None]
    if "one_number" in bugs:
        slope = torch.ones_like(slope)
    estimates = (found - b)[:, None] * slope
    return -estimates if "turned" in bugs else estimates


def cases(generator):
    found = []
    # the last slot is not drawn in the second case: how many there are is then for the scores to tell
    for S, N, back in ((*uneven(generator, (3, 5), (6, 9)), 1), (*uneven(generator, (6, 8), (3, 5)), 2), (4, 2, 1)):
        slots = torch.randint(S - back + 1, (N,), generator=generator)
        slots[:2] = torch.tensor([0, S - back])                                # two that differ
        losses = 3 * normal(generator, S)
        losses[0], losses[-back] = losses[0].abs() + 4, -losses[-back].abs() - 1     # of both signs
        found.append((normal(generator, S), losses, slots))
    return found


exercise.compare("values", cases, points=4)
exercise.unchanged(cases)
exercise.hint(
    "You do not know the gradient of log P by the scores.",
    "log P(k) = s_k - log sum_j exp(s_j). Its derivative by s_j is 1 where j is k, minus P(j).")
exercise.hint(
    "You do not see how to take the mean over the other draws.",
    "The sum of all drawn losses without this one's, divided by N - 1. No loop is needed.")
