"""Attention of one's own with rotary positions, equal to the library's layer and rotation."""
from __future__ import annotations

import math

import torch
from torch import Tensor

from course_lib.exercises.building import judged
from course_lib.exercises.draws import integer, normal, uneven
from course_lib.exercises.self_attention.own_multi_head_attention import parameters
from course_lib.grading.checks import Fault
from course_lib.grading.exercise import Exercise
from course_lib.transformer.attention import MultiHeadAttention, attention
from course_lib.transformer.positions import rotary, sinusoidal

exercise = Exercise(
    "OwnRotaryAttention", chapter="14", place=5, title="Rotary attention of your own",
    contract="A class OwnRotaryAttention(nn.Module), made with d_model and heads, K = d_model / heads even. Its parameters are "
             "those of the linear layers qkv, from d_model to 3 d_model (W^Q of all heads, then W^K, then W^V), and out. "
             "forward(x, positions=None, mask=None): self-attention of x (B, T, D); positions (T,) are whole numbers, 0 to T - 1 "
             "where it is None; mask is boolean, (T, T), True where a query may attend, at least to one key. In each head, before "
             "the scores, the pair of features (2i, 2i + 1) of a query and of a key at position k is turned by the angle "
             "k / 10000^(2i / K): (a, b) becomes (a cos - b sin, a sin + b cos). Returns (B, T, D).",
    points=["sinusoid-offsets", "multi-head"], difficulty=4, minutes=45, kind="build", deadline=20.0)

MOST = 30                       # positions that are drawn: so few that angles in float32 will do


@exercise.class_reference(
    not_rotated="Your result is that of attention without positions: nothing is turned.",
    values_too="Your values are turned as well. Only queries and keys are: what is averaged has no position.",
    queries_only="Only your queries are turned. A key is turned by its own position too: then their product depends on the "
                 "difference.",
    keys_backwards="Your keys are turned the other way. Both turn the same way; their product then has the difference of the "
                   "angles.",
    of_x="You turn x, before the projections. Queries and keys are turned, after W^Q and W^K.",
    added="You add sines and cosines to x. Rotary positions add nothing: they turn queries and keys.",
    positions_ignored="Your result does not depend on positions: you turn by 0 to T - 1, whatever is given.",
    halves="You pair feature i with i + K/2, as some models do. The pairs are neighbours here: 2i and 2i + 1.",
    backwards="You turn by minus the angle. (a, b) becomes (a cos - b sin, a sin + b cos).",
    across_heads="Your frequencies run over the whole width D. Each head has its own K/2 pairs, with the same frequencies in every "
                 "head.",
    half_exponent="The exponent of your frequencies is half as large as it should be: pair i turns by k / 10000^(2i / K).",
    one_frequency="All your pairs turn at the same speed. Pair i turns by k / 10000^(2i / K).",
    no_scale="Your scores are not divided by the root of K. A rotation changes no length: the scale stays.",
    not_masked="Your result does not depend on mask.",
)
def own_rotary_attention(bugs):
    class OwnRotaryAttention(MultiHeadAttention):
        def forward(self, x, positions=None, mask=None):
            places = torch.arange(x.shape[1]) if positions is None or "positions_ignored" in bugs else positions
            if "added" in bugs:
                x = x + sinusoidal(places, x.shape[-1])
            if "of_x" in bugs:
                x = self.turned(x[:, None], places)[:, 0]
            B, T, D = x.shape
            q, k, v = (one.reshape(B, T, self.heads, -1).transpose(1, 2) for one in self.qkv(x).chunk(3, dim=-1))
            if not bugs & {"added", "of_x"}:
                q = self.turned(q, places)
                if "queries_only" not in bugs:
                    k = self.turned(k, -places if "keys_backwards" in bugs else places)
                if "values_too" in bugs:
                    v = self.turned(v, places)
            if "no_scale" in bugs:
                q = q * math.sqrt(q.shape[-1])
            heads = attention(q, k, v, None if "not_masked" in bugs else mask)           # (B, H, T, K)
            return self.out(heads.transpose(1, 2).reshape(B, T, D))

        def turned(self, x: Tensor, places: Tensor) -> Tensor:
            """Each pair of x (B, H, T, K), turned by its angle."""
            (B, H, T, K), base = x.shape, 10000.0
            if "not_rotated" in bugs:
                return x
            if "backwards" in bugs:
                places = -places
            if "across_heads" in bugs:
                whole = rotary(x.transpose(1, 2).reshape(B, T, H * K), places)
                return whole.reshape(B, T, H, K).transpose(1, 2)
            if "halves" in bugs:
                pairs = rotary(x.unflatten(-1, (2, -1)).mT.flatten(-2), places)
                return pairs.unflatten(-1, (-1, 2)).mT.flatten(-2)
            return rotary(x, places, 1.0 if "one_frequency" in bugs else math.sqrt(base) if "half_exponent" in bugs else base)

    return OwnRotaryAttention


def drawn(generator, H: int, K: int) -> tuple[dict, dict[str, Tensor], Tensor]:
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
    found = []
    for H, K in heads(generator):
        config, weights, x = drawn(generator, H, K)
        found.append(("forward", config, weights, x, torch.full(x.shape[1:2], integer(generator, 5, 20))))
    return found


def in_order(generator):
    return [("forward", *drawn(generator, H, K)) for H, K in heads(generator)]


def anywhere(generator):
    """At places that are given, and with a mask."""
    found = []
    for H, K in heads(generator):
        config, weights, x = drawn(generator, H, K)
        found.append(("forward", config, weights, x, places(generator, x.shape[1])))
    config, weights, x = drawn(generator, 2, 4)
    return [*found, ("forward", config, weights, x, None, torch.ones(x.shape[1], x.shape[1], dtype=torch.bool).tril())]


exercise.compare("at one place, attention without positions", all_at_one, points=2)


@judged(exercise, "shifted, the same", 2, among=())
def shifted(run, generator):
    for H, K in heads(generator):
        config, weights, x = drawn(generator, H, K)
        at = places(generator, x.shape[1])
        by = integer(generator, 5, 25)
        one, other = (run("forward", config, weights, x, where) for where in (at, at + by))
        gap = float((one - other).detach().abs().max())
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
