"""A clipped gradient out of several batches."""
from __future__ import annotations

import math

import torch

from course_lib.exercises.draws import integer, normal, uneven
from course_lib.grading.exercise import Exercise

exercise = Exercise(
    "clipped_step", chapter="training-a-transformer", place=5, title="One clipped gradient out of several batches",
    contract="grads is a list with an entry for each of m batches; an entry is a list with the gradient of each parameter: that of "
             "the mean loss over the tokens of this batch. counts has the number of tokens of each batch. Return (clipped, norm): "
             "the gradients of the mean loss over all tokens, a list with one tensor a parameter, multiplied by c / norm where norm "
             "is above c, else as they are; norm, a number, is their length before that, all parameters taken as one vector.",
    points=["grad-clipping"], difficulty=3, minutes=20)


@exercise.step
def shares(counts):
    return [count / sum(counts) for count in counts]


@exercise.step
def mean_gradient(grads, counts):
    return [sum(share * grad for share, grad in zip(shares(counts), parts)) for parts in zip(*grads)]


def length(grads):
    return math.sqrt(sum(float(grad.double().square().sum()) for grad in grads))


@exercise.step
def clipped(grads, c):
    norm = length(grads)
    return [grad * (c / norm) for grad in grads] if norm > c else grads


@exercise.reference()
@exercise.step
def clipped_step_reference(grads, counts, c):
    mean = mean_gradient(grads, counts)
    return clipped(mean, c), length(mean)


@exercise.misconception(
    shares,
    "You take the mean over the batches, but they have different numbers of tokens: weight each gradient by its count.")
def plain_mean(counts):
    return [1 / len(counts) for _ in counts]


@exercise.misconception(
    shares,
    "You add the gradients of the batches up. Each is that of a mean already: weight it by its share of the tokens.")
def summed(counts):
    return [1.0 for _ in counts]


@exercise.misconception(
    clipped,
    "You clip every parameter by its own norm, which changes the direction of the step. All parameters have the same factor.")
def each_parameter(grads, c):
    return [grad * min(1.0, c / max(length([grad]), 1e-9)) for grad in grads]


@exercise.misconception(
    clipped,
    "You clip every entry at c, which changes the direction. Clipping by norm scales the whole gradient.")
def by_value(grads, c):
    return [grad.clamp(-c, c) for grad in grads]


@exercise.misconception(
    clipped,
    "You scale every gradient to norm c, short ones too. A gradient whose norm is c or less stays as it is.")
def always(grads, c):
    return [grad * (c / length(grads)) for grad in grads]


@exercise.misconception(clipped, "You never clip: a gradient with a norm above c is returned as it is.")
def never(grads, c):
    return grads


@exercise.misconception(
    clipped_step_reference,
    "You clip every batch by itself before you add. Clipping comes once, when the gradient is complete.")
def each_batch(grads, counts, c):
    return clipped_step_reference.original([clipped(batch, c) for batch in grads], counts, c)


@exercise.misconception(
    clipped_step_reference,
    "Your norm is that after clipping. The norm before it is asked for, since it shows how often clipping happens.")
def after(grads, counts, c):
    clipped_mean, _ = clipped_step_reference.original(grads, counts, c)
    return clipped_mean, length(clipped_mean)


def step_cases(generator):
    """The length above c twice, below it twice; one batch, batches of different size; a parameter of zeros."""
    cases = []
    for m, ratio in ((3, 0.4), (2, 0.7), (3, 1.6), (1, 0.3), (4, 0.25)):
        sizes = uneven(generator, (2, 3), (4, 6))
        grads = [[normal(generator, *sizes), normal(generator, 3 + m, scale=0.5), torch.zeros(2)] for _ in range(m)]
        counts = [integer(generator, 3, 9) + 11 * k for k in range(m)]
        norm = length(mean_gradient(grads, counts))
        cases.append((grads, counts, round(ratio * norm, 2)))
    return cases


exercise.compare("values", step_cases, points=5)
exercise.unchanged(step_cases)
exercise.hint(
    "Where to begin.",
    "zip(*grads) gives, for each parameter, its gradients in all batches. The mean over all tokens is the sum of count / total "
    "times the gradient of a batch's mean.")
exercise.hint(
    "Your clipped gradient points elsewhere.",
    "The length is one number for all parameters: the root of the sum of the squares of every entry of every tensor. Multiply all "
    "tensors by the same factor.")
exercise.hint(
    "It fails only where nothing should happen.",
    "The factor is min(1, c / norm). A gradient that is short enough is left as it is.")
