"""A draw from an FVSBN, variable by variable."""
from __future__ import annotations

import torch

from course_lib.exercises.draws import uneven, uniform
from course_lib.exercises.fvsbn._shared import logits, weights
from course_lib.grading.checks import Fault
from course_lib.grading.exercise import Exercise
from course_lib.grading.protocol.calls import same

exercise = Exercise(
    "fvsbn_sample", chapter="03", place=2, title="A draw, one variable at a time",
    contract="u (B, D) holds uniform numbers in [0, 1); W and c as in fvsbn_conditionals. Draw x_1, x_2, ... in this "
             "order: x_i = 1 where u[:, i] < p(x_i = 1 given the x_<i just drawn), else 0. Return x, floats (B, D).",
    points=["fvsbn"], difficulty=2, minutes=20)


@exercise.reference(
    rounded="Your draws do not depend on u: each variable takes its likelier value. That gives one image, not samples.",
    all_at_once="Your variables do not react to those drawn before them. The probability of x_i needs the x_<i that were "
                "drawn, so it can only be computed after them.",
    greater="You set x_i to 1 where u is above p. That happens with probability 1 - p.",
    feeds_probabilities="You pass the probabilities on to the later variables. They must read the drawn values, 0 or 1.",
    feeds_uniforms="The later variables read u in the place of the values that were drawn.",
    no_bias="Your draws do not use c.",
    own_randomness="Asked twice with the same u, your function draws two different things: the randomness is not u's. x_i is "
                   "1 where u[:, i] is below p, and bernoulli() is not needed.",
    transposed="Your variables read W[j, i] where W[i, j] is asked for: row i belongs to the variable that is drawn.",
    one_parent="Each of your variables reads only the one before it. It has all the earlier ones as parents.",
)
def fvsbn_sample_reference(u, W, c, bugs=frozenset()):
    if "no_bias" in bugs:
        c = torch.zeros_like(c)
    if "transposed" in bugs:
        W = W.T
    if "one_parent" in bugs:
        W = W.triu(-1)
    x, read = torch.zeros_like(u), u.clone() if "feeds_uniforms" in bugs else torch.zeros_like(u)
    if "all_at_once" in bugs:
        return (u < logits(x, W, c).sigmoid()).to(u.dtype)
    for i in range(u.shape[1]):
        p = logits(read, W, c)[:, i].sigmoid()                                 # (B,)
        drawn = torch.rand_like(p) < p if "own_randomness" in bugs else p > 0.5 if "rounded" in bugs else u[:, i] > p if "greater" in bugs else u[:, i] < p
        x[:, i] = drawn.to(u.dtype)
        if "feeds_uniforms" not in bugs:
            read[:, i] = p if "feeds_probabilities" in bugs else x[:, i]
    return x


def sample_cases(generator):
    found = []
    while len(found) < 3:
        B, D = uneven(generator, (9, 12), (5, 8))
        u, (W, c) = uniform(generator, B, D), weights(generator, D)
        p = logits(fvsbn_sample_reference(u, W, c), W, c).sigmoid()
        if (u - p).abs().min() > 1e-4:                                         # no draw hangs on the last digits
            found.append((u, W, c))
    return found


@exercise.property("the same u, the same draw", points=0)
def repeatable(run, generator, solve):
    u, (W, c) = uniform(generator, 20, 8), weights(generator, 8)
    return None if same(run(u, W, c), run(u, W, c)) else Fault("The same u gives two different draws.", "own_randomness")


exercise.compare("values", sample_cases, points=4)
exercise.unchanged(sample_cases)
exercise.hint(
    "You do not see how to begin without an x.",
    "Begin with zeros. The first variable has no parents, so its probability is right whatever x holds. Draw it, write "
    "it into x, and the second probability is right.")
exercise.hint(
    "Your samples look alike, or like noise.",
    "Each step needs its own pass with the values drawn so far: a loop over the variables, with the whole batch at "
    "once.")
exercise.hint(
    "You tried bernoulli() and the check disagrees.",
    "The randomness is in u, so that the check can know what is right. x_i = 1 where u[:, i] is below p.")
