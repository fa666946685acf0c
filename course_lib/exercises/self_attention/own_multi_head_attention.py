"""Multi-head attention of one's own, equal to the library's and to torch's."""
from __future__ import annotations

import math

import torch
from torch import Tensor, nn

from course_lib.exercises.building import judged
from course_lib.exercises.draws import integer, normal, uneven
from course_lib.exercises.self_attention._shared import KERNEL
from course_lib.grading.checks import Fault
from course_lib.grading.exercise import Exercise
from course_lib.transformer.attention import MultiHeadAttention

exercise = Exercise(
    "OwnMultiHeadAttention", chapter="13", place=7, title="Multi-head attention of your own",
    contract="A class OwnMultiHeadAttention(nn.Module), made with d_model and heads, which divides d_model. Its parameters are "
             "those of two linear layers: qkv, from d_model to 3 d_model, W^Q, W^K and W^V of all heads one below the other, "
             "and out, W^O. forward(x, memory=None, mask=None): queries from x (B, T, D), keys and values from memory "
             "(B, S, D), or from x where it is None; head h owns the features h K to (h + 1) K - 1. mask is boolean, (T, S) or "
             "(B, T, S), True where a query may attend, the same for all heads; a query that may attend nowhere gets zeros "
             "before W^O. Returns (B, T, D). The library's class and torch's nn.MultiheadAttention judge it.",
    points=["multi-head", "cross-attention", "causal-mask"], difficulty=3, minutes=45, kind="build", deadline=20.0,
    forbid=(*KERNEL, "torch.nn.MultiheadAttention"))


@exercise.class_reference(
    no_scale="Your scores are not divided by the root of K, the width of a head.",
    scaled_by_width="Your scores are divided by the root of D. Each head's product has K = D / H terms: divide by the root of K.",
    plain_reshape="Your heads mix positions: (B, T, H K) becomes (B, H, T, K) by a reshape and then a transpose, not by a "
                  "reshape alone.",
    interleaved="Head h of yours owns every H-th feature. It owns a block: the features h K to (h + 1) K - 1.",
    heads_first="You cut the width of qkv into heads first. The first D rows are W^Q of all heads, then come those of W^K and "
                "those of W^V.",
    not_merged="Your heads are put back by a reshape alone: it takes the numbers of one head from several positions. "
               "(B, H, T, K) is transposed to (B, T, H, K) first.",
    no_out="You return the heads side by side. W^O still mixes them: that is the layer out.",
    one_head="Your result is that of one head as wide as the model. Cut queries, keys and values into heads before you compare "
             "them.",
    over_queries="Your weights sum to one over the queries. Each query shares its attention over the keys.",
    values_are_keys="You average the keys. The keys decide how much, the values are averaged.",
    values_not_projected="With memory, your values are its rows. They are projected by W^V, as in self-attention.",
    not_masked="Your result does not depend on mask.",
    opposite="You hide where mask is True. There a query may attend.",
    masked_after="Your mask takes weights away after the softmax: what is left no longer sums to one. Mask the scores.",
    nan_rows="A query that may attend nowhere gets NaN from you: a softmax over nothing but minus infinity. Give it zeros "
             "before W^O.",
    even_rows="A query that may attend nowhere shares its attention evenly over all keys in your layer, hidden ones included. Give "
              "it zeros before W^O.",
    detached="Your values are right, and no gradient reaches the queries or the keys: the weights are cut off from what made them.",
)
def own_multi_head_attention(bugs):
    class OwnMultiHeadAttention(MultiHeadAttention):
        def forward(self, x, memory=None, mask=None):
            weight, bias, D, H = self.qkv.weight, self.qkv.bias, self.d_model, self.heads
            if "heads_first" in bugs:
                order = torch.arange(3 * D).reshape(H, 3, D // H).transpose(0, 1).flatten()
                weight, bias = weight[order], bias[order]
            source = x if memory is None else memory
            q = x @ weight[:D].T + bias[:D]                                              # (B, T, D)
            k, v = (source @ weight[D:].T + bias[D:]).split(D, dim=-1)                   # (B, S, D) each
            if "values_not_projected" in bugs and memory is not None:
                v = memory
            q, k, v = (split(one, 1 if "one_head" in bugs else H, bugs) for one in (q, k, v))            # (B, H, T, K)
            divisor = 1 if "no_scale" in bugs else math.sqrt(D if "scaled_by_width" in bugs else q.shape[-1])
            weights = shared_out(q @ k.mT / divisor, mask if mask is None or mask.dim() == 2 else mask[:, None], bugs)
            if "detached" in bugs:
                weights = weights.detach()
            heads = weights @ (k if "values_are_keys" in bugs else v)                    # (B, H, T, K)
            merged = heads.reshape(x.shape) if "not_merged" in bugs else heads.transpose(1, 2).reshape(x.shape)
            return merged if "no_out" in bugs else self.out(merged)

    return OwnMultiHeadAttention


def split(x: Tensor, H: int, bugs: frozenset = frozenset()) -> Tensor:
    """(B, T, D) to (B, H, T, K)."""
    B, T, D = x.shape
    if "plain_reshape" in bugs:
        return x.reshape(B, H, T, D // H)
    if "interleaved" in bugs:
        return x.reshape(B, T, D // H, H).permute(0, 3, 1, 2)
    return x.reshape(B, T, H, D // H).transpose(1, 2)


def shared_out(scores: Tensor, mask: Tensor | None, bugs: frozenset = frozenset()) -> Tensor:
    """The weights, (B, H, T, S), of scores where the mask is True; a row without any is zero."""
    axis = -2 if "over_queries" in bugs else -1
    if mask is None or "not_masked" in bugs:
        return scores.softmax(axis)
    mask = ~mask if "opposite" in bugs else mask
    if "masked_after" in bugs:
        return scores.softmax(axis) * mask
    if "even_rows" in bugs:
        return scores.masked_fill(~mask, -1e9).softmax(axis)
    weights = scores.masked_fill(~mask, -torch.inf).softmax(axis)
    return weights if "nan_rows" in bugs else weights.masked_fill(~mask, 0)


def parameters(generator, D: int) -> dict[str, Tensor]:
    scale = 1.4 / math.sqrt(D)
    return {"qkv.weight": normal(generator, 3 * D, D, scale=scale), "qkv.bias": normal(generator, 3 * D, scale=0.5),
            "out.weight": normal(generator, D, D, scale=scale), "out.bias": normal(generator, D, scale=0.5)}


def sizes(generator, low: int = 3, high: int = 6) -> tuple[int, int, int, int, int]:
    """B, H, K, T, S: of two heads or more, all of them different."""
    return tuple(uneven(generator, (2, 3), (2, 4), (2, 6), (low, high), (low + 1, high + 2)))


def among_themselves(generator):
    found = []
    for many in (True, True, False):
        B, H, K, T, _ = sizes(generator)
        B, H = (B, H) if many else (1, 1)                                      # one row, one head
        found.append(("forward", {"d_model": H * K, "heads": H}, parameters(generator, H * K), normal(generator, B, T, H * K)))
    return found


def to_memory(generator):
    found = []
    for fewer in (True, False):
        B, H, K, T, S = sizes(generator)
        T, S = (T, S) if fewer == (T < S) else (S, T)
        found.append(("forward", {"d_model": H * K, "heads": H}, parameters(generator, H * K), normal(generator, B, T, H * K),
                      normal(generator, B, S, H * K)))
    return found


def some(generator, *shape: int) -> Tensor:
    """A boolean mask, in which every query may attend to some of the keys and not to all."""
    mask = torch.rand(shape, generator=generator) < 0.5
    first = torch.randint(shape[-1], (*shape[:-1], 1), generator=generator)
    return mask.scatter(-1, first, True).scatter(-1, (first + 1) % shape[-1], False)


def masked(generator):
    found = []
    for kind in ("causal", "rows", "memory", "alike", "nowhere"):
        B, H, K, T, S = sizes(generator)
        if kind == "alike":                                                    # a mask of rows is none of heads
            B = H = integer(generator, 2, 3)
        x, D = normal(generator, B, T, H * K), H * K
        if kind == "causal":
            rest = None, torch.ones(T, T, dtype=torch.bool).tril()
        elif kind in ("rows", "alike"):
            rest = None, some(generator, B, T, T)
        else:
            rest = normal(generator, B, S, D), some(generator, T, S) if kind == "memory" else some(generator, B, T, S)
            if kind == "nowhere":
                rest[1][integer(generator, 0, B - 1), integer(generator, 0, T - 1)] = False
        found.append(("forward", {"d_model": D, "heads": H}, parameters(generator, D), x, *rest))
    return found


exercise.compare("self-attention", among_themselves, points=3)
exercise.compare("attention to memory", to_memory, points=2)
exercise.compare("masks", masked, points=3)
exercise.slopes("gradient", lambda generator: [*among_themselves(generator)[:1], *masked(generator)[:-1]], points=2)


@judged(exercise, "torch's nn.MultiheadAttention", 2, among=())
def torchs(run, generator):
    for asked, config, weights, x, *rest in [*to_memory(generator), *masked(generator)[:-1]]:
        memory, mask = (*rest, None)[:2]
        layer = nn.MultiheadAttention(config["d_model"], config["heads"], batch_first=True)
        layer.load_state_dict({"in_proj_weight": weights["qkv.weight"], "in_proj_bias": weights["qkv.bias"],
                               "out_proj.weight": weights["out.weight"], "out_proj.bias": weights["out.bias"]})
        hidden = None if mask is None else ~mask if mask.dim() == 2 else (~mask).repeat_interleave(config["heads"], 0)
        source = x if memory is None else memory
        right = layer(x, source, source, attn_mask=hidden, need_weights=False)[0]
        mine = run(asked, config, weights, x, memory, mask)
        gap = float((mine - right).detach().abs().max()) if isinstance(mine, Tensor) and mine.shape == right.shape else math.nan
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
