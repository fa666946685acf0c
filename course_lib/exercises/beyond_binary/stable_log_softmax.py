"""A log-softmax that survives."""
from __future__ import annotations

import torch

from course_lib.exercises.draws import integer, normal, uneven
from course_lib.grading.exercise import Exercise

exercise = Exercise(
    "stable_log_softmax", chapter="05", place=1, title="A log-softmax that survives",
    contract="a (..., K) holds scores of any size. Return ln softmax(a) along the last axis, same shape. It must be finite "
             "for every finite a, and right to 2e-4, the rounding at scores near 1000. Build it from exp, log, sum and max.",
    points=["softmax"], difficulty=2, minutes=15,
    forbid=("F.log_softmax", "F.softmax", "torch.logsumexp", "torch.logcumsumexp", "torch.logaddexp", "F.cross_entropy"))


@exercise.reference(
    literal="Where scores are near 1000 your result is not finite: e^1000 does not fit. Take the largest score off first.",
    log_of_zero="Where one score is far below the largest, your result is minus infinity: its probability became 0 before "
                "you took the logarithm. Subtract logarithms; do not take the logarithm of a quotient.",
    minimum="You take the smallest score off, not the largest. One score far above it still overflows.",
    mean_shift="You take the mean off, not the maximum. One score far above the others still overflows.",
    absolute="You take off the largest absolute value. Where all scores are far below zero, every exponential vanishes.",
    one_maximum="You take one maximum for the whole tensor. In a row far below it every exponential vanishes; each row "
                "needs its own.",
    first_axis="Your result is normalised along the first axis. It should be the last.",
    all_entries="Your exponentials sum to one over the whole tensor. Each row is a distribution of its own.",
    shift_kept="Your rows are off by their largest score: it was taken off inside the logarithm of the sum and not added "
               "back.",
    no_logarithm="You return the probabilities. Their logarithms are asked for.",
    written_over="You subtract the maximum in place. The caller's scores are changed.",
)
def stable_log_softmax_reference(a, bugs=frozenset()):
    if "written_over" in bugs:
        mine = a.clone()
        a.data.sub_(a.detach().amax(dim=-1, keepdim=True))
        a = mine
    axis = 0 if "first_axis" in bugs else -1
    m = a.amax(dim=axis, keepdim=True)
    if "literal" in bugs:
        m = torch.zeros_like(m)
    if "minimum" in bugs:
        m = a.amin(dim=-1, keepdim=True)
    if "mean_shift" in bugs:
        m = a.mean(dim=-1, keepdim=True)
    if "absolute" in bugs:
        m = a.abs().amax(dim=-1, keepdim=True)
    if "one_maximum" in bugs or "all_entries" in bugs:
        m = a.amax()
    total = (a - m).exp().sum(dim=axis, keepdim=True)
    if "all_entries" in bugs:
        total = (a - m).exp().sum()
    if "log_of_zero" in bugs:
        return ((a - m).exp() / total).log()
    result = a - total.log() if "shift_kept" in bugs else a - m - total.log()
    return result.exp() if "no_logarithm" in bugs else result


def small_scores(generator):
    return [(normal(generator, *uneven(generator, (3, 5), (4, 7)), scale=2.0),),
            (normal(generator, *uneven(generator, (2, 3), (3, 5), (4, 7)), scale=2.0),),
            (normal(generator, integer(generator, 3, 6), scale=2.0),)]


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
exercise.gradient("gradient", small_scores, wrt=(0,), points=1)
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
