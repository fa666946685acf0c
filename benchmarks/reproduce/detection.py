"""Runs on the grey digits of chapter likelihood: a density, a classifier, and the classifier under attack, with and without repair."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from benchmarks.reproduce.density import DIGITS
from benchmarks.reproduce.recipes import fitted
from benchmarks.reproduce.run import Job, Parts, Row, Run, Trained
from course_lib import hub
from course_lib.conditional import Categorical
from course_lib.data import Splits
from course_lib.pixels import GatedPixelCNN, ImageClassifier, fgsm, pgd, purify, rank_p_values, sign_noise, wilson

GREY, LEVELS, SHAPE = {**DIGITS, "grey": True}, 17, (8, 8)
DENSITY = "gated-pixelcnn-grey-digits"


def with_classes(splits: Splits) -> Parts:
    """Levels as int64, and the classes beside them."""
    return Parts(*((getattr(splits, part).long(), splits.labels[part]) for part in ("train", "valid", "test")), splits.info)


def grey_pixelcnn(**size) -> GatedPixelCNN:
    """Each pixel a softmax over its 17 levels."""
    return GatedPixelCNN(SHAPE, conditional=Categorical(LEVELS), **size)


def grey_classifier(**size) -> ImageClassifier:
    """A classifier of images of 17 levels."""
    return ImageClassifier(SHAPE, LEVELS, **size)


def by_rest_of_training(job: Job, row: Row, settings: dict[str, Any], name: str) -> Trained:
    """Maximum likelihood; the weights of the best epoch on the last `held_out` training images.

    The validation images are never looked at, so that they can calibrate: the model has seen them as little as the test's.
    """
    settings, x = dict(settings), job.splits.train
    held_out = settings.pop("held_out")
    return fitted(job, row, settings, name, x[:-held_out], x[-held_out:], start=x)


def by_classes(job: Job, row: Row, settings: dict[str, Any], name: str) -> Trained:
    """Cross-entropy on images moved by up to a pixel; the last weights stay."""
    return fitted(job, row, settings, name)


class Attacked(nn.Module):
    """The classifier of the run, what attacks it, and what repairs images before it.

    attack   "none", "noise", "FGSM", "PGD", or "BPDA", which goes through the repair
    eps      levels that the attack may change in a pixel
    repair   levels that the repair may; 0: none
    ink      whether only pixels that are not 0 may be changed
    """

    def __init__(self, classifier: ImageClassifier, density: GatedPixelCNN, calibration: Tensor, attack: str, eps: int = 0,
                 repair: int = 0, ink: bool = False, steps: int = 20, starts: int = 1):
        super().__init__()
        self.classifier, self.density, self.calibration = classifier, density, calibration
        self.attack, self.eps, self.repair, self.ink, self.steps, self.starts = attack, eps, repair, ink, steps, starts

    def repaired(self, x: Tensor) -> Tensor:
        return purify(self.density, x, self.repair) if self.repair else x

    def attacked(self, x: Tensor, y: Tensor) -> Tensor:
        """Of all starts, for each image one that is misread after the repair, if there is one."""
        generator = torch.Generator().manual_seed(0)
        where = x > 0 if self.ink else None
        if self.attack == "none":
            return x
        if self.attack == "noise":
            return sign_noise(x, self.eps, LEVELS, generator, where)
        if self.attack == "FGSM":
            return fgsm(self.classifier, x, y, self.eps, LEVELS, where=where)
        if self.attack == "PGD":
            return pgd(self.classifier, x, y, self.eps, LEVELS, self.steps, where=where)
        found = pgd(self.classifier, x, y, self.eps, LEVELS, self.steps, where=where)              # without the repair: a start
        for start in range(self.starts):
            left = (self.classifier.classify(self.repaired(found)) == y).nonzero()[:, 0]
            if len(left):
                found[left] = pgd(self.classifier, x[left], y[left], self.eps, LEVELS, self.steps, through=self.repaired,
                                  where=None if where is None else where[left], momentum=0.9 if start % 2 else 0.0,
                                  generator=generator if start else None)
        return found


def by_attacking(job: Job, row: Row, settings: dict[str, Any], name: str) -> Trained:
    """Nothing is trained: the classifier of this run and the density that ships."""
    density = hub.load(DENSITY, job.device)
    with torch.no_grad():
        calibration = density.log_prob(job.splits.valid[0])
    return Trained(Attacked(job.models["classifier"].eval(), density, calibration, **settings), 0.0)


@torch.no_grad()
def percent_right(model: nn.Module, part: tuple[Tensor, Tensor]) -> dict[str, Any]:
    """Share of images that are read right, in per cent, with a 95 % interval; of an attack, after the repair.

    flagged: the share of attacked images, before a repair, whose p-value by rank is 0.05 at most.
    """
    x, y = part
    if isinstance(model, Attacked):
        found = model.attacked(x, y)
        flagged = (rank_p_values(model.density.log_prob(found), model.calibration) <= 0.05).double().mean().item()
        right = model.classifier.classify(model.repaired(found)) == y
    else:
        right, flagged = model.eval().classify(x) == y, None
    count, of = int(right.sum()), len(y)
    share = count / of
    return {"mean": round(100 * share, 3), "standard_error": round(100 * (share * (1 - share) / of) ** 0.5, 3), "over": of,
            "interval": [round(100 * end, 1) for end in wilson(count, of)],
            **({} if flagged is None else {"flagged": round(100 * flagged, 1)})}


def under(label: str, **settings) -> Row:
    """A row without training."""
    return Row(label, Attacked, by_attacking, settings=settings, measure=percent_right)


RUNS: dict[str, Run] = {run.name: run for run in (
    Run("grey-digits", "digits", (
        Row("gated PixelCNN, 17 levels", grey_pixelcnn, by_rest_of_training,
            {"width": 32, "depth": 3, "first": 5, "dropout": 0.2},
            {"epochs": 120, "batch_size": 50, "lr": 5e-3, "schedule": "cosine", "weight_decay": 0.3, "held_out": 150},
            weights=DENSITY),
    ), options=GREY, unit="nats, 17 levels",
        note="17 levels of grey, not on one scale with the digits of two levels. The epoch is chosen on 150 of the training "
             "images; the validation images calibrate p-values in chapter Likelihood as a detector, so nothing is chosen on them."),
    Run("attacks-digits", "digits", (
        Row("classifier", grey_classifier, by_classes, {"dropout": 0.25},
            {"epochs": 30, "batch_size": 50, "lr": 3e-3, "schedule": "cosine", "weight_decay": 0.01},
            measure=percent_right, weights="classifier-grey-digits"),
        under("repair within 2 levels, no attack", attack="none", repair=2),
        *(under(f"{name}, eps {eps}", attack=name.split()[0], eps=eps) for eps in (1, 2, 3) for name in ("FGSM", "PGD")),
        *(under(f"PGD, eps {eps}, repair within {eps}", attack="PGD", eps=eps, repair=eps) for eps in (1, 2, 3)),
        *(under(f"PGD through the repair, eps {eps}, repair within {eps}", attack="BPDA", eps=eps, repair=eps, starts=4)
          for eps in (1, 2, 3)),
        under("PGD on ink alone, eps 2", attack="PGD", eps=2, ink=True),
        under("PGD through the repair on ink alone, eps 2, repair within 2", attack="BPDA", eps=2, repair=2, ink=True, starts=4),
        under("random signs, eps 2", attack="noise", eps=2),
    ), options=GREY, prepare=with_classes, unit="% read right", best=max,
        note="An attack changes each pixel by at most eps levels of 16. The repair is greedy decoding under the gated PixelCNN, "
             "within the number of levels named. An attack through the repair is given 4 starts, and counts if one succeeds."),
)}
