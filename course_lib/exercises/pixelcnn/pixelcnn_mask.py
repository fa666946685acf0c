"""The mask of a kernel."""
from __future__ import annotations

import torch

from course_lib.exercises.draws import integer
from course_lib.grading.exercise.exercise import Exercise

exercise = Exercise(
    "pixelcnn_mask", chapter="08", place=1, title="The mask of a kernel",
    contract="k is the width of a kernel, an odd number; kind is \"A\" or \"B\". Return the mask (k, k), floats: 1 at the "
             "entries before the centre in raster order, row by row from the top left, and at the centre for kind \"B\"; 0 "
             "elsewhere.",
    points=["pixelcnn"], difficulty=1, minutes=10)


@exercise.reference(
    shows_itself="With kind \"A\" your centre is 1: the pixel reads itself.",
    centre_hidden="With kind \"B\" your centre is 0. After the first layer the pixel's own place holds earlier pixels only, and "
                  "is needed.",
    exchanged="Your kinds are exchanged: A hides the centre, B shows it.",
    no_left="The entries to the left of the centre, in its own row, are missing. These pixels are drawn before it.",
    right_too="The entries to the right of the centre, in its own row, are 1. These pixels are drawn later.",
    no_above="The rows above the centre are missing. They are drawn before it.",
    right_above="The entries above and to the right are missing. The rows above are drawn in all their width.",
    transposed="Your mask goes column by column: it shows what is to the left in every row. Raster order goes row by row.",
    triangle="Your mask is a triangle: it compares the row of an entry with its column, as between the words of a sentence. Here all "
             "entries stand around one pixel, and those before the centre are asked for.",
    below="Your mask is turned round: it shows what comes after the centre.",
    not_floats="Your mask has the right entries and the wrong type. Floats are asked for, to be multiplied by the weights.",
)
def pixelcnn_mask_reference(k, kind, bugs=frozenset()):
    c, mask = k // 2, torch.zeros(k, k)
    if "exchanged" in bugs:
        kind = "AB"[kind == "A"]
    if "no_above" not in bugs:
        mask[:c] = 1
    if "right_above" in bugs:
        mask[:c, c + 1:] = 0
    if "no_left" not in bugs:
        mask[c, :c] = 1
    if "right_too" in bugs:
        mask[c, c + 1:] = 1
    if "below" in bugs:
        mask = mask.flip(0, 1)
    if kind == "B" and "centre_hidden" not in bugs or "shows_itself" in bugs:
        mask[c, c] = 1
    if "triangle" in bugs:
        mask = torch.ones(k, k).tril(0 if kind == "B" else -1)
    if "transposed" in bugs:
        mask = mask.T.contiguous()
    return mask.bool() if "not_floats" in bugs else mask


def mask_cases(generator):
    width = 2 * integer(generator, 3, 5) + 1
    return [(k, kind) for k in (3, 1, 5, width) for kind in ("A", "B")]


exercise.compare("values", mask_cases, points=4)
exercise.hint(
    "You do not know where to begin.",
    "Start with zeros. The centre is at row k // 2 and column k // 2. Which rows are wholly before it?")
exercise.hint(
    "The rows above are right, and the centre's own row is not.",
    "In that row the entries before column k // 2 are earlier pixels.")
exercise.hint(
    "You wonder what to do with the centre.",
    "It is the only entry in which the two kinds differ.")
