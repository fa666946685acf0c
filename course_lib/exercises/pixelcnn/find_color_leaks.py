"""The leaks in a mask with colours that somebody else wrote."""
from __future__ import annotations

import torch

from course_lib.exercises.draws import integer
from course_lib.exercises.pixelcnn.pixelcnn_rgb_mask import pixelcnn_rgb_mask_reference
from course_lib.grading.exercise import Exercise

exercise = Exercise(
    "find_color_leaks", chapter="pixelcnn", place=3, title="Find the leaks in a colour mask",
    contract="mask (c_out, c_in, k, k) of zeros and ones was written by somebody else, for colours in blocks R, G, B; kind is "
             "\"A\" or \"B\", the layer that it is for. Return a sorted list of the entries (output, input, row, column), "
             "counted from 0, that are 1 and must be 0. What is 0 and could be 1 is no leak. For a sound mask the list is "
             "empty.",
    points=["pixelcnn", "rgb-factorisation"], difficulty=3, minutes=25, kind="find")


@exercise.step
def causal_mask(mask, kind):
    """The mask without leaks, of the same shape."""
    c_out, c_in, k, _ = mask.shape
    return pixelcnn_rgb_mask_reference(c_out, c_in, k, kind)


@exercise.step
def leaks(mask, causal):
    return (mask == 1) & (causal == 0)


@exercise.reference()
@exercise.step
def find_color_leaks_reference(mask, kind):
    return [tuple(entry) for entry in leaks(mask, causal_mask(mask, kind)).nonzero().tolist()]


@exercise.misconception(
    causal_mask,
    "You treat every mask as kind \"A\". With kind \"B\" a color may read its own block at the center.")
def always_a(mask, kind):
    return causal_mask.original(mask, "A")


@exercise.misconception(causal_mask, "You treat every mask as kind \"B\". With kind \"A\" a color must not read itself.")
def always_b(mask, kind):
    return causal_mask.original(mask, "B")


@exercise.misconception(
    causal_mask,
    "You divide the input channels into colors by the width of the output's blocks. Input channel i has the color i // (c_in // 3).")
def blocks_of_the_output(mask, kind):
    c_out, c_in, k, _ = mask.shape
    colors = (torch.arange(c_in) // (c_out // 3)).clamp(max=2)
    return pixelcnn_rgb_mask_reference(c_out, 3, k, kind)[:, colors]


@exercise.misconception(leaks, "Your list holds entries that are 0 and could be 1. They lose information; they do not leak any.")
def missing_too(mask, causal):
    return mask != causal


@exercise.misconception(leaks, "You check the center alone. An entry after the center leaks whatever the colors.")
def centre_only(mask, causal):
    c = mask.shape[-1] // 2
    center = torch.zeros_like(mask, dtype=torch.bool)
    center[:, :, c, c] = True
    return leaks.original(mask, causal) & center


@exercise.misconception(
    leaks,
    "You find the entries after the center and none at the center itself, where the order of the colors decides.")
def no_centre(mask, causal):
    wrong, c = leaks.original(mask, causal), mask.shape[-1] // 2
    wrong[:, :, c, c] = False
    return wrong


@exercise.misconception(leaks, "In the center's own row the entries to the right are leaks too: they are sampled later.")
def below_only(mask, causal):
    wrong, c = leaks.original(mask, causal), mask.shape[-1] // 2
    wrong[:, :, c, c + 1:] = False
    return wrong


@exercise.misconception(leaks, "Rows below the center are missing from your list.")
def right_only(mask, causal):
    wrong, c = leaks.original(mask, causal), mask.shape[-1] // 2
    wrong[:, :, c + 1:] = False
    return wrong


@exercise.misconception(
    find_color_leaks_reference,
    "You count rows and columns from the center of the kernel. They are indices of the mask, counted from 0, so the center is row k // 2, "
    "column k // 2.")
def from_center(mask, kind):
    c = mask.shape[-1] // 2
    return [(o, i, row - c, column - c) for o, i, row, column in find_color_leaks_reference.original(mask, kind)]


def leak_cases(generator):
    """A sound mask of each kind, and broken ones: entries after the centre, entries at the centre, entries lost."""
    found = [(pixelcnn_rgb_mask_reference(6, 3, 3, kind), kind) for kind in "AB"]
    for kind, k in (("A", 3), ("B", 3), ("A", 5), ("B", 5)):
        c_out, c_in = 3 * integer(generator, 2, 3), 3 * integer(generator, 1, 2) if kind == "B" else 6
        if (kind, k) == ("B", 5):
            c_in = 3                                                             # fewer channels than the output has
        c, mask = k // 2, pixelcnn_rgb_mask_reference(c_out, c_in, k, kind)
        mask[integer(generator, 0, c_out // 3 - 1), c_in - 1, c, c] = 1          # red reads blue
        mask[c_out // 3, c_in - 1, c, c] = 1                                     # green reads blue
        mask[c_out - 1, integer(generator, 0, c_in - 1), c, c + 1] = 1           # the pixel to the right
        mask[integer(generator, 0, c_out - 1), 0, k - 1, integer(generator, 0, k - 1)] = 1        # a row below
        third = integer(generator, 0, 2)
        mask[third * (c_out // 3), third * (c_in // 3), c, c] = 1                # a colour itself: a leak for A alone
        if kind == "A":
            mask[1, 0, c, c] = 1                                                 # red reads red, an earlier channel of it
        mask[:, 0, 0, 0] = 0                                                     # lost, and no leak
        found.append((mask, kind))
    return found


exercise.compare("values", leak_cases, points=5)
exercise.unchanged(leak_cases)
exercise.hint(
    "You do not know what to compare the mask with.",
    "You have written the sound one: pixelcnn_rgb_mask(c_out, c_in, k, kind), with the sizes of the mask that you are given.")
exercise.hint(
    "You have two masks and want the entries in which they differ.",
    "A leak is 1 in theirs and 0 in yours. (theirs == 1) & (yours == 0) has it, and nonzero() lists the places.")
exercise.hint(
    "The entries are right and the check does not take them.",
    "A list of tuples of whole numbers is asked for, smallest first: tuple(entry) for entry in nonzero().tolist().")
