"""What a gap reads through convolutions upon each other."""
from __future__ import annotations

from course_lib.exercises.draws import integer
from course_lib.grading.exercise import Exercise

exercise = Exercise(
    "words_read", chapter="11", place=2, title="Predict, then measure: what a gap reads",
    contract="A text of length words goes through convolutions upon each other; kernels and dilations are lists with a number for each "
             "layer, the first for the layer that reads the words. A layer of the odd kernel 2k + 1 and the dilation d takes for "
             "place i what the layer below has at i - kd, ..., i - d, i, i + d, ..., i + kd; every layer finds zeros outside the "
             "text. The word at place gap is replaced by a mask. Return the sorted list of the places, counted from 0, of the "
             "words that the last layer's output at gap depends on.",
    points=["conv-text"], difficulty=3, minutes=25, kind="measure")


@exercise.reference(
    gap_listed="Your list holds the gap. A mask stands there, the same whatever the word was: the output does not depend on the word.",
    left_only="You list places to the left only. The kernel reads as far to the right.",
    last_layer="You follow one layer. What it reads are outputs of the layer below, and those have read words further away.",
    each_alone="You put every layer on the gap itself and collect what it reads. A layer reads the outputs of the one below: the reaches "
               "add up.",
    one_layer_less="You stop one layer too early: the first layer, which reads the words, has a kernel too.",
    whole_kernel="You go as many places to each side as the kernel is wide. A kernel of 2k + 1 reads k on each side and the middle.",
    no_dilation="You go in steps of one place. A layer of dilation d goes in steps of d.",
    left_out="You leave out d places between two that are read. Dilation d means steps of d: d - 1 are left out.",
    all_between="You list all places from the first that is read to the last. Steps of more than one place leave some out.",
    not_through_the_gap="You let nothing pass at the gap. The mask hides its word only: what the layers below have brought to this "
                        "place from its neighbours goes on.",
    through_outside="You let a path leave the text and come back. Every layer finds zeros outside, which have read no word.",
    outside_listed="Your list holds places outside the text.",
    other_order="You take the layers in the other order. Backward from the gap the last layer comes first; near the ends of a text "
                "that makes a difference.",
    from_the_gap="Your numbers are distances from the gap. Asked for are places, counted from 0.",
    from_one="You count from 1. Places count from 0 here.",
    unsorted="Your list is not sorted.",
)
def words_read_reference(length, gap, kernels, dilations, bugs=frozenset()):
    layers = list(zip(kernels, dilations))
    if "last_layer" in bugs:
        layers = layers[-1:]
    if "one_layer_less" in bugs:
        layers = layers[1:]
    if "other_order" in bugs:
        layers = layers[::-1]
    anywhere = bugs & {"through_outside", "outside_listed"}
    read = {gap}
    for kernel, dilation in reversed(layers):
        k = kernel if "whole_kernel" in bugs else kernel // 2
        step = 1 if "no_dilation" in bugs else dilation + ("left_out" in bugs)
        taps = range(-k, 1) if "left_only" in bugs else range(-k, k + 1)
        read = {place + j * step for place in read for j in taps if anywhere or 0 <= place + j * step < length}
        if "not_through_the_gap" in bugs:
            read -= {gap}
    if "each_alone" in bugs:
        read = {gap + j * dilation for kernel, dilation in layers for j in range(-(kernel // 2), kernel // 2 + 1)}
        read = {place for place in read if 0 <= place < length}
    if "all_between" in bugs and read:
        read = set(range(min(read), max(read) + 1))
    if "outside_listed" not in bugs:
        read = {place for place in read if 0 <= place < length}
    if "gap_listed" not in bugs:
        read -= {gap}
    found = sorted(read)
    if "from_the_gap" in bugs:
        found = [place - gap for place in found]
    if "from_one" in bugs:
        found = [place + 1 for place in found]
    return found[::-1] if "unsorted" in bugs else found


def texts(generator):
    """One layer; several in the middle of a text, with holes and without; both ends, where a path would leave the text; one word."""
    middle = integer(generator, 12, 14)
    long = 2 * middle + integer(generator, 0, 2)
    d = integer(generator, 3, 4)
    short = d + integer(generator, 4, 6)
    return [
        (9, integer(generator, 3, 5), [5], [1]),
        (long, middle, [3, 3], [1, 3]),                              # what is next to the gap is read by way of the gap alone
        (long, middle, [3, 5], [2, 2]),                              # every second place
        (long, middle, [3, 3, 5], [1, integer(generator, 2, 3), 1]),
        (short, 0, [3, 3], [d, 1]),                                  # place d - 1 would be reached from outside alone
        (short, short - 1, [3, 3], [1, d]),                          # and here by the other order it would be missed
        (short + 2, short + 1, [3, 3, 3], [d, 1, 1]),
        (integer(generator, 6, 7), integer(generator, 2, 3), [7, 3], [1, 2]),
        (1, 0, [3, 5], [1, 2]),
    ]


exercise.compare("values", texts, points=5)
exercise.hint(
    "You do not know how to follow words through the layers.",
    "Go backward with a set of places. Start with the gap alone; for each layer, the last one first, replace every place by those that "
    "its kernel reads.")
exercise.hint(
    "Your list lacks places that are next to the gap.",
    "The gap may be in the sets on the way: its output in a layer depends on its neighbours. Take it away once, at the end.")
exercise.hint(
    "Your list is right in the middle of a text and wrong at its ends.",
    "Keep of every set what lies inside the text, layer by layer, before you go on.")
