"""PixelCNN: masked convolutions over all pixels at once."""

from __future__ import annotations

from typing import NamedTuple, Sequence

import torch
from jaxtyping import Bool, Float, Int, Shaped
from torch import Tensor, nn
from torch.distributions import Distribution

from course_lib.autoregressive import Context
from course_lib.conditional import Conditional
from course_lib.pixels._incremental import Layers, OnePixel, Run, whole
from course_lib.pixels.images import ImageModel, check_width, head
from course_lib.pixels.masks import MaskedConv2d


class State(NamedTuple):
    """State after k variables: the stored inputs of each layer, and the raw parameters of the current pixel."""

    k: int                                                           # number of known variables
    pixel: Tensor                                                    # (B, C): levels of the current pixel, 0 if unknown
    maps: tuple[Tensor, ...]                                         # (B, pixels + 1, in) per layer: as `OnePixel.maps`
    raw: Tensor                                                      # (B, outputs): raw parameters at this pixel
    label: Tensor | None                                             # (B,): class of each image
    layers: Layers                                                   # weights, as matrices for one pixel


class Block(nn.Module):
    """Residual block without its residual connection: 1 x 1, k x k and 1 x 1 convolutions, each after a ReLU.

    width, inner      channels of the input and output, and between the convolutions
    k                 size of the middle kernel
    groups            number of groups of channels, one for each color, as in `kernel_mask`
    classes, dropout  as in `PixelCNN`
    """

    def __init__(self, width: int, inner: int, k: int, groups: int, classes: int | None, dropout: float):
        super().__init__()
        self.down = MaskedConv2d(width, inner, 1, "B", groups)
        self.masked = MaskedConv2d(inner, inner, k, "B", groups)
        self.up = MaskedConv2d(inner, width, 1, "B", groups)
        self.of_class = nn.Embedding(classes, inner) if classes else None
        self.dropout = nn.Dropout(dropout)

    def forward(self, h: Tensor, label: Tensor | None, run: Run) -> Tensor:
        y = run(self.masked, torch.relu(run(self.down, torch.relu(h))))
        if self.of_class is not None:
            y = y + run.spread(self.of_class(label))
        return run(self.up, self.dropout(torch.relu(y)))


class PixelCNN(ImageModel):
    r"""PixelCNN: $h^0 = (W^0 \odot M_A) * x$, residual blocks $h^l = h^{l-1} + \mathrm{block}(h^{l-1})$ with masks
    $M_B$, and 1 x 1 convolutions that return the raw parameters.

    shape        (C, H, W), or (H, W) for one channel
    width        channels of the feature maps
    depth        number of blocks
    first        size of the first kernel, with mask A
    k            size of the kernels in the blocks, with mask B
    inner        channels within a block; by default half the width
    dropout      dropout probability within a block
    conditional, colors, classes  as in `ImageModel`

    Mask A in a later layer would exclude the nearest pixel, and mask B in the first layer would make a factor depend on
    its own pixel. With 3 x 3 kernels some pixels above and to the right are in the blind spot: `receptive_field`
    returns the pixels that a factor depends on.

    One pass returns all factors. Sampling is sequential, but the state stores the last inputs of each layer, so that
    only the new pixel is computed.

    Slides: "PixelCNN". Paper: van den Oord, Kalchbrenner and Kavukcuoglu 2016.

    >>> model = PixelCNN((28, 28), width=16, depth=2)
    >>> model.log_prob(torch.zeros(2, 784)).shape, model.sample(3).shape
    (torch.Size([2]), torch.Size([3, 784]))
    """

    def __init__(self, shape: Sequence[int], width: int = 32, depth: int = 7,
                 first: int = 7, k: int = 3, inner: int | None = None, dropout: float = 0.0,
                 conditional: Conditional | None = None, colors: str = "masks",
                 classes: int | None = None):
        super().__init__(shape, conditional, colors, classes)
        inner = width // 2 if inner is None else inner
        check_width(width, self.groups)
        check_width(inner, self.groups, "inner")
        self.width, self.depth, self.k = width, depth, k
        self.inner, self.dropout = inner, dropout
        self.first = MaskedConv2d(self.shape[0], width, first, "A", self.groups)
        self.blocks = nn.ModuleList(Block(width, inner, k, self.groups, classes, dropout)
                                    for _ in range(depth))
        self.head = head(width, self.outputs, self.groups)

    @property
    def config(self) -> dict:
        """Arguments of the constructor."""
        return {"shape": list(self.shape), "width": self.width, "depth": self.depth, "first": self.first.kernel_size[1],
                "k": self.k, "inner": self.inner, "dropout": self.dropout, "conditional": self.conditional,
                "colors": self.colors, "classes": self.classes}

    # every factor at once: training and scoring
    def raw(self, image: Float[Tensor, "B C H W"],
            label: Int[Tensor, "B"] | None) -> Float[Tensor, "B outputs H W"]:
        return self.network(image, label, whole)

    def network(self, image: Tensor, label: Tensor | None, run: Run) -> Tensor:
        """Raw parameters. `run` applies a layer to feature maps (B, ., H, W), or to one
        pixel (B, .)."""
        h = run(self.first, image)
        for block in self.blocks:
            h = h + block(h, label, run)
        for layer in self.head:
            h = run(layer, torch.relu(h))
        return h

    def seen(self, image: Bool[Tensor, "n C H W"]) -> Bool[Tensor, "n groups H W"]:
        seen = self.field_of(image, self.first, "A")
        for block in self.blocks:
            seen = seen | self.field_of(seen, block.masked, "B")
        return self.field_of(seen, self.head[0], "B")

    # one variable at a time: sampling
    def start(self, batch: int, context: Context | None = None) -> State:
        within = [layer for block in self.blocks for layer in (block.down, block.up)]
        layers = Layers([self.first, *(block.masked for block in self.blocks)], [*within, *self.head], self.shape[2])
        pixel = self.conditional.check(self.like().new_zeros(batch, self.shape[0]), dtype=self.like().dtype)
        return self._at_pixel(State(0, pixel, (), pixel, self.label(context), layers), layers.empty(batch))

    def predict(self, state: State) -> Distribution:
        self.variable_at(state.k)                                    # raises if all are known
        return self.of_color(state.raw, state.pixel, state.k % self.shape[0])

    def update(self, state: State, x_i: Shaped[Tensor, "B"]) -> State:
        """Set a color of the current pixel to x_i; after the last, advance by a pixel."""
        self.variable_at(state.k)
        x_i = self.check_value(x_i, len(state.pixel))
        c, k = state.k % self.shape[0], state.k + 1
        pixel = state.pixel.clone()
        pixel[:, c] = x_i.to(pixel.dtype)
        state = state._replace(k=k, pixel=pixel)
        if k % self.shape[0]:  # more colors; a chain has their parameters
            past = [seen[:, :-1] for seen in state.maps]
            return state if self.colors == "chain" else self._at_pixel(state, past)
        if k == self.n:
            return state
        image, *rest = state.maps  # input of the first layer
        past = [torch.cat([image[:, 1:-1], self.scaled(pixel)[:, None]], dim=1),
                *(seen[:, 1:] for seen in rest)]
        return self._at_pixel(state._replace(pixel=torch.zeros_like(pixel)), past)

    def _at_pixel(self, state: State, past: Sequence[Tensor]) -> State:
        """Run the network at the current pixel, after stored inputs `past`."""
        run = OnePixel(state.layers, past, state.k // self.shape[0])
        raw = self.network(self.scaled(state.pixel), state.label, run)  # (B, outputs)
        return state._replace(maps=tuple(run.maps), raw=raw)
