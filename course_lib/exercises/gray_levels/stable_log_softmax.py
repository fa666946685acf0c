"""A log-softmax that survives."""
from __future__ import annotations

import torch

from course_lib.exercises.draws import integer, normal, uneven
from course_lib.grading.exercise import Exercise

exercise = Exercise(
    "stable_log_softmax", chapter="gray-levels", place=1, title="A log-softmax that survives",
    contract="a (..., K) holds scores of any size. Return ln softmax(a) along the last axis, same shape. It must be finite "
             "for every finite a, and right to 2e-4, the rounding at scores near 1000. Build it from exp, log, sum and max.",
    points=["softmax"], difficulty=2, minutes=15,
    forbid=("F.log_softmax", "F.softmax", "torch.logsumexp", "torch.logcumsumexp", "torch.logaddexp", "F.cross_entropy"))


@exercise.step
def largest(a):
    return a.amax(dim=-1, keepdim=True)


@exercise.step
def normalized(shifted):
    return shifted - shifted.exp().sum(dim=-1, keepdim=True).log()


@exercise.reference()
@exercise.step
def stable_log_softmax_reference(a):
    return normalized(a - largest(a))


@exercise.misconception(
    largest,
    "Where scores are near 1000, your result is not finite, because e^1000 overflows. Subtract the largest score of the row "
    "first.")
def literal(a):
    return torch.zeros_like(a[..., :1])


@exercise.misconception(
    largest,
    "You subtract the smallest score, not the largest. The exponential of a score far above it still overflows.")
def minimum(a):
    return a.amin(dim=-1, keepdim=True)


@exercise.misconception(
    largest,
    "You subtract one maximum of the whole tensor. In a row far below it every exponential underflows to 0, so each row needs "
    "its own.")
def one_maximum(a):
    return a.amax()


@exercise.misconception(
    normalized,
    "Where one score is far below the largest, your result is minus infinity, because its probability became 0 before you "
    "took the logarithm. Subtract logarithms; do not take the logarithm of a quotient.")
def log_of_zero(shifted):
    return (shifted.exp() / shifted.exp().sum(dim=-1, keepdim=True)).log()


@exercise.misconception(
    stable_log_softmax_reference,
    "Your rows are off by their largest score: it was subtracted inside the logarithm of the sum and not added back.")
def shift_kept(a):
    return a - (a - largest(a)).exp().sum(dim=-1, keepdim=True).log()


@exercise.misconception(
    stable_log_softmax_reference,
    "Your result is normalized along the first axis. It should be normalized along the last.")
def first_axis(a):
    return stable_log_softmax_reference.original(a.transpose(0, -1)).transpose(0, -1)


@exercise.misconception(stable_log_softmax_reference, "You subtract the maximum in place, so the caller's scores are changed.")
def written_over(a):
    before = a.clone()
    a.data.sub_(largest(a).detach())
    return stable_log_softmax_reference.original(before)


def small_scores(generator):
    return [(normal(generator, *uneven(generator, (3, 5), (4, 7)), scale=2.0),),
            (normal(generator, *uneven(generator, (2, 3), (3, 5), (4, 7)), scale=2.0),),
            (normal(generator, integer(generator, 3, 6), scale=2.0),),
            (torch.tensor([[[2.0, -1.0, 2.0], [0.0, 0.0, 0.0]]]),)]            # ties, and an axis of length 1


def large_scores(generator):
    B, K = uneven(generator, (5, 7), (6, 9))
    a = normal(generator, B, K, scale=3.0)
    a[0] += 1000
    a[1] -= 1000
    a[2, integer(generator, 0, K - 1)] += 900                                  # one far above the others
    a[3, integer(generator, 0, K - 1)] -= 900
    a[4] = torch.linspace(-70, 70, K)[torch.randperm(K, generator=generator)]  # e^140 does not fit, e^70 does
    return [(a,)]


exercise.compare("values", small_scores, points=2)
# a - (m + ln s) is as right as (a - m) - ln s; near 1000 its digits end at 6e-5 in single precision.
exercise.compare("scores near a thousand", large_scores, points=2, atol=2e-4)
exercise.unchanged(small_scores)
exercise.gradient("gradient", lambda g: [*small_scores(g), *((a.double(),) for a, in large_scores(g))], wrt=(0,), points=1)
exercise.hint(
    "You see NaN where the scores are large.",
    "Adding the same number to every score of a row changes nothing. So subtract the row's largest: then the largest "
    "exponential is 1.")
exercise.hint(
    "You see minus infinity where one score is small, or one and the same number for all small scores.",
    "ln(e^a / s) = a - ln s. The right side needs no exponential of the small score on its own, and nothing small that is "
    "added inside a logarithm.")
exercise.hint(
    "The shapes do not fit when a has one axis, or three.",
    "amax(dim=-1, keepdim=True) and sum(dim=-1, keepdim=True) keep the last axis with length 1, so that they can be "
    "subtracted from a.")
