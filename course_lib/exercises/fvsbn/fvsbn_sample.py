"""A sample from an FVSBN, variable by variable."""
from __future__ import annotations

import torch

from course_lib.exercises.bits import bit_step
from course_lib.exercises.draws import uneven, uniform
from course_lib.exercises.fvsbn._shared import logits, weights
from course_lib.grading.checks import Fault
from course_lib.grading.exercise import Exercise
from course_lib.grading.protocol.calls import same

exercise = Exercise(
    "fvsbn_sample", chapter="fvsbn", place=2, title="Ancestral sampling, one variable at a time",
    contract="u (B, D) contains uniform numbers in [0, 1); W and c as in fvsbn_conditionals. Sample x_1, x_2, ... in this "
             "order: x_i = 1 where u[:, i] < p(x_i = 1 given the sampled x_<i), else 0. Return x, floats (B, D).",
    points=["fvsbn"], difficulty=2, minutes=15)


@exercise.step
def probability(x, W, c, i):
    """P(x_i = 1 given x_<i), (B,)."""
    return torch.sigmoid(x[:, :i] @ W[i, :i] + c[i])


sampled = bit_step(exercise)


@exercise.reference()
@exercise.step
def fvsbn_sample_reference(u, W, c):
    x = torch.zeros_like(u)
    for i in range(u.shape[1]):
        x[:, i] = sampled(u[:, i], probability(x, W, c, i))
    return x


@exercise.misconception(
    probability,
    "Your variables do not depend on those sampled before them. The probability of x_i needs the sampled x_<i, so it can only be "
    "computed after them.")
def all_at_once(x, W, c, i):
    return probability.original(torch.zeros_like(x), W, c, i)


@exercise.misconception(
    probability,
    "You use W[j, i] instead of W[i, j]: row i belongs to the variable that is sampled.")
def transposed(x, W, c, i):
    return probability.original(x, W.T, c, i)


@exercise.misconception(
    probability, "Each of your variables depends only on the one directly before it. Its parents are all earlier variables.")
def one_parent(x, W, c, i):
    return probability.original(x, W.triu(-1), c, i)


@exercise.misconception(
    fvsbn_sample_reference,
    "Your later variables depend on the probabilities of the earlier ones. They must depend on the sampled values, 0 or 1.")
def feeds_probabilities(u, W, c):
    p = torch.zeros_like(u)
    for i in range(u.shape[1]):
        p[:, i] = probability(p, W, c, i)
    return sampled(u, p)


@exercise.misconception(
    sampled,
    "You set x_i to 1 where u equals p, too. The condition is u < p. Since u can be 0, u <= p would sample a 1 even "
    "where p is 0.")
def at_equality(u, p):
    return (u <= p).to(u.dtype)


def sample_cases(generator):
    """Also one row alone, and one variable alone with u = p."""
    cases, sizes = [], [*(uneven(generator, (9, 12), (5, 8)) for _ in range(3)), [1, 6]]
    while len(cases) < len(sizes):
        B, D = sizes[len(cases)]
        u, (W, c) = uniform(generator, B, D), weights(generator, D)
        p = logits(fvsbn_sample_reference(u, W, c), W, c).sigmoid()
        if (u - p).abs().min() > 1e-4:                                         # no draw hangs on the last digits
            cases.append((u, W, c))
    return [*cases, (torch.tensor([[0.5], [0.8], [0.2]]), torch.ones(1, 1), torch.zeros(1))]


@exercise.property("the same u, the same sample", points=0)
def repeatable(run, generator, solve):
    u, (W, c) = uniform(generator, 20, 8), weights(generator, 8)
    return None if same(run(u, W, c), run(u, W, c)) else Fault("The same u gives two different samples.", "own_randomness")


exercise.compare("values", sample_cases, points=4)
exercise.unchanged(sample_cases)
exercise.hint(
    "You do not know how to begin without an x.",
    "Begin with zeros. The first variable has no parents, so its probability is correct for any x. Sample it and write "
    "it into x. Then the second probability is correct, and so on.")
exercise.hint(
    "Your samples look alike, or like noise.",
    "Each step needs a new probability, given the values sampled so far. Write a loop over the variables, with the whole batch at "
    "once.")
exercise.hint(
    "You use bernoulli() and the check fails.",
    "The random numbers are given in u, so that the result can be tested. x_i = 1 where u[:, i] is less than p.")
