"""PixelRNN: Row LSTM and Diagonal BiLSTM."""

from __future__ import annotations

from typing import Sequence

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from course_lib.conditional import Conditional
from course_lib.pixels.images import ImageModel, check_width, head
from course_lib.pixels.masks import MaskedConv2d, widened


def lstm(gates: Float[Tensor, "B gates ..."], c: Float[Tensor, "B width ..."]) -> tuple[Tensor, Tensor]:
    r"""LSTM step: return $h' = \sigma(o) \odot \tanh(c')$ and $c' = \sigma(f) \odot c + \sigma(i) \odot \tanh(g)$.

    gates  (B, 4 width, ...), the pre-activations i, f, o, g, in this order
    c      (B, width, ...), the cell before the step
    """
    i, f, o, g = gates.chunk(4, dim=1)
    c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
    return torch.sigmoid(o) * torch.tanh(c), c


class PixelRNN(ImageModel):
    """Base class of PixelRNNs: a convolution with mask A, LSTM layers with residual connections, 1 x 1 convolutions.

    shape        (C, H, W), or (H, W) for one channel
    width        channels of the feature maps, and of the LSTMs
    depth        number of LSTM layers
    first        size of the first kernel
    dropout      dropout probability before the two 1 x 1 convolutions of the output head
    conditional, colors, classes  as in `ImageModel`; the class is an input of the first layer
    """

    def __init__(self, shape: Sequence[int], width: int = 32, depth: int = 1, first: int = 7, dropout: float = 0.0,
                 conditional: Conditional | None = None, colors: str = "masks", classes: int | None = None):
        super().__init__(shape, conditional, colors, classes)
        check_width(width, self.groups)
        self.width, self.depth, self.dropout = width, depth, nn.Dropout(dropout)
        self.first = MaskedConv2d(self.shape[0], width, first, "A", self.groups)
        self.of_class = nn.Embedding(classes, width) if classes else None
        self.out = nn.ModuleList(MaskedConv2d(width, width, 1, "B", self.groups) for _ in range(depth))
        self.head = head(width, self.outputs, self.groups)

    @property
    def config(self) -> dict:
        """Arguments of the constructor."""
        return {"shape": list(self.shape), "width": self.width, "depth": self.depth, "first": self.first.kernel_size[1],
                "dropout": self.dropout.p, "conditional": self.conditional, "colors": self.colors,
                "classes": self.classes}

    def _begin(self, image: Tensor, label: Tensor | None) -> Float[Tensor, "B width H W"]:
        h = self.first(image)
        return h if label is None else h + self.of_class(label)[..., None, None]

    def _end(self, h: Float[Tensor, "B width H W"]) -> Float[Tensor, "B outputs H W"]:
        h = self.dropout(h)
        for layer in self.head:
            h = layer(torch.relu(h))
        return h


class RowLSTM(PixelRNN):
    """Row LSTM: pre-activations $[i, f, o, g]_r = W^{is} * x_r + W^{ss} * h_{r-1}$ with convolutions along row r.

    Arguments as in `PixelRNN`.

    $x_r$ is row r of the layer's input, $h_r$ row r of its hidden states. The input-to-state convolution $W^{is}$ has
    mask B and is computed for the whole image at once. The state-to-state convolution $W^{ss}$ covers three hidden
    states of the row above. There are H steps, each for a whole row. The receptive field in the rows above is a
    triangle that widens by one pixel per row on each side, so it does not include all earlier pixels.

    Slides: "PixelRNN". Paper: van den Oord, Kalchbrenner and Kavukcuoglu 2016, section 3.1.

    >>> RowLSTM((8, 8), width=8, first=3).log_prob(torch.zeros(2, 64)).shape
    torch.Size([2])
    """

    def __init__(self, shape: Sequence[int], width: int = 32, depth: int = 1, first: int = 7, dropout: float = 0.0,
                 conditional: Conditional | None = None, colors: str = "masks", classes: int | None = None):
        super().__init__(shape, width, depth, first, dropout, conditional, colors, classes)
        self.of_input = nn.ModuleList(MaskedConv2d(width, 4 * width, 3, "B", self.groups, above=False, copies=4)
                                      for _ in range(depth))
        self.of_state = nn.ModuleList(nn.Conv1d(width, 4 * width, 3, padding=1, bias=False) for _ in range(depth))

    # every factor at once: training and scoring
    def raw(self, image: Float[Tensor, "B C H W"], label: Int[Tensor, "B"] | None) -> Float[Tensor, "B outputs H W"]:
        x = self._begin(image, label)
        for of_input, of_state, out in zip(self.of_input, self.of_state, self.out):
            rows = []
            h = c = torch.zeros_like(x[:, :, 0])                     # (B, width, W): above the image
            for gates in of_input(x).unbind(dim=2):                  # (B, 4 width, W), row by row
                h, c = lstm(gates + of_state(h), c)
                rows.append(h)
            x = x + out(torch.stack(rows, dim=2))
        return self._end(x)

    def seen(self, image: Bool[Tensor, "n C H W"]) -> Bool[Tensor, "n groups H W"]:
        x = self.field_of(image, self.first, "A")
        for of_input in self.of_input:
            rows, above = [], torch.zeros_like(x[:, :1, :1])         # the state's part mixes all groups
            for row in self.field_of(x, of_input, "B").split(1, dim=2):
                rows.append(row | widened(above, torch.ones(1, 1, 1, 3)))
                above = rows[-1].any(dim=1, keepdim=True)
            x = x | torch.cat(rows, dim=2)
        return self.field_of(x, self.head[0], "B")


class DiagonalBiLSTM(PixelRNN):
    """Diagonal BiLSTM: two LSTMs that process an image diagonal by diagonal, from the two upper corners.

    The state of a pixel in the first LSTM depends on the states of its left and upper neighbors, in the second LSTM on
    the states of its right and upper neighbors. Together they cover all earlier pixels. *Skewing* shifts row r by r
    columns, so that a diagonal becomes a column. There are H + W - 1 steps, each a convolution with two taps.

    The second LSTM depends on pixels to the right, which are sampled later. Its output is therefore shifted down by one
    row, so that it adds a dependence on the rows above a pixel only. Because of this shift the first convolution of the
    second LSTM may include the center (mask B); with mask A the last pixel of the row above would be lost.

    shape, width, depth, first, dropout, conditional, colors, classes  as in `PixelRNN`
    mirrored     mask of the first convolution of the second LSTM: "B", or "A" for comparison

    Slides: "PixelRNN". Paper: van den Oord, Kalchbrenner and Kavukcuoglu 2016, section 3.2.

    >>> DiagonalBiLSTM((8, 8), width=8, first=3).log_prob(torch.zeros(2, 64)).shape
    torch.Size([2])
    """

    def __init__(self, shape: Sequence[int], width: int = 32, depth: int = 1, first: int = 7, dropout: float = 0.0,
                 conditional: Conditional | None = None, colors: str = "masks", classes: int | None = None,
                 mirrored: str = "B"):
        super().__init__(shape, width, depth, first, dropout, conditional, colors, classes)
        self.mirrored = mirrored
        self.first_mirrored = MaskedConv2d(self.shape[0], width, first, mirrored, self.groups)
        self.of_input = nn.ModuleList(MaskedConv2d(width, 4 * width, 1, "B", self.groups, copies=4) for _ in range(depth))
        self.of_input_mirrored = nn.ModuleList(MaskedConv2d(width, 4 * width, 1, "B") for _ in range(depth))
        self.of_state, self.of_state_mirrored = (
            nn.ModuleList(nn.Conv1d(width, 4 * width, 2, bias=False) for _ in range(depth)) for _ in range(2))

    @property
    def config(self) -> dict:
        """Arguments of the constructor."""
        return {**super().config, "mirrored": self.mirrored}

    # every factor at once: training and scoring
    def raw(self, image: Float[Tensor, "B C H W"],
            label: Int[Tensor, "B"] | None) -> Float[Tensor, "B outputs H W"]:
        x, mirrored = self._begin(image, label), self.first_mirrored(image)
        for number, out in enumerate(self.out):
            left = scan(self.of_input[number](x), self.of_state[number])
            right = scan(self.of_input_mirrored[number](mirrored).flip(-1),
                         self.of_state_mirrored[number]).flip(-1)
            # row r depends on the mirror image at r - 1
            x = x + out(left) + F.pad(right, (0, 0, 1, -1))
            mirrored = x  # from the second layer on both have the same input
        return self._end(x)

    def seen(self, image: Bool[Tensor, "n C H W"]) -> Bool[Tensor, "n groups H W"]:
        x, mirrored = self.field_of(image, self.first, "A"), self.field_of(image, self.first_mirrored, self.mirrored)
        for _ in self.out:
            left = self.field_of(x, self.of_input[0], "B")
            before = corner(left).any(dim=1, keepdim=True)           # the state's part mixes all groups
            left = left | F.pad(before, (0, 0, 1, -1)) | F.pad(before, (1, -1))
            right = corner(mirrored.flip(-1)).flip(-1).any(dim=1, keepdim=True)
            x = x | left | F.pad(right, (0, 0, 1, -1))
            mirrored = x
        return self.field_of(x, self.head[0], "B")


def scan(of_input: Float[Tensor, "B gates H W"], of_state: nn.Conv1d) -> Float[Tensor, "B width H W"]:
    """Hidden states of an LSTM that processes an image diagonal by diagonal, from the upper left corner.

    of_input  terms of the gates that depend on the input, gates = 4 width
    of_state  convolution from the hidden states of the previous diagonal to the gates
    """
    gates, columns = skew(of_input), []                              # (B, 4 width, H, H + W - 1)
    h = c = torch.zeros_like(gates[:, :gates.shape[1] // 4, :, 0])   # (B, width, H)
    for column in gates.unbind(dim=-1):
        h, c = lstm(column + of_state(F.pad(h, (1, 0))), c)          # the states to the left, and above
        columns.append(h)
    return unskew(torch.stack(columns, dim=-1))


def skew(x: Float[Tensor, "B channels H W"]) -> Float[Tensor, "B channels H columns"]:
    """Shift row r to the right by r columns, so that a diagonal becomes one of H + W - 1 columns; pad with 0.

    >>> skew(torch.arange(1.0, 5.0).view(1, 1, 2, 2))[0, 0]
    tensor([[1., 2., 0.],
            [0., 3., 4.]])
    """
    B, channels, H, W = x.shape
    flat = F.pad(x, (0, H)).flatten(2)                               # rows of H + W, read as rows of H + W - 1
    return flat[..., :-H].unflatten(-1, (H, H + W - 1))


def unskew(x: Float[Tensor, "B channels H columns"]) -> Float[Tensor, "B channels H W"]:
    """Inverse of `skew`: shift row r to the left by r columns."""
    H = x.shape[2]
    return F.pad(x.flatten(2), (0, H)).unflatten(-1, (H, x.shape[3] + 1))[..., :x.shape[3] + 1 - H]


def corner(seen: Bool[Tensor, "n groups H W"]) -> Bool[Tensor, "n groups H W"]:
    """True in row r, column c if `seen` is True in any row up to r and column up to c.

    An LSTM that starts at the upper left corner widens the receptive field of its input in this way.
    """
    return seen.long().cummax(dim=2).values.cummax(dim=3).values > 0
