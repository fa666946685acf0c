"""Attention to another sequence."""
from __future__ import annotations

import math

import torch

from course_lib.exercises.draws import integer, normal, uneven
from course_lib.exercises.self_attention._shared import KERNEL
from course_lib.grading.exercise.exercise import Exercise

exercise = Exercise(
    "cross_attention", chapter="13", place=3, title="Cross-attention",
    contract="dec (B, n, D) asks, enc (B, m, D) is asked; projections are y = x @ W with Wq, Wk, Wv (D, D). src_mask, "
             "boolean (B, m), is True for real tokens of enc; no query attends to the others. One head, scale "
             "1 / sqrt(D). Return (B, n, D).",
    points=["cross-attention"], difficulty=3, minutes=15, forbid=KERNEL)


@exercise.reference(
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


exercise.compare("values", cross_cases, points=4)
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
