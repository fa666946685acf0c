"""The mask of a kernel with colours."""
from __future__ import annotations

import torch

from course_lib.exercises.draws import integer
from course_lib.grading.exercise import Exercise

exercise = Exercise(
    "pixelcnn_rgb_mask", chapter="pixelcnn", place=2, title="The mask with colours",
    contract="c_out and c_in are numbers of channels, multiples of 3: thirds for R, G, B in this order, one block behind the "
             "other. k is the width of the kernel, an odd number; kind is \"A\" or \"B\". Return the mask (c_out, c_in, k, k), "
             "floats: 1 at the entries before the centre in raster order, whatever the colours; at the centre an output "
             "channel reads input channels of colours before its own (\"A\"), or of those and of its own (\"B\"); 0 elsewhere.",
    points=["pixelcnn", "rgb-factorisation"], difficulty=3, minutes=20)


@exercise.step
def colors(c_out, c_in):
    """The color of every output channel and of every input channel: 0, 1, 2 for R, G, B."""
    return torch.arange(c_out) // (c_out // 3), torch.arange(c_in) // (c_in // 3)


@exercise.step
def center(of_out, of_in, kind):
    """Which outputs read which inputs at the center, (c_out, c_in)."""
    return of_out[:, None] >= of_in if kind == "B" else of_out[:, None] > of_in


@exercise.step
def kernel_mask(center, k):
    c, mask = k // 2, torch.zeros(*center.shape, k, k)
    mask[:, :, :c] = 1
    mask[:, :, c, :c] = 1
    mask[:, :, c, c] = center.float()
    return mask


@exercise.reference()
def pixelcnn_rgb_mask_reference(c_out, c_in, k, kind):
    return kernel_mask(center(*colors(c_out, c_in), kind), k)


@exercise.misconception(
    colors,
    "Your colors alternate, R G B R G B. Here they come in blocks: the first third of the channels is R.")
def interleaved(c_out, c_in):
    return torch.arange(c_out) % 3, torch.arange(c_in) % 3


@exercise.misconception(colors, "You divide the output channels at the thirds of the inputs. c_out has thirds of its own.")
def third_of_inputs(c_out, c_in):
    return torch.arange(c_out) // (c_in // 3), torch.arange(c_in) // (c_in // 3)


@exercise.misconception(
    colors,
    "You order channels where colors are meant: within a block of one color every channel is treated alike.")
def per_channel(c_out, c_in):
    return torch.arange(c_out) / c_out, torch.arange(c_in) / c_in


@exercise.misconception(center, "At the center your colors read those that come after them. The order is R, G, B.")
def backwards(of_out, of_in, kind):
    return center.original(-of_out, -of_in, kind)


@exercise.misconception(
    center,
    "With kind \"A\" a color reads itself at the center: in the first layer that is the value to be predicted.")
def own_colour(of_out, of_in, kind):
    return center.original(of_out, of_in, "B")


@exercise.misconception(
    center,
    "With kind \"B\" a color does not read its own block at the center. After the first layer that block holds earlier values only.")
def own_lost(of_out, of_in, kind):
    return center.original(of_out, of_in, "A")


@exercise.misconception(center, "Your center does not depend on the colors: G may read R of the same pixel, and B both.")
def grey(of_out, of_in, kind):
    return torch.full((len(of_out), len(of_in)), kind == "B")


@exercise.misconception(
    kernel_mask,
    "You apply the order of the colors to the whole kernel. In the earlier pixels, all colors are known.")
def everywhere(center, k):
    return kernel_mask.original(torch.ones_like(center), k) * center[:, :, None, None]


@exercise.misconception(
    kernel_mask,
    "Your mask has the right entries and the wrong type. Floats are asked for, to be multiplied by the weights.")
def not_floats(center, k):
    return kernel_mask.original(center, k).bool()


def rgb_cases(generator):
    a, b = 3 * integer(generator, 2, 3), 3 * integer(generator, 4, 5)
    return [(c_out, c_in, k, kind) for c_out, c_in, k in ((3, 3, 3), (b, a, 3), (a, b, 1), (6, 6, 5), (a, 3, 3))
            for kind in ("A", "B")]


exercise.compare("values", rgb_cases, points=6)
exercise.hint(
    "You do not see how to hold four axes together.",
    "Start with the mask (k, k) of the last exercise without its centre: it is the same for all pairs of channels. Then fill "
    "the centre, a matrix (c_out, c_in).")
exercise.hint(
    "You need the colour of a channel.",
    "With n channels in three blocks, channel i has the colour i // (n // 3). Compare outputs[:, None] with inputs.")
exercise.hint(
    "Your matrix at the centre is right for A and wrong for B, or the other way round.",
    "A is the strict comparison of the two colours, B allows them to be equal.")
