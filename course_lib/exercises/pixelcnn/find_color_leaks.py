"""The leaks in a mask with colours that somebody else wrote."""
from __future__ import annotations

import torch

from course_lib.exercises.draws import integer
from course_lib.exercises.pixelcnn.pixelcnn_rgb_mask import pixelcnn_rgb_mask_reference
from course_lib.grading.exercise import Exercise

exercise = Exercise(
    "find_color_leaks", chapter="08", place=3, title="Find the leaks in a colour mask",
    contract="mask (c_out, c_in, k, k) of zeros and ones was written by somebody else, for colours in blocks R, G, B; kind is "
             "\"A\" or \"B\", the layer that it is for. Return a sorted list of the entries (output, input, row, column), "
             "counted from 0, that are 1 and must be 0. What is 0 and could be 1 is no leak. For a sound mask the list is "
             "empty.",
    points=["pixelcnn", "rgb-factorisation"], difficulty=3, minutes=25, kind="find")


@exercise.reference(
    centre_only="You look at the centre alone. An entry after the centre leaks whatever the colours.",
    no_centre="You find the entries after the centre and none at the centre itself, where the order of the colours decides.",
    missing_too="Your list holds entries that are 0 and could be 1. They lose information; they leak none.",
    always_a="You judge every mask as kind \"A\". With kind \"B\" a colour may read its own block at the centre.",
    always_b="You judge every mask as kind \"B\". With kind \"A\" a colour must not read itself.",
    below_only="In the centre's own row the entries to the right are leaks too: they are drawn later.",
    right_only="Rows below the centre are missing from your list.",
    from_one="You count from 1. All four places count from 0 here.",
    exchanged="Output and input are exchanged in your entries: the output comes first, as in the weight.",
    unsorted="Your list is not sorted.",
    interleaved="You take the colours to alternate. They come in blocks here.",
)
def find_color_leaks_reference(mask, kind, bugs=frozenset()):
    c_out, c_in, k, _ = mask.shape
    kind = "A" if "always_a" in bugs else "B" if "always_b" in bugs else kind
    allowed = pixelcnn_rgb_mask_reference(c_out, c_in, k, kind, {"interleaved"} & set(bugs))
    wrong, c = (mask == 1) & (allowed == 0), k // 2
    if "missing_too" in bugs:
        wrong = mask != allowed
    centre = wrong[:, :, c, c].clone()
    if "centre_only" in bugs:
        wrong = torch.zeros_like(wrong)
        wrong[:, :, c, c] = centre
    if "no_centre" in bugs:
        wrong[:, :, c, c] = False
    if "below_only" in bugs:
        wrong[:, :, c, c + 1:] = False
    if "right_only" in bugs:
        wrong[:, :, c + 1:] = False
    found = [tuple(entry) for entry in wrong.nonzero().tolist()]
    if "exchanged" in bugs:
        found = sorted((i, o, r, column) for o, i, r, column in found)
    if "from_one" in bugs:
        found = [tuple(place + 1 for place in entry) for entry in found]
    return found[::-1] if "unsorted" in bugs else found


def leak_cases(generator):
    """A sound mask of each kind, and broken ones: entries after the centre, entries at the centre, entries lost."""
    found = [(pixelcnn_rgb_mask_reference(6, 3, 3, kind), kind) for kind in "AB"]
    for kind, k in (("A", 3), ("B", 3), ("A", 5), ("B", 5)):
        c_out, c_in = 3 * integer(generator, 2, 3), 3 * integer(generator, 1, 2) if kind == "B" else 6
        c, mask = k // 2, pixelcnn_rgb_mask_reference(c_out, c_in, k, kind)
        mask[integer(generator, 0, c_out // 3 - 1), c_in - 1, c, c] = 1          # red reads blue
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
