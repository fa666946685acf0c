"""A clipped gradient out of several batches."""
from __future__ import annotations

import math

import torch

from course_lib.exercises.draws import integer, normal, uneven
from course_lib.grading.exercise import Exercise

exercise = Exercise(
    "clipped_step", chapter="15", place=8, title="One clipped gradient out of several batches",
    contract="grads is a list with an entry for each of m batches; an entry is a list with the gradient of each parameter: that of "
             "the mean loss over the tokens of this batch. counts has the number of tokens of each batch. Return (clipped, norm): "
             "the gradients of the mean loss over all tokens, a list with one tensor a parameter, multiplied by c / norm where norm "
             "is above c, else as they are; norm, a number, is their length before that, all parameters taken as one vector.",
    points=["grad-clipping"], difficulty=3, minutes=20)


@exercise.reference(
    plain_mean="You take the mean over the batches. They have different numbers of tokens: weigh each gradient by its count.",
    summed="You add the gradients of the batches up. Each is that of a mean already: weigh them by their share of the tokens.",
    last_batch="Your gradient is that of the last batch alone.",
    each_batch="You clip every batch by itself before you add. Clipping comes once, when the gradient is whole.",
    each_parameter="You clip every parameter by its own length, which turns the step in another direction. One factor is for all.",
    by_value="You cut every entry at c. The length is cut, and the direction stays.",
    always="You bring every gradient to length c, short ones too. Where norm is c or less nothing is done.",
    never="You never clip: a gradient longer than c comes back as it is.",
    shrunk_twice="You divide by norm and leave out c: your clipped gradient has length 1.",
    after="Your norm is that after clipping. The length before it is asked for: it tells how often clipping happens.",
    squared="Your norm is squared: take the root of the sum of squares.",
    largest="Your norm is the largest entry. The length is asked for: the root of the sum of squares.",
)
def clipped_step_reference(grads, counts, c, bugs=frozenset()):
    total = sum(counts)
    shares = [1 / len(counts) if "plain_mean" in bugs else 1.0 if "summed" in bugs else count / total for count in counts]
    if "each_batch" in bugs:
        grads = [_scaled(batch, min(1.0, c / _length(batch))) for batch in grads]
    if "last_batch" in bugs:
        whole = [grad.clone() for grad in grads[-1]]
    else:
        whole = [sum(share * grad for share, grad in zip(shares, each)) for each in zip(*grads)]
    norm = _length(whole)
    factor = c / norm if "always" in bugs else 1.0 if "never" in bugs or norm <= c else \
        1 / norm if "shrunk_twice" in bugs else c / norm
    if "each_parameter" in bugs:
        clipped = [grad * min(1.0, c / max(_length([grad]), 1e-9)) for grad in whole]
    elif "by_value" in bugs:
        clipped = [grad.clamp(-c, c) for grad in whole]
    else:
        clipped = _scaled(whole, factor)
    said = _length(clipped) if "after" in bugs else norm ** 2 if "squared" in bugs else \
        max(float(grad.abs().max()) for grad in whole) if "largest" in bugs else norm
    return clipped, said


def _length(grads):
    return math.sqrt(sum(float(grad.double().square().sum()) for grad in grads))


def _scaled(grads, factor):
    return [grad * factor for grad in grads]


def step_cases(generator):
    """The length above c twice, below it twice; one batch, batches of different size; a parameter of zeros."""
    found = []
    for m, ratio in ((3, 0.4), (2, 0.7), (3, 1.6), (1, 0.3), (4, 0.25)):
        sizes = uneven(generator, (2, 3), (4, 6))
        grads = [[normal(generator, *sizes), normal(generator, 3 + m, scale=0.5), torch.zeros(2)] for _ in range(m)]
        counts = [integer(generator, 3, 9) + 11 * k for k in range(m)]
        norm = clipped_step_reference(grads, counts, 1.0)[1]
        found.append((grads, counts, round(ratio * norm, 2)))
    return found


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
