"""A convolutional network at one pixel: what makes drawing fast.

A layer's output at a pixel takes the pixel's own input and that of a few pixels before it. Those are remembered, for each
layer the last p W + p pixels of its input, in drawing order. So a new pixel costs one small product a layer.
"""

from __future__ import annotations

from typing import Iterable, Protocol, Sequence, runtime_checkable

import torch
from jaxtyping import Float, Int
from torch import Tensor

from course_lib.pixels.masks import CausalConv2d


@runtime_checkable
class Run(Protocol):
    """How a network's layers are applied: to whole maps, or at one pixel."""

    def __call__(self, layer: CausalConv2d, h: Tensor) -> Tensor:
        """The output of the layer."""

    def spread(self, t: Float[Tensor, "B channels"]) -> Tensor:
        """The same numbers at every pixel, as the class of an image."""


class Whole:
    """Every pixel at once: (B, channels, H, W)."""

    def __call__(self, layer: CausalConv2d, h: Float[Tensor, "B in H W"]) -> Float[Tensor, "B out H W"]:
        return layer(h)

    def spread(self, t: Float[Tensor, "B channels"]) -> Float[Tensor, "B channels 1 1"]:
        return t[..., None, None]


whole = Whole()


class Layers:
    """Some causal layers as one pixel needs them: matrices over the neighbours that exist, made when first asked for.

    Neither module nor tuple: `select` passes it on with a state. A state is for the weights that it was started with.

    layers  those that reach beyond the pixel, in the order in which the network runs them
    within  those of 1 x 1
    W       width of the image
    """

    def __init__(self, layers: Iterable[CausalConv2d], within: Iterable[CausalConv2d], W: int):
        self.layers, self.W = list(layers), W
        self.weights = [layer.masked_weight.detach() for layer in self.layers]
        self.within = {id(layer): (layer.bias.detach(), layer.masked_weight.detach()[:, :, 0, 0].T.contiguous())
                       for layer in within}
        self.made: dict[tuple[int, int, int], tuple[Tensor, Tensor]] = {}

    def empty(self, batch: int) -> tuple[Float[Tensor, "B pixels in"], ...]:
        """What is remembered of each layer's input before anything is drawn: zeros, as around the image."""
        return tuple(layer.weight.new_zeros(batch, self.window(layer), layer.in_channels) for layer in self.layers)

    def window(self, layer: CausalConv2d) -> int:
        """How many pixels back a layer reaches."""
        rows, k = layer.kernel_size
        return (rows - 1) * self.W + k // 2

    def at(self, number: int, place: int) -> tuple[Int[Tensor, "..."], Float[Tensor, "... out"]]:
        """Which of the remembered pixels and the present one layer `number` reads at this place, and its matrix."""
        layer, column = self.layers[number], place % self.W
        (rows, k), window = layer.kernel_size, self.window(layer)
        left, right = min(column, k // 2), min(self.W - 1 - column, k // 2)
        if (number, left, right) not in self.made:
            taps = [(row, j) for row in range(rows) for j in range(k // 2 - left, k // 2 + right + 1)
                    if row < rows - 1 or j <= k // 2]                # to the right in its own row there is nothing yet
            back = [(rows - 1 - row) * self.W + k // 2 - j for row, j in taps]
            weight = self.weights[number]
            matrix = torch.cat([weight[:, :, row, j].T for row, j in taps])
            self.made[number, left, right] = torch.tensor([window - b for b in back], device=weight.device), matrix
        return self.made[number, left, right]


class OnePixel:
    """Runs layers at one place on (B, channels). `maps` holds, after that, each layer's memory with the present pixel.

    past  for each layer what `Layers.empty` says, of the pixels before
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
