"""Attention to another sequence."""
from __future__ import annotations

import math

import torch
from torch import Tensor

from course_lib.exercises.draws import integer, normal, uneven
from course_lib.exercises.self_attention._shared import KERNEL
from course_lib.grading.checks import Compare
from course_lib.grading.exercise import Exercise

OPPOSITE = "You attend to the padding and hide the real tokens. True in src_mask is a real token."
OVER_QUERIES = ("Your weights sum to one over the queries, the positions of dec. The weights of each query sum to one "
                "over the keys: softmax(dim=-1).")

exercise = Exercise(
    "cross_attention", chapter="self-attention", place=3, title="Cross-attention",
    contract="dec (B, n, D) asks, enc (B, m, D) is asked; projections are y = x @ W with Wq, Wk, Wv (D, D). src_mask, "
             "boolean (B, m), is True for real tokens of enc; no query attends to the others. One head, scale "
             "1 / sqrt(D). Return (B, n, D).",
    points=["cross-attention"], difficulty=3, minutes=15, forbid=KERNEL)


@exercise.step
def queries(dec, Wq):
    return dec @ Wq                                                            # (B, n, D)


@exercise.step
def keys_and_values(enc, Wk, Wv):
    return enc @ Wk, enc @ Wv                                                  # (B, m, D)


@exercise.step
def scaled_scores(q, k):
    return q @ k.mT / math.sqrt(q.shape[-1])                                   # (B, n, m)


@exercise.step
def weights(scores, mask):
    return scores.masked_fill(~mask, -math.inf).softmax(-1).nan_to_num()


@exercise.reference()
@exercise.step
def cross_attention_reference(dec, enc, Wq, Wk, Wv, src_mask):
    k, v = keys_and_values(enc, Wk, Wv)
    return weights(scaled_scores(queries(dec, Wq), k), src_mask[:, None, :]) @ v


@exercise.misconception(scaled_scores, "Your scores are not divided by sqrt(D).")
def no_scale(q, k):
    return q @ k.mT


@exercise.misconception(
    cross_attention_reference,
    "Your queries come from enc, keys and values from dec. It is the decoder that asks: one result for each of its "
    "positions.")
def roles_exchanged(dec, enc, Wq, Wk, Wv, src_mask):
    return scaled_scores(enc @ Wq, dec @ Wk).softmax(-1) @ (dec @ Wv)          # then nothing is padding


@exercise.misconception(
    cross_attention_reference,
    "Your projections are x @ W.T. Here they are x @ W; nn.Linear stores its weight the other way round.")
def weights_transposed(dec, enc, Wq, Wk, Wv, src_mask):
    return cross_attention_reference.original(dec, enc, Wq.mT, Wk.mT, Wv.mT, src_mask)


@exercise.misconception(keys_and_values, "Wk makes your values and Wv your keys. It is the other way round.")
def keys_and_values_exchanged(enc, Wk, Wv):
    return enc @ Wv, enc @ Wk


@exercise.misconception(weights, "Your result depends on the padded rows of enc. No query may attend to them.")
def not_masked(scores, mask):
    return scores.softmax(-1)


@exercise.misconception(weights, OPPOSITE)
def opposite(scores, mask):
    return weights.original(scores, ~mask)


@exercise.misconception(weights, OPPOSITE)
def opposite_nan(scores, mask):
    return scores.masked_fill(mask, -math.inf).softmax(-1)


@exercise.misconception(weights, OPPOSITE)
def opposite_finite(scores, mask):
    return scores.masked_fill(mask, -1e9).softmax(-1)


@exercise.misconception(
    weights,
    "Padded tokens still take their share of the sum in your result; only what they would have given is removed, "
    "and the other weights do not sum to one. Mask the scores, before the softmax.")
def masked_after(scores, mask):
    return scores.softmax(-1) * mask


@exercise.misconception(weights, OVER_QUERIES)
def over_queries(scores, mask):
    return scores.masked_fill(~mask, -1e9).softmax(-2)


@exercise.misconception(weights, OVER_QUERIES)
def over_queries_then_masked(scores, mask):
    return scores.softmax(-2) * mask


def cross_cases(generator):
    """Both lengths unequal, and padding; both equal; one sentence without padding; a source of one token."""
    found = []
    for n, m in (uneven(generator, (2, 4), (5, 8)), uneven(generator, (6, 8), (3, 5)), (1, integer(generator, 3, 6))):
        B, D = uneven(generator, (2, 4), (5, 9))
        real = torch.zeros(B, m, dtype=torch.bool)
        while not (real.any(1).all() and not real.all(1).any()):               # something real and something padded
            real = torch.rand(B, m, generator=generator) < 0.6
        real[0] = torch.arange(m) < 2
        found.append(cross_case(generator, n, D, real))
    n, m, D = uneven(generator, (3, 5), (3, 5), (6, 9))
    for real in torch.arange(n) < torch.tensor([[2], [n]]), torch.ones(1, m, dtype=torch.bool), torch.ones(2, 1, dtype=torch.bool):
        found.append(cross_case(generator, n, D, real))
    return found


def small_cross_cases(generator):
    """For showing: two sentences, of which one is padded; one sentence, as long as what it attends to."""
    n, m, D = uneven(generator, (2, 3), (3, 4), (4, 5))
    cases = [cross_case(generator, n, D, torch.arange(m) < torch.tensor([[m - 1], [m]])),
             cross_case(generator, m, D, torch.arange(m)[None] < m - 1)]
    return cases + cross_cases(generator)


def cross_case(generator, n: int, D: int, real: Tensor) -> tuple:
    B, m = real.shape
    Ws = [normal(generator, D, D, scale=1.5 / math.sqrt(D)) for _ in range(3)]
    return normal(generator, B, n, D), normal(generator, B, m, D), *Ws, real


exercise.checks.append(Compare("values", 4, cross_cases, shown=small_cross_cases))
exercise.gradient("gradient", cross_cases, wrt=(0, 1, 2, 3, 4), points=1)
exercise.unchanged(cross_cases)
exercise.hint(
    "Which sequence gives what.",
    "Who asks makes the queries: the decoder. What can be looked up makes keys and values: the encoder's output. The "
    "result has one row for each query.")
exercise.hint(
    "The mask does not fit the scores.",
    "The scores are (B, n, m), src_mask is (B, m). src_mask[:, None, :] has an axis of length 1 for the queries, and "
    "torch repeats it.")
exercise.hint(
    "Changing a padded row of enc changes your result.",
    "Its score must be minus infinity before the softmax. A weight set to 0 afterwards leaves the sum wrong.")
