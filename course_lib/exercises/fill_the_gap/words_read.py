"""What a gap reads through convolutions upon each other."""
from __future__ import annotations

from course_lib.exercises.draws import integer
from course_lib.grading.exercise import Exercise

exercise = Exercise(
    "words_read", chapter="fill-the-gap", place=2, title="Predict, then measure: what a gap reads",
    contract="A text of length words goes through convolutions upon each other; kernels and dilations are lists with a number for each "
             "layer, the first for the layer that reads the words. A layer of the odd kernel 2k + 1 and the dilation d takes for "
             "place i what the layer below has at i - kd, ..., i - d, i, i + d, ..., i + kd; every layer finds zeros outside the "
             "text. The word at place gap is replaced by a mask. Return the sorted list of the places, counted from 0, of the "
             "words that the last layer's output at gap depends on.",
    points=["conv-text"], difficulty=3, minutes=25, kind="measure")


@exercise.step
def offsets(kernel, dilation):
    return [j * dilation for j in range(-(kernel // 2), kernel // 2 + 1)]


def places_below(places, layer):
    """The places of the layer below that a layer takes for these."""
    return {place + offset for place in places for offset in offsets(*layer)}


@exercise.step
def places_read(length, gap, layers):
    """From the gap backward through the layers, within the text."""
    places = {gap}
    for layer in reversed(layers):
        places = places_below(places, layer) & set(range(length))
    return places


@exercise.reference()
@exercise.step
def words_read_reference(length, gap, kernels, dilations):
    return sorted(places_read(length, gap, list(zip(kernels, dilations))) - {gap})


@exercise.misconception(
    words_read_reference,
    "Your list holds the gap. A mask stands there, the same whatever the word was: the output does not depend on the word.")
def gap_listed(length, gap, kernels, dilations):
    return sorted(places_read(length, gap, list(zip(kernels, dilations))) | {gap})


@exercise.misconception(
    places_read,
    "You follow one layer. Its inputs are outputs of the layer below, and those depend on words further away.")
def last_layer(length, gap, layers):
    return places_read.original(length, gap, layers[-1:])


@exercise.misconception(
    places_read,
    "You put every layer on the gap itself and collect what it reads. A layer reads the outputs of the layer below: the reaches add up.")
def each_alone(length, gap, layers):
    return {place for layer in layers for place in places_read.original(length, gap, [layer])}


@exercise.misconception(
    offsets,
    "You go as many places to each side as the kernel is wide. A kernel of 2k + 1 reads k on each side and the middle.")
def whole_kernel(kernel, dilation):
    return [j * dilation for j in range(-kernel, kernel + 1)]


@exercise.misconception(offsets, "You go in steps of one place. A layer of dilation d goes in steps of d.")
def no_dilation(kernel, dilation):
    return offsets.original(kernel, 1)


@exercise.misconception(
    places_read,
    "You list all places from the first that is read to the last. Steps of more than one place leave some out.")
def all_between(length, gap, layers):
    places = places_read.original(length, gap, layers)
    return set(range(min(places), max(places) + 1))


@exercise.misconception(
    places_read,
    "You let nothing pass at the gap. The mask hides its word only: what the layers below have brought to this place from its neighbors "
    "is passed on.")
def not_through_the_gap(length, gap, layers):
    places = {gap}
    for layer in reversed(layers):
        places = places_below(places, layer) & set(range(length)) - {gap}
    return places


@exercise.misconception(
    places_read,
    "You let a path leave the text and come back. Every layer finds zeros outside, which depend on no word.")
def through_outside(length, gap, layers):
    places = {gap}
    for layer in reversed(layers):
        places = places_below(places, layer)
    return places & set(range(length))


@exercise.misconception(
    places_read,
    "You take the layers in the other order. Backward from the gap the last layer comes first; near the ends of a text that makes a "
    "difference.")
def other_order(length, gap, layers):
    return places_read.original(length, gap, layers[::-1])


@exercise.misconception(words_read_reference, "You count from 1. Places count from 0 here.")
def from_one(length, gap, kernels, dilations):
    return [place + 1 for place in words_read_reference.original(length, gap, kernels, dilations)]


def texts(generator):
    """One layer; several in the middle of a text, with holes and without; both ends, where a path would leave the text; one word; a
    kernel of 1."""
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
        (9, 4, [1, 3], [2, 1]),
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
