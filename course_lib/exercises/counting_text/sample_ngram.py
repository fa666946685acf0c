"""A text sampled from an n-gram model with an end symbol."""
from __future__ import annotations

import torch

from course_lib.exercises.draws import integer, uniform
from course_lib.grading.exercise import Exercise

exercise = Exercise(
    "sample_ngram", chapter="counting-text", place=2, title="Sample a text from an n-gram model",
    contract="p has n axes of length V, n >= 1; p[h_1, ..., h_(n-1), w] is the probability of token w after this history, and the first "
             "history holds n - 1 times bos. Sample one token for each entry u of uniforms: the smallest w whose cumulative probability "
             "is greater than u. Stop at the token eos, or when uniforms is used up. Return the list of tokens without bos and eos.",
    points=["shannon-ngram"], difficulty=2, minutes=20)


@exercise.step
def first_history(p, bos):
    return (bos,) * (p.ndim - 1)


@exercise.step
def next_token(row, u):
    """Inverse CDF: the smallest token whose cumulative probability is greater than u."""
    return int((row.cumsum(dim=0) <= u).sum())


@exercise.step
def shifted(history, token):
    """The history without its oldest token and with the new one."""
    return (*history, token)[1:]


@exercise.step
def ends(token, eos):
    return token == eos


@exercise.step
def sampled_tokens(p, uniforms, bos, eos):
    history, tokens = first_history(p, bos), []
    for u in uniforms.tolist():
        token = next_token(p[history], u)
        if ends(token, eos):
            break
        tokens.append(token)
        history = shifted(history, token)
    return tokens


@exercise.reference()
def sample_ngram_reference(p, uniforms, bos, eos):
    return sampled_tokens(p, uniforms, bos, eos)


@exercise.misconception(
    sampled_tokens,
    "Your list contains the end symbol. It ends the text and is not one of its tokens.")
def end_kept(p, uniforms, bos, eos):
    tokens = sampled_tokens.original(p, uniforms, bos, eos)
    return [*tokens, eos] if len(tokens) < len(uniforms) else tokens


@exercise.misconception(
    ends,
    "Your text continues after the end symbol. The end symbol is sampled like every token, and the text ends where it is sampled.")
def continues(token, eos):
    return False


@exercise.misconception(
    sampled_tokens,
    "Your list contains the start symbols. They are only the condition of the first tokens and are not part of the text.")
def start_kept(p, uniforms, bos, eos):
    return [*first_history(p, bos), *sampled_tokens.original(p, uniforms, bos, eos)]


@exercise.misconception(
    sampled_tokens,
    "Your longest texts have one token too few. Every entry of uniforms gives a token, so a text may have len(uniforms) tokens.")
def one_fewer(p, uniforms, bos, eos):
    return sampled_tokens.original(p, uniforms[:-1], bos, eos)


@exercise.misconception(
    shifted,
    "Every token of your text is sampled after the start symbols. Update the history after each token.")
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
    return int((row.cumsum(dim=0) < u).sum())


def table(generator, n: int, V: int, bos: int):
    """Random conditionals, in which bos has probability 0 after every history."""
    p = uniform(generator, *(V,) * n, low=0.1).double() ** 2
    p[..., bos] = 0
    return p / p.sum(dim=-1, keepdim=True)


def uniforms_of(generator, p, path: list[int], bos: int):
    """Numbers with which the model samples this path, none of them at a boundary."""
    history, numbers = (bos,) * (p.ndim - 1), []
    for token, part in zip(path, uniform(generator, len(path), low=0.1, high=0.9).tolist()):
        row = p[history]
        numbers.append(float(row[:token].sum()) + part * float(row[token]))
        history = (*history, token)[1:]
    return torch.tensor(numbers, dtype=torch.float64)


def texts(generator):
    """Bigrams, trigrams and a unigram; texts that end, and texts that are cut off; one that ends at once; boundaries."""
    cases = []
    for n, V in ((2, 6), (3, 5), (1, 5), (3, 4)):
        bos, eos = ((0, V - 1), (V - 2, 1))[integer(generator, 0, 1)]
        p, words = table(generator, n, V, bos), [w for w in range(V) if w not in (bos, eos)]
        path = [words[integer(generator, 0, len(words) - 1)] for _ in range(integer(generator, 8, 10))]
        cases += [(p, uniforms_of(generator, p, path, bos), bos, eos),
                  (p, uniforms_of(generator, p, [*path[:5], eos, *path[5:]], bos), bos, eos)]
    cases.append((p, uniforms_of(generator, p, [eos, *path], bos), bos, eos))
    boundaries = torch.tensor([0.0, 0.25, 0.25, 0.5], dtype=torch.float64).expand(4, 4).contiguous()
    return [*cases, (boundaries, torch.tensor([0.0, 0.25, 0.5, 0.3], dtype=torch.float64), 0, 3)]


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
