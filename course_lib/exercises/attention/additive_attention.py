"""One look back by the additive score."""
from __future__ import annotations

import math

import torch

from course_lib.exercises.draws import integer, normal, uneven
from course_lib.grading.exercise import Exercise

exercise = Exercise(
    "additive_attention", chapter="12", place=1, title="One look back",
    contract="query (B, H) is the decoder's last state, keys (B, S, K) are the encoder's. mask, boolean (B, S), is True for real "
             "tokens. Scores v . tanh(W query + U key) with W (A, H), U (A, K), v (A,); a softmax over the real tokens; the "
             "weighted sum of the keys. Return (B, K); a row without any real token gives zeros.",
    points=["attention-scores", "seq2seq-attention"], difficulty=2, minutes=20)


@exercise.reference(
    not_masked="Your result depends on the padded keys. Their shares must be 0.",
    opposite="You look at the padding and hide the real tokens. True in mask is a real token.",
    masked_after="You set the shares of padding to 0 after the softmax: what is left does not sum to one. Mask the scores.",
    zero_scores="You set the scores of padding to 0, and exp(0) is 1: padding still gets a share. Set them to minus infinity.",
    nan_rows="A row without any real token gives NaN: a softmax over nothing. It should give zeros.",
    mean_of_padding="A row without any real token looks at its padding and gives the mean of it. It should give zeros. A large "
                    "negative number is not minus infinity: where no other stands beside it, all shares are equal.",
    no_tanh="Your score has no tanh. Without it the query adds the same number to all scores, and the softmax does not see it.",
    query_apart="Your shares do not depend on the query. If it is in your code, it stands outside of the tanh of the keys: then it adds "
                "the same number to all scores, and the softmax does not see it. The tanh is of the sum.",
    scaled="Your scores are divided by the root of A. That goes with dot products, which grow with the width; this score is not scaled.",
    even="All real keys get the same share in your result, whatever their scores: it is their mean.",
)
def additive_attention_reference(query, keys, mask, W, U, v, bugs=frozenset()):
    asked, there = (query @ W.T)[:, None], keys @ U.T                          # (B, 1, A), (B, S, A)
    inner = torch.tanh(there if "query_apart" in bugs else asked + there)
    if "no_tanh" in bugs:
        inner = asked + there
    scores = inner @ v                                                         # (B, S)
    if "scaled" in bugs:
        scores = scores / len(v) ** 0.5
    if "even" in bugs:
        scores = 0 * scores
    if "opposite" in bugs:
        mask = ~mask
    if "not_masked" in bugs:
        weights = scores.softmax(-1)
    elif "masked_after" in bugs:
        weights = scores.softmax(-1) * mask
    elif "zero_scores" in bugs:
        weights = scores.masked_fill(~mask, 0.0).softmax(-1)
    else:
        weights = scores.masked_fill(~mask, -1e9 if "mean_of_padding" in bugs else -math.inf).softmax(-1)
        if not {"nan_rows", "mean_of_padding"} & bugs:
            weights = weights.masked_fill(~mask, 0.0)
    return (weights[:, :, None] * keys).sum(1)


def drawn(generator, empty: bool):
    B, S, H, K, A = uneven(generator, (3, 4), (5, 7), (2, 4), (4, 8), (3, 9))
    mask = torch.rand(B, S, generator=generator) < 0.6
    mask[:, 0], mask[:, 1:3] = False, True
    if empty:
        mask[integer(generator, 0, B - 1)] = False
    # v no larger: the softmax over all slots and the real ones alone then differ by no factor that single precision cannot hold
    return (normal(generator, B, H), normal(generator, B, S, K), mask, normal(generator, A, H), normal(generator, A, K),
            normal(generator, A))


def cases(generator):
    return [drawn(generator, empty=False) for _ in range(3)]


def empty_cases(generator):
    return [drawn(generator, empty=True) for _ in range(2)]


exercise.compare("values", cases, points=4)
exercise.compare("rows without a token", empty_cases, points=1)
exercise.gradient("gradient", cases, wrt=(0, 1, 3, 4, 5), points=1)
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
