"""A training loop with three faults, repaired."""
from __future__ import annotations

import torch

from course_lib.exercises.draws import integer, normal
from course_lib.grading.exercise import Exercise

exercise = Exercise(
    "train_line", chapter="linear-models", place=3, title="A loop with three faults",
    contract="x (B,) and y (B,); rate, a number; epochs and batch, whole numbers. The line b + w x starts at b = w = "
             "0. An epoch goes through the rows in their order, `batch` at a time, the last and shorter batch "
             "included; for each batch one step of gradient descent on the mean of its squared differences. Return "
             "(2,): b and w at the end.",
    points=["linear-regression"], difficulty=2, minutes=20, kind="find")


@exercise.step
def batches(x, y, size):
    return list(zip(x.split(size), y.split(size)))


@exercise.step
def gradient(line, rows, targets):
    """Of the mean squared difference, by b and by w, (2,)."""
    difference = line[0] + line[1] * rows - targets
    return 2 * torch.stack([difference.mean(), (difference * rows).mean()])


@exercise.step
def moved(line, rows, targets, rate):
    return line - rate * gradient(line, rows, targets)


@exercise.step
def after_epoch(line, x, y, rate, size):
    for rows, targets in batches(x, y, size):
        line = moved(line, rows, targets, rate)
    return line


@exercise.reference()
@exercise.step
def train_line_reference(x, y, rate, epochs, batch):
    line = torch.zeros(2, dtype=x.dtype)                                       # b, w
    for _ in range(epochs):
        line = after_epoch(line, x, y, rate, batch)
    return line


@exercise.misconception(
    train_line_reference,
    "Your gradients add up from step to step. Set them to zero, or to None, before each backward().")
def accumulated(x, y, rate, epochs, batch):
    line, total = torch.zeros(2, dtype=x.dtype), 0
    for rows, targets in epochs * batches(x, y, batch):
        total = total + gradient(line, rows, targets)
        line = line - rate * total
    return line


@exercise.misconception(
    after_epoch,
    "You set the gradients to zero once per epoch, so they add up over its mini-batches. Set them to zero before each "
    "backward().")
def cleared_each_epoch(line, x, y, rate, size):
    total = 0
    for rows, targets in batches(x, y, size):
        total = total + gradient(line, rows, targets)
        line = line - rate * total
    return line


@exercise.misconception(
    batches, "Your loop omits the last, smaller mini-batch of each epoch, so its rows are never used.")
def dropped_last(x, y, size):
    return [(rows, targets) for rows, targets in batches.original(x, y, size) if len(rows) == size]


@exercise.misconception(batches, "You use all rows at once. Each epoch has one step for every mini-batch.")
def whole(x, y, size):
    return [(x, y)]


@exercise.misconception(train_line_reference, "Your loop makes a single pass through the rows and ignores `epochs`.")
def one_epoch(x, y, rate, epochs, batch):
    return train_line_reference.original(x, y, rate, 1, batch)


@exercise.misconception(
    gradient,
    "Your loss compares every prediction of a mini-batch with every target: (batch, 1) minus (batch,) has shape (batch, batch).")
def broadcast(line, rows, targets):
    return gradient.original(line, rows[:, None], targets)


@exercise.misconception(
    gradient, "Your loss is the sum over the mini-batch. Use the mean, so that the size of a step does not depend on the batch size.")
def summed(line, rows, targets):
    return len(rows) * gradient.original(line, rows, targets)


@exercise.misconception(
    after_epoch,
    "You divide by `batch`, even where the last mini-batch is smaller. Take the mean over the rows that it contains.")
def by_batch(line, x, y, rate, size):
    for rows, targets in batches(x, y, size):
        line = moved(line, rows, targets, rate * len(rows) / size)
    return line


@exercise.misconception(moved, "Your steps increase the loss: the gradient is subtracted, not added.")
def uphill(line, rows, targets, rate):
    return line + rate * gradient(line, rows, targets)


@exercise.misconception(
    moved,
    "You update b first, and then compute the derivative with respect to w with the new b. Compute both derivatives before you update "
    "either parameter.")
def b_first(line, rows, targets, rate):
    for moves in ([1, 0], [0, 1]):
        line = line - rate * gradient(line, rows, targets) * torch.tensor(moves)
    return line


@exercise.misconception(
    moved,
    "You update w first, and then compute the derivative with respect to b with the new w. Compute both derivatives before you update "
    "either parameter.")
def w_first(line, rows, targets, rate):
    for moves in ([0, 1], [1, 0]):
        line = line - rate * gradient(line, rows, targets) * torch.tensor(moves)
    return line


def line_cases(generator):
    """The last batch is shorter, or all are full."""
    cases = []
    for left in (1, 2, 0):
        batch = integer(generator, 3, 4)
        B = batch * integer(generator, 2, 3) + left
        x = normal(generator, B)
        cases.append((x, 1.5 - 2 * x + normal(generator, B, scale=0.5), 0.1, integer(generator, 2, 4), batch))
    return cases


exercise.compare("the line at the end", line_cases, points=5)
exercise.hint(
    "The loop runs and you cannot find a fault.",
    "Take one batch and one epoch, and compute the step by hand: -2 / batch times the sum of (y - b - w x), and of "
    "that times x.")
exercise.hint(
    "The first step is right, but the second is wrong.",
    "Print the gradient before and after backward(). What was in it before the second call?")
exercise.hint(
    "Some rows seem to have no influence.",
    "Count the steps of an epoch: with 7 rows and batches of 3 there are three. len(x) // batch is two.")
