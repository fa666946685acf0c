"""Pixel networks: what it saves to keep the maps of the pixels that are drawn."""

from __future__ import annotations

import torch

from benchmarks.speed.comparison import Comparison
from benchmarks.speed.density import full_passes
from course_lib.pixels import GatedPixelCNN, PixelCNN

NUM, SIDE, PART = 16, 28, 28                                         # PART: as many full passes are timed, of SIDE * SIDE


def sampling(cls: type, at_least: float, **sizes: int):
    """Sixteen images of 28 x 28, by `sample` and by a full pass for each pixel."""
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
            fast="sample", slow=passes, at_least=at_least, parts={passes: SIDE * SIDE // PART})

    return comparison


COMPARISONS = {                                                      # the sizes that are trained on binarized MNIST
    "speed-pixelcnn-sampling": sampling(PixelCNN, 50.0, width=32, depth=7, inner=32),
    "speed-gated-pixelcnn-sampling": sampling(GatedPixelCNN, 100.0, width=32, depth=5),
}
