"""Chapter 13: attention with a mask, the causal mask of queries that go on, attention to another sequence."""
from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from course_lib.grading.bank.draws import integer, normal, uneven
from course_lib.grading.checks import Gradient, Record
from course_lib.grading.exercise import Exercise
from course_lib.grading.outcome import Outcome, same

KERNEL = ("F.scaled_dot_product_attention",)


def mixed_mask(generator: torch.Generator, *shape: int) -> Tensor:
    """Booleans (..., n, m); every row holds both kinds, every column a True."""
    if len(shape) > 2:
        return torch.stack([mixed_mask(generator, *shape[1:]) for _ in range(shape[0])])
    while True:
        mask = torch.rand(shape, generator=generator) < 0.6
        if mask.any(1).all() and not mask.all(1).any() and mask.any(0).all():
            return mask


# Scaled dot-product attention

attention = Exercise(
    "attention", chapter="13", title="Attention",
    contract="q (..., n, d), k (..., m, d), v (..., m, e); mask, boolean (..., n, m) or None, is True where a query "
             "may attend. Return softmax(q k' / sqrt(d)) v over the keys that are allowed, (..., n, e). A query that "
             "may attend nowhere gets zeros.",
    points=["qkv", "scaled-dot-product", "pytorch-attention"], difficulty=2, minutes=20, forbid=KERNEL)


@attention.reference(
    no_scale="Your scores are not divided by sqrt(d): they grow with the width, and the softmax becomes a hard choice.",
    by_width="Your scores are divided by d. Their standard deviation is sqrt(d), so that is the scale.",
    by_keys="Your scale is taken from the number of keys. It belongs to the width, the last size of q.",
    over_queries="Your weights sum to one over the queries. Each query shares out its own attention: the softmax "
                 "runs over the keys, the last axis.",
    masked_after="Your weights are masked after the softmax: what was hidden still took part in the sum below the "
                 "fraction. Mask the scores.",
    to_zero="What is hidden has the score 0 in your result, and exp(0) is 1: it still gets a weight. The score has "
            "to be minus infinity.",
    opposite="You hide what may be attended to. In this mask True means allowed.",
    not_masked="Your result does not depend on the mask.",
    averaged="A query that may attend nowhere gets the mean of the values: with the same large negative score "
             "everywhere the softmax is uniform. Zeros are asked for.",
    nan_row="A query that may attend nowhere gets NaN, from a softmax over nothing. Zeros are asked for.",
    nan_gradient="A query that may attend nowhere gets zeros, and its gradient is NaN: the softmax over nothing is still on "
                 "the way back. Fill its weights with 0 before they meet the values.",
    not_softmax="Your weights are not positive: the scores themselves multiply the values. Put them through the "
                "softmax.",
)
def attention_reference(q, k, v, mask=None, bugs=frozenset()):
    d, m = q.shape[-1], k.shape[-2]
    scale = 1 if "no_scale" in bugs else d if "by_width" in bugs else math.sqrt(m if "by_keys" in bugs else d)
    scores = q @ k.transpose(-2, -1) / scale                                   # (..., n, m)
    axis = -2 if "over_queries" in bugs else -1
    if mask is None or "not_masked" in bugs:
        return (scores if "not_softmax" in bugs else scores.softmax(axis)) @ v
    if "opposite" in bugs:
        mask = ~mask
    if "not_softmax" in bugs:
        return scores.masked_fill(~mask, 0) @ v
    if "masked_after" in bugs:
        return (scores.softmax(axis) * mask) @ v
    hidden = 0 if "to_zero" in bugs else -1e9 if "averaged" in bugs else -math.inf
    weights = scores.masked_fill(~mask, hidden).softmax(axis)
    if "nan_gradient" in bugs:
        return (weights @ v).masked_fill(~mask.any(-1, keepdim=True), 0)
    if not bugs & {"to_zero", "averaged", "nan_row"}:
        weights = weights.masked_fill(~mask, 0)                                # a row of NaN becomes zeros
    return weights @ v


def attention_cases(generator):
    n, m, d, e = uneven(generator, (3, 6), (4, 8), (5, 9), (2, 7))
    B, H = uneven(generator, (2, 3), (2, 3))
    one = [normal(generator, *s, scale=1.5) for s in ((n, d), (m, d), (m, e))]
    many = [normal(generator, B, H, *s, scale=1.5) for s in ((n, d), (m, d), (m, e))]
    return [(*one,), (*many, mixed_mask(generator, B, H, n, m)), (*one, mixed_mask(generator, n, m)), (*many, None)]


def nowhere_cases(generator):
    n, m, d, e = uneven(generator, (3, 5), (4, 7), (5, 8), (2, 6))
    q, k, v = (normal(generator, 3, *s) for s in ((n, d), (m, d), (m, e)))
    mask = mixed_mask(generator, 3, n, m)
    mask[0, 1] = mask[2] = False                                               # one query, and a whole sequence
    return [(q, k, v, mask)]


def gradient_cases(generator):
    return attention_cases(generator) + nowhere_cases(generator)


@dataclass
class GradientAndValues(Gradient):
    """As Gradient; a misconception explains it only if its values, too, are the learner's: NaN or zeros."""

    def alike(self, record: Record, outcome: Outcome) -> bool:
        return super().alike(record, outcome) and same(record.outcome.value, outcome.value, self.rtol, self.atol)


attention.compare("values", attention_cases, points=4)
attention.compare("a query that may attend nowhere", nowhere_cases, points=1)
attention.checks.append(GradientAndValues("gradient", 1, gradient_cases, wrt=(0, 1, 2)))
attention.unchanged(attention_cases)
attention.hint(
    "The product of q and k fails on a batch.",
    "k.T reverses all axes. k.transpose(-2, -1) exchanges the last two only, whatever stands before them.")
attention.hint(
    "Everything is right until there is a mask.",
    "Set the scores to minus infinity where mask is False, before the softmax: scores.masked_fill(~mask, -torch.inf). "
    "exp(-inf) is 0, in the numerator and in the sum.")
attention.hint(
    "There are NaN in the result.",
    "A row in which everything is hidden has the sum 0, and 0 / 0 is NaN. Fill the weights with 0 where mask is False, "
    "after the softmax: masked_fill removes the NaN, a product with the mask does not.")

# The causal mask

causal_mask = Exercise(
    "causal_mask", chapter="13", title="The causal mask",
    contract="The n queries are the last n of m positions; m is n if it is None. Return booleans (n, m), True where a "
             "query may attend: to its own position and to all before it.",
    points=["causal-mask"], difficulty=2, minutes=10)


@causal_mask.reference(
    strict="No position may attend to itself in your mask. It predicts the next token, so its own is known.",
    one_too_far="Each position may attend to the one after it in your mask: that is the token it is to predict.",
    upper="Your positions see what comes after them, and not what comes before.",
    hidden="Your mask is True where a position must not look. True means that it may attend.",
    first_queries="Your queries are the first n positions. They are the last n: the first of them sees m - n positions "
                  "before itself.",
    square="Your mask has n columns. There are m positions to attend to.",
    additive="You return the matrix that is added to the scores, 0 and minus infinity. Booleans are asked for.",
    everything="All earlier positions are visible in every row, and the new ones to each other too: later queries are "
               "not hidden from earlier ones.",
)
def causal_mask_reference(n, m=None, bugs=frozenset()):
    m = n if m is None or "square" in bugs else m
    position = torch.arange(n)[:, None] + (0 if "first_queries" in bugs else m - n)          # of each query
    key = torch.arange(m)
    mask = key <= position                                                     # (n, m)
    if "strict" in bugs:
        mask = key < position
    if "one_too_far" in bugs:
        mask = key <= position + 1
    if "upper" in bugs:
        mask = key >= position
    if "everything" in bugs:
        mask = torch.ones_like(mask)
    if "additive" in bugs:
        return torch.zeros(n, m).masked_fill(~mask, -torch.inf)
    return ~mask if "hidden" in bugs else mask


def mask_cases(generator):
    n, m = uneven(generator, (2, 5), (6, 9))
    return [(n, m), (n,), (m, None), (1, m), (m - 1, m), (1,)]


causal_mask.compare("values", mask_cases, points=4)
causal_mask.hint(
    "You do not know where the diagonal goes.",
    "Query i stands at position m - n + i. It may see key j if j <= m - n + i. Write that comparison down for all i "
    "and j: torch.arange(m) <= torch.arange(n)[:, None] + m - n.")
causal_mask.hint(
    "It is right for n = m only.",
    "With a cache of earlier tokens, n new queries meet m keys. The last query sees all m, so the last row is all "
    "True. For n = 1 nothing is hidden.")
causal_mask.hint(
    "The type is wrong.",
    "A comparison gives booleans; torch.ones(...).tril(...) gives numbers, until .bool().")

# Attention to another sequence

cross_attention = Exercise(
    "cross_attention", chapter="13", title="Cross-attention",
    contract="dec (B, n, D) asks, enc (B, m, D) is asked; projections are y = x @ W with Wq, Wk, Wv (D, D). src_mask, "
             "boolean (B, m), is True for real tokens of enc; no query attends to the others. One head, scale "
             "1 / sqrt(D). Return (B, n, D).",
    points=["cross-attention"], difficulty=3, minutes=20, forbid=KERNEL)


@cross_attention.reference(
    no_scale="Your scores are not divided by sqrt(D).",
    roles_exchanged="Your queries come from enc, keys and values from dec. It is the decoder that asks: one result for "
                    "each of its positions.",
    weights_transposed="Your projections are x @ W.T. Here they are x @ W; nn.Linear stores its weight the other way "
                       "round.",
    values_not_projected="Your result is a mean of the rows of enc. It should be a mean of the values, enc @ Wv.",
    keys_and_values_exchanged="Wk makes your values and Wv your keys. It is the other way round.",
    query_not_projected="Your queries are the rows of dec. Project them with Wq.",
    not_masked="Your result depends on the padded rows of enc. No query may attend to them.",
    opposite="You attend to the padding and hide the real tokens. True in src_mask is a real token.",
    masked_after="Padded tokens still take their share of the sum in your result; only what they would have given is "
                 "removed, and the other weights do not sum to one. Mask the scores, before the softmax.",
    rows_zeroed="You set the padded rows of enc to zero. Their scores are 0 then, and exp(0) is 1: they still take a share "
                "of the weight. Mask the scores.",
    over_queries="Your weights sum to one over the decoder's positions. Each query shares its attention over the keys.",
)
def cross_attention_reference(dec, enc, Wq, Wk, Wv, src_mask, bugs=frozenset()):
    if "weights_transposed" in bugs:
        Wq, Wk, Wv = Wq.mT, Wk.mT, Wv.mT
    if "keys_and_values_exchanged" in bugs:
        Wk, Wv = Wv, Wk
    if "rows_zeroed" in bugs:
        enc = enc * src_mask[..., None]
    if "roles_exchanged" in bugs:                                              # then nothing is padding
        scores = (enc @ Wq) @ (dec @ Wk).mT / math.sqrt(dec.shape[-1])
        return scores.softmax(-1) @ (dec @ Wv)
    q = dec if "query_not_projected" in bugs else dec @ Wq                     # (B, n, D)
    k, v = enc @ Wk, enc if "values_not_projected" in bugs else enc @ Wv       # (B, m, D)
    scores = q @ k.mT                                                          # (B, n, m)
    if "no_scale" not in bugs:
        scores = scores / math.sqrt(q.shape[-1])
    mask = src_mask[:, None, :]                                                # (B, 1, m)
    if "opposite" in bugs:
        mask = ~mask
    if "masked_after" in bugs:
        return (scores.softmax(-1) * mask) @ v
    if "over_queries" in bugs:
        return scores.masked_fill(~mask, -1e9).softmax(-2) @ v
    if bugs & {"not_masked", "rows_zeroed"}:
        return scores.softmax(-1) @ v
    return scores.masked_fill(~mask, -math.inf).softmax(-1).nan_to_num() @ v


def cross_cases(generator):
    found = []
    for n, m in (uneven(generator, (2, 4), (5, 8)), uneven(generator, (6, 8), (3, 5)), (1, integer(generator, 3, 6))):
        B, D = uneven(generator, (2, 4), (5, 9))
        real = torch.zeros(B, m, dtype=torch.bool)
        while not (real.any(1).all() and not real.all(1).any()):               # something real and something padded
            real = torch.rand(B, m, generator=generator) < 0.6
        real[0] = torch.arange(m) < 2
        Ws = [normal(generator, D, D, scale=1.5 / math.sqrt(D)) for _ in range(3)]
        found.append((normal(generator, B, n, D), normal(generator, B, m, D), *Ws, real))
    return found


cross_attention.compare("values", cross_cases, points=4)
cross_attention.gradient("gradient", cross_cases, wrt=(0, 1, 2, 3, 4), points=1)
cross_attention.unchanged(cross_cases)
cross_attention.hint(
    "You do not know which sequence gives what.",
    "Who asks makes the queries: the decoder. What can be looked up makes keys and values: the encoder's output. The "
    "result has one row for each query.")
cross_attention.hint(
    "The mask does not fit the scores.",
    "The scores are (B, n, m), src_mask is (B, m). src_mask[:, None, :] has an axis of length 1 for the queries, and "
    "torch repeats it.")
cross_attention.hint(
    "Changing a padded row of enc changes your result.",
    "Its score must be minus infinity before the softmax. A weight set to 0 afterwards leaves the sum wrong.")

EXERCISES = [attention, causal_mask, cross_attention]
