"""A run of chapter likelihood: p-values by rank where the images that stand aside are of other writers."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import torch
from jaxtyping import Float, Int
from scipy.stats import ks_2samp
from torch import Tensor, nn

from benchmarks.reproduce.detection import by_rest_of_training
from benchmarks.reproduce.pixels import nats_over_seeds
from benchmarks.reproduce.recipes import together
from benchmarks.reproduce.run import Job, Repeats, Row, Run, Trained
from course_lib.conditional import Categorical
from course_lib.density import NADE
from course_lib.pixels import rank_p_values

LEVELS, BINS = 17, 10


class Calibrated(Repeats):
    """Models of several seeds, and the images that stand aside: new ones are ranked among them."""

    def __init__(self, models: Iterable[nn.Module], aside: Int[Tensor, "N n"]):
        super().__init__(models)
        self.aside = aside


def level_nade(n: int, hidden: int) -> NADE:
    """Each pixel a softmax over its 17 levels."""
    return NADE(n, hidden, Categorical(LEVELS))


def by_rest_of_training_over_seeds(job: Job, row: Row, settings: dict[str, Any], name: str) -> Trained:
    """Maximum likelihood, a model a seed; the weights of the best epoch on the last `held_out` training images.

    The validation images are never looked at: they stand aside.
    """
    seeds = settings["seeds"]
    settings = {key: value for key, value in settings.items() if key != "seeds"}
    found = together(by_rest_of_training(replace(job, seed=seed), row, settings, f"{name}-{seed}") for seed in range(seeds))
    return replace(found, model=Calibrated(found.model, job.splits.valid))


@torch.no_grad()
def ranked(models: Calibrated, part: Int[Tensor, "N n"]) -> dict[str, Any]:
    """Nats over seeds, and of each seed the p-values of `part` among the images that stand aside, `p`.

    mean  of them;  flagged: per cent that are 0.05 at most;  bins: how many fall into each tenth of [0, 1];
    same  the Kolmogorov-Smirnov test of the two samples of log-likelihoods, its p-value
    """
    found: dict[str, list] = {"mean": [], "flagged": [], "bins": [], "same": []}
    for model in models:
        new, aside = (log_p(model, x) for x in (part, models.aside))
        p = rank_p_values(new, aside)
        found["mean"].append(round(p.mean().item(), 4))
        found["flagged"].append(round(100 * (p <= 0.05).double().mean().item(), 2))
        found["bins"].append([int(count) for count in torch.histc(p, BINS, 0, 1)])
        found["same"].append(float(f"{ks_2samp(new, aside).pvalue:.2g}"))
    return {**nats_over_seeds(models, part), "p": found}


def log_p(model: nn.Module, x: Int[Tensor, "B n"]) -> Float[Tensor, "B"]:
    """log p of each image, in float64 from there on."""
    return model.eval().log_prob(x).double().cpu()


RUNS: dict[str, Run] = {"writers-digits": Run(
    "writers-digits", "digits", (
        Row("NADE, 17 levels, the file's order", level_nade, by_rest_of_training_over_seeds, {"n": 64, "hidden": 32},
            {"epochs": 25, "batch_size": 50, "lr": 0.005, "weight_decay": 0.3, "schedule": "cosine", "held_out": 150, "seeds": 3},
            measure=ranked),
    ), options={"split": "writers", "grey": True}, unit="nats, 17 levels, the file's order",
    note="The file's own order, in which the parts were written by different people. The epoch is chosen on 150 of the training "
         "images; the validation images stand aside, and the test images are ranked among them: the record has how their p-values spread. "
         "Mean of three seeds; after ± the standard error over the images, of the first seed.")}
