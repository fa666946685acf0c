"""What a pixel does not see."""
from __future__ import annotations

from course_lib.exercises.draws import integer
from course_lib.grading.exercise import Exercise

exercise = Exercise(
    "blind_spot", chapter="pixelcnn", place=4, title="Predict, then measure: the blind spot",
    contract="A network on images of height x width pixels has one layer of 3 x 3 under mask A and after it depth layers of "
             "3 x 3 under mask B, depth 0 or more. Return the sorted list of the pixels (r, c), counted from 0, that come "
             "before the pixel (row, column) in raster order and that its prediction does not depend on.",
    points=["pixelcnn"], difficulty=3, minutes=25, kind="measure")


ONE_LESS = "You count one layer too few: depth layers of mask B come after the layer with mask A."
MASK_A = [(-1, -1), (-1, 0), (-1, 1), (0, -1)]       # what a kernel of 3 x 3 reads, relative to its center


@exercise.step
def layers(depth):
    """The kinds of the layers, the last one first."""
    return "B" * depth + "A"


@exercise.step
def taps(kind):
    return MASK_A + [(0, 0)] * (kind == "B")


@exercise.step
def receptive_field(row, column, width, depth):
    field = {(row, column)}
    for kind in layers(depth):
        field = {(r + a, c + b) for r, c in field for a, b in taps(kind) if r + a >= 0 and 0 <= c + b < width}
    return field


@exercise.reference()
@exercise.step
def blind_spot_reference(height, width, row, column, depth):
    field = receptive_field(row, column, width, depth)
    before = [(r, c) for r in range(height) for c in range(width) if (r, c) < (row, column)]
    return [pixel for pixel in before if pixel not in field]


@exercise.misconception(layers, ONE_LESS)
def one_layer_less(depth):
    return "B" * (depth - 1) + "A"


@exercise.misconception(layers, ONE_LESS)
def depth_layers(depth):
    return layers.original(depth)[1:]                                          # with depth 0 none at all


@exercise.misconception(layers, "You count one layer too many: there are depth layers of mask B.")
def one_layer_more(depth):
    return layers.original(depth + 1)


@exercise.misconception(
    taps,
    "Your later layers have mask A too, so they lose what the layer below has computed at their own place. Mask B reads the center "
    "and passes it on.")
def always_a(kind):
    return MASK_A


@exercise.misconception(taps, "In the row above, the pixel to the right is read too: the kernel has three columns.")
def no_right(kind):
    return [tap for tap in taps.original(kind) if tap != (-1, 1)]


@exercise.misconception(
    receptive_field,
    "You list what no depth would reach. With few layers the receptive field is still small, so pixels far away are not read either.")
def never_only(row, column, width, depth):
    return receptive_field.original(row, column, width, row + width)


@exercise.misconception(
    receptive_field,
    "You let a path go to the right above and then further to the right in the same row. No kernel reads to the right in its own row.")
def square(row, column, width, depth):
    reach = range(-depth - 1, depth + 2)
    return {(row + a, column + b) for a in reach for b in reach}


@exercise.misconception(blind_spot_reference, "You list the pixels that are read. Asked for are the earlier ones that are not.")
def seen(height, width, row, column, depth):
    return sorted(receptive_field(row, column, width, depth) - {(row, column)})


@exercise.misconception(
    blind_spot_reference,
    "Your list holds the pixel itself. It is not read, but it does not come before itself.")
def itself(height, width, row, column, depth):
    return blind_spot_reference.original(height, width, row, column, depth) + [(row, column)]


def spot_cases(generator):
    """The wedge alone, fields that have not grown, borders, the first pixel, one layer."""
    found = [(4, 5, 0, 0, 1), (4, 6, 2, 2, 0)]
    for depth in (1, 2, 3):
        height, width = integer(generator, 6, 7), integer(generator, 8, 9)
        found.append((height, width, integer(generator, 4, height - 1), integer(generator, 2, 4), depth))
    height, width = integer(generator, 5, 6), integer(generator, 7, 8)
    found.append((height, width, height - 1, 1, height + width))
    found.append((height, width, height - 1, width - 1, 2))
    return found


exercise.compare("values", spot_cases, points=5)
exercise.hint(
    "You do not know how to follow information through the layers.",
    "Go backward with a set of pixels. Start with the pixel itself; for each layer replace every pixel by those that its kernel "
    "reads.")
exercise.hint(
    "Your sets contain pixels outside the image.",
    "Outside there is nothing but zeros, which depend on no pixel: keep what lies inside.")
exercise.hint(
    "You are one layer off.",
    "Depth counts the layers under mask B. The layer with mask A comes on top; going backward, it is the last step.")
