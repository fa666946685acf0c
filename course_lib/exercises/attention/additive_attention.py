"""One look back by the additive score."""
from __future__ import annotations

import math

import torch

from course_lib.exercises.draws import integer, normal, uneven
from course_lib.grading.exercise import Exercise

exercise = Exercise(
    "additive_attention", chapter="attention", place=1, title="One look back",
    contract="query (B, H) is the decoder's last state, keys (B, S, K) are the encoder's. mask, boolean (B, S), is True for real "
             "tokens. Scores v . tanh(W query + U key) with W (A, H), U (A, K), v (A,); a softmax over the real tokens; the "
             "weighted sum of the keys. Return (B, K); a row without any real token gives zeros.",
    points=["attention-scores", "seq2seq-attention"], difficulty=2, minutes=20)


@exercise.step
def combined(query, keys):
    """tanh of the projected query (B, 1, A) plus the projected keys (B, S, A)."""
    return torch.tanh(query + keys)


@exercise.step
def scores(hidden, v):
    return hidden @ v                                                          # (B, S)


@exercise.step
def weights(scores, mask):
    return scores.masked_fill(~mask, -math.inf).softmax(-1).masked_fill(~mask, 0)        # a row of NaN becomes zeros


@exercise.reference()
def additive_attention_reference(query, keys, mask, W, U, v):
    hidden = combined((query @ W.T)[:, None], keys @ U.T)
    return (weights(scores(hidden, v), mask)[:, :, None] * keys).sum(1)


@exercise.misconception(
    combined,
    "Your score has no tanh. Without it the query adds the same number to all scores, and the softmax does not change.")
def no_tanh(query, keys):
    return query + keys


@exercise.misconception(
    scores,
    "Your scores are divided by the root of A. That goes with dot products, which grow with the width; this score is not scaled.")
def scaled(hidden, v):
    return hidden @ v / math.sqrt(len(v))


@exercise.misconception(weights, "You attend to the padding and mask the real tokens. True in mask is a real token.")
def opposite(scores, mask):
    return weights.original(scores, ~mask)


@exercise.misconception(
    weights,
    "You set the attention weights of padding to 0 after the softmax, so the other weights do not sum to one. Mask the scores.")
def masked_after(scores, mask):
    return scores.softmax(-1) * mask


@exercise.misconception(
    weights,
    "You set the scores of padding to 0, and exp(0) is 1: padding still gets attention weight. Set them to minus infinity.")
def zero_scores(scores, mask):
    return scores.masked_fill(~mask, 0).softmax(-1)


@exercise.misconception(weights, "A row without any real token gives NaN: a softmax over nothing. It should give zeros.")
def nan_rows(scores, mask):
    return scores.masked_fill(~mask, -math.inf).softmax(-1)


@exercise.misconception(
    weights,
    "A row without any real token attends to its padding and gives the mean of it. It should give zeros. A large negative number "
    "is not minus infinity: where all scores are the same number, all attention weights are equal.")
def mean_of_padding(scores, mask):
    return scores.masked_fill(~mask, -1e9).softmax(-1)


def inputs(generator, empty: bool, sizes=None):
    B, S, H, K, A = sizes or uneven(generator, (3, 4), (5, 7), (2, 4), (4, 8), (3, 9))
    mask = torch.rand(B, S, generator=generator) < 0.6
    mask[:, 0], mask[:, 1:3] = False, True
    if empty:
        mask[integer(generator, 0, B - 1)] = False
    # v no larger: the softmax over all slots and the real ones alone then differ by no factor that single precision cannot hold
    return (normal(generator, B, H), normal(generator, B, S, K), mask, normal(generator, A, H), normal(generator, A, K),
            normal(generator, A))


def cases(generator):
    """Uneven sizes; all sizes equal; a batch of one."""
    return [inputs(generator, False, sizes) for sizes in (None, None, None, (4, 4, 4, 4, 4), (1, 3, 2, 4, 5))]


def empty_cases(generator):
    return [inputs(generator, empty=True) for _ in range(2)]


exercise.compare("values", cases, points=4)
exercise.compare("rows without a token", empty_cases, points=1)
exercise.gradient("gradient", lambda generator: cases(generator) + empty_cases(generator), wrt=(0, 1, 3, 4, 5), points=1)
exercise.unchanged(cases)
exercise.hint(
    "The shapes of query and keys do not fit.",
    "W query is (B, A), U key is (B, S, A). An axis of length 1 for the slots, [:, None], and torch repeats the query for each key.")
exercise.hint(
    "Changing a padded key changes your result.",
    "Its score must be minus infinity before the softmax.")
exercise.hint(
    "A row without a real token comes out as NaN, or as a mean.",
    "Where every score is minus infinity, the softmax is 0 / 0; where every score is the same number, all shares are equal. Put "
    "0 in the place of the shares where mask is False, after the softmax as well as before it.")
