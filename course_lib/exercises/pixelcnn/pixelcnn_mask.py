"""The mask of a kernel."""
from __future__ import annotations

import torch

from course_lib.exercises.draws import integer
from course_lib.grading.exercise import Exercise

exercise = Exercise(
    "pixelcnn_mask", chapter="pixelcnn", place=1, title="The mask of a kernel",
    contract="k is the width of a kernel, an odd number; kind is \"A\" or \"B\". Return the mask (k, k), floats: 1 at the "
             "entries before the centre in raster order, row by row from the top left, and at the centre for kind \"B\"; 0 "
             "elsewhere.",
    points=["pixelcnn"], difficulty=1, minutes=10)


@exercise.step
def rows_above(mask, c):
    mask[:c] = 1


@exercise.step
def own_row(mask, c):
    mask[c, :c] = 1


@exercise.step
def shows_centre(kind):
    return kind == "B"


@exercise.reference()
@exercise.step
def pixelcnn_mask_reference(k, kind):
    c, mask = k // 2, torch.zeros(k, k)
    rows_above(mask, c)
    own_row(mask, c)
    if shows_centre(kind):
        mask[c, c] = 1
    return mask


@exercise.misconception(shows_centre, "With kind \"A\" your centre is 1: the pixel reads itself.")
def shows_itself(kind):
    return True


@exercise.misconception(
    shows_centre,
    "With kind \"B\" your centre is 0. After the first layer the pixel's own place holds earlier pixels only, and is "
    "needed.")
def centre_hidden(kind):
    return False


@exercise.misconception(shows_centre, "Your kinds are exchanged: A hides the centre, B shows it.")
def exchanged(kind):
    return kind == "A"


@exercise.misconception(
    own_row,
    "The entries to the left of the centre, in its own row, are missing. These pixels are drawn before it.")
def no_left(mask, c):
    pass


@exercise.misconception(
    own_row,
    "The entries to the right of the centre, in its own row, are 1. These pixels are sampled later.")
def right_too(mask, c):
    mask[c, :c] = mask[c, c + 1:] = 1


@exercise.misconception(rows_above, "The rows above the centre are missing. They are drawn before it.")
def no_above(mask, c):
    pass


@exercise.misconception(
    rows_above,
    "The entries above and to the right are missing. The rows above are drawn in all their width.")
def right_above(mask, c):
    mask[:c, :c + 1] = 1


@exercise.misconception(
    pixelcnn_mask_reference,
    "Your mask goes column by column: it shows what is to the left in every row. Raster order goes row by row.")
def transposed(k, kind):
    return pixelcnn_mask_reference.original(k, kind).T.contiguous()


@exercise.misconception(
    pixelcnn_mask_reference,
    "Your mask is a triangle: it compares the row of an entry with its column, as between the words of a sentence. "
    "Here all entries stand around one pixel, and those before the centre are asked for.")
def triangle(k, kind):
    return torch.ones(k, k).tril(0 if kind == "B" else -1)


@exercise.misconception(
    pixelcnn_mask_reference,
    "Your mask has the right entries and the wrong type. Floats are asked for, to be multiplied by the weights.")
def not_floats(k, kind):
    return pixelcnn_mask_reference.original(k, kind).bool()


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
