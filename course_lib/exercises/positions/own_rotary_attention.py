"""Attention of one's own with rotary positions, equal to the library's layer and rotation."""
from __future__ import annotations

import torch
from torch import Tensor, nn

from course_lib.exercises.building import judged
from course_lib.exercises.draws import integer, normal, uneven
from course_lib.exercises.self_attention.own_multi_head_attention import parameters
from course_lib.grading.checks import Fault
from course_lib.grading.exercise import Exercise
from course_lib.transformer.attention import attention

exercise = Exercise(
    "OwnRotaryAttention", chapter="positions", place=5, title="Rotary attention of your own",
    contract="A class OwnRotaryAttention(nn.Module), made with d_model and heads, K = d_model / heads even. Its parameters are "
             "those of the linear layers qkv, from d_model to 3 d_model (W^Q of all heads, then W^K, then W^V), and out. "
             "forward(x, positions=None, mask=None): self-attention of x (B, T, D); positions (T,) are whole numbers, 0 to T - 1 "
             "where it is None; mask is boolean, (T, T), True where a query may attend, at least to one key. In each head, before "
             "the scores, the pair of features (2i, 2i + 1) of a query and of a key at position k is turned by the angle "
             "k / 10000^(2i / K): (a, b) becomes (a cos - b sin, a sin + b cos). Returns (B, T, D).",
    points=["sinusoid-offsets", "multi-head"], difficulty=4, minutes=45, kind="build", deadline=20.0)

MOST = 30                       # positions that are drawn: so few that angles in float32 will do


@exercise.step
def frequencies(K):
    """Of the K/2 pairs of a head."""
    return 10000.0 ** (-torch.arange(0, K, 2, dtype=torch.float64) / K)


@exercise.step
def rotated(x, positions):
    """Each pair of features (2i, 2i + 1) of x (B, H, T, K), rotated by its angle."""
    angle = (positions[:, None] * frequencies(x.shape[-1])).to(x)              # (T, K/2)
    a, b = x[..., 0::2], x[..., 1::2]
    return torch.stack([a * angle.cos() - b * angle.sin(), a * angle.sin() + b * angle.cos()], dim=-1).flatten(-2)


@exercise.step
def with_positions(q, k, v, positions):
    return rotated(q, positions), rotated(k, positions), v


@exercise.class_reference()
class OwnRotaryAttention(nn.Module):
    """Self-attention whose queries and keys are rotated by their positions."""

    def __init__(self, d_model, heads):
        super().__init__()
        self.heads = heads
        self.qkv, self.out = nn.Linear(d_model, 3 * d_model), nn.Linear(d_model, d_model)

    def forward(self, x, positions=None, mask=None):
        q, k, v = (part.unflatten(-1, (self.heads, -1)).transpose(1, 2) for part in self.qkv(x).chunk(3, dim=-1))    # (B, H, T, K)
        q, k, v = with_positions(q, k, v, torch.arange(x.shape[1]) if positions is None else positions)
        return self.out(attention(q, k, v, mask).transpose(1, 2).flatten(2))


@exercise.misconception(with_positions, "Your result is that of attention without positions: nothing is rotated.")
def not_rotated(q, k, v, positions):
    return q, k, v


@exercise.misconception(
    with_positions,
    "Your values are rotated as well. Only queries and keys are: the values that are averaged have no position.")
def values_too(q, k, v, positions):
    return rotated(q, positions), rotated(k, positions), rotated(v, positions)


@exercise.misconception(
    with_positions,
    "Only your queries are rotated. A key is rotated by its own position too: then their product depends on the difference.")
def queries_only(q, k, v, positions):
    return rotated(q, positions), k, v


@exercise.misconception(
    rotated,
    "You pair feature i with i + K/2, as some models do. The pairs are neighbors here: 2i and 2i + 1.")
def halves(x, positions):
    neighbors = x.unflatten(-1, (2, -1)).mT.flatten(-2)
    return rotated.original(neighbors, positions).unflatten(-1, (-1, 2)).mT.flatten(-2)


@exercise.misconception(rotated, "You rotate by minus the angle. (a, b) becomes (a cos - b sin, a sin + b cos).")
def backwards(x, positions):
    return rotated.original(x, -positions)


@exercise.misconception(
    rotated,
    "Your frequencies run over the whole width D. Each head has its own K/2 pairs, with the same frequencies in every head.")
def across_heads(x, positions):
    B, H, T, K = x.shape
    return rotated.original(x.transpose(1, 2).reshape(B, 1, T, H * K), positions).reshape(B, T, H, K).transpose(1, 2)


@exercise.misconception(
    frequencies,
    "The exponent of your frequencies is half as large as it should be: pair i turns by k / 10000^(2i / K).")
def half_exponent(K):
    return frequencies.original(K) ** 0.5


def small_model(generator, H: int, K: int) -> tuple[dict, dict[str, Tensor], Tensor]:
    """Config, parameters and x (B, T, D)."""
    B, T = uneven(generator, (2, 3), (4, 7))
    return {"d_model": H * K, "heads": H}, parameters(generator, H * K), normal(generator, B, T, H * K)


def heads(generator) -> list[tuple[int, int]]:
    """How many of which width: several, and one."""
    return [(integer(generator, 2, 3), 4), (2, 6), (1, 8)]


def places(generator, T: int) -> Tensor:
    """T positions, some left out, in no order."""
    return torch.randperm(MOST, generator=generator)[:T]


def all_at_one(generator):
    """All at one place, where a rotation changes no score."""
    cases = []
    for H, K in heads(generator):
        config, weights, x = small_model(generator, H, K)
        cases.append(("forward", config, weights, x, torch.full(x.shape[1:2], integer(generator, 5, 20))))
    return cases


def in_order(generator):
    """Uneven sizes; a batch of one, of as many positions as heads and features."""
    cases = [("forward", *small_model(generator, H, K)) for H, K in heads(generator)]
    return [*cases, ("forward", *small_model(generator, 2, 2)[:2], normal(generator, 1, 2, 4))]


def anywhere(generator):
    """At places that are given, and with a mask."""
    cases = []
    for H, K in heads(generator):
        config, weights, x = small_model(generator, H, K)
        cases.append(("forward", config, weights, x, places(generator, x.shape[1])))
    config, weights, x = small_model(generator, 2, 4)
    return [*cases, ("forward", config, weights, x, None, torch.ones(x.shape[1], x.shape[1], dtype=torch.bool).tril())]


exercise.compare("at one place, attention without positions", all_at_one, points=2)


@judged(exercise, "shifted, the same", 2, among=())
def shifted(run, generator):
    for H, K in heads(generator):
        config, weights, x = small_model(generator, H, K)
        at = places(generator, x.shape[1])
        by = integer(generator, 5, 25)
        result, shifted_result = (run("forward", config, weights, x, where) for where in (at, at + by))
        gap = float((result - shifted_result).detach().abs().max())
        if not gap < 1e-3:
            return Fault(f"All positions moved by {by} change your result by up to {gap:.2g}. Only the differences between "
                         "positions may matter: is every query and every key turned by its own?")
    return None


exercise.compare("positions in order", in_order, points=3)
exercise.compare("positions that are given, and a mask", anywhere, points=3)
exercise.slopes("gradient", lambda generator: anywhere(generator)[1:], points=2)
exercise.hint(
    "You do not know where to begin.",
    "Start from multi-head attention: qkv, chunk(3, dim=-1), into heads (B, H, T, K), and back through out. Write a function that "
    "turns a tensor (B, H, T, K) by positions (T,), and call it on the queries and on the keys, before the scores.")
exercise.hint(
    "How to turn all pairs at once.",
    "The angles are (T, K/2): positions[:, None] * 10000 ** (-torch.arange(0, K, 2) / K). With a = x[..., 0::2] and "
    "b = x[..., 1::2], both (B, H, T, K/2), the new pair is (a cos - b sin, a sin + b cos).")
exercise.hint(
    "The shift is right and the values are not.",
    "Other rotations keep the shift as well. Which features make a pair? 2i and 2i + 1, neighbours. How fast does pair i turn? "
    "The exponent is 2i / K with the width K of a head, not D. And which way? The first of a pair gets -b sin.")
exercise.hint(
    "With all tokens at one place the result is wrong.",
    "There every query and key is turned by the same angle, so that no score changes. If yours change, something else is "
    "turned as well (x, the values) or only one of the two is.")
