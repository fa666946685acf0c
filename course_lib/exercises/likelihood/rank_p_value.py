"""A p-value by rank."""
from __future__ import annotations

import torch

from course_lib.exercises.draws import integer, normal
from course_lib.grading.exercise import Exercise

exercise = Exercise(
    "rank_p_value", chapter="likelihood", place=2, title="A p-value by rank",
    contract="scores (B,) are log-likelihoods of images in question, calibration (N,) those of N clean images that were set "
             "aside. Return (B,): for each score the share (1 + number of calibration scores that are at most as large) / "
             "(N + 1). Small means suspicious.",
    points=["pixeldefend"], difficulty=1, minutes=10)


@exercise.step
def counted(scores, calibration):
    """For each score the calibration scores that are at most as large."""
    return (calibration[None] <= scores[:, None]).to(scores.dtype).sum(dim=1)


@exercise.step
def rank(count, N):
    return (1 + count) / (N + 1)


@exercise.reference()
@exercise.step
def rank_p_value_reference(scores, calibration):
    return rank(counted(scores, calibration), len(calibration))


@exercise.misconception(rank, "The image itself is not counted: your lowest p is 0, which N images cannot support.")
def without_one(count, N):
    return count / (N + 1)


@exercise.misconception(rank, "You divide by N. With the image itself there are N + 1.")
def over_n(count, N):
    return (1 + count) / N


@exercise.misconception(rank, "You return the share of calibration scores, without the image itself in numerator and denominator.")
def no_one_at_all(count, N):
    return count / N


@exercise.misconception(rank, "You take both tails. Here only a low likelihood is suspicious.")
def two_sided(count, N):
    p = rank.original(count, N)
    return 2 * torch.minimum(p, 1 - p)


@exercise.misconception(
    counted,
    "You count the calibration scores that are at least as large. Low likelihood is suspicious, so a low score needs a small p.")
def high_is_suspicious(scores, calibration):
    return counted.original(-scores, -calibration)


@exercise.misconception(counted, "You leave out calibration scores that equal the score. They count.")
def ties_left_out(scores, calibration):
    return (calibration[None] < scores[:, None]).to(scores.dtype).sum(dim=1)


@exercise.misconception(
    rank_p_value_reference,
    "You rank the scores among themselves. Each is ranked among the calibration scores.")
def among_themselves(scores, calibration):
    return rank_p_value_reference.original(scores, scores)


def score_cases(generator):
    """Scores among, below, above and equal to calibration scores; ties among these; one image alone."""
    found = []
    for N in (9, integer(generator, 12, 18)):
        calibration = (10 * normal(generator, N)).double()                     # densities may be above 1
        calibration[0], calibration[1] = calibration[0].abs(), -calibration[1].abs()
        calibration[3] = calibration[5]                                        # a tie
        inside = (10 * normal(generator, integer(generator, 3, 5))).double()
        ends = torch.stack([calibration.min() - 5, calibration.max() + 5, calibration[3], calibration[7]])
        found.append((torch.cat([inside, ends]), calibration))
    return [*found, (found[0][1][:1] - 1, found[0][1][2:3])]


exercise.compare("values", score_cases, points=3)
exercise.unchanged(score_cases)
exercise.hint(
    "You do not know how to compare all with all.",
    "calibration[None, :] <= scores[:, None] has the shape (B, N). Its sum over the last axis counts.")
exercise.hint(
    "Your values are close, and too small or too large.",
    "The image in question is one of the N + 1, and it is as low as itself: 1 above the line, 1 below it.")
exercise.hint(
    "Clean images get small values.",
    "Which images are at least as suspicious as this one? Those with a likelihood that is as low, or lower.")
