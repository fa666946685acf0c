"""What a pixel does not see."""
from __future__ import annotations

from course_lib.exercises.draws import integer
from course_lib.grading.exercise import Exercise

exercise = Exercise(
    "blind_spot", chapter="08", place=4, title="Predict, then measure: the blind spot",
    contract="A network on images of height x width pixels has one layer of 3 x 3 under mask A and after it depth layers of "
             "3 x 3 under mask B, depth 0 or more. Return the sorted list of the pixels (r, c), counted from 0, that come "
             "before the pixel (row, column) in raster order and that its prediction does not depend on.",
    points=["pixelcnn"], difficulty=3, minutes=25, kind="measure")


@exercise.reference(
    seen="You list the pixels that are read. Asked for are the earlier ones that are not.",
    one_layer_less="You count one layer too few: depth layers of mask B come after the layer with mask A.",
    one_layer_more="You count one layer too many: of mask B there are depth.",
    never_only="You list what no depth would reach. With few layers the field has not grown yet, and pixels far away are not read "
               "either.",
    later_too="Your list holds the pixel itself, or pixels after it. Asked for are those before it.",
    itself="Your list holds the pixel itself. It is not read, and it does not come before itself.",
    always_a="Your later layers have mask A too, and lose what stands at their own place. Mask B reads the centre: what the layer below "
             "has found there is handed on.",
    square="You let a path go to the right above and then further to the right in the same row. No kernel reads to the right in "
           "its own row.",
    no_right="In the row above, the pixel to the right is read too: the kernel has three columns.",
    swapped="Your pairs are (column, row). The row comes first.",
    from_one="You count from 1. Rows and columns count from 0 here.",
    unsorted="Your list is not sorted.",
)
def blind_spot_reference(height, width, row, column, depth, bugs=frozenset()):
    steps = [(-1, -1), (-1, 0), (-1, 1), (0, -1)]
    if "no_right" in bugs:
        steps.remove((-1, 1))
    layers = depth + ("one_layer_more" in bugs) - ("one_layer_less" in bugs)
    if "never_only" in bugs:
        layers = height + width
    seen = {(row, column)}
    for kind in "B" * max(layers, 0) + ("" if layers < 0 else "A"):
        taps = steps + [(0, 0)] * (kind == "B" and "always_a" not in bugs) + [(0, 1)] * ("square" in bugs)
        seen = {(r + a, c + b) for r, c in seen for a, b in taps
                if 0 <= r + a and 0 <= c + b < width and ("square" not in bugs or r + a < row or b <= 0)}
        if "square" in bugs:
            seen = {(r, c) for r, c in seen if (r, c) <= (row, column)}
    seen.discard((row, column))
    places = [(r, c) for r in range(height) for c in range(width)]
    before = [place for place in places if place < (row, column)]
    wanted = [p for p in places if p not in seen] if "later_too" in bugs else [p for p in before if p not in seen]
    if "itself" in bugs:
        wanted = [p for p in places if p <= (row, column) and p not in seen]
    if "seen" in bugs:
        wanted = sorted(seen)
    if "swapped" in bugs:
        wanted = sorted((c, r) for r, c in wanted)
    if "from_one" in bugs:
        wanted = [(r + 1, c + 1) for r, c in wanted]
    return wanted[::-1] if "unsorted" in bugs else wanted


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
