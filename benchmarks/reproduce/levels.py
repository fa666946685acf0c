"""Runs of chapter gray-levels: a softmax, discretised logistics and a density on 17 levels of grey, and on all 256 of a photograph."""

from __future__ import annotations

import math
from functools import cache
from typing import Any

import torch
from jaxtyping import Float, Int
from sklearn.datasets import load_sample_image
from torch import Tensor, nn

from benchmarks.figures import of_seeds
from benchmarks.reproduce.detection import GREY
from benchmarks.reproduce.pixels import by_seeds, nats_over_seeds
from benchmarks.reproduce.run import Job, Repeats, Row, Run, Trained, over, own
from course_lib.conditional import Categorical, DiscretizedLogisticMixture, MixtureOfGaussians
from course_lib.data import Splits
from course_lib.density import NADE
from course_lib.training import evaluate

WIDTH, SIDE, TRAINED, HELD_OUT = 50, 4, 1500, 1000
DENSITY = "RNADE, one draw"
FAMILIES = {"softmax": Categorical, "discretised logistics": DiscretizedLogisticMixture}
INFO = own("4 x 4 pixels each, cut side by side, the green of three colours, in one fixed random order.",
           "vultilion, flower.jpg, as shipped with scikit-learn", "CC BY 2.0")


def level_nade(n: int, family: str, **arguments: Any) -> NADE:
    """NADE over levels, with a family that is told by its name."""
    return NADE(n, WIDTH, FAMILIES[family](**arguments))


class SpreadNADE(nn.Module):
    """RNADE for whole numbers: each x is spread over its step, x + u with u drawn anew from [0, 1)."""

    def __init__(self, n: int, k: int, min_sigma: float):
        super().__init__()
        self.density = NADE(n, WIDTH, MixtureOfGaussians(k, min_sigma=min_sigma))

    def initialize(self, x: Float[Tensor, "N n"]) -> SpreadNADE:
        self.density.initialize(spread(x))
        return self

    def log_prob(self, x: Float[Tensor, "B n"]) -> Float[Tensor, "B"]:
        """With one draw of u: its mean over draws bounds ln P(x) from below."""
        return self.density.log_prob(spread(x))


def spread(x: Tensor) -> Tensor:
    """x + u, from torch's global generator."""
    return x + torch.rand(x.shape, device=x.device)


@cache
def draw() -> Splits:
    """Patches of the photograph `flower.jpg`: 1,500 train, 1,000 validate, 1,000 test."""
    green = torch.from_numpy(load_sample_image("flower.jpg").copy())[:424, :, 1]
    patches = green.unfold(0, SIDE, SIDE).unfold(1, SIDE, SIDE).reshape(-1, SIDE * SIDE)
    patches = patches[torch.randperm(len(patches), generator=torch.Generator().manual_seed(0))]
    return Splits("flower_patches", patches[:TRAINED], patches[2000:2000 + HELD_OUT], patches[3000:3000 + HELD_OUT], info=INFO)


def by_more_draws(job: Job, row: Row, settings: dict[str, Any], name: str) -> Trained:
    """Nothing is trained: the densities of the row DENSITY, which are measured with more draws."""
    return Trained(job.models[DENSITY], 0.0)


@torch.no_grad()
def nats_of_draws(models: Repeats, part: Float[Tensor, "N n"], draws: int = 16) -> dict[str, Any]:
    """-ln of the mean of p(x + u) over draws of u: mean over seeds, each seed's own, the error over rows of the first."""
    found = []
    for seed, model in enumerate(models):
        torch.manual_seed(seed)
        log_p = torch.stack([model.log_prob(part) for _ in range(draws)])                    # (draws, N)
        found.append((math.log(draws) - log_p.logsumexp(dim=0)).double())
    own = [each.mean().item() for each in found]
    error = found[0].std().item() / len(part) ** 0.5
    return {**of_seeds(own, len(part)), "standard_error": round(error, 4)}


def bits_a_pixel(models: Repeats, part: Int[Tensor, "N n"]) -> dict[str, Any]:
    """Bits per pixel over seeds, and on the patches that the models were trained on, `trained`."""
    held_out, trained = ([evaluate(model, x, batch_size=500)[0] / x.shape[1] / math.log(2) for model in models]
                         for x in (part, draw().train))
    return {**of_seeds(held_out, len(part), digits=4), "trained": [round(value, 4) for value in trained]}


RATES = (0.005, 0.01, 0.02, 0.04, 0.08)
SETTINGS = {"batch_size": 50, "schedule": "cosine", "patience": None, "seeds": 3}
RUNS: dict[str, Run] = {run.name: run for run in (
    Run("levels-digits", "digits", (
        Row("softmax", level_nade, by_seeds, {"n": 64, "family": "softmax", "k": 17}, {**SETTINGS, "epochs": 12},
            over("lr", RATES[:3]), nats_over_seeds),
        Row("discretised logistics", level_nade, by_seeds, {"n": 64, "family": "discretised logistics", "k": 3, "levels": 17},
            {**SETTINGS, "epochs": 12}, over("lr", RATES[1:4]), nats_over_seeds),
        Row(DENSITY, SpreadNADE, by_seeds, {"n": 64, "k": 5, "min_sigma": 0.05}, {**SETTINGS, "epochs": 12},
            over("lr", RATES[:3]), nats_over_seeds),
        Row("RNADE, 16 draws", SpreadNADE, by_more_draws, {"n": 64, "k": 5, "min_sigma": 0.05}, measure=nats_of_draws),
    ), options=GREY, unit="nats, 17 levels",
        note="NADE with 50 hidden units and another last layer, trained for 12 epochs, the best of three rates for each, on "
             "validation. RNADE is trained on levels that are spread over their steps; its nats are an upper bound, the tighter "
             "the more draws of the noise are averaged. Mean of three seeds; after ± the standard error over the images, of "
             "the first seed."),
    Run("levels-patches", "flower_patches", (
        Row("softmax", level_nade, by_seeds, {"n": 16, "family": "softmax", "k": 256}, {**SETTINGS, "epochs": 6},
            over("lr", RATES[2:]), bits_a_pixel),
        Row("discretised logistics", level_nade, by_seeds,
            {"n": 16, "family": "discretised logistics", "k": 5, "levels": 256}, {**SETTINGS, "epochs": 10},
            over("lr", RATES[1:4]), bits_a_pixel),
    ), draw=draw, unit="bits per pixel",
        note="NADE with 50 hidden units on patches of 16 pixels, 256 levels: 6 epochs for the softmax, 10 for the logistics, the "
             "best of three rates for each, on validation. Held-out patches; mean ± standard error over three seeds. The record has "
             "the bits of the patches that were trained on as well."),
)}
