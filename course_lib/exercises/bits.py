"""The step that draws a bit from its probability, with the misconceptions about it."""
from __future__ import annotations

import torch

from course_lib.grading.exercise import Exercise, Step


def bit_step(exercise: Exercise) -> Step:
    """The step `sampled(u, p)` of this exercise: 1 where the uniform number u is below p, else 0, as floats of u's shape. Its
    misconceptions are declared."""
    @exercise.step
    def sampled(u, p):
        return (u < p).to(u.dtype)

    @exercise.misconception(
        sampled,
        "Your samples do not depend on u: each variable takes its most probable value, so all rows are the same.")
    def rounded(u, p):
        return (p > 0.5).to(u.dtype)

    @exercise.misconception(sampled, "You set x_i to 1 where u is above p. That happens with probability 1 - p.")
    def greater(u, p):
        return (u > p).to(u.dtype)

    @exercise.misconception(
        sampled,
        "Called twice with the same u, your function returns two different samples: the randomness is not that of u. x_i is 1 "
        "where u[:, i] is below p, and bernoulli() is not needed.")
    def own_randomness(u, p):
        return (torch.rand_like(p) < p).to(u.dtype)

    return sampled
