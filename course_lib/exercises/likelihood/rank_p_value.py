"""A p-value by rank."""
from __future__ import annotations

import torch

from course_lib.exercises.draws import integer, normal
from course_lib.grading.exercise import Exercise

exercise = Exercise(
    "rank_p_value", chapter="09", place=2, title="A p-value by rank",
    contract="scores (B,) are log-likelihoods of images in question, calibration (N,) those of N clean images that were set "
             "aside. Return (B,): for each score the share (1 + number of calibration scores that are at most as large) / "
             "(N + 1). Small means suspicious.",
    points=["pixeldefend"], difficulty=1, minutes=10)


@exercise.reference(
    without_one="The image itself is not counted: your lowest p is 0, which N images cannot support.",
    over_n="You divide by N. With the image itself there are N + 1.",
    no_one_at_all="You return the share of calibration scores, without the image itself above and below the line.",
    high_is_suspicious="Your direction is turned: you count the calibration scores that are at least as large. Low likelihood "
                       "is suspicious, so a low score needs a small p.",
    ties_left_out="You leave out calibration scores that equal the score. They count.",
    two_sided="You take both tails. Here only a low likelihood is suspicious.",
    among_themselves="You rank the scores among themselves. They are ranked among the calibration scores, each alone.",
)
def rank_p_value_reference(scores, calibration, bugs=frozenset()):
    if "among_themselves" in bugs:
        calibration = scores
    below = calibration[None] <= scores[:, None]                               # (B, N)
    if "high_is_suspicious" in bugs:
        below = calibration[None] >= scores[:, None]
    if "ties_left_out" in bugs:
        below = calibration[None] < scores[:, None]
    count, N = below.to(scores.dtype).sum(dim=1), calibration.shape[0]
    own = 0 if {"without_one", "no_one_at_all"} & set(bugs) else 1
    p = (count + own) / (N + (0 if {"over_n", "no_one_at_all"} & set(bugs) else 1))
    return 2 * torch.minimum(p, 1 - p) if "two_sided" in bugs else p


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
