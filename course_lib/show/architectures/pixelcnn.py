"""Drawing of PixelCNN: an image, a convolution with mask A, blocks with mask B, and a distribution for every pixel."""

from __future__ import annotations

from course_lib.pixels.masks import kernel_mask
from course_lib.show.architectures._canvas import Canvas


def draw() -> Canvas:
    """Draw PixelCNN from the input image to the distribution of every pixel."""
    c = Canvas(360, 560, "PixelCNN: mask A once, then blocks under mask B",
               "From top to bottom: the image x; a k by k convolution under mask A, which reads the pixels before and not "
               "the pixel itself, gives h^0; a block, repeated L times, of a 1 by 1 convolution, a 3 by 3 convolution under "
               "mask B, which reads the pixels before and the pixel itself, and a 1 by 1 convolution, with a ReLU before "
               "each, whose result is added to the block's input; two 1 by 1 convolutions, a ReLU before each; the raw "
               "parameters, from which every pixel has its distribution. Beside the two masked layers stand the masks of "
               "three rows and columns: A is filled above and to the left, B at the centre too.")
    x = c.tensor(130, 28, 150, 30, "image $x$")
    first = c.layer(130, 84, 150, 32, "$k × k$, mask A")
    stream = c.tensor(130, 140, 44, 28, "$h^{l-1}$")
    down = c.layer(130, 202, 150, 30, "ReLU, $1 × 1$")
    masked = c.layer(130, 254, 164, 32, "ReLU, $3 × 3$, mask B")
    up = c.layer(130, 306, 150, 30, "ReLU, $1 × 1$")
    plus = c.plus(130, 352)
    result = c.tensor(130, 396, 44, 28, "$h^l$")
    head = c.layer(130, 450, 150, 30, "2 × (ReLU, $1 × 1$)")
    raw = c.tensor(130, 502, 150, 30, "raw parameters")
    for above, below in ((x, first), (first, stream), (stream, down), (down, masked), (masked, up), (up, plus),
                         (plus, result), (result, head), (head, raw)):
        c.line(above.bottom(), below.top(), kind="stream" if stream in (above, below) and below is not first else "flow")
    c.line(stream.left(), (32, 140), (32, 352), plus.left(), kind="stream")
    c.frame(126, 272, 226, 204)
    c.text(258, 180, "$× L$", 13)
    for y, kind in ((84, "A"), (254, "B")):
        c.mask(290, y, kernel_mask(3, kind)[0, 0].int().tolist(), 16)
        c.note(290, y + 36, f"mask {kind}, $3 × 3$")
    c.note(290, 28, "(B, C, H, W)")
    c.note(284, 146, "(B, width, H, W)")
    c.note(290, 502, "(B, C P, H, W)")
    c.note(180, 540, "$p(x_t | x_{<t})$ for every pixel $t$, in one pass")
    return c
