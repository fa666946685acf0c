"""The time of a log-likelihood under the pixel networks, by the size of the image."""

from __future__ import annotations

import functools

import torch

from benchmarks.speed.comparison import Comparison
from course_lib.pixels import DiagonalBiLSTM, GatedPixelCNN, PixelCNN, RowLSTM

NUM = 16                                                             # images
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


COMPARISONS = {"speed-pixels-scoring": scoring}
