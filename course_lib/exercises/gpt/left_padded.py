"""Prompts of unequal length, one batch."""
from __future__ import annotations

import torch

from course_lib.exercises.draws import integer
from course_lib.grading.exercise import Exercise

exercise = Exercise(
    "left_padded", chapter="16", place=3, title="Prompts of unequal length",
    contract="prompts is a list of B lists of token numbers, none empty; pad is a number, which may also stand in a prompt as a real "
             "token. With P the length of the longest, return (tokens, positions, mask): tokens (B, P), long, each prompt at the right "
             "end of its row with pad before it; positions (B, P), long, 0 for the first token of the prompt and counting on, 0 at "
             "padding; mask (B, P, P), boolean, True where the query of the second axis may attend to the key of the third: "
             "both are tokens of the prompt and the key does not come after the query.",
    points=["gpt", "kv-cache"], difficulty=2, minutes=20)


@exercise.reference(
    on_the_right="Your padding stands on the right. Then the next token of a short prompt would have to go into the middle of its row.",
    positions_of_the_row="Your positions count the padding. The first token of a prompt has position 0, wherever it stands in the row.",
    positions_from_one="Your positions begin at 1. The first token has position 0.",
    negative_positions="Your positions below padding are negative: they are 0 there, since a table has no row -1.",
    by_value="You take a token for padding because it has the number pad. Where padding stands follows from the lengths.",
    padding_seen="Your queries attend to padding: a key that is padding is hidden from all.",
    not_causal="Your queries attend to keys that come after them.",
    not_itself="Your tokens do not attend to themselves. The diagonal is True for tokens of the prompt.",
    exchanged="Your mask has keys and queries exchanged: the second axis is the query's.",
    meaning_reversed="Your mask is True where attending is forbidden. True means: may attend.",
    backwards="Your prompts are reversed. Their first token comes first.",
    cut="You cut the prompts to the shortest. They are filled up to the longest.",
    keeps_the_front="You cut a prompt, or moved it: each stands whole at the right end of its row.",
)
def left_padded_reference(prompts, pad, bugs=frozenset()):
    lengths = [len(prompt) for prompt in prompts]
    P = min(lengths) if "cut" in bugs else max(lengths)
    tokens = torch.full((len(prompts), P), pad, dtype=torch.long)
    real = torch.zeros(len(prompts), P, dtype=torch.bool)
    for row, prompt in enumerate(prompts):
        prompt = prompt[-P:][::-1] if "backwards" in bugs else prompt[-P:]
        at = slice(0, len(prompt)) if "on_the_right" in bugs else slice(P - len(prompt), P)
        if "keeps_the_front" in bugs:
            at = slice(max(0, P - len(prompt) - 1), P - (len(prompt) < P))
        tokens[row, at] = torch.tensor(prompt)
        real[row, at] = True
    if "by_value" in bugs:
        real = tokens != pad
    positions = real.long().cumsum(1) - 1                                      # (B, P)
    if "positions_of_the_row" in bugs:
        positions = torch.arange(P).expand(len(prompts), P).clone()
    positions = positions + ("positions_from_one" in bugs)
    if "negative_positions" not in bugs:
        positions = torch.where(real, positions, 0)
    causal = torch.tril(torch.ones(P, P, dtype=torch.bool), -1 if "not_itself" in bugs else 0)
    if "not_causal" in bugs:
        causal = torch.ones_like(causal)
    mask = causal & (real[:, :, None] if "padding_seen" in bugs else real[:, None, :] & real[:, :, None])
    if "exchanged" in bugs:
        mask = mask.transpose(1, 2)
    return tokens, positions, ~mask if "meaning_reversed" in bugs else mask


def prompt_cases(generator):
    """The number pad at the front and within a prompt; equal lengths; one prompt."""
    found = []
    for lengths in ((5, 2, 3), (2, 6), (3, 4, 4, 2)):
        pad = integer(generator, 0, 4)
        prompts = [[(pad + 1 + int(one)) % 9 for one in torch.randperm(8, generator=generator)[:length]] for length in lengths]
        prompts[-1][0] = prompts[0][1] = pad                         # a real token with the number of the padding
        found.append((prompts, pad))
    one = [int(token) for token in torch.randperm(9, generator=generator)[:4]]
    return [*found, ([one, one[::-1]], 0), ([one], 1)]


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
