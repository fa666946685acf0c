"""Perplexity and bits per character of several texts, from their log-probabilities."""
from __future__ import annotations

import math

import torch

from course_lib.exercises.draws import integer, uniform
from course_lib.grading.exercise import Exercise

exercise = Exercise(
    "perplexity_and_bits", chapter="counting-text", place=4, title="Perplexity and bits per character",
    contract="log_prob, words and characters, each of shape (B,), hold for each of B texts ln p(text) in nats, "
             "end-of-sequence token included, its number of words, and its number of characters. Each text has one "
             "end-of-sequence token, which counts as a token and not as a character. Return (perplexity per token, bits per "
             "character) of all texts together.",
    points=["shannon-ngram"], difficulty=1, minutes=15)


@exercise.step
def total_nats(log_prob):
    return -log_prob.sum()


@exercise.step
def number_of_tokens(words):
    return words.sum() + len(words)


@exercise.step
def number_of_characters(characters):
    return characters.sum()


@exercise.step
def perplexity(nats, tokens):
    return (nats / tokens).exp()


@exercise.step
def bits_per_character(nats, characters):
    return nats / math.log(2) / characters


@exercise.step
def measures(log_prob, words, characters):
    nats = total_nats(log_prob)
    return perplexity(nats, number_of_tokens(words)), bits_per_character(nats, number_of_characters(characters))


@exercise.reference()
def perplexity_and_bits_reference(log_prob, words, characters):
    return measures(log_prob, words, characters)


@exercise.misconception(
    number_of_tokens,
    "You do not count the end-of-sequence tokens as tokens. The model predicts them, and log_prob contains their "
    "log-probabilities.")
def without_ends(words):
    return words.sum()


@exercise.misconception(
    number_of_characters,
    "You count the end-of-sequence tokens as characters. Bits per character refer to the length of the texts, which do "
    "not contain these tokens.")
def ends_as_characters(characters):
    return characters.sum() + len(characters)


@exercise.misconception(
    perplexity,
    "You compute 2 to the power of the cross-entropy in nats. Use e for nats, or convert to bits before you use 2.")
def two_to_the_nats(nats, tokens):
    return 2 ** (nats / tokens)


@exercise.misconception(bits_per_character, "Your bits per character are nats per character. Divide by ln 2.")
def nats_per_character(nats, characters):
    return nats / characters


@exercise.misconception(
    bits_per_character,
    "You multiply by ln 2 to convert nats to bits. One bit is ln 2 = 0.69 nats, so divide.")
def multiplied(nats, characters):
    return nats * math.log(2) / characters


@exercise.misconception(
    measures,
    "Your second number is the bits per token. Divide by the number of characters.")
def bits_per_token(log_prob, words, characters):
    nats, tokens = total_nats(log_prob), number_of_tokens(words)
    return perplexity(nats, tokens), bits_per_character(nats, tokens)


@exercise.misconception(
    measures,
    "You average the values of the texts, so a short text has the same weight as a long one. Add the log-probabilities, the tokens and "
    "the characters of all texts first.")
def mean_of_texts(log_prob, words, characters):
    return (-log_prob / (words + 1)).exp().mean(), (-log_prob / characters).mean() / math.log(2)


@exercise.misconception(
    total_nats,
    "You leave out the texts with probability 0. If one text has probability 0, perplexity and bits per character are infinite.")
def finite_only(log_prob):
    return -log_prob[log_prob.isfinite()].sum()


def corpora(generator):
    """Texts of different lengths; one text; an empty text among others; a text with probability 0; certain texts."""
    cases = []
    for B in (integer(generator, 3, 5), 1, 4, 3):
        words = torch.tensor([integer(generator, 2, 12) for _ in range(B)])
        characters = words * 3 + torch.tensor([integer(generator, 1, 9) for _ in range(B)])
        log_prob = -(words + 1).double() * uniform(generator, B, low=1.0, high=5.0).double()
        cases.append((log_prob, words, characters))
    cases[2][1][1] = cases[2][2][1] = 0
    cases[3][0][1] = -math.inf
    return [*cases, (torch.zeros(2, dtype=torch.float64), torch.tensor([3, 1]), torch.tensor([14, 4]))]


exercise.compare("values", corpora, points=3)
exercise.unchanged(corpora)
exercise.hint(
    "You do not know where to begin.",
    "The texts are independent, so the log-probability of all of them together is the sum. Then apply the formulas of perplexity "
    "and bits per character once.")
exercise.hint(
    "The perplexity is too large.",
    "Each text has one token more than it has words: its end-of-sequence token. The log-probability of this token is "
    "part of log_prob.")
exercise.hint(
    "The result is NaN.",
    "Sum before you divide. An empty text has 0 characters, and inf - inf or 0 / 0 is NaN, but the sums are positive.")
