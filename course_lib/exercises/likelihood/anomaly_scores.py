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
    "anomaly_scores", chapter="likelihood", place=4, title="A detector with a score to beat",
    contract="train (N, 64) int64 holds clean 8 x 8 digits, levels 0..16; x (M, 64) others, about half of them changed: every "
             "pixel that is not 0 was moved by 3 levels up or down, by a coin each, and clipped to the range. Return (M,) "
             "scores, floats, high for changed images. The score of an image depends on it and on train, and not on the other "
             "rows of x. To reach: an AUC of 0.80. Your function has 20 seconds on one core.",
    points=["anomaly", "pixeldefend"], difficulty=4, minutes=45, kind="train", deadline=20.0)

SCORE, CHANGE = 0.80, 3


@exercise.reference()
@exercise.step
def anomaly_scores_reference(train, x):
    """The squared errors of each pixel's prediction from all others, in units of their variances."""
    mean, covariance = train.double().mean(dim=0), torch.cov(train.double().T)
    precision = torch.linalg.inv(covariance + torch.eye(64, dtype=torch.float64))
    error = (x - mean) @ precision / precision.diag()                          # (M, 64)
    return (error ** 2 * precision.diag()).sum(dim=1)


@exercise.misconception(
    anomaly_scores_reference,
    "Your scores have the wrong sign: clean images have the high ones. High is for changed ones.")
def turned_round(train, x):
    return -anomaly_scores_reference.original(train, x)


@exercise.misconception(
    anomaly_scores_reference,
    "You score every pixel alone, by its own mean and deviation. The change leaves each pixel with a usual value; it changes how "
    "neighbors depend on each other.")
def pixels_alone(train, x):
    return ((x - train.double().mean(dim=0)) ** 2 / (train.double().var(dim=0) + 1)).sum(dim=1)


@exercise.misconception(
    anomaly_scores_reference,
    "You take the distance from the mean image, all directions alike. Digits vary much in some directions and little in others; the "
    "change shows in the latter.")
def distance_alone(train, x):
    return ((x - train.double().mean(dim=0)) ** 2).sum(dim=1)


@exercise.misconception(anomaly_scores_reference, "The score of an image changes with the other rows of x. Fit to train alone.")
def of_the_batch(train, x):
    return anomaly_scores_reference.original(x, x)


@exercise.misconception(anomaly_scores_reference, "All images have the same score.")
def all_alike(train, x):
    return torch.zeros(len(x))


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
    for misconception in (pixels_alone, distance_alone):
        ranks = torch.stack([t.argsort().argsort().double() for t in (score, misconception(train, x))])
        if torch.corrcoef(ranks)[0, 1] > 0.98:
            return misconception.__name__
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
