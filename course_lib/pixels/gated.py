"""Gated PixelCNN: a vertical stack for the rows above and a horizontal stack for the current row, without a blind spot.
"""

from __future__ import annotations

from typing import NamedTuple, Sequence

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int, Shaped
from torch import Tensor, nn
from torch.distributions import Distribution

from course_lib.autoregressive import Context
from course_lib.conditional import Conditional
from course_lib.pixels._incremental import Layers, OnePixel, Run, whole
from course_lib.pixels.images import ImageModel, check_width, head
from course_lib.pixels.masks import CausalConv2d, MaskedConv2d, widened


class State(NamedTuple):
    """State after k variables; tuples have one tensor for each layer."""

    k: int                                                           # number of known variables
    pixel: Tensor                                                    # (B, C): levels of the current pixel, 0 if unknown
    row: Tensor                                                      # (B, C, 1, W): levels of the current row so far
    rows: tuple[Tensor, ...]                                         # (B, in, p, W): last inputs of the vertical stack
    down: tuple[Tensor, ...]                                         # (B, 2 width, W): `down` of `GatedLayer.above`
    maps: tuple[Tensor, ...]                                         # (B, pixels + 1, in): as `OnePixel.maps`
    raw: Tensor                                                      # (B, outputs): raw parameters at this pixel
    label: Tensor | None                                             # (B,): class of each image
    layers: Layers                                                   # weights of the horizontal stack


class GatedLayer(nn.Module):
    r"""One layer of both stacks, each with $y = \tanh(W_f * x + V_f^\top c) \odot \sigma(W_g * x + V_g^\top c)$.

    inputs, width  channels of the input x, and of the output y of each stack
    k              size of the kernels
    kind, groups   mask of the horizontal stack, as in `kernel_mask`
    classes        number of classes, of which c is the one-hot vector; None for a model without classes
    dropout        dropout probability after the gate of the horizontal stack

    The vertical stack does not depend on the horizontal stack. The layer `down` maps the pre-activations of the
    vertical stack to a term of the pre-activations of the horizontal stack.
    """

    def __init__(self, inputs: int, width: int, k: int, kind: str, groups: int, classes: int | None, dropout: float):
        super().__init__()
        self.vertical = CausalConv2d(inputs, 2 * width, k)
        self.down = MaskedConv2d(2 * width, 2 * width, 1, "B")
        self.horizontal = MaskedConv2d(inputs, 2 * width, k, kind, groups, above=False, copies=2)
        self.out = MaskedConv2d(width, width, 1, "B", groups)
        self.of_class = nn.Embedding(classes, 4 * width) if classes else None  # for both stacks, f and g
        self.dropout = nn.Dropout(dropout)

    def above(self, v: Tensor, label: Tensor | None, run: Run) -> tuple[Tensor, Tensor]:
        """Vertical stack: output (B, width, rows, W), and its term of the horizontal stack (B, 2 width, rows, W).

        v      input (B, in, rows, W): all rows of the image, or one row in sampling
        label  class of each image, (B,); None for a model without classes
        run    applies a convolution to v: `whole`, or a `OneRow` in sampling
        """
        y = run(self.vertical, v)                                    # (B, 2 width, rows, W)
        down = self.down(y)
        if self.of_class is not None:
            y = y + run.spread(self.of_class(label).chunk(2, dim=1)[0])
        return gate(y), down

    def beside(self, h: Tensor, down: Tensor, label: Tensor | None, run: Run) -> Tensor:
        """Horizontal stack: output of the layer, before the residual connection is added.

        h     input of the layer: (B, in, H, W), or (B, in) at one pixel in sampling
        down  term of the vertical stack, from `above`, at the same pixels
        run   applies a convolution to h: `whole`, or a `OnePixel` in sampling
        """
        y = run(self.horizontal, h) + down
        if self.of_class is not None:
            y = y + run.spread(self.of_class(label).chunk(2, dim=1)[1])
        return run(self.out, self.dropout(gate(y)))


def gate(y: Float[Tensor, "B both ..."]) -> Float[Tensor, "B width ..."]:
    r"""Gated activation $\tanh(f) \odot \sigma(g)$, where f and g are the first and second half of the channels."""
    f, g = y.chunk(2, dim=1)
    return torch.tanh(f) * torch.sigmoid(g)


class GatedPixelCNN(ImageModel):
    """Gated PixelCNN: a vertical stack depends on all rows above, a horizontal stack on it and the pixels to the left.

    shape        (C, H, W), or (H, W) for one channel
    width        channels of each stack
    depth        number of layers, including the first
    first        kernel size of the first layer
    k            kernel size of the other layers
    dropout      dropout probability after a gate of the horizontal stack
    conditional, colors, classes  as in `ImageModel`

    The input of the vertical stack is the image shifted down by one row, so its kernels need no masks: row r of the
    shifted image is row r - 1 of the image. The first horizontal layer has mask A and no residual
    connection, which would give a pixel access to itself. With enough layers the receptive field includes all earlier
    pixels.

    In sampling, the vertical stack is computed once per row, the horizontal stack once per pixel.

    Slides: "PixelCNN". Paper: van den Oord, Kalchbrenner, Vinyals, Espeholt, Graves and Kavukcuoglu 2016 (Conditional
    image generation with PixelCNN decoders).

    >>> model = GatedPixelCNN((8, 8), width=16, depth=3, first=3)
    >>> model.log_prob(torch.zeros(2, 64)).shape, model.sample(3).shape
    (torch.Size([2]), torch.Size([3, 64]))
    """

    def __init__(self, shape: Sequence[int], width: int = 32, depth: int = 5,
                 first: int = 7, k: int = 3, dropout: float = 0.0,
                 conditional: Conditional | None = None, colors: str = "masks",
                 classes: int | None = None):
        super().__init__(shape, conditional, colors, classes)
        check_width(width, self.groups)
        if depth < 1:
            raise ValueError(f"depth is {depth}; expected at least 1")
        self.width, self.k, self.dropout = width, k, dropout
        self.layers = nn.ModuleList(
            GatedLayer(width if number else self.shape[0], width, k if number else first,
                       "B" if number else "A", self.groups, classes, dropout)
            for number in range(depth))
        self.head = head(width, self.outputs, self.groups)

    @property
    def config(self) -> dict:
        """Arguments of the constructor."""
        return {"shape": list(self.shape), "width": self.width, "depth": len(self.layers),
                "first": self.layers[0].vertical.kernel_size[1], "k": self.k, "dropout": self.dropout,
                "conditional": self.conditional, "colors": self.colors, "classes": self.classes}

    # every factor at once: training and scoring
    def raw(self, image: Float[Tensor, "B C H W"],
            label: Int[Tensor, "B"] | None) -> Float[Tensor, "B outputs H W"]:
        shifted = F.pad(image, (0, 0, 1, -1))                        # row r holds row r - 1
        return self.row_of(image, self.rows_above(shifted, label, whole), label, whole)

    def rows_above(self, v: Tensor, label: Tensor | None, run: Run) -> list[Tensor]:
        """Contributions of the vertical stack to each layer; v is the shifted image."""
        told = []
        for layer in self.layers:
            v, down = layer.above(v, label, run)
            told.append(down)
        return told

    def row_of(self, h: Tensor, rows: Sequence[Tensor], label: Tensor | None,
               run: Run) -> Tensor:
        """Raw parameters: the horizontal stack, applied to the image h."""
        for number, (layer, down) in enumerate(zip(self.layers, rows)):
            y = layer.beside(h, down, label, run)
            h = h + y if number else y  # no residual connection around mask A
        for layer in self.head:
            h = run(layer, torch.relu(h))
        return h

    def seen(self, image: Bool[Tensor, "n C H W"]) -> Bool[Tensor, "n groups H W"]:
        v, h = F.pad(image.any(dim=1, keepdim=True), (0, 0, 1, -1)), image     # rows above have no groups
        for number, layer in enumerate(self.layers):
            v = widened(v, torch.ones(1, 1, *layer.vertical.kernel_size))
            y = self.field_of(h, layer.horizontal, "B" if number else "A") | v
            h = h | y if number else y
        return self.field_of(h, self.head[0], "B")

    # one variable at a time: sampling
    def start(self, batch: int, context: Context | None = None) -> State:
        like, (C, _, W) = self.like(), self.shape
        layers = Layers([layer.horizontal for layer in self.layers],
                        [*(layer.out for layer in self.layers), *self.head], W)
        pixel = self.conditional.check(like.new_zeros(batch, C), dtype=like.dtype)
        rows = tuple(like.new_zeros(batch, layer.vertical.in_channels, layer.vertical.kernel_size[0] - 1, W)
                     for layer in self.layers)
        state = State(0, pixel, pixel.new_zeros(batch, C, 1, W), rows, (), (), pixel, self.label(context), layers)
        return self._at_pixel(self._at_row(state, like.new_zeros(batch, C, 1, W)), layers.empty(batch))

    def predict(self, state: State) -> Distribution:
        self.variable_at(state.k)                                    # raises if all are known
        return self.of_color(state.raw, state.pixel, state.k % self.shape[0])

    def update(self, state: State, x_i: Shaped[Tensor, "B"]) -> State:
        """Return the state after the next color of the current pixel has taken the value x_i (B,)."""
        self.variable_at(state.k)
        x_i = self.check_value(x_i, len(state.pixel))
        (C, _, W), k = self.shape, state.k + 1
        pixel = state.pixel.clone()
        pixel[:, state.k % C] = x_i.to(pixel.dtype)
        state = state._replace(k=k, pixel=pixel)
        if k % C:                                                    # more colors, whose parameters a chain has already
            past = [seen[:, :-1] for seen in state.maps]
            return state if self.colors == "chain" else self._at_pixel(state, past)
        if k == self.n:
            return state
        row = state.row.clone()
        row[..., k // C - 1 - k // C // W * W] = pixel[..., None]
        state = state._replace(row=row, pixel=torch.zeros_like(pixel))
        if k // C % W == 0:                                          # the row is complete
            state = self._at_row(state, self.scaled(row))
        image, *rest = state.maps                                    # input of the first layer
        past = [torch.cat([image[:, 1:-1], self.scaled(pixel)[:, None]], dim=1), *(seen[:, 1:] for seen in rest)]
        return self._at_pixel(state, past)

    def _at_row(self, state: State, above: Float[Tensor, "B C 1 W"]) -> State:
        """Return the state with new `rows` and `down`: run the vertical stack on `above`, the row above."""
        run = OneRow(state.rows)
        told = self.rows_above(above, state.label, run)              # (B, 2 width, 1, W) each
        return state._replace(rows=tuple(run.rows), down=tuple(t[:, :, 0] for t in told))

    def _at_pixel(self, state: State, past: Sequence[Tensor]) -> State:
        """Return the state with new `maps` and `raw`: run the horizontal stack at the current pixel.

        past  stored inputs of each layer at the pixels before it, (B, pixels, in)
        """
        C, _, W = self.shape
        place = state.k // C
        run = OnePixel(state.layers, past, place)
        told = [down[..., place % W] for down in state.down]
        raw = self.row_of(self.scaled(state.pixel), told, state.label, run)    # (B, outputs)
        return state._replace(maps=tuple(run.maps), raw=raw)


class OneRow:
    """Apply the layers of the vertical stack to one row (B, channels, 1, W).

    past  for each layer, its inputs in the p rows above; afterwards `rows` holds the inputs in the last p rows
    """

    def __init__(self, past: Sequence[Float[Tensor, "B in p W"]]):
        self.past, self.rows = past, []

    def __call__(self, layer: CausalConv2d, v: Float[Tensor, "B in 1 W"]) -> Float[Tensor, "B out 1 W"]:
        rows = torch.cat([self.past[len(self.rows)], v], dim=2)      # (B, in, p + 1, W)
        self.rows.append(rows[:, :, 1:])
        return F.conv2d(rows, layer.masked_weight, layer.bias, padding=(0, layer.kernel_size[1] // 2))

    def spread(self, t: Float[Tensor, "B channels"]) -> Float[Tensor, "B channels 1 1"]:
        """Reshape t, a vector per image, so that it can be added to every pixel of the row."""
        return t[..., None, None]
