"""A PixelCNN of small pictures of clothes, asked about pictures of digits (chapter likelihood)."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable
from functools import cache
from typing import Any

import torch
from einops import reduce
from jaxtyping import Int
from torch import Tensor, nn

from benchmarks.reproduce.pixels import by_seeds, nats_over_seeds
from benchmarks.reproduce.run import Job, Repeats, Row, Run, Trained
from course_lib import data
from course_lib.conditional import Categorical
from course_lib.data import REGISTRY, Splits
from course_lib.data.download import fetch
from course_lib.data.readers import read_idx
from course_lib.pixels import PixelCNN, auc, compressed_bits, typicality

SIDE, LEVELS, HELD_OUT, STRANGERS = 14, 16, 1000, 2000
CLOTHES = "PixelCNN, of clothes"


def halved(x: Int[Tensor, "N 784"]) -> Int[Tensor, "N 196"]:
    """Images of 28 x 28 and 256 levels as 14 x 14 of 16 levels: the mean of four pixels, cut down to a level."""
    means = reduce(x.float(), "N (r a c b) -> N (r c)", "mean", r=SIDE, a=2, c=SIDE, b=2)
    return (means / 256 * LEVELS).to(torch.uint8)


def draw() -> Splits:
    """The 10,000 test images of Fashion-MNIST in one fixed random order: 8,000 train, 1,000 validate, 1,000 test."""
    entry = REGISTRY["fashion_mnist"]
    x = torch.from_numpy(read_idx(fetch(entry.name, entry.file("t10k-images-idx3-ubyte.gz")))).flatten(1)
    x = halved(x)[torch.randperm(len(x), generator=torch.Generator().manual_seed(0))]
    info = {"image_shape": (SIDE, SIDE), "maximum": LEVELS - 1, "comparable_with_papers": False,
            "licence": entry.licence, "citation": entry.citation, "key": entry.key,
            "protocol": "The official test images alone, the means of four pixels, 16 levels: 8,000 of them train, "
                        "1,000 validate, 1,000 test."}
    return Splits(entry.name, *x.split([len(x) - 2 * HELD_OUT, HELD_OUT, HELD_OUT]), info=info)


def small_pixelcnn(**size) -> PixelCNN:
    """Each pixel a softmax over its 16 levels."""
    return PixelCNN((SIDE, SIDE), conditional=Categorical(LEVELS), **size)


@cache
def strangers(name: str) -> Int[Tensor, "N 196"]:
    """Images that are no clothes: "digits" of MNIST's test set, the same "upside down", a "blank", or "noise"."""
    g = torch.Generator().manual_seed(0)
    if name == "blank":
        return torch.zeros(1, SIDE * SIDE, dtype=torch.uint8)
    if name == "noise":
        return torch.randint(LEVELS, (STRANGERS, SIDE * SIDE), generator=g, dtype=torch.uint8)
    x = data.load_data("mnist").test
    x = halved(x[torch.randperm(len(x), generator=g)[:STRANGERS]])
    return x.flip(1) if name == "upside down" else x                # the last pixel first: turned by half a turn


class Asked(Repeats):
    """The trained models of a run, the images that they are asked about, and the validation images."""

    def __init__(self, models: Iterable[nn.Module], images: Tensor, reference: Tensor):
        super().__init__(models)
        self.images, self.reference = images, reference


def by_asking(job: Job, row: Row, settings: dict[str, Any], name: str) -> Trained:
    """Nothing is trained: the models of the first row, asked about other images."""
    return Trained(Asked(job.models[CLOTHES], strangers(settings["images"]), job.splits.valid), 0.0)


@torch.no_grad()
def scores(model: PixelCNN, x: Tensor) -> Tensor:
    """log p of each image, (N,), in float64."""
    return torch.cat([model.eval().log_prob(part) for part in x.split(500)]).double()


def strangeness(asked: Asked, own: Tensor) -> dict[str, Any]:
    """Nats of the images that are asked about, and how well three alarms tell them from `own`: the AUC of each, by seed.

    likelihood   minus log p;  typicality  its distance from the mean of the validation images;
    complexity   bits under the model less the bits of a compressor
    """
    shorter = [compressed_bits(x) for x in (own, asked.images)]
    nats, found = [], {"likelihood": [], "typicality": [], "complexity": []}
    for model in asked:
        inside, outside, reference = (scores(model, x) for x in (own, asked.images, asked.reference))
        nats.append(round(-outside.mean().item(), 4))
        found["likelihood"].append(auc(-inside, -outside))
        found["typicality"].append(auc(typicality(inside, reference), typicality(outside, reference)))
        found["complexity"].append(auc(*(-s / math.log(2) - bits for s, bits in zip((inside, outside), shorter))))
    error = outside.std().item() / len(outside) ** 0.5 if len(outside) > 1 else 0.0
    return {"mean": round(statistics.mean(nats), 4), "standard_error": round(error, 4), "over": len(asked.images),
            "seeds": nats, "deviation_over_seeds": round(statistics.stdev(nats), 4) if len(nats) > 1 else None,
            "auc": {name: [round(value, 4) for value in each] for name, each in found.items()}}


def about(label: str, images: str) -> Row:
    """A row without training."""
    return Row(label, Asked, by_asking, settings={"images": images}, measure=strangeness)


RUNS: dict[str, Run] = {run.name: run for run in (
    Run("clothes-and-digits", "fashion_mnist", (
        Row(CLOTHES, small_pixelcnn, by_seeds, {"width": 32, "depth": 4, "first": 5},
            {"epochs": 8, "batch_size": 50, "lr": 5e-3, "schedule": "cosine", "clip": 1.0, "weight_decay": 0.01,
             "seeds": 3, "channels_last": True, "bf16": True}, measure=nats_over_seeds),
        about("digits of MNIST", "digits"), about("the same, upside down", "upside down"),
        about("a blank picture", "blank"), about("noise", "noise"),
    ), draw=draw, unit="nats, 14 x 14, 16 levels",
        note="A model trained on clothes, asked about its own held-out images in the first row and about other images "
             "in the rows below. The mean of three seeds; ± is the standard error over the images. Trained on 8,000 of "
             "the test images of Fashion-MNIST, so not comparable with papers."),
)}
