"""The mask of a kernel with colours."""
from __future__ import annotations

import torch

from course_lib.exercises.draws import integer
from course_lib.grading.exercise import Exercise

exercise = Exercise(
    "pixelcnn_rgb_mask", chapter="08", place=2, title="The mask with colours",
    contract="c_out and c_in are numbers of channels, multiples of 3: thirds for R, G, B in this order, one block behind the "
             "other. k is the width of the kernel, an odd number; kind is \"A\" or \"B\". Return the mask (c_out, c_in, k, k), "
             "floats: 1 at the entries before the centre in raster order, whatever the colours; at the centre an output "
             "channel reads input channels of colours before its own (\"A\"), or of those and of its own (\"B\"); 0 elsewhere.",
    points=["pixelcnn", "rgb-factorisation"], difficulty=3, minutes=20)


@exercise.reference(
    interleaved="Your colours alternate, R G B R G B. Here they come in blocks: the first third of the channels is R.",
    one_third="You cut the input channels at the thirds of the outputs. c_in has thirds of its own.",
    third_of_inputs="You cut the output channels at the thirds of the inputs. c_out has thirds of its own.",
    own_colour="With kind \"A\" a colour reads itself at the centre: in the first layer that is the value to be predicted.",
    own_lost="With kind \"B\" a colour does not read its own block at the centre. After the first layer that block holds earlier "
             "values only.",
    exchanged="Your kinds are exchanged: A lets a colour read those before it, B its own as well.",
    backwards="At the centre your colours read those that come after them. The order is R, G, B.",
    everywhere="You apply the order of the colours to the whole kernel. In the pixels before, all colours are known.",
    grey="Your centre does not depend on the colours: G may read R of the same pixel, and B both.",
    transposed="Your mask has inputs and outputs exchanged: the shape is (c_out, c_in, k, k), as a weight of nn.Conv2d has.",
    future="At the centre the mask is right; around it entries after the centre are 1.",
    per_channel="You order channels, where colours are meant: within a block of one colour every channel is treated alike.",
    not_floats="Your mask has the right entries and the wrong type. Floats are asked for, to be multiplied by the weights.",
)
def pixelcnn_rgb_mask_reference(c_out, c_in, k, kind, bugs=frozenset()):
    c = k // 2
    if "exchanged" in bugs:
        kind = "AB"[kind == "A"]
    third = c_out // 3 if "one_third" in bugs else c_in // 3
    of_out, of_in = torch.arange(c_out) // (c_out // 3), (torch.arange(c_in) // third).clamp(max=2)
    if "third_of_inputs" in bugs:
        of_out = torch.arange(c_out) // third
    if "interleaved" in bugs:
        of_out, of_in = torch.arange(c_out) % 3, torch.arange(c_in) % 3
    if "per_channel" in bugs:
        of_out, of_in = torch.arange(c_out) / c_out, torch.arange(c_in) / c_in
    if "backwards" in bugs:
        of_out, of_in = -of_out, -of_in
    before, same = of_out[:, None] > of_in, of_out[:, None] == of_in
    if "grey" in bugs:
        before, same = torch.zeros_like(before), torch.ones_like(same)
    centre = before | (same if kind == "B" and "own_lost" not in bugs or "own_colour" in bugs else torch.zeros_like(same))
    mask = torch.zeros(c_out, c_in, k, k)
    mask[:, :, :c] = 1
    mask[:, :, c, :c] = 1
    if "everywhere" in bugs:
        mask *= centre[:, :, None, None]
    if "future" in bugs:
        mask[:, :, c, c + 1:] = 1
    mask[:, :, c, c] = centre.float()
    if "transposed" in bugs:
        mask = mask.transpose(0, 1).contiguous()
    return mask.bool() if "not_floats" in bugs else mask


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
