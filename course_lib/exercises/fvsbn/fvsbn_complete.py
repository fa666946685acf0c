"""The unknown variables of an observation, sampled given the first ones."""
from __future__ import annotations

import torch

from course_lib.exercises.bits import bit_step
from course_lib.exercises.draws import bits, integer, uneven, uniform
from course_lib.exercises.fvsbn._shared import logits, weights
from course_lib.grading.checks import Fault
from course_lib.grading.exercise import Exercise
from course_lib.grading.protocol.calls import same

exercise = Exercise(
    "fvsbn_complete", chapter="fvsbn", place=8, title="Completion of an image",
    contract="x (B, D) contains 0 and 1, of which the first k columns are known, 0 <= k <= D; u (B, D) contains uniform numbers in "
             "[0, 1); W and c as in fvsbn_conditionals. Return floats (B, D): the first k columns are those of x, and in each later "
             "column i, from left to right, x_i = 1 where u[:, i] < p(x_i = 1 given the columns before it of the result), else 0.",
    points=["fvsbn"], difficulty=3, minutes=20)


@exercise.step
def start(x, k):
    """The known columns; zeros elsewhere."""
    result = torch.zeros_like(x)
    result[:, :k] = x[:, :k]
    return result


@exercise.step
def probability(x, W, c, i):
    """P(x_i = 1 given x_<i), (B,)."""
    return torch.sigmoid(x[:, :i] @ W[i, :i] + c[i])


sampled = bit_step(exercise)


@exercise.reference()
@exercise.step
def fvsbn_complete_reference(x, k, u, W, c):
    result = start(x, k)
    for i in range(k, x.shape[1]):
        result[:, i] = sampled(u[:, i], probability(result, W, c, i))
    return result


@exercise.misconception(
    fvsbn_complete_reference,
    "Your known variables are sampled again. Keep the first k columns of x, and begin to sample at column k.")
def sampled_again(x, k, u, W, c):
    return fvsbn_complete_reference.original(x, 0, u, W, c)


@exercise.misconception(
    fvsbn_complete_reference,
    "Your sampled variables do not depend on the known ones. Put the known values into the result before you sample.")
def independent_of_known(x, k, u, W, c):
    result = fvsbn_complete_reference.original(torch.zeros_like(x), k, u, W, c)
    result[:, :k] = x[:, :k]
    return result


@exercise.misconception(
    fvsbn_complete_reference,
    "You compute all probabilities once, from the given x. Its columns from k on are not known: each probability depends on the "
    "values sampled before it.")
def from_the_given_row(x, k, u, W, c):
    result = sampled(u, logits(x, W, c).sigmoid())
    result[:, :k] = x[:, :k]
    return result


@exercise.misconception(
    fvsbn_complete_reference,
    "You begin to use u at its first column. Variable i is sampled with column i of u, also if i is the first unknown variable.")
def shifted(x, k, u, W, c):
    return fvsbn_complete_reference.original(x, k, u.roll(k, dims=1), W, c)


@exercise.misconception(
    fvsbn_complete_reference,
    "You keep one column too many. The columns 0 to k - 1 are known, and column k is the first that is sampled.")
def one_too_many(x, k, u, W, c):
    return fvsbn_complete_reference.original(x, min(k + 1, x.shape[1]), u, W, c)


@exercise.misconception(
    probability, "You use W[j, i] instead of W[i, j]: row i belongs to the variable that is sampled.")
def transposed(x, W, c, i):
    return probability.original(x, W.T, c, i)


@exercise.misconception(start, "You write the sampled values into x, which changes the argument. Fill a copy.")
def written_over(x, k):
    return x


def complete_cases(generator):
    """Also nothing known, everything known, and one row alone."""
    cases, sizes = [], [*(uneven(generator, (9, 12), (6, 8)) for _ in range(4)), [1, 6]]
    known = [3, 0, integer(generator, 2, 4), sizes[3][1], 2]
    while len(cases) < len(sizes):
        (B, D), k = sizes[len(cases)], known[len(cases)]
        x, u, (W, c) = bits(generator, B, D), uniform(generator, B, D), weights(generator, D)
        p = logits(fvsbn_complete_reference(x, k, u, W, c), W, c).sigmoid()
        if (u - p).abs().min() > 1e-4:                                         # no value depends on rounding
            cases.append((x, k, u, W, c))
    return cases


@exercise.property("the same u, the same completion", points=0)
def repeatable(run, generator, solve):
    x, u, (W, c) = bits(generator, 20, 8), uniform(generator, 20, 8), weights(generator, 8)
    return None if same(run(x, 3, u, W, c), run(x, 3, u, W, c)) else Fault("The same u gives two different completions.", "own_randomness")


exercise.compare("values", complete_cases, points=4)
exercise.unchanged(complete_cases)
exercise.hint(
    "You do not know how to begin.",
    "Create a tensor of zeros and copy the first k columns of x into it. Then sample column k, write it into the tensor, and "
    "continue with column k + 1.")
exercise.hint(
    "Your result is right for k = 0 only.",
    "For k = 0 the task is that of fvsbn_sample. For larger k only the first column of the loop changes; column i of u belongs to "
    "variable i in every case.")
exercise.hint(
    "Your result depends on columns of x that are not known.",
    "The columns of x from k on must not be used. Compute the probability of x_i from the result so far, not from x.")
