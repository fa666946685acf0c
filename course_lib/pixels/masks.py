"""Causal and masked convolutions."""

from __future__ import annotations

import math

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float
from torch import Tensor, nn


def kernel_mask(k: int, kind: str, outputs: int = 1, inputs: int = 1, groups: int = 1) -> Float[Tensor, "out in k k"]:
    """Mask of a k x k kernel: 1 for pixels before the center in raster order, 0 after it; `kind` determines the center.

    kind             "A" for the first layer, "B" for all other layers
    outputs, inputs  numbers of channels of the layer
    groups           number of groups of channels, of equal width: one for each color, in the order R, G, B

    At the center an output channel of group g depends on the input groups before g (A), or on the groups up to g (B).
    Thus group g of a hidden layer does not depend on color g of its pixel. With one group, A masks the center and B
    does not.

    Slides: "PixelCNN", masked convolutions and the additional masking for colors. Paper: van den Oord, Kalchbrenner and
    Kavukcuoglu 2016.

    >>> kernel_mask(3, "A")[0, 0]
    tensor([[1., 1., 1.],
            [1., 0., 0.],
            [0., 0., 0.]])
    >>> kernel_mask(1, "A", outputs=3, inputs=3, groups=3)[:, :, 0, 0]  # green depends on red, blue on both
    tensor([[0., 0., 0.],
            [1., 0., 0.],
            [1., 1., 0.]])
    """
    if k < 1 or k % 2 == 0:
        raise ValueError(f"k is {k}; expected an odd number, so that the kernel has a center")
    if kind not in ("A", "B"):
        raise ValueError(f"kind is {kind!r}; expected 'A' or 'B'")
    of = [group_of(channels, groups, name) for channels, name in ((outputs, "outputs"), (inputs, "inputs"))]
    mask = torch.zeros(outputs, inputs, k, k)
    mask[:, :, :k // 2] = 1                                          # rows above
    mask[:, :, k // 2, :k // 2] = 1                                  # to the left
    mask[:, :, k // 2, k // 2] = (of[0][:, None] > of[1] if kind == "A" else of[0][:, None] >= of[1]).float()
    return mask


def group_of(channels: int, groups: int, name: str = "channels") -> Tensor:
    """Group of each channel, 0..groups-1, (channels,). Raises ValueError unless `groups` divides `channels`."""
    if groups < 1 or channels < 1 or channels % groups:
        raise ValueError(f"{name} is {channels}; expected a multiple of {groups}, the number of groups")
    return torch.arange(channels) // (channels // groups)


class CausalConv2d(nn.Conv2d):
    """Convolution over the pixel's own row and p = k // 2 rows above, k columns each, padded with 0.

    inputs, outputs  channels
    above            whether the kernel includes the rows above; otherwise it is 1 x k

    Pixels to the right in the same row are not masked, so the input has to be shifted down by one row.

    >>> CausalConv2d(1, 4, k=3)(torch.zeros(2, 1, 8, 8)).shape
    torch.Size([2, 4, 8, 8])
    """

    def __init__(self, inputs: int, outputs: int, k: int, above: bool = True):
        if k < 1 or k % 2 == 0:
            raise ValueError(f"k is {k}; expected an odd number, so that the kernel has a center")
        super().__init__(inputs, outputs, (k // 2 + 1 if above else 1, k))

    @property
    def masked_weight(self) -> Float[Tensor, "out in rows k"]:
        """Weight that the convolution uses; a subclass masks it."""
        return self.weight

    def forward(self, x: Float[Tensor, "B in H W"]) -> Float[Tensor, "B out H W"]:
        rows, k = self.kernel_size                                   # a padded copy of x would stay in memory;
        y = F.conv2d(x, self.masked_weight, self.bias, padding=(rows - 1, k // 2))         # conv2d pads on all sides
        return y[:, :, :x.shape[2]]                                  # (B, out, H, W), without the rows below the image


class MaskedConv2d(CausalConv2d):
    r"""Masked convolution, $y = (W \odot M) * x + b$ with the mask M of `kernel_mask`.

    inputs, outputs  channels
    k                size of the kernel; its k // 2 rows below the center are masked and not stored
    kind, groups     as in `kernel_mask`
    above            whether the kernel includes the rows above; otherwise it is 1 x k
    copies           number of blocks of outputs, each with all groups: 2 for a gate, 4 for an LSTM

    The mask is a buffer. It is applied in the convolution, and the weight itself is not changed.

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
        with torch.no_grad():                                        # fan-in without the masked inputs
            bound = 1 / math.sqrt(max(1, self.mask.flatten(1).sum(dim=1).mean().item()))
            self.weight.uniform_(-bound, bound)
            self.bias.uniform_(-bound, bound)

    @property
    def masked_weight(self) -> Float[Tensor, "out in rows k"]:
        r"""Masked weight, $W \odot M$."""
        return self.weight * self.mask

    def extra_repr(self) -> str:
        return f"{super().extra_repr()}, kind={self.kind!r}, groups={self.colors}"


def widened(seen: Bool[Tensor, "n in H W"], mask: Float[Tensor, "out in rows k"]) -> Bool[Tensor, "n out H W"]:
    """Receptive field of the output of a layer, given the receptive field `seen` of its input.

    seen  [j, g, r, c] is True if channel group g at row r, column c depends on variable j
    mask  mask of the layer with one channel per group; its last row is the pixel's own row
    """
    rows, k = mask.shape[2:]
    padded = F.pad(seen.float(), (k // 2, k // 2, rows - 1, 0))
    return F.conv2d(padded, mask.to(padded.device)) > 0
