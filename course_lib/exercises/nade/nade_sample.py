"""A draw from NADE by the running sum."""
from __future__ import annotations

import torch

from course_lib.exercises.bits import bit_step
from course_lib.exercises.draws import uneven, uniform
from course_lib.exercises.nade._shared import logits, weights
from course_lib.grading.checks import Fault
from course_lib.grading.exercise import Exercise
from course_lib.grading.protocol.calls import same

exercise = Exercise(
    "nade_sample", chapter="nade", place=2, title="A draw by the running sum",
    contract="u (B, D) holds uniform numbers in [0, 1); W, V, b, c as in nade_loglik. Draw x_1, x_2, ... in this order, the "
             "batch at once: x_i = 1 where u[:, i] < p_i, with p_i from the x_<i just drawn, else 0. Return x, floats "
             "(B, D).",
    points=["nade"], difficulty=3, minutes=20)


@exercise.step
def first_sum(c, B):
    return c.expand(B, -1)                                                     # (B, H)


@exercise.step
def hidden(a):
    return torch.sigmoid(a)


sampled = bit_step(exercise)


@exercise.step
def updated(a, x_i, column):
    return a + x_i[:, None] * column


@exercise.reference()
@exercise.step
def nade_sample_reference(u, W, V, b, c):
    x, a = torch.zeros_like(u), first_sum(c, len(u))
    for i in range(u.shape[1]):
        p = torch.sigmoid(hidden(a) @ V[i] + b[i])                             # (B,)
        x[:, i] = sampled(u[:, i], p)
        a = updated(a, x[:, i], W[:, i])
    return x


@exercise.misconception(
    updated, "Your variables do not depend on those sampled before them: the running sum stays at c.")
def all_at_once(a, x_i, column):
    return a


@exercise.misconception(
    updated,
    "All rows of your batch share one running sum. Each row holds other sampled values and needs a sum of its own.")
def one_row(a, x_i, column):
    return a + x_i[0] * column


@exercise.misconception(
    nade_sample_reference,
    "You add the probabilities to your running sum. It takes the sampled values, 0 or 1.")
def feeds_probabilities(u, W, V, b, c):
    x, a = torch.zeros_like(u), first_sum(c, len(u))
    for i in range(u.shape[1]):
        p = torch.sigmoid(hidden(a) @ V[i] + b[i])
        x[:, i] = sampled(u[:, i], p)
        a = updated(a, p, W[:, i])
    return x


@exercise.misconception(first_sum, "Your running sum starts from 0. It starts from c.")
def no_hidden_bias(c, B):
    return torch.zeros_like(c).expand(B, -1)


@exercise.misconception(
    hidden, "Your hidden units are the running sum itself. Put it through the sigmoid before V reads it.")
def linear(a):
    return a


def sample_cases(generator):
    """Also one row alone, and one variable alone with u = p."""
    cases, sizes = [], [*(uneven(generator, (9, 14), (5, 8), (6, 9)) for _ in range(2)), [40, 6, 8], [1, 5, 6]]
    while len(cases) < len(sizes):
        B, H, D = sizes[len(cases)]
        u, model = uniform(generator, B, D), weights(generator, H, D, scale=2.0)
        p = logits(nade_sample_reference(u, *model), *model).sigmoid()
        if (u - p).abs().min() > 1e-4:                                         # no draw hangs on the last digits
            cases.append((u, *model))
    return [*cases, (torch.tensor([[0.5], [0.8], [0.2]]), torch.ones(2, 1), torch.zeros(1, 2), torch.zeros(1), torch.ones(2))]


@exercise.property("the same u, the same draw", points=0)
def repeatable(run, generator, solve):
    u, model = uniform(generator, 20, 8), weights(generator, 5, 8)
    return None if same(run(u, *model), run(u, *model)) else Fault("The same u gives two different draws.", "own_randomness")


exercise.compare("values", sample_cases, points=4)
exercise.unchanged(sample_cases)
exercise.hint(
    "You do not see what shape the running sum has.",
    "(B, H): a row for each image, since each image has drawn other values. c.expand(B, -1) or c.repeat(B, 1) starts it.")
exercise.hint(
    "The shapes of the column and the sum do not fit.",
    "x[:, i] is (B,) and W[:, i] is (H,). x[:, i, None] * W[:, i] is (B, H): one column for the rows that drew a 1, zeros "
    "for the others.")
exercise.hint(
    "You tried bernoulli() and the check disagrees.",
    "The randomness is in u, so that the check can know what is right. x_i = 1 where u[:, i] is below p_i.")
