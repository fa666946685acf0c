"""Scaled dot-product attention."""
from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from course_lib.exercises.draws import normal, uneven
from course_lib.exercises.self_attention._shared import KERNEL
from course_lib.grading.checks import Fault, Gradient, Record
from course_lib.grading.exercise import Exercise
from course_lib.grading.protocol.calls import Outcome, same


def mixed_mask(generator: torch.Generator, *shape: int) -> Tensor:
    """Booleans (..., n, m); every row holds both kinds, every column a True."""
    if len(shape) > 2:
        return torch.stack([mixed_mask(generator, *shape[1:]) for _ in range(shape[0])])
    while True:
        mask = torch.rand(shape, generator=generator) < 0.6
        if mask.any(1).all() and not mask.all(1).any() and mask.any(0).all():
            return mask


NO_AXIS = ("Your softmax is given no axis, or the wrong one of those in front. Without an axis torch takes the first or the "
           "second, by the number of axes: the weights of a query must sum to one over the keys, dim=-1.")

exercise = Exercise(
    "attention", chapter="self-attention", place=1, title="Attention",
    contract="q (..., n, d), k (..., m, d), v (..., m, e); mask, boolean (..., n, m) or None, is True where a query "
             "may attend; it broadcasts over the axes in front. Return softmax(q k' / sqrt(d)) v over the keys that are "
             "allowed, (..., n, e), for scores of any size. A query that may attend nowhere gets zeros.",
    points=["qkv", "scaled-dot-product", "pytorch-attention"], difficulty=2, minutes=15, forbid=KERNEL)


@exercise.step
def scaled_scores(q, k):
    """q k' / sqrt(d), (..., n, m)."""
    return q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])


@exercise.step
def softmax(scores):
    return scores.softmax(-1)


@exercise.step
def closed(scores, mask):
    return scores.masked_fill(~mask, -math.inf)


@exercise.step
def masked_weights(scores, mask):
    return softmax(closed(scores, mask)).masked_fill(~mask, 0)                 # a row of NaN becomes zeros


@exercise.step
def weights(scores, mask):
    return softmax(scores) if mask is None else masked_weights(scores, mask)


@exercise.step
def weighted_mean(scores, mask, v):
    return weights(scores, mask) @ v


@exercise.reference()
@exercise.step
def attention_reference(q, k, v, mask=None):
    return weighted_mean(scaled_scores(q, k), mask, v)


@exercise.misconception(
    scaled_scores,
    "Your scores are not divided by sqrt(d): they grow with the width, and the softmax becomes a hard choice.")
def no_scale(q, k):
    return q @ k.transpose(-2, -1)


@exercise.misconception(
    scaled_scores,
    "You divide the scores by d. The size of a sum of d products grows with sqrt(d), so after a division by d the weights are nearly "
    "uniform where d is large: divide by sqrt(d).")
def scaled_by_width(q, k):
    return q @ k.transpose(-2, -1) / q.shape[-1]


@exercise.misconception(
    attention_reference,
    "You divide the scores by the root of the width of v. Their size grows with d, the width of q and k: divide by sqrt(d).")
def scaled_by_values(q, k, v, mask=None):
    return weighted_mean(q @ k.transpose(-2, -1) / math.sqrt(v.shape[-1]), mask, v)


@exercise.misconception(
    softmax,
    "Your weights sum to one over the queries. Each query shares out its own attention: the softmax runs over the "
    "keys, the last axis.")
def over_queries(scores):
    return scores.softmax(-2)


@exercise.misconception(softmax, NO_AXIS)
def no_axis(scores):
    return scores.softmax(0 if scores.ndim in (1, 3) else 1)                   # torch's choice where none is given


@exercise.misconception(
    weights,
    "Your attention is causal, and it ignores the argument mask. Here a query may attend to every key that mask allows, and to all "
    "keys if mask is None.")
def always_causal(scores, mask):
    return softmax(closed(scores, torch.ones(scores.shape[-2:], dtype=torch.bool).tril()))


@exercise.misconception(weights, NO_AXIS)
def no_axis_nan(scores, mask):
    return no_axis(scores if mask is None else closed(scores, mask))


@exercise.misconception(
    softmax,
    "Large scores give NaN or nothing: the exponential of 89 is infinite already, and that of -104 is 0. Subtract "
    "the largest score of each row before the exponential, as torch.softmax does.")
def no_maximum(scores):
    return scores.exp() / scores.exp().sum(-1, keepdim=True)


@exercise.misconception(
    masked_weights,
    "Your weights are masked after the softmax: what was hidden still took part in the sum below the fraction. Mask"
    " the scores.")
def masked_after(scores, mask):
    return softmax(scores) * mask


@exercise.misconception(
    masked_weights,
    "A query that may attend nowhere gets the mean of the values: with the same large negative score everywhere the"
    " softmax is uniform. Zeros are asked for.")
def averaged(scores, mask):
    return softmax(scores.masked_fill(~mask, -1e9))


@exercise.misconception(
    weighted_mean,
    "A query that may attend nowhere gets zeros, and its gradient is NaN: the softmax over nothing is still on the "
    "way back. Fill its weights with 0 before they meet the values.")
def nan_gradient(scores, mask, v):
    if mask is None:
        return softmax(scores) @ v
    return (softmax(closed(scores, mask)) @ v).masked_fill(~mask.any(-1, keepdim=True), 0)


@exercise.misconception(
    closed,
    "What is hidden keeps a weight where the allowed scores are very negative: a score of -50 or -100 is not small "
    "enough. Only minus infinity is.")
def too_small(scores, mask):
    return scores.masked_fill(~mask, -50)


def attention_cases(generator):
    """Uneven sizes, and masks of several shapes; all sizes equal; keys that are the queries; one key; a mask that closes nothing."""
    n, m, d, e = uneven(generator, (3, 6), (4, 8), (5, 9), (2, 7))
    B, H = uneven(generator, (2, 3), (2, 3))
    one = [normal(generator, *s, scale=1.5) for s in ((n, d), (m, d), (m, e))]
    many = [normal(generator, B, H, *s, scale=1.5) for s in ((n, d), (m, d), (m, e))]
    q, k, v = one
    square = [normal(generator, m, m, scale=1.5) for _ in range(3)]
    return [(*one,), (*many, mixed_mask(generator, B, H, n, m)), (*one, mixed_mask(generator, n, m)), (*many, None),
            (*many, mixed_mask(generator, n, m)), (*many, mixed_mask(generator, B, 1, n, m)), (*square, mixed_mask(generator, m, m)),
            (q, q, q), (q[None], k[None, :1], v[None, :1]), (*one, torch.ones(n, m, dtype=torch.bool))]


def nowhere_cases(generator):
    n, m, d, e = uneven(generator, (3, 5), (4, 7), (5, 8), (2, 6))
    q, k, v = (normal(generator, 3, *s) for s in ((n, d), (m, d), (m, e)))
    mask = mixed_mask(generator, 3, n, m)
    mask[0, 1] = mask[2] = False                                               # one query, and a whole sequence
    return [(q, k, v, mask), (q, k, v, torch.zeros(n, m, dtype=torch.bool))]


def large_cases(generator, size=300):
    """The queries point the way of all keys or the other way, in turn: scores near `size`, and near -`size`."""
    n, m, d, e = uneven(generator, (3, 6), (4, 8), (5, 9), (2, 7))
    way = torch.nn.functional.normalize(normal(generator, d), dim=0)
    signs = torch.tensor([1.0, -1.0]).repeat(3)[:n, None]
    q = size * math.sqrt(d) * signs * way                                       # (n, d)
    k = way + normal(generator, m, d, scale=0.003)                             # scores differ by about one
    mask = mixed_mask(generator, n, m)
    far, hidden = k.clone(), mask.clone()
    far[1], hidden[::2, 1], hidden[::2, 0] = 1.5 * way, False, True            # a masked key whose score is higher by half of `size`
    return [(q, k, normal(generator, m, e), mask), (q, far, normal(generator, m, e), hidden), (q, k, normal(generator, m, e), None)]


def gradient_cases(generator):
    """Four axes with a mask, a query that may attend nowhere, and scores whose exponential is infinite."""
    return [attention_cases(generator)[1], *nowhere_cases(generator), *large_cases(generator, 100)]


@dataclass
class GradientAndValues(Gradient):
    """As Gradient; NaN are told, and a misconception explains it only if its values, too, are the learner's."""

    def fault(self, record: Record) -> Fault | None:
        for i, gradient in record.outcome.gradients.items():
            if gradient.isnan().any():
                return Fault(f"The values are right, and the gradient with respect to argument {i + 1} has NaN in "
                             f"{int(gradient.isnan().sum())} of {gradient.numel()} entries: look for a softmax over nothing or an exponential that is infinite.",
                             None, "wrong_gradient")
        return super().fault(record)

    def alike(self, record: Record, outcome: Outcome) -> bool:
        return super().alike(record, outcome) and same(record.outcome.value, outcome.value, self.rtol, self.atol)


exercise.compare("values", attention_cases, points=3)
exercise.compare("a query that may attend nowhere", nowhere_cases, points=1)
exercise.compare("large scores", large_cases, points=1, rtol=1e-3, atol=1e-3)
exercise.checks.append(GradientAndValues("gradient", 1, gradient_cases, wrt=(0, 1, 2)))
exercise.unchanged(attention_cases)
exercise.hint(
    "The product of q and k fails on a batch.",
    "k.T reverses all axes. k.transpose(-2, -1) exchanges the last two only, whatever stands before them.")
exercise.hint(
    "Everything is right until there is a mask.",
    "Set the scores to minus infinity where mask is False, before the softmax: scores.masked_fill(~mask, -torch.inf). "
    "exp(-inf) is 0, in the numerator and in the sum.")
exercise.hint(
    "The result has NaN.",
    "A row in which everything is hidden has the sum 0, and 0 / 0 is NaN. Fill the weights with 0 where mask is False, "
    "after the softmax: masked_fill removes the NaN, a product with the mask does not.")
