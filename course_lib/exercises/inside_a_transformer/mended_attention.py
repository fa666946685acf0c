"""An attention layer like the slide's, with three faults in view: by contract, by entropy, by value."""
from __future__ import annotations

import math

import torch
from torch import Tensor, nn

from course_lib.exercises.building import judged
from course_lib.exercises.draws import integer, normal, uneven
from course_lib.grading.checks import Fault
from course_lib.grading.exercise import Exercise
from course_lib.transformer.attention import attention_weights

exercise = Exercise(
    "MendedAttention", chapter="inside-a-transformer", place=2, title="Three faults in an attention layer",
    contract="The class as it stands above the cell, MendedAttention(d) with the linear layers Q, K and V, has three faults. Mend "
             "them. weights(x, mask) returns (B, T, T), row i how query i shares its attention: rows sum to 1, and are 0 where "
             "mask (T, T) is False. forward(x, mask) returns (B, T, d). A query may always attend somewhere.",
    points=["qkv", "scaled-dot-product", "pytorch-attention"], difficulty=3, minutes=30, kind="repair", deadline=20.0,
    forbid=("F.scaled_dot_product_attention", "F.multi_head_attention_forward"))

LEFT = ("over_queries", "masked_late", "unscaled")                   # the three that stand in the code


@exercise.step
def scaled_scores(q, k):
    return q @ k.mT / math.sqrt(q.shape[-1])


@exercise.step
def softmax(scores, mask):
    if mask is not None:
        scores = scores.masked_fill(~mask, -math.inf)
    return scores.softmax(-1)


@exercise.class_reference()
class MendedAttention(nn.Module):
    """softmax(Q(x) K(x)' / sqrt(d)) V(x)."""

    def __init__(self, d):
        super().__init__()
        self.Q, self.K, self.V = nn.Linear(d, d), nn.Linear(d, d), nn.Linear(d, d)

    def weights(self, x, mask=None):
        return softmax(scaled_scores(self.Q(x), self.K(x)), mask)

    def forward(self, x, mask=None):
        return self.weights(x, mask) @ self.V(x)


@exercise.misconception(
    softmax,
    "Your softmax runs over the queries: the columns sum to 1, and the rows do not. Each query distributes its attention over "
    "the keys, the last axis.")
def over_queries(scores, mask):
    return (scores if mask is None else scores.masked_fill(~mask, -math.inf)).softmax(-2)


@exercise.misconception(
    softmax,
    "You set weights to 0 after the softmax, so the other weights of a row sum to less than 1, because the masked keys still "
    "contribute to the normalization. Set the scores to minus infinity before it.")
def masked_late(scores, mask):
    return scores.softmax(-1) if mask is None else scores.softmax(-1) * mask


@exercise.misconception(
    softmax,
    "A masked score is set to 0, and e^0 is 1: a masked key still gets attention weight. Set it to minus infinity.")
def zero_scores(scores, mask):
    return (scores if mask is None else scores.masked_fill(~mask, 0)).softmax(-1)


@exercise.misconception(softmax, "Your mask is inverted: True is where a query may attend.")
def mask_turned(scores, mask):
    return softmax.original(scores, None if mask is None else ~mask | torch.eye(len(mask), dtype=torch.bool))


@exercise.misconception(
    scaled_scores,
    "Your scores are not divided by sqrt(d). At d = 64 their standard deviation is 8 instead of 1, nearly all attention weight "
    "is on one key, and little gradient passes.")
def unscaled(q, k):
    return q @ k.mT


@exercise.misconception(
    scaled_scores,
    "Your scores are divided by d. It is the square root of d that brings their variance back to 1.")
def divided_by_d(q, k):
    return q @ k.mT / q.shape[-1]


@exercise.misconception(
    scaled_scores,
    "Your scores are divided by the square root of T, the number of tokens. Their variance grows with the width: divide by sqrt(d).")
def divided_by_length(q, k):
    return q @ k.mT / math.sqrt(q.shape[-2])


def layer(generator, d: int, scale: float = 1.0) -> dict[str, Tensor]:
    parameters = {}
    for name in "QKV":
        parameters |= {f"{name}.weight": normal(generator, d, d, scale=scale / math.sqrt(d)),
                  f"{name}.bias": normal(generator, d, scale=0.3)}
    return parameters


def drawn_mask(generator, T: int) -> Tensor:
    """(T, T): about half may be attended to, oneself always."""
    return (torch.rand(T, T, generator=generator) < 0.5) | torch.eye(T, dtype=torch.bool)


def case(generator, d: int, B: int, T: int):
    return {"d": d}, layer(generator, d, scale=2.0), normal(generator, B, T, d), drawn_mask(generator, T)


@judged(exercise, "rows of weights are shares", 2, ("over_queries", "masked_late", "zero_scores", "mask_turned"))
def rows_sum_to_one(run, generator):
    d, B, T = uneven(generator, (4, 8), (2, 3), (5, 7))
    config, weights, x, mask = case(generator, d, B, T)
    for given in (None, mask):
        rows = run("weights", config, weights, x, given)
        if not isinstance(rows, Tensor) or rows.shape != (B, T, T):
            return Fault(f"weights returns {tuple(rows.shape) if isinstance(rows, Tensor) else type(rows).__name__}; "
                         f"expected a tensor of shape {(B, T, T)}.", None, "wrong_shape")
        off = (rows.sum(-1) - 1).abs().max()
        if not off <= 1e-4:
            return Fault(f"{'With a mask the' if given is not None else 'The'} rows of your weights do not sum to 1: one is off "
                         f"by {off:.4f}." + " The columns do: your softmax runs over the queries." * bool((rows.sum(-2) - 1).abs().max() <= 1e-4))
        if rows.min() < 0:
            return Fault("Some of your weights are negative.")
        if given is not None and rows[:, ~mask].abs().max() > 1e-6:
            return Fault(f"Keys that the mask rules out get {(rows * ~mask).sum(-1).mean():.4f} of each query's attention in the "
                         "mean; they should get none.")
    return None


@judged(exercise, "entropy of fresh weights", 2, ("unscaled", "divided_by_d", "divided_by_length"))
def entropy(run, generator):
    d, T = 64, 32
    weights, x = layer(generator, d), normal(generator, 4, T, d)
    rows = run("weights", {"d": d}, weights, x, None).double()
    right = attention_weights(*(x @ weights[f"{name}.weight"].T + weights[f"{name}.bias"] for name in "QK")).double()
    mine, expected = (-(p * p.clamp(min=1e-30).log()).sum(-1).mean() for p in (rows, right))
    if abs(mine - expected) < 0.05:
        return None
    sharp = "share too sharply: nearly one key each" if mine < expected else "share too evenly: nearly all keys alike"
    return Fault(f"With fresh weights, d = {d} and {T} keys your queries {sharp}: {mine:.2f} nats of entropy, where "
                 f"{expected:.2f} are right (ln {T} = {math.log(T):.2f} is perfectly even).")


def values(generator):
    cases = []
    for d, B, T in (uneven(generator, (3, 5), (1, 2), (4, 6)), uneven(generator, (6, 9), (2, 3), (4, 5)), [4, 1, 1], [4, 2, 4]):
        config, weights, x, mask = case(generator, d, B, T)
        cases += [("forward", config, weights, x, mask if integer(generator, 0, 3) else None), ("forward", config, weights, x, mask)]
    return cases


exercise.compare("values", values, points=3)
exercise.slopes("gradient", lambda generator: values(generator)[:3], points=1)
exercise.hint(
    "You do not know where to look first.",
    "Print layer.weights(x).sum(-1) and layer.weights(x).sum(-2) for a small x: which of the two is 1, and which should be?")
exercise.hint(
    "Rows sum to 1 without a mask, and not with one.",
    "What is masked must be out before the shares are given: e to the power of minus infinity is 0, and the softmax divides by "
    "what is left.")
exercise.hint(
    "The rows are shares, and the entropy is off.",
    "A product of d pairs of numbers of size 1 has a deviation of sqrt(d). Bring it back to 1 before the softmax.")
