"""One vector for each word of a text, out of chosen layers of a model that reads pieces of words."""
from __future__ import annotations

import torch

from course_lib.exercises.draws import integer, normal, uneven
from course_lib.grading.exercise import Exercise

SIGNS = ("[CLS]", "[SEP]", "[PAD]")

exercise = Exercise(
    "word_feature", chapter="embeddings-and-probes", place=1, title="A vector for each word",
    contract="states (L + 1, T, D) are the layers of a model that has read one text, layer 0 the embeddings; pieces is the list of its T "
             "word pieces. A piece that begins with ## goes on with the word before it, and never stands first in one; [CLS], [SEP] and "
             "[PAD] belong to no word; [UNK] is a word. There is at least one word. chosen is a list of layers, in Python's way of counting: 0 is states[0] and "
             "-1 the last. A word's vector in a layer is the mean over its pieces. Return a row for each word, in the order of the "
             "text: with how == 'concat' (N, len(chosen) D), the vectors of the chosen layers one after the other in the order of chosen; "
             "with how == 'sum' (N, D), their sum.",
    points=["hf-embeddings", "contextual-embeddings"], difficulty=2, minutes=25)


@exercise.step
def places_of_words(pieces):
    """The places of each word's pieces."""
    words = []
    for place, piece in enumerate(pieces):
        if piece.startswith("##"):
            words[-1].append(place)
        elif piece not in SIGNS:
            words.append([place])
    return words


@exercise.step
def chosen_layers(states, chosen):
    return states[chosen]


@exercise.step
def pooled(vectors):
    """A vector for each layer, of those of the pieces, (layers, P, D)."""
    return vectors.mean(dim=1)


@exercise.step
def combined(vectors, how):
    """(N, layers, D) side by side, or added."""
    return vectors.flatten(1) if how == "concat" else vectors.sum(dim=1)


@exercise.reference()
def word_feature_reference(states, pieces, chosen, how):
    layers = chosen_layers(states, chosen)
    return combined(torch.stack([pooled(layers[:, places]) for places in places_of_words(pieces)]), how)


@exercise.misconception(
    pooled,
    "Your words have the vector of their first piece. Take the mean over all pieces of the word.")
def first_piece(vectors):
    return vectors[:, 0]


@exercise.misconception(
    pooled,
    "You add the pieces of a word up: the vector of a word of three pieces is three times as long as it should be. Take their mean.")
def pieces_added(vectors):
    return vectors.sum(dim=1)


@exercise.misconception(
    pooled,
    "You take the mean piece by piece, (mean so far + next) / 2: in a word of three pieces the last one counts half. Add all pieces, then "
    "divide by their number.")
def halved(vectors):
    mean, *others = vectors.unbind(1)
    for vector in others:
        mean = (mean + vector) / 2
    return mean


@exercise.misconception(
    places_of_words,
    "You leave out the first piece and the last, whatever they are. A [SEP] may stand between two sentences, and [PAD] at the end: look at "
    "each piece.")
def ends_alone(pieces):
    words = []
    for place in range(1, len(pieces) - 1):
        if pieces[place].startswith("##"):
            words[-1].append(place)
        else:
            words.append([place])
    return words


@exercise.misconception(places_of_words, "You leave out [UNK]. It stands in brackets, but it is a word, though an unknown one.")
def no_unknown(pieces):
    return [places for places in places_of_words.original(pieces) if pieces[places[0]] != "[UNK]"]


@exercise.misconception(
    places_of_words,
    "A word that stands twice in the text has one row in your result. Each time it has a vector of its own.")
def once(pieces):
    first = {}
    for places in places_of_words.original(pieces):
        first.setdefault(tuple(pieces[place] for place in places), places)
    return list(first.values())


@exercise.misconception(
    chosen_layers,
    "Your vectors are of the last layer alone. Those of the layers in chosen are asked for.")
def last_layer(states, chosen):
    return states[[-1] * len(chosen)]


@exercise.misconception(
    chosen_layers,
    "You take as many of the last layers as chosen has. Take the layers that it names.")
def last_ones(states, chosen):
    return states[-len(chosen):]


@exercise.misconception(
    combined,
    "Your layers alternate: a number of one layer, a number of the next. All D numbers of a layer come first, then those of the next.")
def alternating(vectors, how):
    return vectors.transpose(1, 2).flatten(1) if how == "concat" else vectors.sum(dim=1)


@exercise.misconception(
    combined,
    "You take the mean of the layers. Their sum is asked for; the mean is of the pieces.")
def layers_averaged(vectors, how):
    return vectors.flatten(1) if how == "concat" else vectors.mean(dim=1)


BEGINNINGS, ENDINGS = "slow low new wide play great rest fine game".split(), "##er ##est ##ing ##ed ##ly ##ness".split()


def texts(generator):
    """Two sentences of words of one to three pieces, one of them twice and one unknown; padding. Layers in an order that is
    not the model's, from the front and from the back; one alone, and all. A text of one word."""
    cases = []
    for number, how in enumerate(("concat", "sum", "concat", "sum")):
        beginnings = [BEGINNINGS[i] for i in torch.randperm(len(BEGINNINGS), generator=generator).tolist()]
        endings = [ENDINGS[i] for i in torch.randperm(len(ENDINGS), generator=generator).tolist()]
        pair, three = [beginnings[0], endings[0]], [beginnings[1], endings[1], endings[2]]
        others = [[beginnings[2]], pair, ["[UNK]"], three]
        first = [pair] + [others[i] for i in torch.randperm(4, generator=generator).tolist()]
        second = [[beginnings[3]], [beginnings[4], endings[3]]]
        pieces = ["[CLS]", *(piece for word in first for piece in word), "[SEP]", *(piece for word in second for piece in word), "[SEP]",
                  *["[PAD]"] * integer(generator, 2, 3)]
        L, D = uneven(generator, (5, 8), (3, 6))
        states = normal(generator, L + 1, len(pieces), D) + normal(generator, L + 1, 1, 1)
        low, high = integer(generator, 1, 2), integer(generator, 3, L - 2)
        chosen = ([high, low, -1], [low, 0, high], [-2, high - L - 1, low, 0], [high])[number]
        cases.append((states, pieces, chosen, how))
    return [*cases, (normal(generator, 3, 3, 4), ["[CLS]", "slow", "[SEP]"], [2, 0], "concat")]


exercise.compare("values", texts, points=4)
exercise.unchanged(texts)
exercise.hint(
    "You do not know where to begin.",
    "Go through the pieces with enumerate and keep a list of words, each a list of places. A piece with ## appends its place to the "
    "last word; a sign appends nothing; any other piece begins a new word, [place].")
exercise.hint(
    "Your rows are too many or too few.",
    "Print the words of [CLS] slow ##er [SEP] [UNK] [SEP] [PAD]: [[1, 2], [4]]. Only three signs belong to no word, wherever they stand.")
exercise.hint(
    "The right numbers stand in the wrong columns.",
    "For one word, torch.cat([states[k][places].mean(dim=0) for k in chosen]) has the layers one after the other.")
