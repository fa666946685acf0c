"""Small color images: what conditioning on the other colors contributes (chapter pixelcnn)."""

from __future__ import annotations

import copy
import math
from typing import Any

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from torch.distributions import Distribution

from benchmarks.reproduce.pixels import by_seeds, nats_over_seeds
from benchmarks.reproduce.recipes import by_counting
from benchmarks.reproduce.run import Job, Repeats, Row, Run, Trained, nats, over
from course_lib.autoregressive import AutoregressiveModel
from course_lib.conditional import Categorical, DiscretizedLogisticMixture
from course_lib.pixels import ImageModel, MaskedConv2d, PixelCNN

SIDE, LEVELS, LOGISTICS = 8, 256, 5
SEES = ("own", "before", "all")


class Histogram(AutoregressiveModel):
    """How often each colour has each level, whatever the pixel: no variable reads another one."""

    def __init__(self):
        super().__init__(3 * SIDE ** 2, Categorical(LEVELS))
        self.logits = nn.Parameter(torch.zeros(3, LEVELS))

    @torch.no_grad()
    def fit_counts(self, x: Int[Tensor, "N n"], alpha: float) -> Histogram:
        """The counts of x, alpha added to each."""
        levels = x.long().view(len(x), 3, -1).transpose(0, 1).flatten(1)                           # (3, N pixels)
        counts = torch.stack([torch.bincount(each, minlength=LEVELS) for each in levels])
        self.logits.copy_((counts + alpha).log())
        return self

    def conditionals(self, x: Int[Tensor, "B n"], context: None = None) -> Distribution:
        each = self.logits.repeat_interleave(SIDE ** 2, dim=0)       # (n, 256)
        return self.conditional(each.expand(len(x), -1, -1))

    def parents(self, i: int) -> list[int]:
        return []


class Linear(ImageModel):
    """One masked convolution: the raw parameters of a pixel are linear in its four neighbours that come before."""

    def __init__(self, shape: tuple[int, int, int], conditional: DiscretizedLogisticMixture):
        super().__init__(shape, conditional)
        self.head = nn.ModuleList([MaskedConv2d(self.shape[0], self.outputs, 3, "A", self.groups)])

    def raw(self, image: Float[Tensor, "B C H W"], label: None) -> Float[Tensor, "B outputs H W"]:
        return self.head[0](image)

    def seen(self, image: Bool[Tensor, "n C H W"]) -> Bool[Tensor, "n groups H W"]:
        return self.field_of(image, self.head[0], "A")


@torch.no_grad()
def blinded(model: ImageModel, sees: str) -> ImageModel:
    """The same network with fewer weights that count. Returns it.

    sees  "own": each colour reads its own plane alone, in every layer;
          "before": the colours of the pixels before, and none of its own pixel;
          "all": as it is, green reads red and blue reads both
    """
    if sees not in SEES:
        raise ValueError(f"sees is {sees!r}; expected one of {', '.join(map(repr, SEES))}")
    layers = [layer for layer in model.modules() if isinstance(layer, MaskedConv2d)]
    if sees == "own":
        for layer in layers:
            own, read = (torch.arange(channels) * model.groups // channels for channels in layer.mask.shape[:2])
            layer.mask.mul_((own[:, None] == read)[:, :, None, None])
    if sees == "before":
        layers[0].mask[:, :, -1, layers[0].kernel_size[1] // 2] = 0  # what is no input here stays hidden in all layers
    return model


def linear(sees: str) -> ImageModel:
    """Each factor one logistic density in 256 bins."""
    return blinded(Linear((3, SIDE, SIDE), DiscretizedLogisticMixture(1, LEVELS)), sees)


def network(sees: str, colors: str = "masks", **size) -> ImageModel:
    """A PixelCNN of colours, each factor a mixture of discretised logistics."""
    family = DiscretizedLogisticMixture(LOGISTICS, LEVELS)
    return blinded(PixelCNN((3, SIDE, SIDE), conditional=family, colors=colors, **size), sees)


def by_first_seed(job: Job, row: Row, settings: dict[str, Any], name: str) -> Trained:
    """Nothing is trained: the first of the models of the row that `settings["of"]` names."""
    return Trained(copy.deepcopy(job.models[settings["of"]][0]), 0.0)


def bits(model: nn.Module, part: Int[Tensor, "N n"]) -> dict[str, Any]:
    """Bits a colour of a pixel: its mean, that of each seed, and the spreads, as `nats_over_seeds` says them."""
    found, a_bit = (nats_over_seeds if isinstance(model, Repeats) else nats)(model, part), part.shape[1] * math.log(2)
    spreads = {key: round(found[key] / a_bit, 4) for key in ("mean", "standard_error", "deviation_over_seeds") if found.get(key)}
    each = {"seeds": [round(value / a_bit, 4) for value in found["seeds"]]} if "seeds" in found else {}
    return {**spreads, "over": found["over"], **each}


CHAIN = "PixelCNN, a chain of colours"
SIZE = {"width": 36, "depth": 3, "first": 5}
SETTINGS = {"batch_size": 50, "schedule": "cosine", "seeds": 1, "clip": 1.0}
RATES = over("lr", (0.01, 0.02))
THREE = {"seeds": 3}

RUNS: dict[str, Run] = {run.name: run for run in (
    Run("colours-cifar10", "cifar10_small", (
        Row("a histogram for each colour", Histogram, by_counting, candidates=over("alpha", (0.1, 1.0, 10.0)), measure=bits),
        *(Row(f"linear, {label}", linear, by_seeds, {"sees": sees}, {**SETTINGS, "epochs": 4}, RATES, bits, final=THREE)
          for label, sees in (("each colour alone", "own"), ("colours in order", "all"))),
        *(Row(f"PixelCNN, {label}", network, by_seeds, {"sees": sees, **SIZE},
              {**SETTINGS, "epochs": 8, "bf16": True, "channels_last": True}, RATES, bits, final=THREE)
          for label, sees in (("each colour alone", "own"), ("colours of earlier pixels", "before"),
                              ("colours in order", "all"))),
        Row(CHAIN, network, by_seeds, {"sees": "all", "colors": "chain", **SIZE},
            {**SETTINGS, "epochs": 8, "bf16": True, "channels_last": True}, RATES, bits, final=THREE),
        Row("the chain of the first seed, as stored", network, by_first_seed, {"sees": "all", "colors": "chain", **SIZE},
            {"of": CHAIN}, measure=bits, weights="pixelcnn-cifar10-small"),
    ), options={"side": SIDE}, unit="bits per dimension",
        note="Colours, 8 x 8. Linear: one masked convolution, the four neighbours before a pixel. The PixelCNNs are one "
             "network under other masks. Its factors are mixtures of five discretised logistics; the linear ones have one. "
             "The rate is chosen on the validation images by the first seed; the mean of three seeds, and after ± the "
             "standard error over the images, of the first seed."),
)}
