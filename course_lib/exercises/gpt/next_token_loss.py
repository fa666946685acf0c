"""The loss out of the logits."""
from __future__ import annotations

import math

import torch

from course_lib.exercises.draws import normal, uneven
from course_lib.grading.exercise import Exercise

exercise = Exercise(
    "next_token_loss", chapter="16", place=1, title="The loss out of the logits",
    contract="logits (B, T, V) are what a causal model gave for tokens (B, T), having read all of them: position t "
             "concerns the token after it. Row b has lengths[b] real tokens, two or more; what follows is padding: it may hold "
             "any number, and counts for nothing. Return the mean of minus ln p over all real tokens that are predicted: a "
             "tensor of shape (), whatever the size of the logits.",
    points=["gpt"], difficulty=2, minutes=15)


@exercise.reference(
    no_shift="You compare position t with token t, which the model has read. Position t concerns token t + 1.",
    whole_row="You compare position t with token t, which the model has read, in all of a row's real tokens. Position t "
              "concerns token t + 1, so that n tokens have n - 1 predictions.",
    wrong_way="Your shift goes the wrong way: you compare position t with token t - 1. It concerns token t + 1.",
    padding_counted="Your mean runs over the padding too. Row b has lengths[b] - 1 tokens to predict.",
    first_padding="You count one token too many in each row: the first of the padding. A row of n tokens has n - 1 to "
                  "predict.",
    last_left_out="You count one token too few in each row: the last real one is predicted too.",
    mean_of_rows="You take the mean of each row and then the mean of the rows. Long rows have more tokens: one mean over "
                 "all of them is asked for.",
    summed="Your result is a sum. The mean over the predicted tokens is asked for.",
    over_tokens="You divide by the number of tokens. n tokens give n - 1 predictions: divide by those.",
    no_softmax="You read the logits as log-probabilities. A log-softmax over the vocabulary is missing.",
    overflows="Large logits give NaN: the exponential of 89 is infinite already. log_softmax takes the largest off first.",
    underflows="Large logits give an infinite loss: a softmax rounds small probabilities to 0, whose logarithm is minus infinity. "
               "log_softmax never goes through the probability.",
    in_bits="Your loss is in bits. Nats are asked for: the natural logarithm.",
)
def next_token_loss_reference(logits, tokens, lengths, bugs=frozenset()):
    T = tokens.shape[1]
    log_p = logits if "no_softmax" in bugs else logits.log_softmax(-1)
    if "overflows" in bugs:
        log_p = (logits.exp() / logits.exp().sum(-1, keepdim=True)).log()
    if "underflows" in bugs:
        log_p = logits.softmax(-1).log()
    tokens = tokens.clamp(0, logits.shape[-1] - 1)                             # padding may be no token at all
    if "whole_row" in bugs:
        own = -log_p.gather(-1, tokens[..., None])[..., 0]                     # (B, T)
        return own[torch.arange(T) < lengths[:, None]].mean()
    place = torch.arange(1, T)
    said, wanted = log_p[:, :-1], tokens[:, 1:]
    if "no_shift" in bugs:
        wanted = tokens[:, :-1]
    if "wrong_way" in bugs:
        said, wanted = log_p[:, 1:], tokens[:, :-1]
    last = lengths + int("first_padding" in bugs) - int("last_left_out" in bugs)
    counted = (place < last[:, None]) | ("padding_counted" in bugs)            # (B, T - 1)
    terms = (-said.gather(-1, wanted[..., None])[..., 0]).masked_fill(~counted, 0)
    if "mean_of_rows" in bugs:
        return (terms.sum(1) / counted.sum(1)).mean()
    if "summed" in bugs:
        return terms.sum()
    number = lengths.sum() if "over_tokens" in bugs else counted.sum()
    return terms.sum() / number / (math.log(2) if "in_bits" in bugs else 1)


def loss_cases(generator):
    found = []
    for _ in range(3):
        B, T, V = uneven(generator, (3, 4), (6, 8), (5, 9))
        lengths = torch.randint(3, T, (B,), generator=generator)
        lengths[0], lengths[1] = T - 1, 3
        found.append((2 * normal(generator, B, T, V), torch.randint(V, (B, T), generator=generator), lengths))
    return found


def any_padding_cases(generator):
    """Padding that is no token: below 0, the mark that torch's loss skips, and past the vocabulary; one row has none."""
    found = []
    for _ in range(2):
        B, T, V = uneven(generator, (3, 4), (7, 8), (5, 6))
        lengths = torch.randint(3, T - 2, (B,), generator=generator)
        lengths[0], lengths[1] = T, 2
        tokens = torch.randint(V, (B, T), generator=generator)
        strange = torch.tensor([-1, V, -100, V + 90])[torch.randint(4, (B, T), generator=generator)]
        strange[1, 2:6] = torch.tensor([-1, V, -100, V + 90])
        found.append((2 * normal(generator, B, T, V), torch.where(torch.arange(T) < lengths[:, None], tokens, strange), lengths))
    return found


def large_cases(generator):
    """Logits of some hundreds, and a next token that is much less likely than another."""
    found = []
    for logits, tokens, lengths in loss_cases(generator):
        best = logits.argmax(-1)
        tokens[:, 1] = torch.where(tokens[:, 1] == best[:, 0], (best[:, 0] + 1) % logits.shape[-1], tokens[:, 1])
        logits = 100 * logits
        logits.scatter_(-1, best[..., None], 400.0)
        logits[torch.arange(len(tokens)), 0, tokens[:, 1]] = -200.0
        found.append((logits, tokens, lengths))
    return found


exercise.compare("values", loss_cases, points=2)
exercise.compare("padding that is no token", any_padding_cases, points=1)
exercise.compare("large logits", large_cases, points=1)
exercise.gradient("gradient", loss_cases, wrt=(0,), points=1)
exercise.unchanged(loss_cases)
exercise.hint(
    "Which logits belong to which token.",
    "logits[:, :-1] are the predictions that have a target, and tokens[:, 1:] are the targets.")
exercise.hint(
    "Your value is right without padding only.",
    "Build a boolean (B, T - 1): target number 1, 2, ..., T - 1 of row b counts if it is below lengths[b].")
exercise.hint(
    "Your value is near, but not right.",
    "Divide the sum of all counted terms by how many they are, once, for the whole batch.")
