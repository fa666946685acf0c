"""Convolutional image classifier, the target of the attacks."""

from __future__ import annotations

from typing import Sequence

import torch
import torch.nn.functional as F
from einops import rearrange
from jaxtyping import Float, Int, Shaped
from torch import Tensor, nn


class ImageClassifier(nn.Module):
    r"""Convolutional classifier $p(y \mid x) = \mathrm{softmax}(f(x))_y$ of images with `levels` gray levels.

    shape    (H, W), height and width in pixels, both even
    levels   K, number of gray levels: pixels are 0..K-1; the network divides them by K - 1
    classes  number of classes
    widths   channels of the three convolutions; max pooling halves height and width after the second convolution
    dropout  dropout probability before the output layer

    Fractional levels are allowed, so that an attack can compute gradients between two levels.

    >>> net = ImageClassifier((8, 8), levels=17)
    >>> net(torch.full((2, 64), 16)).shape, net.classify(torch.zeros(2, 64)).shape
    (torch.Size([2, 10]), torch.Size([2]))
    """

    def __init__(self, shape: Sequence[int], levels: int, classes: int = 10, widths: Sequence[int] = (24, 48, 64),
                 dropout: float = 0.0):
        super().__init__()
        if len(shape) != 2 or min(shape) < 2 or shape[0] % 2 or shape[1] % 2:
            raise ValueError(f"shape is {list(shape)}; expected (height, width), both even and at least 2")
        if levels < 2 or classes < 2:
            raise ValueError(f"levels is {levels} and classes is {classes}; expected at least 2 levels and 2 classes")
        if len(widths) != 3 or min(widths) < 1:
            raise ValueError(f"widths is {list(widths)}; expected three integers of at least 1, the channels of the "
                             "three convolutions")
        (H, W), (a, b, c) = shape, widths
        self.shape, self.levels, self.classes, self.widths = (H, W), levels, classes, tuple(widths)
        self.convolutions = nn.ModuleList([nn.Conv2d(1, a, 3, padding=1), nn.Conv2d(a, b, 3, padding=1),
                                           nn.Conv2d(b, c, 3, padding=1)])
        self.dropout = nn.Dropout(dropout)
        self.last = nn.Linear(c * H * W // 4, classes)

    @property
    def config(self) -> dict:
        """Arguments of the constructor."""
        return {"shape": list(self.shape), "levels": self.levels, "classes": self.classes,
                "widths": list(self.widths), "dropout": self.dropout.p}

    def forward(self, x: Tensor) -> Float[Tensor, "B classes"]:
        """Logits of images x (B, n), n = H W. Raises ValueError if n is wrong, or if a level is not in [0, K - 1]."""
        H, W = self.shape
        if x.dim() != 2 or x.shape[1] != H * W:
            raise ValueError(f"x has shape {tuple(x.shape)}; expected (B, {H * W}), images of {H} x {W}, flattened")
        if len(x) and not (0 <= x.min() and x.max() <= self.levels - 1):
            raise ValueError(f"x contains levels from {x.min():g} to {x.max():g}; expected 0 to {self.levels - 1}")
        first, second, third = self.convolutions
        h = rearrange(x.to(first.weight.dtype), "B (h w) -> B 1 h w", h=H) / (self.levels - 1)
        h = F.relu(second(F.relu(first(h))))
        h = F.max_pool2d(h, 2)                                       # (B, b, H/2, W/2)
        h = F.relu(third(h))
        return self.last(self.dropout(h.flatten(1)))

    def loss(self, batch: tuple[Tensor, Tensor]) -> Float[Tensor, ""]:
        """Mean cross-entropy in nats. In training mode each image is shifted at random by up to one pixel per axis.

        batch  images (B, n), and their classes (B,)
        """
        x, y = batch
        return F.cross_entropy(self(shifted(x, self.shape) if self.training else x), y)

    def log_prob(self, x: Shaped[Tensor, "B n"], y: Int[Tensor, "B"]) -> Float[Tensor, "B"]:
        """Log-probability log p(y | x) of class y for each image x, in nats."""
        return -F.cross_entropy(self(x), y, reduction="none")

    @torch.no_grad()
    def classify(self, x: Shaped[Tensor, "B n"]) -> Int[Tensor, "B"]:
        """Most probable class of each image."""
        return self(x).argmax(dim=1)


def shifted(x: Shaped[Tensor, "B n"], shape: Sequence[int]) -> Shaped[Tensor, "B n"]:
    """Shift each image by -1, 0 or 1 pixels along each axis, sampled with torch's global generator; pad with 0.

    shape  (H, W), with n = H W
    """
    H, W = shape
    padded = F.pad(x.view(-1, H, W), (1, 1, 1, 1))                   # (B, H + 2, W + 2)
    down, right = torch.randint(3, (2, len(x), 1), device=x.device)
    rows, columns = down + torch.arange(H, device=x.device), right + torch.arange(W, device=x.device)
    return padded[torch.arange(len(x), device=x.device)[:, None, None], rows[:, :, None], columns[:, None]].flatten(1)
