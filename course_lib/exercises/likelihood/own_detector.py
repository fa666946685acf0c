"""A detector of one's own: a density, a score that is fixed before it is calibrated, p-values by rank, anomalies of three kinds."""
from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial

import torch
from torch import Tensor, nn

from course_lib.exercises.likelihood.anomaly_scores import digits
from course_lib.grading.checks import Fault
from course_lib.grading.exercise import Exercise
from course_lib.pixels import auc, sign_noise

exercise = Exercise(
    "OwnDetector", chapter="likelihood", place=5, title="A detector of your own",
    contract="A class OwnDetector(nn.Module), made with levels. fit(train), (N, 64) int64 of clean 8 x 8 digits, levels 0..levels - 1, "
             "learns a density and the score. log_prob(x): (B,), the log-likelihood of each image in nats; noise gets less than digits, "
             "with an AUC of 0.95. score(x): (B,), high for strange images, fixed by fit, and of each image alone. "
             "calibrate(images), other clean digits (N, 64), keeps their scores and changes nothing else. p_values(x): (B,), the share "
             "(1 + number of calibration images whose score is at least as high) / (N + 1), so small means strange. To reach: an AUC of "
             "the score of 0.85 for each of three kinds of anomaly: ink moved by 4 levels up or down in each inked pixel; digits "
             "moved by 2 pixels down and to the right, around the edge; digits washed out, two thirds of the way to the mean "
             "training image, in whole levels. Each call has 20 seconds on one core.",
    points=["anomaly", "pixeldefend"], difficulty=4, minutes=60, kind="build", deadline=20.0)

LEVELS, SCORE, NOISE = 17, 0.85, 0.95
TRAIN, CALIBRATION = 900, 350                                        # images; the other 547 are new
UNEVEN = 2.6                                                         # Kolmogorov and Smirnov: one clean run in 400,000 is above


def at_least(s: Tensor, among: Tensor) -> Tensor:
    """How many of `among` are at least as high as each of s, (B,)."""
    return (among[None] >= s[:, None]).sum(dim=1).double()


@exercise.step
def rank(s, c, t):
    """The p-values of scores s among calibration scores c; the training scores t play no part."""
    return (1 + at_least(s, c)) / (len(c) + 1)


@exercise.class_reference()
class OwnDetector(nn.Module):
    """A Gaussian density; the score of an image is the distance of its log-likelihood from the mean of the training images."""

    def __init__(self, levels):
        super().__init__()
        self.levels = levels

    def fit(self, train):
        self.train_images, self.mean = train, train.double().mean(dim=0)
        self.factor = torch.linalg.cholesky(self.covariance(train) + torch.eye(train.shape[1], dtype=torch.float64))
        self.usual = self.log_prob(train).mean()

    @exercise.step
    def covariance(self, train):
        return torch.cov(train.double().T)

    @exercise.step
    def log_prob(self, x):
        z = torch.linalg.solve_triangular(self.factor, (x - self.mean).T, upper=False)                  # (64, B)
        return -0.5 * (z ** 2).sum(dim=0) - self.factor.diag().log().sum() - 0.5 * len(z) * math.log(2 * math.pi)

    @exercise.step
    def score(self, x):
        return (self.log_prob(x) - self.usual).abs()

    @exercise.step
    def calibrate(self, images):
        self.scores, self.train_scores = self.score(images), self.score(self.train_images)

    def p_values(self, x):
        return rank(self.score(x), self.scores, self.train_scores)


@exercise.misconception(
    OwnDetector.log_prob,
    "Your log_prob is larger for noise than for digits: it is minus the log-likelihood, or its sign is lost on the way.")
def minus_log(self, x):
    return -OwnDetector.log_prob.original(self, x)


@exercise.misconception(
    OwnDetector.covariance,
    "Your density takes every pixel alone. Ink that is moved leaves each pixel with a usual value; it changes how neighbors depend "
    "on each other.")
def pixels_alone(self, train):
    return OwnDetector.covariance.original(self, train).diag().diag()


@exercise.misconception(
    OwnDetector.score,
    "Your score is minus the log-likelihood, perhaps scaled. Washed-out digits are more probable than digits, and so get the lowest "
    "scores: measure how unusual a likelihood is, or add a second score.")
def likelihood_alone(self, x):
    return -self.log_prob(x)


@exercise.misconception(OwnDetector.score, "Your score has the wrong sign: strange images have the low ones. High is for strange.")
def turned_score(self, x):
    return -OwnDetector.score.original(self, x)


@exercise.misconception(
    OwnDetector.score,
    "The score of an image changes with the other rows of x. What is usual is learned in fit, from train alone.")
def of_the_batch(self, x):
    return (self.log_prob(x) - self.log_prob(x).mean()).abs()


@exercise.misconception(
    OwnDetector.calibrate,
    "After calibrate, images have other scores than before. The score is fixed by fit: what calibrate changes in it depends on the "
    "calibration images, and new images have no such part in it.")
def refits(self, images):
    self.fit(torch.cat([self.train_images, images]))
    OwnDetector.calibrate.original(self, images)


@exercise.misconception(
    rank,
    "Your p-values are ranks among the training images. The density was fitted to them, so they are more probable than new ones; "
    "rank among the calibration images.")
def on_training(s, c, t):
    return rank.original(s, t, t)


@exercise.misconception(
    rank,
    "You count calibration images whose score is as low or lower. A high score is strange, so it needs a small p.")
def low_is_strange(s, c, t):
    return rank.original(-s, -c, t)


@exercise.misconception(
    rank,
    "Your p-values can be 0: you return the share of calibration images alone. The image itself is one of N + 1, in numerator and "
    "denominator.")
def zero_possible(s, c, t):
    return at_least(s, c) / len(c)


@exercise.misconception(rank, "You leave out calibration images with the same score. They count: at least as high.")
def ties_left_out(s, c, t):
    return (1 + len(c) - at_least(-s, -c)) / (len(c) + 1)


P_VALUES = {"right": rank.original, **{name: function for name, (step, function) in exercise.replacements.items() if step is rank}}


# what the checks ask

class Detector:
    """The learner's detector, fitted on drawn digits: each method as a call whose answer is (B,) and finite."""

    def __init__(self, run: Callable, generator: torch.Generator):
        order = torch.randperm(len(digits()), generator=generator)
        self.train, self.calibration, self.new = digits()[order].split([TRAIN, CALIBRATION, len(order) - TRAIN - CALIBRATION])
        self.run, self.generator, self.number = run, generator, run("make", {"levels": LEVELS}, None)
        self.fault = None if type(self.number) is int else Fault("There is no detector to ask: your class makes none.", None, "wrong_shape")
        if not self.fault:
            run("fit", self.number, None, self.train)

    def values(self, method: str, x: Tensor) -> Tensor | None:
        """The answer as doubles; None where it is none, and then `fault` says what is wrong."""
        found = self.run(method, self.number, None, x)
        if not isinstance(found, Tensor) or tuple(found.shape) != (len(x),) or found.is_complex():
            got = f"shape {tuple(found.shape)}" if isinstance(found, Tensor) else f"a {type(found).__name__}"
            self.fault = Fault(f"{method} returned {got}; expected a tensor ({len(x)},), a number for each image.", None, "wrong_shape")
            return None
        if not found.double().isfinite().all():
            self.fault = Fault(f"Some of the numbers that {method} returns are NaN or infinite.")
            return None
        return found.double()

    def all_values(self, *calls: tuple[str, Tensor]) -> list[Tensor] | None:
        """The answers to (method, x), or None where one of them is none."""
        found = []
        for method, x in calls:
            if (values := self.values(method, x)) is None:
                return None
            found.append(values)
        return found

    def mixed(self, method: str, *batches: Tensor) -> list[Tensor] | None:
        """The answers for each batch, or None. All images are in one call, in random order: no answer can depend on the kind of the call."""
        x = torch.cat(batches)
        order = torch.randperm(len(x), generator=self.generator)
        if (values := self.values(method, x[order])) is None:
            return None
        return list(values[order.argsort()].split([len(batch) for batch in batches]))

    def kinds(self, x: Tensor) -> dict[str, Tensor]:
        """The images as anomalies, by the name of their kind."""
        washed = ((x + 2 * self.train.double().mean(dim=0)) / 3).round().long()
        return {"ink moved": sign_noise(x, 4, LEVELS, self.generator, x > 0),
                "out of place": x.view(-1, 8, 8).roll((2, 2), (1, 2)).reshape(len(x), -1), "washed out": washed}


@exercise.property("log_prob tells digits from noise", points=2)
def dense(run, generator, solve):
    detector = Detector(run, generator)
    noise = torch.randint(LEVELS, (200, 64), generator=generator)
    if detector.fault or (values := detector.mixed("log_prob", detector.new, noise)) is None:
        return detector.fault
    reached = auc(-values[0], -values[1])
    if reached >= NOISE:
        return None
    return Fault(f"By your log_prob noise is less likely than a new digit in {100 * reached:.0f} % of all pairs; {100 * NOISE:.0f} % are asked.",
                 "minus_log" if reached <= 1 - NOISE else None)


@exercise.property("a score is of its image alone, and fixed by fit", points=2)
def fixed(run, generator, solve):
    detector = Detector(run, generator)
    if detector.fault or (values := detector.all_values(
            *(("score", x) for x in (detector.new, detector.new, detector.new[:60], detector.calibration)))) is None:
        return detector.fault
    whole, again, part, before = values

    def differ(a: Tensor, b: Tensor) -> bool:
        return not torch.allclose(a, b, rtol=1e-3, atol=1e-6)

    if differ(whole, again):
        return Fault("Asked twice for the same images, score gives two answers: draw no random numbers without a seed.")
    strange = torch.cat([x[:20] for x in detector.kinds(detector.new).values()])
    if (alone := detector.all_values(("score", strange), *(("score", x[None]) for x in strange[::25]))) is None \
            or (among := detector.mixed("score", detector.new[:60], strange)) is None:
        return detector.fault
    if differ(whole[:60], part) or differ(torch.cat(among), torch.cat([part, alone[0]])) or differ(torch.cat(alone[1:]), alone[0][::25]):
        return Fault("Some images have other scores in another batch: the first 60 alone, anomalies alone, or a single one.", "of_the_batch")
    run("calibrate", detector.number, None, detector.calibration)
    if (after := detector.all_values(("score", detector.new), ("score", detector.calibration))) is None:
        return detector.fault
    if differ(after[0], whole) or differ(after[1], before):
        return Fault("After calibrate, images have other scores than before.", "refits")
    return None


def ranked(detector: Detector, batches: list[Tensor]) -> tuple[list[Tensor], dict[str, list[Tensor]]] | None:
    """The p-values of each batch, and those that follow from the detector's own scores, right and in other ways."""
    detector.run("calibrate", detector.number, None, detector.calibration)
    found = detector.all_values(("score", detector.calibration), ("score", detector.train), *(("score", x) for x in batches),
                             *(("p_values", x) for x in batches))
    if found is None:
        return None
    (c, t), scores, p = found[:2], found[2:2 + len(batches)], found[2 + len(batches):]
    return p, {name: [of(s, c, t) for s in scores] for name, of in P_VALUES.items()}


def named(p: list[Tensor], ways: dict[str, list[Tensor]]) -> str | None:
    """The way in which these p-values came about, if it is one alone."""
    same = [name for name, each in ways.items() if all(torch.allclose(mine, wanted, atol=1e-5) for mine, wanted in zip(p, each, strict=True))]
    return same[0] if len(same) == 1 and same[0] != "right" else None


@exercise.property("p-values of clean images are even", points=2)
def even(run, generator, solve):
    detector = Detector(run, generator)
    if detector.fault or (values := ranked(detector, [detector.new])) is None:
        return detector.fault
    (p,), ways = values
    N, M, least = CALIBRATION, len(detector.new), float(p.min())
    if least < 1 / (N + 1) - 1e-6 or p.max() > 1 + 1e-6:
        return Fault(f"With {N} calibration images no p-value is below 1 / {N + 1} or above 1; yours go from {least:.4f} to "
                     f"{float(p.max()):.4f}.", named([p], ways))
    grid = torch.arange(1, N + 2, dtype=torch.float64) / (N + 1)
    off = ((p[None] <= grid[:, None] + 1e-9).double().mean(dim=1) - grid).abs()
    if off.max() > UNEVEN * math.sqrt(1 / N + 1 / M):
        worst = int(off.argmax())
        return Fault(f"Of {M} clean images {100 * float((p <= grid[worst] + 1e-9).double().mean()):.0f} % have a p-value of {float(grid[worst]):.2f} "
                     f"or less; it should be about {100 * float(grid[worst]):.0f} %.", named([p], ways))
    return None


@exercise.property("p-values are ranks among the calibration images", points=3)
def ranks(run, generator, solve):
    """Of new images and anomalies; and of the calibration images, each of which ties with itself."""
    detector = Detector(run, generator)
    if detector.fault:
        return detector.fault
    new = torch.cat([detector.new, *detector.kinds(detector.new[:50]).values()])
    if (values := ranked(detector, [new, detector.calibration])) is None:
        return detector.fault
    p, ways = values
    for mine, wanted, which in zip(p, ways["right"], ("new images", "the calibration images themselves"), strict=True):
        if not torch.allclose(mine, wanted, atol=1e-5):
            i = int((mine - wanted).abs().argmax())
            return Fault(f"Asked for {which}, p_values gives {float(mine[i]):.4f} where the ranks of your own scores say {float(wanted[i]):.4f}.",
                         named(p, ways))
    return None


@exercise.property("an AUC of 0.85 for each kind of anomaly", points=4)
def detected(run, generator, solve):
    detector = Detector(run, generator)
    if detector.fault:
        return detector.fault
    kinds = detector.kinds(detector.new)
    if (values := detector.mixed("score", detector.new, *kinds.values())) is None or (log_p := detector.values("log_prob", detector.new)) is None:
        return detector.fault
    clean, *strange = values
    reached = {name: auc(clean, each) for name, each in zip(kinds, strange, strict=True)}
    if min(reached.values()) >= SCORE:
        return None
    shown = ", ".join(f"{name} {area:.2f}" for name, area in reached.items())
    return Fault(f"The AUC of your score, by kind: {shown}; {SCORE:.2f} is asked of each.", why_low(detector, reached, clean, log_p))


def why_low(detector: Detector, reached: dict[str, float], clean: Tensor, log_p: Tensor) -> str | None:
    """The misconception that the scores show, if they show one."""
    if max(reached.values()) <= 1 - SCORE:
        return "turned_score"
    alone = partial(exercise.solve, bugs=["pixels_alone"])
    number = alone("make", {"levels": LEVELS}, None)
    alone("fit", number, None, detector.train)
    if alike(log_p, alone("log_prob", number, None, detector.new)):
        return "pixels_alone"
    return "likelihood_alone" if alike(clean, -log_p) and reached["washed out"] < 0.5 else None


def alike(a: Tensor, b: Tensor) -> bool:
    """Whether two scores put images in nearly the same order."""
    return float(torch.corrcoef(torch.stack([t.argsort().argsort().double() for t in (a, b)]))[0, 1]) > 0.98


exercise.hint(
    "You do not know what density to begin with.",
    "A Gaussian with the mean and the covariance of train needs no training. Add a multiple of the identity to the covariance, since "
    "some pixels never vary, and keep its Cholesky factor: torch.linalg.solve_triangular and the factor's diagonal give log p.")
exercise.hint(
    "The washed-out digits get the lowest scores.",
    "They are likelier than any digit: two thirds of what is special about each is gone. So ask how far log p is from what it usually is, "
    "on either side. What is usual is learned from train, in fit.")
exercise.hint(
    "The p-values are not those expected.",
    "calibrate keeps self.score(images); p_values compares: (kept[None, :] >= self.score(x)[:, None]).sum(dim=1) counts. "
    "Then 1 for the image itself, above the line and below it.")
