"""The epochs at which early stopping keeps the parameters and ends the training."""
from __future__ import annotations

import math

import torch

from course_lib.exercises.draws import integer, uniform
from course_lib.grading.exercise import Exercise

exercise = Exercise(
    "stopping_epoch", chapter="linear-models", place=2, title="Early stopping with a limit",
    contract="losses (E,), the validation losses after epochs 1 to E if training is not stopped; E, the limit of epochs; patience >= 1, a whole "
             "number. Training ends after the first epoch that is the patience-th in succession without a new minimum, and after E epochs at the "
             "latest. A loss equal to the minimum is not a new minimum, and losses are finite and may be negative. Return (best, trained), whole numbers: the "
             "epoch whose parameters are kept, and the number of epochs trained.",
    points=["linear-regression"], difficulty=2, minutes=15)


@exercise.step
def improved(loss, best, previous):
    return loss < best


@exercise.step
def waiting(epoch, best_epoch, failures):
    return epoch - best_epoch


@exercise.step
def exhausted(waited, patience):
    return waited >= patience


@exercise.step
def result(best_epoch, epoch):
    return best_epoch, epoch


@exercise.reference()
@exercise.step
def stopping_epoch_reference(losses, patience):
    best, best_epoch, previous, failures = math.inf, 0, math.inf, 0
    for epoch, loss in enumerate(losses.tolist(), start=1):
        if improved(loss, best, previous):
            best, best_epoch = loss, epoch
        else:
            failures += 1
        previous = loss
        if exhausted(waiting(epoch, best_epoch, failures), patience):
            break
    return result(best_epoch, epoch)


@exercise.misconception(improved, "You compare each loss with that of the previous epoch. Compare it with the lowest loss so far.")
def previous_epoch(loss, best, previous):
    return loss < previous


@exercise.misconception(improved, "You count a loss equal to the minimum as a new minimum. Only a lower loss resets the patience.")
def ties(loss, best, previous):
    return loss <= best


@exercise.misconception(
    waiting, "You count all epochs without a new minimum. The count starts again at 0 after each new minimum.")
def total_failures(epoch, best_epoch, failures):
    return failures


@exercise.misconception(exhausted, "You train one epoch too long: stop after `patience` epochs without a new minimum.")
def one_more(waited, patience):
    return waited > patience


@exercise.misconception(exhausted, "You stop at the first epoch without a new minimum and ignore `patience`.")
def impatient(waited, patience):
    return waited >= 1


@exercise.misconception(exhausted, "You always train up to the limit and ignore `patience`.")
def only_limit(waited, patience):
    return False


@exercise.misconception(result, "You keep the parameters of the last epoch. Keep those of the epoch with the lowest validation loss.")
def keeps_last(best_epoch, epoch):
    return epoch, epoch


@exercise.misconception(result, "You count the epochs from 0. The first epoch is epoch 1.")
def from_zero(best_epoch, epoch):
    return best_epoch - 1, epoch - 1


@exercise.misconception(result, "You return the best epoch as the number of epochs trained. Training continues after it until the patience is exhausted.")
def ends_at_best(best_epoch, epoch):
    return best_epoch, best_epoch


@exercise.misconception(
    stopping_epoch_reference,
    "You search for the minimum among all losses, also of epochs after the training has ended. Keep the best of the epochs that were trained.")
def minimum_of_all(losses, patience):
    return int(losses.argmin()) + 1, stopping_epoch_reference.original(losses, patience)[1]


def histories(generator):
    """Of both signs, as of densities: ended by the patience, with a tie, with rises before the minimum, and by the limit; each after epochs of falling loss."""
    cases = []
    for patience, pattern in ((3, (9, 7, 8, 6, 7, 8, 5, 6, 7, 5, 4)), (2, (6, 4, 5, 3, 4, 5, 6, 2)), (3, (5, 2, 4, 3, 4)),
                              (4, (5, 3, 4, 2, 3, 3))):
        falling = torch.arange(10 + integer(generator, 1, 4), 9, -1)
        values = torch.cat([falling, torch.tensor(pattern)])
        cases.append((float(uniform(generator, 1, low=0.05, high=0.3)) * (values - 6.5), patience))
    return cases


def short_histories(generator):
    """A single epoch, and losses that fall up to the limit."""
    start = float(uniform(generator, 1, low=0.5, high=2.0))
    return [(torch.tensor([start]), 1), (start - torch.arange(float(integer(generator, 4, 7))), 2)]


exercise.compare("epochs", histories, points=4)
exercise.compare("a single epoch, and the limit", short_histories, points=1)
exercise.unchanged(histories)
exercise.hint("You do not know what to store.",
              "Store the lowest loss so far and its epoch. The difference of the current epoch and that epoch is the number of epochs without a new minimum.")
exercise.hint("Training ends too early in some cases.",
              "After a new minimum the count of epochs without improvement starts again at 0. A rise that is followed by a new minimum does not count any more.")
