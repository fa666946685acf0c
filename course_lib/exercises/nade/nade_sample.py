"""A draw from NADE by the running sum."""
from __future__ import annotations

import torch

from course_lib.exercises.draws import uneven, uniform
from course_lib.exercises.nade._shared import logits, weights
from course_lib.grading.checks import Fault
from course_lib.grading.exercise import Exercise
from course_lib.grading.protocol.calls import same

exercise = Exercise(
    "nade_sample", chapter="04", place=2, title="A draw by the running sum",
    contract="u (B, D) holds uniform numbers in [0, 1); W, V, b, c as in nade_loglik. Draw x_1, x_2, ... in this order, the "
             "batch at once: x_i = 1 where u[:, i] < p_i, with p_i from the x_<i just drawn, else 0. Return x, floats "
             "(B, D).",
    points=["nade"], difficulty=3, minutes=20)


@exercise.reference(
    rounded="Your draws do not depend on u: each variable takes its likelier value. That gives one image, not samples.",
    all_at_once="Your variables do not react to those drawn before them: the running sum stays at c.",
    greater="You set x_i to 1 where u is above p. That happens with probability 1 - p.",
    feeds_probabilities="Your running sum takes in the probabilities. It must take in the drawn values, 0 or 1.",
    feeds_uniforms="Your running sum takes in u in the place of the values that were drawn.",
    own_randomness="Asked twice with the same u, your function draws two different things: the randomness is not u's. x_i is "
                   "1 where u[:, i] is below p, and bernoulli() is not needed.",
    one_row="All rows of your batch share one running sum. Each row has drawn other values and needs a sum of its own.",
    late="Your running sum lags: when x_i is drawn it does not yet hold the column of the variable just before.",
    no_hidden_bias="Your running sum starts from 0. It starts from c.",
    linear="Your hidden units are the running sum itself. Put it through the sigmoid before V reads it.",
)
def nade_sample_reference(u, W, V, b, c, bugs=frozenset()):
    B, D = u.shape
    x, a = torch.zeros_like(u), (torch.zeros_like(c) if "no_hidden_bias" in bugs else c).expand(B, -1)   # a: (B, H)
    waiting = torch.zeros_like(a)
    for i in range(D):
        h = a if "linear" in bugs else torch.sigmoid(a)
        p = torch.sigmoid(h @ V[i] + b[i])                                     # (B,)
        drawn = torch.rand_like(p) < p if "own_randomness" in bugs else p > 0.5 if "rounded" in bugs else u[:, i] > p if "greater" in bugs else u[:, i] < p
        x[:, i] = drawn.to(u.dtype)
        read = p if "feeds_probabilities" in bugs else u[:, i] if "feeds_uniforms" in bugs else x[:, i]
        if "one_row" in bugs:
            read = read[:1].expand(B)
        column = read[:, None] * W[:, i]                                       # (B, H)
        if "late" in bugs:
            a, waiting = a + waiting, column
        elif "all_at_once" not in bugs:
            a = a + column
    return x


def sample_cases(generator):
    found = []
    while len(found) < 3:
        B, H, D = uneven(generator, (9, 14), (5, 8), (6, 9))
        u, model = uniform(generator, B, D), weights(generator, H, D, scale=2.0)
        p = logits(nade_sample_reference(u, *model), *model).sigmoid()
        if (u - p).abs().min() > 1e-4:                                         # no draw hangs on the last digits
            found.append((u, *model))
    return found


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
