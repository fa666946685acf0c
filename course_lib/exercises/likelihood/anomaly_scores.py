"""A detector of changed digits, to a score."""
from __future__ import annotations

from functools import cache

import torch
from torch import Tensor

from course_lib.data import load_data
from course_lib.grading.checks import Fault
from course_lib.grading.exercise import Exercise
from course_lib.pixels import auc, sign_noise

exercise = Exercise(
    "anomaly_scores", chapter="09", place=4, title="A detector with a score to beat",
    contract="train (N, 64) int64 holds clean 8 x 8 digits, levels 0..16; x (M, 64) others, about half of them changed: every "
             "pixel that is not 0 was moved by 3 levels up or down, by a coin each, and clipped to the range. Return (M,) "
             "scores, floats, high for changed images. The score of an image depends on it and on train, and not on the other "
             "rows of x. To reach: an AUC of 0.80. Your function has 20 seconds on one core.",
    points=["anomaly", "pixeldefend"], difficulty=4, minutes=45, kind="train", deadline=20.0)

SCORE, CHANGE = 0.80, 3


@exercise.reference(
    turned_round="Your direction is turned: clean images have your high scores. High is for changed ones.",
    pixels_alone="You judge every pixel alone, by its own mean and deviation. The change keeps to what one pixel may be; it breaks "
                 "what neighbours have to do with each other.",
    distance_alone="You take the distance from the mean image, all directions alike. Digits vary much in some directions and "
                   "little in others; the change shows in the latter.",
    of_the_batch="The score of an image changes with the other rows of x. Fit to train alone.",
    all_alike="All images have the same score.",
)
def anomaly_scores_reference(train, x, bugs=frozenset()):
    if "all_alike" in bugs:
        return torch.zeros(len(x))
    known = x if "of_the_batch" in bugs else train
    mean, covariance = known.double().mean(dim=0), torch.cov(known.double().T)
    if "pixels_alone" in bugs:
        covariance = covariance.diag().diag()
    if "distance_alone" in bugs:
        covariance = torch.zeros(64, 64, dtype=torch.float64)
    precision = torch.linalg.inv(covariance + torch.eye(64, dtype=torch.float64))
    off = (x - mean) @ precision                                               # (M, 64)
    score = (off ** 2 / precision.diag()).sum(dim=1)                           # each pixel predicted from all others
    if {"pixels_alone", "distance_alone"} & set(bugs):
        score = (off * (x - mean)).sum(dim=1)
    return -score if "turned_round" in bugs else score


@cache
def digits() -> Tensor:
    """All 1,797 of them, (1797, 64)."""
    parts = load_data("digits", grey=True)
    return torch.cat([parts.train, parts.valid, parts.test]).long()


def mixed(generator) -> tuple[Tensor, Tensor, Tensor]:
    """Training images, others of which some are changed, and which of them."""
    order = torch.randperm(1797, generator=generator)
    train, x = digits()[order[:900]], digits()[order[900:1700]]
    changed = torch.rand(len(x), generator=generator) < 0.5
    return train, torch.where(changed[:, None], sign_noise(x, CHANGE, 17, generator, x > 0), x), changed


@exercise.property("an AUC of 0.80 on new images", points=5)
def detected(run, generator, solve):
    train, x, changed = mixed(generator)
    score = run(train, x)
    if not isinstance(score, Tensor) or tuple(score.shape) != (len(x),):
        got = f"shape {tuple(score.shape)}" if isinstance(score, Tensor) else f"a {type(score).__name__}"
        return Fault(f"Your function returned {got}; expected a tensor ({len(x)},), a score for each image.", None, "wrong_shape")
    score = score.double()
    if not score.isfinite().all():
        return Fault("Some of your scores are NaN or infinite.")
    reached = auc(score[~changed], score[changed])
    part = run(train, x[:100])
    if isinstance(part, Tensor) and tuple(part.shape) == (100,) and not torch.allclose(part.double(), score[:100], rtol=1e-3,
                                                                                       atol=1e-6):
        return Fault("The first 100 images alone have other scores than among all.", "of_the_batch")
    if reached >= SCORE:
        return None
    return Fault(f"The AUC of your scores is {reached:.3f}; {SCORE:.2f} is asked.", why_low(score, reached, train, x))


def why_low(score: Tensor, reached: float, train: Tensor, x: Tensor) -> str | None:
    """The misconception that the scores show, if they show one."""
    if len(score.unique()) == 1:
        return "all_alike"
    if reached <= 1 - SCORE:
        return "turned_round"
    for bug in ("pixels_alone", "distance_alone"):
        theirs = anomaly_scores_reference(train, x, bugs={bug})
        ranks = torch.stack([t.argsort().argsort().double() for t in (score, theirs)])
        if torch.corrcoef(ranks)[0, 1] > 0.98:
            return bug
    return None


exercise.hint(
    "You do not know what to begin with.",
    "A density of images: a Gaussian with the mean and the covariance of train needs no training. Add a small multiple of the "
    "identity to the covariance, since some pixels never vary.")
exercise.hint(
    "A trained density stays far below 0.80.",
    "Its log-likelihood says more about how much ink there is than about how the ink is distributed. What would tell a "
    "changed pixel: its level, or its level given its neighbours on all sides?")
exercise.hint(
    "You want to predict each pixel from all others.",
    "With the precision matrix P of a Gaussian, the error of that prediction for pixel i is (P (x - mean))_i / P_ii, and its "
    "variance 1 / P_ii.")
