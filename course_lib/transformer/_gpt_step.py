"""A step of GPT's generation without the calls of modules: at one position a call costs about what it computes."""

from __future__ import annotations

from collections.abc import Sequence

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Integer
from torch import Tensor, nn

from course_lib.transformer.attention import KVCache, MultiHeadAttention
from course_lib.transformer.blocks import ACTIVATIONS, FeedForward, LayerNorm, Residual, TransformerBlock
from course_lib.transformer.rotary_attention import RotaryAttention


def step(model: nn.Module, tokens: Integer[Tensor, "B S"], mask: Bool[Tensor, "B S"] | None,
         caches: Sequence[KVCache]) -> Float[Tensor, "B D"]:
    """`model._hidden` of the last token alone, whose query meets the cached keys.

    The blocks are not called. Where a call would do more than its arithmetic (see
    `unfolds`), the model is called.
    """
    if not unfolds(model):
        return model._hidden(tokens[:, -1:], mask, caches)[:, -1]
    x = model._embedded(tokens[:, -1:], mask, caches[0].length)[:, 0]  # (B, D)
    attend = None if mask is None else mask[:, None, None]             # (B, 1, 1, S)
    for block, cache in zip(model.blocks, caches):
        x = x + attended(block.attention, normed(block.residual1.norm, x), attend, cache)
        x = x + fed_forward(block.feed_forward, normed(block.residual2.norm, x))
    return normed(model.norm, x)


def attended(attention: MultiHeadAttention, x: Float[Tensor, "B D"], attend: Bool[Tensor, "B 1 1 S"] | None,
             cache: KVCache) -> Float[Tensor, "B D"]:
    """`attention(x, mask, causal=True, cache=cache)`: the last position may look at all that are cached."""
    qkv = linear(attention.qkv, x).view(len(x), 3, attention.heads, 1, -1).transpose(0, 1)   # (3, B, H, 1, K)
    if type(attention) is RotaryAttention:
        qkv = attention.turned(qkv, cache.length)
    k, v = cache.append(qkv[1:]).unbind()                                                    # (B, H, S, K) each
    heads = F.scaled_dot_product_attention(qkv[0], k, v, attend)                             # (B, H, 1, K)
    return linear(attention.out, heads.reshape(x.shape))


def fed_forward(network: FeedForward, x: Float[Tensor, "B D"]) -> Float[Tensor, "B D"]:
    """`network(x)`."""
    return linear(network.narrow, ACTIVATIONS[network.activation](linear(network.widen, x)))


def linear(layer: nn.Linear, x: Tensor) -> Tensor:
    """`layer(x)`."""
    return F.linear(x, layer.weight, layer.bias)


def normed(norm: LayerNorm, x: Tensor) -> Tensor:
    """`norm(x)`."""
    gamma = norm.gamma
    return torch.layer_norm(x, gamma.shape, gamma, norm.beta, norm.eps)


UNFOLDED = {TransformerBlock, MultiHeadAttention, RotaryAttention, Residual, FeedForward, LayerNorm, nn.Linear}


def unfolds(model: nn.Module) -> bool:
    """Whether nothing is lost if calls are left out: no dropout is drawn in them, no hook waits for them, and no part
    is of another class, with a `forward` of its own. Asked at every step, of some eleven parts a block."""
    parts = [*model.blocks, model.norm]
    for part in parts:
        if part.training or part._forward_pre_hooks or part._forward_hooks or type(part) not in UNFOLDED:
            return False
        parts.extend(part._modules.values())                         # the list grows while it is walked
    return True
