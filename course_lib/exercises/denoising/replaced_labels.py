"""What ELECTRA's discriminator is asked, mended."""
from __future__ import annotations

import torch

from course_lib.exercises.draws import integer
from course_lib.grading.exercise import Exercise

exercise = Exercise(
    "replaced_labels", chapter="denoising", place=3, title="Mend the labels of replaced words",
    contract="tokens (B, T) long is a text; chosen (B, T) bool says where the generator was asked, drawn (B, T) long what it drew at every "
             "place, real (B, T) bool where there is a token and no padding; chosen is False at padding. Return (read, labels, asked): "
             "read (B, T) long, the text with the drawn words at the chosen places; labels (B, T), 1.0 where a word is not the one that "
             "stood there and 0.0 elsewhere; asked (B, T) bool, True where the discriminator has a loss.",
    points=["electra"], difficulty=2, minutes=15, kind="find")


@exercise.step
def replaced(tokens, chosen, drawn):
    """True where a word is not the one that stood there: the generator may draw that one too."""
    return chosen & (drawn != tokens)


@exercise.reference()
@exercise.step
def replaced_labels_reference(tokens, chosen, drawn, real):
    labels = replaced(tokens, chosen, drawn).to(torch.get_default_dtype())
    return torch.where(chosen, drawn, tokens), labels, real


@exercise.misconception(
    replaced,
    "You label every chosen place 1. Where the generator drew the word that stood there, nothing was replaced.")
def chosen_labels(tokens, chosen, drawn):
    return chosen


@exercise.misconception(
    replaced,
    "Your labels compare the drawn words with the text at every place, padding included. At most places the drawn "
    "word is not read, so compare what is read with the text.")
def drawn_everywhere(tokens, chosen, drawn):
    return drawn != tokens


@exercise.misconception(
    replaced_labels_reference,
    "You compare the drawn words with the text at every place, also where none was put in. Compare your read with the text.")
def drawn_labels(tokens, chosen, drawn, real):
    read, labels, asked = replaced_labels_reference.original(tokens, chosen, drawn, real)
    return read, (real & (drawn != tokens)).to(labels), asked


@exercise.misconception(replaced_labels_reference, "Your labels are inverted: 1.0 marks the words that were not replaced.")
def inverted(tokens, chosen, drawn, real):
    read, labels, asked = replaced_labels_reference.original(tokens, chosen, drawn, real)
    return read, 1 - labels, asked


@exercise.misconception(
    replaced_labels_reference,
    "You label every chosen place 1, also where the generator drew the word that stood there, and you take the loss at the "
    "chosen places only.")
def as_given(tokens, chosen, drawn, real):
    return torch.where(chosen, drawn, tokens), chosen.to(torch.get_default_dtype()), chosen


@exercise.misconception(
    replaced_labels_reference,
    "You take the loss only where a word was chosen. The discriminator has a loss at every real word, which is its advantage "
    "over BERT.")
def asked_chosen(tokens, chosen, drawn, real):
    return replaced_labels_reference.original(tokens, chosen, drawn, chosen)


@exercise.misconception(replaced_labels_reference, "You take the loss at padding too, where there is no word to classify.")
def asked_padding(tokens, chosen, drawn, real):
    return replaced_labels_reference.original(tokens, chosen, drawn, torch.ones_like(real))


@exercise.misconception(
    replaced_labels_reference,
    "You take the loss only where a word was replaced. Then every label is 1, and a discriminator that always predicts 1 is "
    "right.")
def asked_replaced(tokens, chosen, drawn, real):
    return replaced_labels_reference.original(tokens, chosen, drawn, replaced(tokens, chosen, drawn))


def batches(generator):
    """Words drawn right and wrong in each batch; with padding, and without; no word chosen."""
    cases = []
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
        cases.append((tokens, chosen, drawn, real))
    tokens, chosen, drawn, real = cases[1]
    return [*cases, (tokens, torch.zeros_like(chosen), drawn, real)]


exercise.compare("values", batches, points=4)
exercise.unchanged(batches)
exercise.hint(
    "You do not see the fault.",
    "Two texts are the same, and one of them was made with the generator's help. Can any reader tell which? What may the label be?")
exercise.hint(
    "Your labels are right and something else is not.",
    "At how many of a hundred words does BERT have a loss, and at how many ELECTRA?")
