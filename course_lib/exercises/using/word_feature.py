"""One vector for each word of a text, out of chosen layers of a model that reads pieces of words."""
from __future__ import annotations

import torch

from course_lib.exercises.draws import integer, normal, uneven
from course_lib.grading.exercise import Exercise

SIGNS = ("[CLS]", "[SEP]", "[PAD]")

exercise = Exercise(
    "word_feature", chapter="20", place=1, title="A vector for each word",
    contract="states (L + 1, T, D) are the layers of a model that has read one text, layer 0 the embeddings; pieces is the list of its T "
             "word pieces. A piece that begins with ## goes on with the word before it, and never stands first in one; [CLS], [SEP] and "
             "[PAD] belong to no word; [UNK] is a word. There is at least one word. chosen is a list of layers, in Python's way of counting: 0 is states[0] and "
             "-1 the last. A word's vector in a layer is the mean over its pieces. Return a row for each word, in the order of the "
             "text: with how == 'concat' (N, len(chosen) D), the vectors of the chosen layers one after the other in the order of chosen; "
             "with how == 'sum' (N, D), their sum.",
    points=["hf-embeddings", "contextual-embeddings"], difficulty=2, minutes=25)


@exercise.reference(
    first_piece="Your words have the vector of their first piece. Take the mean over all pieces of the word.",
    last_piece="Your words have the vector of their last piece. Take the mean over all pieces of the word.",
    pieces_added="You add the pieces of a word up: a word of three is three times as long as it should be. Take their mean.",
    halved="You take the mean piece by piece, (mean so far + next) / 2: in a word of three pieces the last one counts half. Add all "
           "pieces, then divide by their number.",
    largest="Your words have the largest number of their pieces in each place. Take the mean.",
    a_row_a_piece="Your rows are pieces: one that begins with ## has a row of its own. It belongs to the word before it.",
    by_place="Word number 3 has the row of piece number 3 in your result. Words of several pieces move all that come behind them.",
    sign_rows="Your result has rows for [CLS], [SEP] and [PAD]. They belong to no word.",
    ends_alone="You leave out the first piece and the last, whatever they are. A [SEP] may stand between two sentences, and [PAD] at "
               "the end: look at each piece.",
    no_unknown="You leave out [UNK]. It stands in brackets, and it is a word: nobody knows which.",
    once="A word that stands twice in the text has one row in your result. Each time it has a vector of its own.",
    whole_text="All your rows are alike: the mean over the text. The mean is over the pieces of one word.",
    from_one="You count the layers from 1. Layer 0 is states[0], the embeddings.",
    last_layer="Your numbers are of the last layer alone. Those that chosen names are asked for.",
    last_ones="You take as many of the last layers as chosen has. Which ones it names counts.",
    in_model_order="Your layers stand in the order of the model. They follow each other as chosen has them.",
    alternating="Your layers alternate: a number of the one, a number of the next. All D numbers of a layer come first, then those of "
                "the next.",
    layers_averaged="You take the mean of the layers. Their sum is asked for; the mean is of the pieces.",
    always_concat="You put the layers one after the other where their sum is asked for. Look at how.",
    always_sum="You add the layers where they are to stand one after the other. Look at how.",
)
def word_feature_reference(states, pieces, chosen, how, bugs=frozenset()):
    words = rows_of(pieces, bugs)
    layers = [states[number] for number in layers_of(chosen, len(states), bugs)]
    found = []
    for word in words:
        if "by_place" in bugs:
            word = [len(found) + 1]
        if "whole_text" in bugs:
            word = [t for one in words for t in one]
        found.append([pooled(layer[word], bugs) for layer in layers])
    together = torch.stack([torch.stack(one) for one in found])                  # (N, layers, D)
    if (how == "concat" or "always_concat" in bugs) and "always_sum" not in bugs:
        return together.transpose(1, 2).flatten(1) if "alternating" in bugs else together.flatten(1)
    return together.mean(dim=1) if "layers_averaged" in bugs else together.sum(dim=1)


def rows_of(pieces: list[str], bugs: frozenset[str]) -> list[list[int]]:
    """The places of each word's pieces."""
    words, names = [], []
    for place, piece in enumerate(pieces):
        sign = piece in SIGNS
        if "ends_alone" in bugs:
            sign = place in (0, len(pieces) - 1)
        if sign and "sign_rows" not in bugs or "no_unknown" in bugs and piece == "[UNK]":
            continue
        if piece.startswith("##") and "a_row_a_piece" not in bugs:
            words[-1].append(place)
            names[-1] += piece
        else:
            words.append([place])
            names.append(piece)
    return [word for i, word in enumerate(words) if names[i] not in names[:i]] if "once" in bugs else words


def layers_of(chosen: list[int], count: int, bugs: frozenset[str]) -> list[int]:
    """The numbers of the layers, in the order in which they are used."""
    if "last_layer" in bugs:
        return [-1] * len(chosen)
    if "last_ones" in bugs:
        return list(range(-len(chosen), 0))
    if "from_one" in bugs:
        return [number - 1 if number >= 0 else number for number in chosen]
    return sorted(chosen, key=lambda number: number % count) if "in_model_order" in bugs else chosen


def pooled(vectors: torch.Tensor, bugs: frozenset[str]) -> torch.Tensor:
    """One vector of those of the pieces, (P, D)."""
    if "first_piece" in bugs or "last_piece" in bugs:
        return vectors[0 if "first_piece" in bugs else -1]
    if "largest" in bugs:
        return vectors.amax(dim=0)
    if "halved" in bugs:
        mean = vectors[0]
        for vector in vectors[1:]:
            mean = (mean + vector) / 2
        return mean
    return vectors.sum(dim=0) if "pieces_added" in bugs else vectors.mean(dim=0)


BEGINNINGS, ENDINGS = "slow low new wide play great rest fine game".split(), "##er ##est ##ing ##ed ##ly ##ness".split()


def texts(generator):
    """Two sentences of words of one to three pieces, one of them twice and one unknown; padding. Layers in an order that is
    not the model's, from the front and from the back; one alone, and all."""
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
    return cases


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
