"""A text sampled from an n-gram model with an end-of-sequence token."""
from __future__ import annotations

import torch

from course_lib.exercises.draws import integer, uniform
from course_lib.grading.exercise import Exercise

exercise = Exercise(
    "sample_ngram", chapter="counting-text", place=3, title="Sample a text from an n-gram model",
    contract="p has n axes, n >= 1; p[h_1, ..., h_(n-1), w] is the probability of token w after this history. The last axis has length V, "
             "the others V + 1, because a history may hold the beginning-of-sequence token V; "
             "the first history holds it n - 1 times. Sample one token for "
             "each entry u of uniforms: the smallest w whose cumulative probability is greater than u, or the last w with a positive "
             "probability if rounding leaves none. Stop at the token eos, or when uniforms is used up. Return the list of tokens without eos.",
    points=["shannon-ngram"], difficulty=2, minutes=20)


@exercise.step
def first_history(p):
    return (p.shape[-1],) * (p.ndim - 1)


@exercise.step
def next_token(row, u):
    """Inverse CDF: the smallest token whose cumulative probability is greater than u, at most the last possible token."""
    return min(int((row.cumsum(dim=0) <= u).sum()), int(row.nonzero()[-1]))


@exercise.step
def shifted(history, token):
    """The history without its oldest token and with the new one."""
    return (*history, token)[1:]


@exercise.step
def ends(token, eos):
    return token == eos


@exercise.step
def sampled_tokens(p, uniforms, eos):
    history, tokens = first_history(p), []
    for u in uniforms.tolist():
        token = next_token(p[history], u)
        if ends(token, eos):
            break
        tokens.append(token)
        history = shifted(history, token)
    return tokens


@exercise.reference()
def sample_ngram_reference(p, uniforms, eos):
    return sampled_tokens(p, uniforms, eos)


@exercise.misconception(
    sampled_tokens,
    "Your list contains the end-of-sequence token. It ends the text and is not one of its tokens.")
def end_kept(p, uniforms, eos):
    tokens = sampled_tokens.original(p, uniforms, eos)
    return [*tokens, eos] if len(tokens) < len(uniforms) else tokens


@exercise.misconception(
    ends,
    "Your text continues after the end-of-sequence token. This token is sampled like every token, and the text ends "
    "where it is sampled.")
def continues(token, eos):
    return False


@exercise.misconception(
    sampled_tokens,
    "Your list contains the beginning-of-sequence tokens. They are only the condition of the first tokens and are not "
    "part of the text.")
def start_kept(p, uniforms, eos):
    return [*first_history(p), *sampled_tokens.original(p, uniforms, eos)]


@exercise.misconception(
    sampled_tokens,
    "Your longest texts have one token too few. Every entry of uniforms gives a token, so a text may have len(uniforms) tokens.")
def one_fewer(p, uniforms, eos):
    return sampled_tokens.original(p, uniforms[:-1], eos)


@exercise.misconception(
    shifted,
    "Every token of your text is sampled after the beginning-of-sequence tokens. Update the history after each token.")
def fixed_history(history, token):
    return history


@exercise.misconception(
    shifted,
    "Your histories are in the wrong order. The axes of p go from the oldest token to the newest, so append the new token at the end.")
def newest_first(history, token):
    return (token, *history)[:len(history)]


@exercise.misconception(
    next_token,
    "You take the most probable token, which gives the same text every time. Sample a token with the given uniform number.")
def most_probable(row, u):
    return int(row.argmax())


@exercise.misconception(
    next_token,
    "At a boundary you take the lower token: for u = 0 you can sample a token with probability 0. The cumulative probability must be "
    "greater than u, not equal to it.")
def lower_token(row, u):
    return min(int((row.cumsum(dim=0) < u).sum()), int(row.nonzero()[-1]))


@exercise.misconception(
    next_token,
    "If rounding makes the last cumulative probability slightly smaller than 1, a number u above it gives no token or a token with "
    "probability 0. Return the last token with a positive probability then.")
def beyond_the_end(row, u):
    return int((row.cumsum(dim=0) <= u).sum())


def table(generator, n: int, V: int):
    """Random conditionals of tokens 0 to V - 1, with one more row in every axis of the history for <s>."""
    p = uniform(generator, *(V + 1,) * (n - 1), V, low=0.1).double() ** 2
    return p / p.sum(dim=-1, keepdim=True)


def uniforms_of(generator, p, path: list[int]):
    """Numbers with which the model samples this path, none of them at a boundary."""
    history, numbers = (p.shape[-1],) * (p.ndim - 1), []
    for token, part in zip(path, uniform(generator, len(path), low=0.1, high=0.9).tolist()):
        row = p[history]
        numbers.append(float(row[:token].sum()) + part * float(row[token]))
        history = (*history, token)[1:]
    return torch.tensor(numbers, dtype=torch.float64)


def texts(generator):
    """Bigrams, trigrams and a unigram; texts that end, and texts that are cut off; one that ends at once; boundaries; rounding."""
    cases = []
    for n, V in ((2, 6), (3, 5), (1, 5), (3, 4)):
        eos = (0, V - 1)[integer(generator, 0, 1)]
        p, words = table(generator, n, V), [w for w in range(V) if w != eos]
        path = [words[integer(generator, 0, len(words) - 1)] for _ in range(integer(generator, 8, 10))]
        cases += [(p, uniforms_of(generator, p, path), eos),
                  (p, uniforms_of(generator, p, [*path[:5], eos, *path[5:]]), eos)]
    cases.append((p, uniforms_of(generator, p, [eos, *path]), eos))
    boundaries = torch.tensor([0.0, 0.25, 0.25, 0.5], dtype=torch.float64).expand(5, 4).contiguous()
    tenths = torch.tensor([0.1] * 10 + [0.0], dtype=torch.float64)               # cumulative probabilities end at 1 - 2 ** -53
    return [*cases, (boundaries, torch.tensor([0.0, 0.25, 0.5, 0.3], dtype=torch.float64), 3),
            (tenths, torch.tensor([0.35, 1 - 2 ** -53, 0.75, 0.05], dtype=torch.float64), 0)]


exercise.compare("tokens", texts, points=4)
exercise.unchanged(texts)
exercise.hint(
    "You do not know where to begin.",
    "The history is a tuple of n - 1 tokens, and p[history] is the distribution of the next token. For n = 1 the tuple is empty, and p[()] "
    "is p itself.")
exercise.hint(
    "You do not know how to sample with a given number.",
    "row.cumsum(dim=0) holds the cumulative probabilities. Count how many of them are at most u: this is the sampled token.")
exercise.hint(
    "The first token is right, but the later ones are wrong.",
    "After each token drop the oldest token of the history and append the new one: (*history, token)[1:].")
