"""Prompts of unequal length, one batch."""
from __future__ import annotations

import torch

from course_lib.exercises.draws import integer
from course_lib.grading.exercise import Exercise

exercise = Exercise(
    "left_padded", chapter="gpt", place=3, title="Prompts of unequal length",
    contract="prompts is a list of B lists of token numbers, none empty; pad is a number, which may also stand in a prompt as a real "
             "token. With P the length of the longest, return (tokens, positions, mask): tokens (B, P), long, each prompt at the right "
             "end of its row with pad before it; positions (B, P), long, 0 for the first token of the prompt and counting on, 0 at "
             "padding; mask (B, P, P), boolean, True where the query of the second axis may attend to the key of the third: "
             "both are tokens of the prompt and the key does not come after the query.",
    points=["gpt", "kv-cache"], difficulty=2, minutes=20)


@exercise.step
def padded(prompts, pad):
    """tokens (B, P), and real (B, P), True where a token belongs to a prompt."""
    P = max(map(len, prompts))
    tokens = torch.tensor([[pad] * (P - len(prompt)) + prompt for prompt in prompts])
    return tokens, torch.arange(P) >= P - torch.tensor([[len(prompt)] for prompt in prompts])


@exercise.step
def positions_of(real):
    return torch.where(real, real.cumsum(1) - 1, 0)


def causal(P):
    return torch.ones(P, P, dtype=torch.bool).tril()


@exercise.step
def mask_of(real):
    return causal(real.shape[1]) & real[:, :, None] & real[:, None, :]


@exercise.reference()
@exercise.step
def left_padded_reference(prompts, pad):
    tokens, real = padded(prompts, pad)
    return tokens, positions_of(real), mask_of(real)


@exercise.misconception(
    padded,
    "Your padding stands on the right. Then the next token of a short prompt would have to go into the middle of its row.")
def on_the_right(prompts, pad):
    P = max(map(len, prompts))
    tokens = torch.tensor([prompt + [pad] * (P - len(prompt)) for prompt in prompts])
    return tokens, torch.arange(P) < torch.tensor([[len(prompt)] for prompt in prompts])


@exercise.misconception(
    padded,
    "You treat a token as padding because it has the number pad. Where padding stands follows from the lengths.")
def by_value(prompts, pad):
    tokens, _ = padded.original(prompts, pad)
    return tokens, tokens != pad


@exercise.misconception(
    left_padded_reference,
    "A token of a prompt that has the number pad gets position 0 and is masked in your result: you find padding by tokens != pad. Where padding "
    "stands follows from the lengths.")
def masked_by_value(prompts, pad):
    tokens, positions, mask = left_padded_reference.original(prompts, pad)
    real = tokens != pad
    return tokens, positions * real, mask & mask_of(real)


@exercise.misconception(
    positions_of,
    "Your positions of tokens count the padding before them. The first token of a prompt has position 0, wherever it stands in "
    "the row.")
def positions_of_the_row(real):
    return torch.where(real, torch.arange(real.shape[1]), 0)


@exercise.misconception(
    positions_of,
    "Your positions are 0, 1, 2, ... in every row, so they count the padding. The first token of a prompt has position 0, and "
    "padding has position 0 too.")
def same_in_every_row(real):
    return torch.arange(real.shape[1]).repeat(len(real), 1)


@exercise.misconception(positions_of, "Your positions begin at 1. The first token has position 0.")
def positions_from_one(real):
    return torch.where(real, real.cumsum(1), 0)


@exercise.misconception(positions_of, "Your positions at padding are negative. They are 0 there, since a table has no row -1.")
def negative_positions(real):
    return real.cumsum(1) - 1


@exercise.misconception(mask_of, "Your queries attend to padding. A key that is padding is masked for all queries.")
def padding_seen(real):
    return causal(real.shape[1]) & real[:, :, None]


@exercise.misconception(mask_of, "Your queries attend to keys that come after them.")
def not_causal(real):
    return real[:, :, None] & real[:, None, :]


@exercise.misconception(mask_of, "Keys and queries are exchanged in your mask: the second axis is that of the queries.")
def exchanged(real):
    return mask_of.original(real).transpose(1, 2)


@exercise.misconception(mask_of, "Your mask is True where a query may not attend. True means that it may.")
def meaning_reversed(real):
    return ~mask_of.original(real)


def prompt_cases(generator):
    """The number pad at the front and within a prompt; equal lengths; one prompt; one token each."""
    cases = []
    for lengths in ((5, 2, 3), (2, 6), (3, 4, 4, 2)):
        pad = integer(generator, 0, 4)
        prompts = [[(pad + 1 + int(token)) % 9 for token in torch.randperm(8, generator=generator)[:length]] for length in lengths]
        prompts[-1][0] = prompts[0][1] = pad                         # a real token with the number of the padding
        cases.append((prompts, pad))
    prompt = [int(token) for token in torch.randperm(9, generator=generator)[:4]]
    return [*cases, ([prompt, prompt[::-1]], 0), ([prompt], 1), ([prompt[:1], prompt[1:2]], 2)]


exercise.compare("values", prompt_cases, points=5)
exercise.unchanged(prompt_cases)
exercise.hint(
    "Where to begin.",
    "Make real (B, P), True in the last len(prompt) places of each row. Everything else follows from it: cumsum along the row counts "
    "the positions, and the mask is the causal one, without the keys that are padding.")
exercise.hint(
    "The mask is right for equal lengths only.",
    "real[:, None, :], (B, 1, P), says of each key whether it is a token, for all queries at once: the second axis is the query's.")
exercise.hint(
    "It fails where a token has the number pad.",
    "tokens != pad is wrong there. Use the lengths.")
