"""Incremental evaluation of convolutional networks, one pixel at a time, for fast sampling.

The output of a layer at a pixel depends on its input at that pixel and at a few pixels before it. For each layer the
last p W + p pixels of its input are stored, in sampling order, so that a new pixel costs a small matrix product per
layer. W is the width of the image, and p = k // 2 for a k x k kernel.
"""

from __future__ import annotations

from typing import Iterable, Protocol, Sequence, runtime_checkable

import torch
from jaxtyping import Float, Int
from torch import Tensor

from course_lib.pixels.masks import CausalConv2d


@runtime_checkable
class Run(Protocol):
    """A callable that applies a layer: to whole feature maps (`Whole`), or to a single row or pixel in sampling."""

    def __call__(self, layer: CausalConv2d, h: Tensor) -> Tensor:
        """Output of `layer` for its input `h`, (B, channels, H, W), or (B, channels) at a single pixel."""

    def spread(self, t: Float[Tensor, "B channels"]) -> Tensor:
        """Reshape t, a vector per image such as the embedding of its class, so that it can be added to feature maps."""


class Whole:
    """Apply layers to whole feature maps (B, channels, H, W)."""

    def __call__(self, layer: CausalConv2d, h: Float[Tensor, "B in H W"]) -> Float[Tensor, "B out H W"]:
        return layer(h)

    def spread(self, t: Float[Tensor, "B channels"]) -> Float[Tensor, "B channels 1 1"]:
        return t[..., None, None]


whole = Whole()


class Layers:
    """Weights of causal layers as matrices, so that the output at one pixel is a matrix product with its neighbors.

    Neighbors outside the image are omitted; each matrix is computed when first needed. The model's `start` creates the
    object from the current weights as a part of the state. `select` returns it unchanged, because it is not a tuple.

    layers  layers with kernels larger than 1 x 1, in the order of the network
    within  layers with kernels of 1 x 1
    W       width of the image
    """

    def __init__(self, layers: Iterable[CausalConv2d], within: Iterable[CausalConv2d], W: int):
        self.layers, self.W = list(layers), W
        self.weights = [layer.masked_weight.detach() for layer in self.layers]
        self.within = {id(layer): (layer.bias.detach(), layer.masked_weight.detach()[:, :, 0, 0].T.contiguous())
                       for layer in within}
        self.made: dict[tuple[int, int, int], tuple[Tensor, Tensor]] = {}

    def empty(self, batch: int) -> tuple[Float[Tensor, "B pixels in"], ...]:
        """Stored inputs of each layer before the first pixel: `window(layer)` pixels outside the image, which are 0."""
        return tuple(layer.weight.new_zeros(batch, self.window(layer), layer.in_channels) for layer in self.layers)

    def window(self, layer: CausalConv2d) -> int:
        """Number of pixels before the current pixel whose inputs are stored: p W + p, or p for a 1 x k kernel."""
        rows, k = layer.kernel_size
        return (rows - 1) * self.W + k // 2

    def at(self, number: int, place: int) -> tuple[Int[Tensor, "..."], Float[Tensor, "... out"]]:
        """Indices (m,) of the stored pixels that are inputs of a layer at one pixel, and their weights (m in, out).

        number  index of the layer in `layers`
        place   index of the pixel in raster order, from 0; the current pixel is the last stored one
        """
        layer, column = self.layers[number], place % self.W
        (rows, k), window = layer.kernel_size, self.window(layer)
        left, right = min(column, k // 2), min(self.W - 1 - column, k // 2)
        if (number, left, right) not in self.made:
            taps = [(row, j) for row in range(rows) for j in range(k // 2 - left, k // 2 + right + 1)
                    if row < rows - 1 or j <= k // 2]                # pixels to the right are not sampled yet
            back = [(rows - 1 - row) * self.W + k // 2 - j for row, j in taps]
            weight = self.weights[number]
            matrix = torch.cat([weight[:, :, row, j].T for row, j in taps])
            self.made[number, left, right] = torch.tensor([window - b for b in back], device=weight.device), matrix
        return self.made[number, left, right]


class OnePixel:
    """Apply layers at one pixel: inputs and outputs are (B, channels).

    layers  the causal layers, as matrices
    past    stored inputs of each layer at the pixels before this pixel, as `Layers.empty` returns them
    place   index of the pixel in raster order, from 0

    Afterwards `maps` holds the same inputs followed by the input at this pixel, (B, pixels + 1, in) for each layer.
    """

    def __init__(self, layers: Layers, past: Sequence[Float[Tensor, "B pixels in"]], place: int):
        self.layers, self.past, self.place = layers, past, place
        self.maps: list[Float[Tensor, "B pixels1 in"]] = []

    def __call__(self, layer: CausalConv2d, h: Float[Tensor, "B in"]) -> Float[Tensor, "B out"]:
        if (alone := self.layers.within.get(id(layer))) is not None:
            return torch.addmm(alone[0], h, alone[1])
        number = len(self.maps)
        known = torch.cat([self.past[number], h[:, None]], dim=1)    # (B, pixels + 1, in)
        self.maps.append(known)
        index, matrix = self.layers.at(number, self.place)
        return torch.addmm(layer.bias, known.index_select(1, index).flatten(1), matrix)

    def spread(self, t: Float[Tensor, "B channels"]) -> Float[Tensor, "B channels"]:
        return t
