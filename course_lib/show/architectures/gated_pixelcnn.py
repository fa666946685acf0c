"""The gated PixelCNN: one layer of the vertical stack and of the horizontal stack."""

from __future__ import annotations

from course_lib.pixels.masks import kernel_mask
from course_lib.show.architectures._canvas import Canvas


def draw() -> Canvas:
    """Draw one layer of a gated PixelCNN, with its vertical and its horizontal stack of convolutions."""
    c = Canvas(360, 520, "A layer of the gated PixelCNN: a vertical and a horizontal stack",
               "Two columns. Left, the vertical stack: v goes through a k by k convolution over the rows above, without a "
               "mask, and a gate, tanh of one half of the channels times sigma of the other, to the next v. Right, the "
               "horizontal stack: h goes through a 1 by k convolution under mask A in the first layer and mask B after it; a "
               "1 by 1 convolution brings the sums of the vertical stack over, and both are added; then a gate, a 1 by 1 "
               "convolution, and the addition of h, which the first layer leaves out. Nothing leads from the horizontal "
               "to the vertical stack. Below, what each kernel reads: rows above, all columns; and its own row, to the left.")
    v, h = c.tensor(82, 44, 44, 28, "$v$"), c.tensor(250, 44, 44, 28, "$h$")
    rows = c.layer(82, 100, 150, 34, "$k × k$, rows above")
    beside = c.layer(250, 100, 154, 34, "$1 × k$, mask A or B")
    over = c.layer(166, 158, 56, 28, "$1 × 1$")
    plus = c.plus(250, 158)
    gates = c.operation(82, 228, 112, 30, "tanh · σ"), c.operation(250, 228, 112, 30, "tanh · σ")
    out = c.layer(250, 286, 70, 28, "$1 × 1$")
    last = c.plus(250, 336)
    ends = c.tensor(82, 388, 44, 28, "$v'$"), c.tensor(250, 388, 44, 28, "$h'$")
    for above, below in ((v, rows), (rows, gates[0]), (gates[0], ends[0]), (h, beside), (beside, plus), (plus, gates[1]),
                         (gates[1], out), (out, last), (last, ends[1])):
        c.line(above.bottom(), below.top())
    c.line((82, 158), over.left())
    c.line(over.right(), plus.left())
    c.line(h.right(), (346, 44), (346, 336), last.right(), kind="stream")
    c.note(82, 16, "vertical stack")
    c.note(250, 16, "horizontal stack")
    c.note(164, 360, "not in the first layer")
    c.mask(82, 448, [[1] * 5, [1] * 5, [0] * 5], 16)
    c.mask(250, 448, [[0] * 5, [0] * 5, kernel_mask(5, "A")[0, 0, 2].int().tolist()], 16)
    c.note(82, 486, "$v$ knows rows above,")
    c.note(82, 502, "the image is shifted down")
    c.note(250, 486, "$h$ reads its own row,")
    c.note(250, 502, "to the left")
    return c
