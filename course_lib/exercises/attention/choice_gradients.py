"""REINFORCE with a baseline, draw by draw."""
from __future__ import annotations

import torch
import torch.nn.functional as F

from course_lib.exercises.draws import normal, uneven
from course_lib.grading.exercise import Exercise

exercise = Exercise(
    "choice_gradients", chapter="attention", place=2, title="The gradient of a choice",
    contract="scores (S,) give the probabilities of S slots by a softmax, losses (S,) the loss of each, slots (N,), int64, N at least "
             "2, the slots that were drawn. Return (N, S): for each draw (loss of its slot - b) times the gradient of log P(its "
             "slot) by the scores, where b is the mean loss of the other draws.",
    points=["context-vectors"], difficulty=2, minutes=20)


@exercise.step
def baselines(losses):
    """For each draw the mean loss of the others, (N,)."""
    return (losses.sum() - losses) / (len(losses) - 1)


@exercise.step
def gradients_of_log_p(scores, slots):
    return F.one_hot(slots, len(scores)) - scores.softmax(0)                   # (N, S)


@exercise.reference()
@exercise.step
def choice_gradients_reference(scores, losses, slots):
    drawn = losses[slots]
    return (drawn - baselines(drawn))[:, None] * gradients_of_log_p(scores, slots)


@exercise.misconception(baselines, "You do not subtract the baseline b.")
def no_baseline(losses):
    return 0


@exercise.misconception(
    baselines,
    "Your baseline is the mean over all draws, this one included. Then it depends on the draw, and the estimate is biased: "
    "take the mean over the others.")
def own_loss(losses):
    return losses.mean()


@exercise.misconception(baselines, "You add the losses of the other draws and divide by N. There are N - 1 others.")
def over_all(losses):
    return (losses.sum() - losses) / len(losses)


@exercise.misconception(
    choice_gradients_reference,
    "Your baseline is the expected loss over all slots. Here it is the mean loss of the other draws.")
def expected(scores, losses, slots):
    return (losses[slots] - scores.softmax(0) @ losses)[:, None] * gradients_of_log_p(scores, slots)


@exercise.misconception(
    choice_gradients_reference,
    "Your estimates have the wrong sign. They are gradients of the expected loss, which increases where the loss is large.")
def wrong_sign(scores, losses, slots):
    return -choice_gradients_reference.original(scores, losses, slots)


@exercise.misconception(
    gradients_of_log_p,
    "Your gradient of log P is the one-hot vector of the slot. The softmax's normalizer has a gradient too: minus P.")
def no_minus_p(scores, slots):
    return F.one_hot(slots, len(scores)).to(scores)


@exercise.misconception(
    gradients_of_log_p,
    "You take the gradient of P instead of that of log P: each slot is already drawn with its probability.")
def of_p(scores, slots):
    return gradients_of_log_p.original(scores, slots) * scores.softmax(0)[slots, None]


def cases(generator):
    arguments = []
    # the last slot is not drawn in the second case: how many there are is then for the scores to tell
    for S, N, back in ((*uneven(generator, (3, 5), (6, 9)), 1), (*uneven(generator, (6, 8), (3, 5)), 2), (4, 2, 1), (4, 4, 1), (1, 3, 1)):
        slots = torch.randint(S - back + 1, (N,), generator=generator)
        slots[:2] = torch.tensor([0, S - back])                                # two that differ
        losses = 3 * normal(generator, S)
        losses[0], losses[-back] = losses[0].abs() + 4, -losses[-back].abs() - 1     # of both signs
        arguments.append((normal(generator, S), losses, slots))
    return arguments


exercise.compare("values", cases, points=4)
exercise.unchanged(cases)
exercise.hint(
    "You do not know the gradient of log P by the scores.",
    "log P(k) = s_k - log sum_j exp(s_j). Its derivative by s_j is 1 where j is k, minus P(j).")
exercise.hint(
    "You do not see how to take the mean over the other draws.",
    "The sum of all drawn losses without this one's, divided by N - 1. No loop is needed.")
