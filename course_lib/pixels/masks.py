"""Causal and masked convolutions: which neighbours of a pixel a layer may read, and which colours of the pixel itself."""

from __future__ import annotations

import math

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float
from torch import Tensor, nn


def kernel_mask(k: int, kind: str, outputs: int = 1, inputs: int = 1, groups: int = 1) -> Float[Tensor, "out in k k"]:
    r"""1 where a k x k kernel may read: before the centre in raster order; at the centre what `kind` says.

    Channels come in `groups` blocks of equal width, for colours R, G, B in this order. At the centre a channel of group
    g reads groups before g (kind "A", for the layer that reads the image) or up to g itself (kind "B", for all layers
    after it, whose group g has not seen colour g). With one group A hides the centre and B shows it.

    Slides: "PixelCNN", masked convolutions and the additional masking for colours. Paper: van den Oord, Kalchbrenner and
    Kavukcuoglu 2016.

    >>> kernel_mask(3, "A")[0, 0]
    tensor([[1., 1., 1.],
            [1., 0., 0.],
            [0., 0., 0.]])
    >>> kernel_mask(1, "A", 3, 3, groups=3)[:, :, 0, 0]            # green reads red, blue reads both
    tensor([[0., 0., 0.],
            [1., 0., 0.],
            [1., 1., 0.]])
    """
    if k < 1 or k % 2 == 0:
        raise ValueError(f"k is {k}; a kernel needs a centre, expected an odd number")
    if kind not in ("A", "B"):
        raise ValueError(f"kind is {kind!r}; expected 'A' or 'B'")
    of = [group_of(channels, groups, name) for channels, name in ((outputs, "outputs"), (inputs, "inputs"))]
    mask = torch.zeros(outputs, inputs, k, k)
    mask[:, :, :k // 2] = 1                                          # rows above
    mask[:, :, k // 2, :k // 2] = 1                                  # to the left
    mask[:, :, k // 2, k // 2] = (of[0][:, None] > of[1] if kind == "A" else of[0][:, None] >= of[1]).float()
    return mask


def group_of(channels: int, groups: int, name: str = "channels") -> Tensor:
    """The group of each channel: `groups` blocks of equal width, one behind the other. Raises ValueError if they do not
    divide."""
    if groups < 1 or channels < 1 or channels % groups:
        raise ValueError(f"{name} is {channels}, which {groups} groups do not divide; expected a multiple of {groups}")
    return torch.arange(channels) // (channels // groups)


class CausalConv2d(nn.Conv2d):
    """A convolution whose kernel ends with the pixel's own row: p = k // 2 rows above and that row, k columns.

    What lies outside the image counts as zero. Nothing hides what is to the right in the pixel's own row: alone, this
    layer belongs into a stack that reads rows above only.

    >>> CausalConv2d(1, 4, k=3)(torch.zeros(2, 1, 8, 8)).shape
    torch.Size([2, 4, 8, 8])
    """

    def __init__(self, inputs: int, outputs: int, k: int, above: bool = True):
        if k < 1 or k % 2 == 0:
            raise ValueError(f"k is {k}; a kernel needs a centre, expected an odd number")
        super().__init__(inputs, outputs, (k // 2 + 1 if above else 1, k))

    @property
    def masked_weight(self) -> Float[Tensor, "out in rows k"]:
        """What the product uses."""
        return self.weight

    def forward(self, x: Float[Tensor, "B in H W"]) -> Float[Tensor, "B out H W"]:
        rows, k = self.kernel_size                                   # a padded copy of x would be kept for the backward pass:
        y = F.conv2d(x, self.masked_weight, self.bias, padding=(rows - 1, k // 2))         # conv2d pads on all sides
        return y[:, :, :x.shape[2]]                                  # (B, out, H, W), without the rows below the image


class MaskedConv2d(CausalConv2d):
    r"""$y = (W \odot M) * x + b$: a convolution that reads pixels before its own only, and by `kind` its own.

    inputs, outputs  channels
    k                width of the kernel; of its k rows the k // 2 below the centre are all zero and not stored
    kind, groups     as in `kernel_mask`
    above            False: the pixel's own row alone, a kernel of 1 x k
    copies           the outputs are so many blocks, each with all groups: 2 for a gate, 4 for an LSTM

    The mask is a buffer and belongs to the product: the weight is never written to.

    >>> layer = MaskedConv2d(1, 4, k=3, kind="A")
    >>> x, other = torch.zeros(2, 1, 1, 5, 5)
    >>> other[0, 0, 2, 2:] = 9.0  # a pixel, and what follows in its row
    >>> torch.equal(layer(x)[0, :, 2, 2], layer(other)[0, :, 2, 2])
    True
    """

    def __init__(self, inputs: int, outputs: int, k: int, kind: str, groups: int = 1, above: bool = True,
                 copies: int = 1):
        super().__init__(inputs, outputs, k, above)
        mask = kernel_mask(k, kind, outputs // copies, inputs, groups).repeat(copies, 1, 1, 1)
        self.kind, self.colors = kind, groups
        self.register_buffer("mask", mask[:, :, 0 if above else k // 2:k // 2 + 1].clone())
        with torch.no_grad():                                        # as if the hidden inputs were not there
            bound = 1 / math.sqrt(max(1, self.mask.flatten(1).sum(dim=1).mean().item()))
            self.weight.uniform_(-bound, bound)
            self.bias.uniform_(-bound, bound)

    @property
    def masked_weight(self) -> Float[Tensor, "out in rows k"]:
        r"""$W \odot M$: what the product uses."""
        return self.weight * self.mask

    def extra_repr(self) -> str:
        return f"{super().extra_repr()}, kind={self.kind!r}, groups={self.colors}"


def widened(seen: Bool[Tensor, "n in H W"], mask: Float[Tensor, "out in rows k"]) -> Bool[Tensor, "n out H W"]:
    """The receptive field one layer on. seen[j, g, r, c]: group g at (r, c) depends on variable j.

    The mask of a layer with one channel for each group, its rows ending with the pixel's own.
    """
    rows, k = mask.shape[2:]
    padded = F.pad(seen.float(), (k // 2, k // 2, rows - 1, 0))
    return F.conv2d(padded, mask.to(padded.device)) > 0
