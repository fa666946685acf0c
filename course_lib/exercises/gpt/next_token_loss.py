"""The loss out of the logits."""
from __future__ import annotations

import torch

from course_lib.exercises.draws import integer, normal, uneven
from course_lib.grading.exercise import Exercise

exercise = Exercise(
    "next_token_loss", chapter="gpt", place=1, title="The loss out of the logits",
    contract="logits (B, T, V) are what a causal model gave for tokens (B, T), having read all of them: position t "
             "concerns the token after it. Row b has lengths[b] real tokens, two or more; what follows is padding: it may hold "
             "any number, and counts for nothing. Return the mean of minus ln p over all real tokens that are predicted: a "
             "tensor of shape (), whatever the size of the logits.",
    points=["gpt"], difficulty=2, minutes=15)


@exercise.step
def log_probabilities(logits):
    return logits.log_softmax(-1)


@exercise.step
def aligned(log_p, tokens, lengths):
    """Predictions (B, T - 1, V), the tokens that they concern (B, T - 1), and which of these are real."""
    return log_p[:, :-1], tokens[:, 1:], torch.arange(1, tokens.shape[1]) < lengths[:, None]


@exercise.step
def mean(losses, real, lengths):
    return losses[real].mean()


@exercise.reference()
def next_token_loss_reference(logits, tokens, lengths):
    tokens = tokens.clamp(0, logits.shape[-1] - 1)                             # padding may be no token at all
    predictions, targets, real = aligned(log_probabilities(logits), tokens, lengths)
    return mean(-predictions.gather(-1, targets[..., None])[..., 0], real, lengths)


@exercise.misconception(
    log_probabilities,
    "You use the logits as log-probabilities. A log-softmax over the vocabulary is missing.")
def no_softmax(logits):
    return logits


@exercise.misconception(
    log_probabilities,
    "Large logits give NaN, because the exponential of 89 is infinite already. log_softmax subtracts the largest first.")
def overflows(logits):
    return (logits.exp() / logits.exp().sum(-1, keepdim=True)).log()


@exercise.misconception(
    log_probabilities,
    "Large logits give an infinite loss, because a softmax rounds small probabilities to 0, whose logarithm is minus "
    "infinity. log_softmax does not compute the probability.")
def underflows(logits):
    return logits.softmax(-1).log()


@exercise.misconception(
    aligned,
    "You compare position t with token t, which the model has read. Position t concerns token t + 1.")
def no_shift(log_p, tokens, lengths):
    _, _, real = aligned.original(log_p, tokens, lengths)
    return log_p[:, :-1], tokens[:, :-1], real


@exercise.misconception(
    aligned,
    "You compare position t with token t, which the model has read, in all of a row's real tokens. Position t concerns token "
    "t + 1, so that n tokens have n - 1 predictions.")
def whole_row(log_p, tokens, lengths):
    return log_p, tokens, torch.arange(tokens.shape[1]) < lengths[:, None]


@exercise.misconception(
    aligned,
    "You compare position t with token t, which the model has read, and you count the padding too. Position t concerns token t + 1; "
    "some training scripts shift the tokens before they call the loss.")
def read_tokens(log_p, tokens, lengths):
    return log_p, tokens, torch.ones_like(tokens, dtype=torch.bool)


@exercise.misconception(aligned, "Your mean runs over the padding too. Row b has lengths[b] - 1 tokens to predict.")
def padding_counted(log_p, tokens, lengths):
    predictions, targets, real = aligned.original(log_p, tokens, lengths)
    return predictions, targets, torch.ones_like(real)


@exercise.misconception(
    aligned,
    "You count the first padding position of each row that has padding. n real tokens give n - 1 targets; what follows them is padding and "
    "counts for nothing.")
def one_too_many(log_p, tokens, lengths):
    predictions, targets, _ = aligned.original(log_p, tokens, lengths)
    return predictions, targets, torch.arange(1, tokens.shape[1]) <= lengths[:, None]


@exercise.misconception(
    mean,
    "You take the mean of each row and then the mean of the rows. Long rows have more tokens, so one mean over all tokens is "
    "asked for.")
def mean_of_rows(losses, real, lengths):
    return (losses.masked_fill(~real, 0).sum(1) / real.sum(1)).mean()


@exercise.misconception(mean, "You divide by the number of tokens. n tokens give n - 1 predictions: divide by those.")
def over_tokens(losses, real, lengths):
    return losses[real].sum() / lengths.sum()


def loss_cases(generator):
    """Uneven sizes; one row, without padding, of as many tokens as the vocabulary has."""
    T = integer(generator, 4, 6)
    cases = [(2 * normal(generator, 1, T, T), torch.randint(T, (1, T), generator=generator), torch.tensor([T]))]
    for _ in range(3):
        B, T, V = uneven(generator, (3, 4), (6, 8), (5, 9))
        lengths = torch.randint(3, T, (B,), generator=generator)
        lengths[0], lengths[1] = T - 1, 3
        cases.append((2 * normal(generator, B, T, V), torch.randint(V, (B, T), generator=generator), lengths))
    return cases


def any_padding_cases(generator):
    """Padding that is no token: below 0, the mark that torch's loss skips, and past the vocabulary; one row has none."""
    cases = []
    for _ in range(2):
        B, T, V = uneven(generator, (3, 4), (7, 8), (5, 6))
        lengths = torch.randint(3, T - 2, (B,), generator=generator)
        lengths[0], lengths[1] = T, 2
        tokens = torch.randint(V, (B, T), generator=generator)
        strange = torch.tensor([-1, V, -100, V + 90])[torch.randint(4, (B, T), generator=generator)]
        strange[1, 2:6] = torch.tensor([-1, V, -100, V + 90])
        cases.append((2 * normal(generator, B, T, V), torch.where(torch.arange(T) < lengths[:, None], tokens, strange), lengths))
    return cases


def large_cases(generator):
    """Logits of some hundreds, and a next token that is much less likely than another."""
    cases = []
    for logits, tokens, lengths in loss_cases(generator)[1:]:
        best = logits.argmax(-1)
        tokens[:, 1] = torch.where(tokens[:, 1] == best[:, 0], (best[:, 0] + 1) % logits.shape[-1], tokens[:, 1])
        logits = 100 * logits
        logits.scatter_(-1, best[..., None], 400.0)
        logits[torch.arange(len(tokens)), 0, tokens[:, 1]] = -200.0
        cases.append((logits, tokens, lengths))
    return cases


exercise.compare("values", loss_cases, points=2)
exercise.compare("padding that is no token", any_padding_cases, points=1)
exercise.compare("large logits", large_cases, points=1)
exercise.gradient("gradient", lambda generator: loss_cases(generator) + large_cases(generator), wrt=(0,), points=1)
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
