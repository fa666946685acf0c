"""What ELECTRA's discriminator is asked, mended."""
from __future__ import annotations

import torch

from course_lib.exercises.draws import integer
from course_lib.grading.exercise import Exercise

exercise = Exercise(
    "replaced_labels", chapter="19", place=3, title="Mend the labels of replaced words",
    contract="tokens (B, T) long is a text; chosen (B, T) bool says where the generator was asked, drawn (B, T) long what it drew at every "
             "place, real (B, T) bool where there is a token and no padding; chosen is False at padding. Return (read, labels, asked): "
             "read (B, T) long, the text with the drawn words at the chosen places; labels (B, T), 1.0 where a word is not the one that "
             "stood there and 0.0 elsewhere; asked (B, T) bool, True where the discriminator has a loss.",
    points=["electra"], difficulty=2, minutes=15, kind="find")


@exercise.reference(
    as_given="A word that is drawn right counts as replaced, and the loss is taken at the chosen places alone.",
    chosen_labels="You label every chosen place 1. Where the generator drew the word that stood there, nothing was replaced.",
    drawn_labels="You compare what was drawn with the text at every place, also where nothing was put in. Compare your read with the text.",
    asked_chosen="You take the loss where a word was chosen. The discriminator is asked about every real word: that is the point of it.",
    asked_padding="You take the loss at padding too. There is no word to judge.",
    asked_replaced="You take the loss where a word was replaced. Then every label is 1, and always answering 1 is right.",
    turned="Your labels are turned round: 1.0 stands for a word that was put in.",
    drawn_everywhere="You put the drawn words everywhere. They stand at the chosen places alone.",
    original="Your read is the text as it was: nothing was put in.",
)
def replaced_labels_reference(tokens, chosen, drawn, real, bugs=frozenset()):
    read = drawn if "drawn_everywhere" in bugs else torch.where(chosen, drawn, tokens)
    replaced = chosen & (drawn != tokens)
    if bugs & {"as_given", "chosen_labels"}:
        replaced = chosen
    if "drawn_labels" in bugs:
        replaced = real & (drawn != tokens)
    labels = (~replaced if "turned" in bugs else replaced).to(torch.get_default_dtype())
    asked = real
    if bugs & {"as_given", "asked_chosen"}:
        asked = chosen
    if "asked_padding" in bugs:
        asked = torch.ones_like(real)
    if "asked_replaced" in bugs:
        asked = replaced
    return tokens.clone() if "original" in bugs else read.clone(), labels, asked.clone()


def batches(generator):
    """Words drawn right and wrong in each batch; with padding, and without."""
    found = []
    for B, T, padded in ((3, 9, True), (2, 6, False), (1, 4, False)):
        V = integer(generator, 20, 40)
        tokens = torch.randint(5, V, (B, T), generator=generator)
        drawn = 5 + (tokens - 5 + torch.randint(1, V - 5, (B, T), generator=generator)) % (V - 5)
        chosen, real = torch.zeros(B, T, dtype=torch.bool), torch.ones(B, T, dtype=torch.bool)
        chosen[:, [0, 2]] = True
        right = integer(generator, 0, 1)                              # one of the two chosen places is drawn right
        drawn[:, 2 * right] = tokens[:, 2 * right]
        if padded:
            real[0, 6:], real[1, 4:] = False, False
            tokens[~real] = 0
        found.append((tokens, chosen, drawn, real))
    return found


exercise.compare("values", batches, points=4)
exercise.unchanged(batches)
exercise.hint(
    "You do not see the fault.",
    "Two texts are the same, and one of them was made with the generator's help. Can any reader tell which? What may the label be?")
exercise.hint(
    "Your labels are right and something else is not.",
    "At how many of a hundred words does BERT have a loss, and at how many ELECTRA?")
