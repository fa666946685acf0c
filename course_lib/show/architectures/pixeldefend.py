"""PixelDefend: an image is scored by the density model, ranked among calibration images, purified, and classified."""

from __future__ import annotations

from course_lib.show.architectures._canvas import Canvas


def draw() -> Canvas:
    """Draw PixelDefend from an image to its p-value, its purified version and the class of this version."""
    c = Canvas(360, 520, "PixelDefend: a p-value on one side, a repaired image on the other",
               "From top to bottom. The image x that came, levels 0 to 16, goes two ways. Left, the detector: the density "
               "gives log p(x), which is ranked among the log-likelihoods of N calibration images, and the rank gives the "
               "p-value. Right, the repair: greedy decoding under the same density, pixel by pixel, each within eps_d levels "
               "of the pixel that came and predicted from the repaired pixels before it, gives the repaired image. The "
               "classifier reads it: two 3 by 3 convolutions, a maximum over 2 by 2 pixels, a third convolution, and a linear "
               "layer give the logits of ten classes.")
    x = c.tensor(180, 28, 170, 30, "image that came $x$")
    score = c.layer(92, 104, 148, 32, "density, one pass", tied=True)
    log_p = c.tensor(92, 168, 110, 30, "log $p(x)$")
    rank = c.operation(92, 232, 148, 32, "rank among $N$")
    p = c.tensor(92, 296, 110, 30, "p-value")
    repair = c.layer(268, 104, 160, 32, "density, by pixel", tied=True)
    hat = c.tensor(268, 168, 110, 30, "repaired image")
    convolutions = c.layer(268, 232, 160, 32, "2 × (conv $3 × 3$, ReLU)")
    pool = c.operation(268, 288, 160, 30, "maximum of $2 × 2$")
    third = c.layer(268, 342, 160, 30, "conv $3 × 3$, ReLU")
    linear = c.layer(268, 396, 160, 30, "linear")
    logits = c.tensor(268, 456, 110, 30, "logits")
    for above, below in ((score, log_p), (log_p, rank), (rank, p), (repair, hat), (hat, convolutions), (convolutions, pool),
                         (pool, third), (third, linear), (linear, logits)):
        c.line(above.bottom(), below.top())
    c.line(x.bottom(-40), (140, 66), (92, 66), score.top())
    c.line(x.bottom(40), (220, 66), (268, 66), repair.top())
    c.note(330, 34, "(B, 64)")
    c.note(92, 330, "small: suspicious")
    c.note(268, 488, "(B, 10)")
    c.note(180, 508, "one density, twice: it scores $x$, and it decodes near $x$")
    return c
