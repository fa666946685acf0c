"""A training loop with three faults, repaired."""
from __future__ import annotations

import torch

from course_lib.exercises.draws import integer, normal
from course_lib.grading.exercise import Exercise

exercise = Exercise(
    "train_line", chapter="02", place=3, title="A loop with three faults",
    contract="x (B,) and y (B,); rate, a number; epochs and batch, whole numbers. The line b + w x starts at b = w = "
             "0. An epoch goes through the rows in their order, `batch` at a time, the last and shorter batch "
             "included; for each batch one step of gradient descent on the mean of its squared differences. Return "
             "(2,): b and w at the end.",
    points=["linear-regression"], difficulty=2, minutes=20, kind="find")


@exercise.reference(
    kept="Your gradients add up from step to step. Set them to zero, or to None, before each backward().",
    dropped_last="Your loop leaves out the last batch of each epoch, the shorter one: those rows are never learned "
                 "from.",
    broadcast="Your loss pairs every prediction of a batch with every target: (batch, 1) minus (batch,) is (batch, "
              "batch).",
    summed="Your loss is the sum over the batch. With the mean, a step does not grow with the batch.",
    one_epoch="Your loop goes through the rows once, whatever `epochs` says.",
    whole="You take all rows at once. Each epoch has a step for every batch.",
    uphill="Your steps go up: the gradient is subtracted, not added.",
    no_intercept="Your b stays 0: it needs a gradient and a step like w.",
    starts_at_one="Your line does not start at b = w = 0.",
    by_batch="You divide by `batch`, also where the last batch is shorter. Its mean is over the rows that it has.",
    b_first="You move b, and then take the gradient by w on the line that has moved. One step follows one gradient: take both "
            "slopes, then move both.",
    w_first="You move w, and then take the gradient by b on the line that has moved. One step follows one gradient: take both "
            "slopes, then move both.",
)
def train_line_reference(x, y, rate, epochs, batch, bugs=frozenset()):
    line = torch.full((2,), 1.0 if "starts_at_one" in bugs else 0.0, dtype=x.dtype)       # b, w
    gradient = torch.zeros_like(line)
    for _ in range(1 if "one_epoch" in bugs else epochs):
        size = len(x) if "whole" in bugs else batch
        for start in range(0, len(x), size):
            rows, targets = x[start:start + size], y[start:start + size]
            if "dropped_last" in bugs and len(rows) < size:
                continue
            off = line[0] + line[1] * rows - targets                           # (batch,)
            if "broadcast" in bugs:
                off = (line[0] + line[1] * rows)[:, None] - targets
            by_w = (off * rows[:, None] if "broadcast" in bugs else off * rows)
            rest = 1 if "summed" in bugs else batch if "by_batch" in bugs else off.numel()
            new = 2 * torch.stack([off.sum(), by_w.sum()]) / rest
            if "b_first" in bugs:
                new[1] = 2 * ((off - rate * new[0]) * rows).sum() / rest
            if "w_first" in bugs:
                new[0] = 2 * (off - rate * new[1] * rows).sum() / rest
            gradient = gradient + new if "kept" in bugs else new
            if "no_intercept" in bugs:
                gradient = gradient * torch.tensor([0.0, 1.0])
            line = line + rate * gradient if "uphill" in bugs else line - rate * gradient
    return line


def line_cases(generator):
    cases = []
    for _ in range(3):
        batch, left = integer(generator, 3, 4), integer(generator, 1, 2)
        B = batch * integer(generator, 2, 3) + left
        x = normal(generator, B)
        cases.append((x, 1.5 - 2 * x + normal(generator, B, scale=0.5), 0.1, integer(generator, 2, 4), batch))
    return cases


exercise.compare("the line at the end", line_cases, points=5)
exercise.hint(
    "The loop runs and you see no fault.",
    "Take one batch and one epoch, and compute the step by hand: -2 / batch times the sum of (y - b - w x), and of "
    "that times x.")
exercise.hint(
    "The first step is right, and the second is not.",
    "Print the gradient before and after backward(). What was in it before the second call?")
exercise.hint(
    "Some rows seem to have no influence.",
    "Count the steps of an epoch: with 7 rows and batches of 3 there are three. len(x) // batch is two.")
