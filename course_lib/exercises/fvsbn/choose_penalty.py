"""The weight decay with the lowest validation loss, and the test loss of its model."""
from __future__ import annotations

import torch

from course_lib.exercises.draws import integer
from course_lib.grading.exercise import Exercise

exercise = Exercise(
    "choose_penalty", chapter="fvsbn", place=5, title="Choosing the weight decay on validation images",
    contract="decays, a list of L different floats >= 0 in any order; valid (L, N) and test (L, M), the losses of the L models on N validation "
             "and M test images, multiples of 1/8 of either sign, so that equal means are equal in floating point. Return (decay, loss), two numbers: "
             "the decay with the lowest mean validation loss, the largest of them if several have this loss, and the mean test loss of its model. L, N "
             "and M may be 1.",
    points=["fvsbn"], difficulty=1, minutes=10)


@exercise.step
def scores(valid, test):
    return valid.mean(dim=1)


@exercise.step
def lowest(means):
    """The rows that have the lowest mean."""
    return [k for k, mean in enumerate(means.tolist()) if mean == min(means.tolist())]


@exercise.step
def selected(decays, rows):
    """The row of the largest decay among the rows."""
    return max(rows, key=lambda k: decays[k])


@exercise.step
def result(decays, k, valid, test):
    return decays[k], test[k].mean().item()


@exercise.reference()
def choose_penalty_reference(decays, valid, test):
    return result(decays, selected(decays, lowest(scores(valid, test))), valid, test)


@exercise.misconception(
    scores, "You choose the decay by the test loss. The test loss of the chosen model is then too low on average; choose by the validation loss.")
def chosen_on_test(valid, test):
    return test.mean(dim=1)


@exercise.misconception(scores, "You choose the decay by the loss of a single validation image. Use the mean over all validation images.")
def single_image(valid, test):
    return valid[:, 0]


@exercise.misconception(scores, "You choose the decay by the median of the validation losses. The loss on a set of images is their mean.")
def median(valid, test):
    return valid.quantile(0.5, dim=1)


@exercise.misconception(lowest, "You choose the highest validation loss. The lowest loss belongs to the best model.")
def highest(means):
    return [k for k, mean in enumerate(means.tolist()) if mean == max(means.tolist())]


@exercise.misconception(
    selected, "If several decays have the lowest validation loss, you return the first of them in the list. Return the largest.")
def first(decays, rows):
    return rows[0]


@exercise.misconception(
    selected, "If several decays have the lowest validation loss, you return the smallest of them. Return the largest.")
def smallest(decays, rows):
    return min(rows, key=lambda k: decays[k])


@exercise.misconception(result, "You return the position of the decay in the list. Return the decay itself.")
def position(decays, k, valid, test):
    return k, test[k].mean().item()


@exercise.misconception(
    result, "Your second number is the validation loss. It is too low on average, because the decay was chosen to make it small; return the test loss.")
def validation_loss(decays, k, valid, test):
    return decays[k], valid[k].mean().item()


@exercise.misconception(
    result,
    "Your second number is the lowest test loss of all models. It is too low on average, because the test images "
    "choose the model; return the test loss of the model with the chosen decay.")
def lowest_test_loss(decays, k, valid, test):
    return decays[k], test.mean(dim=1).min().item()


@exercise.misconception(result, "Your second number is the sum of the test losses. The loss on a set of images is the mean.")
def total(decays, k, valid, test):
    return decays[k], test[k].sum().item()


def eighths(generator, *shape):
    """Multiples of 1/8 of both signs, whose sums are exact, so that equal means are equal in floating point."""
    return torch.randint(-40, 120, shape, generator=generator) / 8


def penalty_cases(generator):
    """Unsorted decays; the validation loss, its first column, its median and the test loss choose differently. Then ties of two and of three."""
    cases = []
    while len(cases) < 2:
        L, N, M = integer(generator, 4, 6), integer(generator, 7, 9), integer(generator, 10, 12)
        decays = [[0.003, 0.0, 0.01, 0.0003, 0.03, 0.001][k] for k in torch.randperm(6, generator=generator)[:L].tolist()]
        valid, test = eighths(generator, L, N), eighths(generator, L, M)
        chosen = [lowest.original(each) for each in (valid.mean(1), test.mean(1), valid[:, 0], valid.quantile(0.5, dim=1))]
        if len(chosen[0]) == 1 and not any(chosen[0][0] in other for other in chosen[1:]):
            cases.append((decays, valid, test))
    for decays, rows in (([0.001, 0.01, 0.0], (0, 1)), ([0.01, 0.0003, 0.001, 0.0], (1, 2, 3)), ([0.0, 0.02, 0.003], (0, 1))):
        valid, test = eighths(generator, len(decays), 6), eighths(generator, len(decays), 5)
        for k in rows:                                                         # the lowest mean, in another order
            valid[k] = valid.amin() + torch.tensor([-1.0, -2, -3, -4, -5, -6])[torch.randperm(6, generator=generator)]
        for k in rows[1:]:
            valid[k] = valid[rows[0]][torch.randperm(6, generator=generator)]
        cases.append((decays, valid, test))
    return cases


def single_cases(generator):
    """One decay; and one image in each set."""
    return [([0.005], eighths(generator, 1, 6), eighths(generator, 1, 4)),
            ([0.0, 0.01], torch.tensor([[7.5], [7.0]]) + integer(generator, 0, 3), torch.tensor([[6.0], [8.0]]) + integer(generator, 0, 3))]


exercise.compare("decay and test loss", penalty_cases, points=4)
exercise.compare("one decay, one image", single_cases, points=1)
exercise.unchanged(penalty_cases)
exercise.hint(
    "You do not know which set to use for what.",
    "The validation images choose the decay, and the test images are used once, for the loss of the chosen model.")
exercise.hint(
    "Your result is wrong if two decays have the same validation loss.",
    "valid.mean(dim=1) has one mean for each decay. Collect all decays whose mean equals the minimum, and take the largest of them.")
exercise.hint(
    "Your second number is wrong.",
    "test[k].mean() is the mean test loss of model k, where k is the row of the chosen decay in the list as it is given.")
