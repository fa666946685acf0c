"""Multi-head attention of one's own, equal to the library's and to torch's."""
from __future__ import annotations

import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from course_lib.exercises.building import judged
from course_lib.exercises.draws import integer, normal, uneven
from course_lib.exercises.self_attention._shared import KERNEL
from course_lib.grading.checks import Fault
from course_lib.grading.exercise import Exercise

exercise = Exercise(
    "OwnMultiHeadAttention", chapter="self-attention", place=6, title="Multi-head attention of your own",
    contract="A class OwnMultiHeadAttention(nn.Module), made with d_model and heads, which divides d_model. Its parameters are "
             "those of two linear layers: qkv, from d_model to 3 d_model, W^Q, W^K and W^V of all heads one below the other, "
             "and out, W^O. forward(x, memory=None, mask=None): queries from x (B, T, D), keys and values from memory "
             "(B, S, D), or from x where it is None; head h owns the features h K to (h + 1) K - 1. mask is boolean, (T, S) or "
             "(B, T, S), True where a query may attend, the same for all heads; a query that may attend nowhere gets zeros "
             "before W^O. Returns (B, T, D). The library's class and torch's nn.MultiheadAttention judge it.",
    points=["multi-head", "cross-attention", "causal-mask"], difficulty=3, minutes=45, kind="build", deadline=20.0,
    forbid=(*KERNEL, "torch.nn.MultiheadAttention"))


@exercise.step
def thirds(parameter, H):
    """The rows of W^Q, W^K and W^V in those of qkv."""
    return parameter.chunk(3)


@exercise.step
def split(x, H):
    """(B, T, D) to (B, H, T, K)."""
    return x.unflatten(-1, (H, -1)).transpose(1, 2)


@exercise.step
def merge(heads):
    return heads.transpose(1, 2).flatten(2)


@exercise.step
def scaled_scores(q, k):
    return q @ k.mT / math.sqrt(q.shape[-1])                                   # (B, H, T, S)


@exercise.step
def masked_weights(scores, mask):
    return scores.masked_fill(~mask, -math.inf).softmax(-1).masked_fill(~mask, 0)        # a row of NaN becomes zeros


@exercise.class_reference()
class OwnMultiHeadAttention(nn.Module):
    """Attention in each head, and W^O of all heads side by side."""

    def __init__(self, d_model, heads):
        super().__init__()
        self.heads = heads
        self.qkv, self.out = nn.Linear(d_model, 3 * d_model), nn.Linear(d_model, d_model)

    def forward(self, x, memory=None, mask=None):
        source = x if memory is None else memory
        weights, biases = thirds(self.qkv.weight, self.heads), thirds(self.qkv.bias, self.heads)
        q, k, v = (split(F.linear(*part), self.heads) for part in zip((x, source, source), weights, biases))
        if mask is not None and mask.dim() == 3:
            mask = mask[:, None]                                               # the same for all heads
        scores = scaled_scores(q, k)
        weights = scores.softmax(-1) if mask is None else masked_weights(scores, mask)
        return self.out(merge(weights @ v))


@exercise.misconception(scaled_scores, "Your scores are not divided by the root of K, the width of a head.")
def no_scale(q, k):
    return q @ k.mT


@exercise.misconception(
    scaled_scores,
    "Your scores are divided by the root of D. Each head's product has K = D / H terms: divide by the root of K.")
def scaled_by_width(q, k):
    return q @ k.mT / math.sqrt(q.shape[1] * q.shape[-1])


@exercise.misconception(
    split,
    "Your heads mix positions: (B, T, H K) becomes (B, H, T, K) by a reshape and then a transpose, not by a reshape alone.")
def plain_reshape(x, H):
    B, T, D = x.shape
    return x.reshape(B, H, T, D // H)


@exercise.misconception(
    thirds,
    "You take the rows of qkv head by head: q, k and v of the first head, then those of the next. W^Q of all heads "
    "comes first, then W^K, then W^V: cut the rows into three parts, and then each part into heads.")
def head_by_head(parameter, H):
    return [rows.flatten(0, 1) for rows in parameter.unflatten(0, (H, 3, -1)).unbind(1)]


@exercise.misconception(
    merge,
    "You merge the heads by a reshape alone, which mixes several positions of one head. (B, H, T, K) is transposed to "
    "(B, T, H, K) first.")
def not_merged(heads):
    B, H, T, K = heads.shape
    return heads.reshape(B, T, H * K)


@exercise.misconception(masked_weights, "You mask where mask is True. There a query may attend.")
def opposite(scores, mask):
    return masked_weights.original(scores, ~mask)


@exercise.misconception(
    masked_weights,
    "You apply the mask after the softmax, so the other weights do not sum to one. Mask the scores.")
def masked_after(scores, mask):
    return scores.softmax(-1) * mask


@exercise.misconception(
    masked_weights,
    "A query that may attend nowhere gets NaN: a softmax over nothing but minus infinity. Give it zeros before W^O.")
def nan_rows(scores, mask):
    return scores.masked_fill(~mask, -math.inf).softmax(-1)


@exercise.misconception(
    masked_weights,
    "A query that may attend nowhere attends uniformly to all keys in your layer, masked ones included. Give it zeros before W^O.")
def even_rows(scores, mask):
    return scores.masked_fill(~mask, -1e9).softmax(-1)


def parameters(generator, D: int) -> dict[str, Tensor]:
    scale = 1.4 / math.sqrt(D)
    return {"qkv.weight": normal(generator, 3 * D, D, scale=scale), "qkv.bias": normal(generator, 3 * D, scale=0.5),
            "out.weight": normal(generator, D, D, scale=scale), "out.bias": normal(generator, D, scale=0.5)}


def sizes(generator, low: int = 3, high: int = 6) -> tuple[int, int, int, int, int]:
    """B, H, K, T, S: of two heads or more, all of them different."""
    return tuple(uneven(generator, (2, 3), (2, 4), (2, 6), (low, high), (low + 1, high + 2)))


def among_themselves(generator):
    cases = []
    for several in (True, True, False):
        B, H, K, T, _ = sizes(generator)
        B, H = (B, H) if several else (1, 1)                                      # one row, one head
        cases.append(("forward", {"d_model": H * K, "heads": H}, parameters(generator, H * K), normal(generator, B, T, H * K)))
    return cases


def to_memory(generator):
    cases = []
    for lengths in (min, max, None):                                              # of memory: fewer, more, as many
        B, H, K, *both = sizes(generator)
        S = lengths(both) if lengths else both[0]
        T = sum(both) - S if lengths else S
        cases.append(("forward", {"d_model": H * K, "heads": H}, parameters(generator, H * K), normal(generator, B, T, H * K),
                      normal(generator, B, S, H * K)))
    return cases


def partial_mask(generator, *shape: int) -> Tensor:
    """A boolean mask, in which every query may attend to some of the keys and not to all."""
    mask = torch.rand(shape, generator=generator) < 0.5
    first = torch.randint(shape[-1], (*shape[:-1], 1), generator=generator)
    return mask.scatter(-1, first, True).scatter(-1, (first + 1) % shape[-1], False)


def masked(generator):
    cases = []
    for kind in ("causal", "rows", "memory", "alike", "one row", "nowhere"):
        B, H, K, T, S = sizes(generator)
        if kind == "alike":                                                    # a mask of rows is none of heads
            B = H = integer(generator, 2, 3)
        if kind == "one row":
            B, K, T = 1, H, H
        x, D = normal(generator, B, T, H * K), H * K
        if kind == "causal":
            rest = None, torch.ones(T, T, dtype=torch.bool).tril()
        elif kind == "one row":
            rest = None, torch.ones(1, T, T, dtype=torch.bool)
        elif kind in ("rows", "alike"):
            rest = None, partial_mask(generator, B, T, T)
        else:
            rest = normal(generator, B, S, D), partial_mask(generator, T, S) if kind == "memory" else partial_mask(generator, B, T, S)
            if kind == "nowhere":
                rest[1][integer(generator, 0, B - 1), integer(generator, 0, T - 1)] = False
        cases.append(("forward", {"d_model": D, "heads": H}, parameters(generator, D), x, *rest))
    return cases


exercise.compare("self-attention", among_themselves, points=3)
exercise.compare("attention to memory", to_memory, points=2)
exercise.compare("masks", masked, points=3)
exercise.slopes("gradient", lambda generator: [*among_themselves(generator)[:1], *masked(generator)], points=2)


@judged(exercise, "torch's nn.MultiheadAttention", 2, among=())
def torchs(run, generator):
    for method, config, weights, x, *rest in [*to_memory(generator), *masked(generator)[:-1]]:
        memory, mask = (*rest, None)[:2]
        layer = nn.MultiheadAttention(config["d_model"], config["heads"], batch_first=True)
        layer.load_state_dict({"in_proj_weight": weights["qkv.weight"], "in_proj_bias": weights["qkv.bias"],
                               "out_proj.weight": weights["out.weight"], "out_proj.bias": weights["out.bias"]})
        hidden = None if mask is None else ~mask if mask.dim() == 2 else (~mask).repeat_interleave(config["heads"], 0)
        source = x if memory is None else memory
        right = layer(x, source, source, attn_mask=hidden, need_weights=False)[0]
        result = run(method, config, weights, x, memory, mask)
        gap = float((result - right).detach().abs().max()) if isinstance(result, Tensor) and result.shape == right.shape else math.nan
        if not gap < 1e-4:
            return Fault(f"On the same weights your result differs from that of torch's nn.MultiheadAttention by up to {gap:.2g}.")
    return None


exercise.hint(
    "You do not know where to begin.",
    "self.qkv = nn.Linear(d_model, 3 * d_model) and self.out = nn.Linear(d_model, d_model). Without memory, "
    "self.qkv(x).chunk(3, dim=-1) are queries, keys and values, each (B, T, D). Then come split, attention, merge, out: the "
    "exercises before this one.")
exercise.hint(
    "The result has the right shape and the wrong numbers.",
    "Try one head first: heads=1. If that is right, the way into the heads or back is wrong: (B, T, D) becomes (B, T, H, K), "
    "then (B, H, T, K) by a transpose; and back the same way. The scale is the root of K, not of D.")
exercise.hint(
    "It fails with memory.",
    "W^Q is the first third of the rows of qkv.weight, W^K and W^V are the other two: F.linear(x, self.qkv.weight[:D], "
    "self.qkv.bias[:D]) gives the queries, and F.linear(memory, self.qkv.weight[D:], self.qkv.bias[D:]) the rest.")
exercise.hint(
    "A mask is the same for all heads, and does not fit the scores.",
    "The scores are (B, H, T, S). A mask (T, S) fits as it is; one that is (B, T, S) needs an axis for the heads: "
    "mask[:, None]. Fill the scores with minus infinity, and after the softmax put 0 where nothing may be seen.")
