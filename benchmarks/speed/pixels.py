"""Sampling of pixel networks with stored maps beside full passes, and the time of a log-likelihood."""

from __future__ import annotations

import functools

import torch

from benchmarks.speed.comparison import Comparison
from benchmarks.speed.density import full_passes
from course_lib.pixels import DiagonalBiLSTM, GatedPixelCNN, PixelCNN, RowLSTM

NUM, SIDE, PART = 16, 28, 28                                         # PART: number of full passes timed


def sampling(cls: type, **sizes: int):
    """Sixteen images sampled by `sample`, beside a full pass for each pixel."""
    def comparison() -> Comparison:
        torch.manual_seed(0)
        model = cls((SIDE, SIDE), **sizes).eval()

        def draw() -> torch.Tensor:
            return model.sample(NUM, generator=torch.Generator().manual_seed(0))

        passes = f"{SIDE * SIDE} full forward passes"
        return Comparison(
            f"{cls.__name__}, {sizes['depth']} layers of {sizes['width']}: {NUM} images of {SIDE} x {SIDE}",
            "`sample` computes each layer at one pixel and keeps what later pixels read of it; a sampler that knows "
            f"`conditionals` alone runs {SIDE * SIDE} full passes, its draws not counted; a {SIDE * SIDE // PART}th of them was "
            "timed.",
            {"sample": draw, passes: full_passes(model, draw(), PART)},
            fast="sample", slow=passes, parts={passes: SIDE * SIDE // PART})

    return comparison


NETWORKS = {                                                         # the sizes that are trained on the digits
    "PixelCNN": (PixelCNN, {"depth": 3, "inner": 16}),
    "gated PixelCNN": (GatedPixelCNN, {"depth": 3}),
    "Row LSTM": (RowLSTM, {"depth": 1}),
    "Diagonal BiLSTM": (DiagonalBiLSTM, {"depth": 1}),
}


def scoring() -> Comparison:
    """`log_prob` of sixteen images by each network, for three image sizes."""
    contenders = {}
    for side in (8, 16, 28):
        x = torch.randint(2, (NUM, side * side), generator=torch.Generator().manual_seed(0))
        for name, (kind, sizes) in NETWORKS.items():
            torch.manual_seed(0)
            model = kind((side, side), width=32, first=5, **sizes).eval()
            contenders[f"{name}, {side} x {side}"] = torch.no_grad()(functools.partial(model.log_prob, x))
    return Comparison(
        f"One log-likelihood of {NUM} images, by the side of the image",
        "PixelCNN of 3 blocks, 32 channels, 16 within a block; gated PixelCNN of 3 layers of 32; Row LSTM and Diagonal BiLSTM "
        "of one layer of 32; the first kernel is 5 wide in each. No gradient.",
        contenders, fast="PixelCNN, 28 x 28", slow="Diagonal BiLSTM, 28 x 28")


COMPARISONS = {                                                      # the sizes that are trained on binarized MNIST
    "speed-pixelcnn-sampling": sampling(PixelCNN, width=32, depth=7, inner=32),
    "speed-gated-pixelcnn-sampling": sampling(GatedPixelCNN, width=32, depth=5),
    "speed-pixels-scoring": scoring,
}
