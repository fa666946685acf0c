"""One decoding step of GPT without module calls, whose overhead exceeds the arithmetic for a single position."""

from __future__ import annotations

from collections.abc import Sequence

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Integer
from torch import Tensor, nn

from course_lib.transformer.attention import MultiHeadAttention
from course_lib.transformer.blocks import ACTIVATIONS, FeedForward, LayerNorm, Residual, TransformerBlock
from course_lib.transformer.kv_cache import KVCache
from course_lib.transformer.rotary_attention import RotaryAttention


def decode_step(model: nn.Module, tokens: Integer[Tensor, "B T"], mask: Bool[Tensor, "B S"] | None,
                caches: Sequence[KVCache]) -> Float[Tensor, "B D"]:
    """Return the output (B, D) of `model.run_blocks` for the last token, whose query attends to the cached keys.

    model   a `GPT`
    tokens  (B, T), of which all but the last are in the caches
    mask    (B, S), True for real tokens among the S - 1 cached positions and the new position; None: all are real
    caches  of each block; the key and value of the last token are appended in place

    Functions replace the calls of modules if `can_inline(model)`.
    """
    if not can_inline(model):
        return model.run_blocks(tokens[:, -1:], mask, caches)[:, -1]
    x = model._embed(tokens[:, -1:], mask, caches[0].length)[:, 0]     # (B, D)
    attend = None if mask is None else mask[:, None, None]             # (B, 1, 1, S)
    for block, cache in zip(model.blocks, caches):
        x = x + attention_step(block.attention, layer_norm(block.residual1.norm, x), attend, cache)
        x = x + feed_forward_step(block.feed_forward, layer_norm(block.residual2.norm, x))
    return layer_norm(model.norm, x)


def attention_step(attention: MultiHeadAttention, x: Float[Tensor, "B D"], attend: Bool[Tensor, "B 1 1 S"] | None,
                   cache: KVCache) -> Float[Tensor, "B D"]:
    """Return the output (B, D) of `attention` for one position x (B, D), whose key and value are appended to `cache`.

    attend  (B, 1, 1, S), True for keys that the query may attend to; None: all
    """
    qkv = linear(attention.qkv, x).view(len(x), 3, attention.heads, 1, -1).transpose(0, 1)   # (3, B, H, 1, K)
    if type(attention) is RotaryAttention:
        qkv = attention.rotate(qkv, cache.length)
    k, v = cache.append(qkv[1], qkv[2])                                                      # (B, H, S, K) each
    heads = F.scaled_dot_product_attention(qkv[0], k, v, attend)                             # (B, H, 1, K)
    return linear(attention.out, heads.reshape(x.shape))


def feed_forward_step(network: FeedForward, x: Float[Tensor, "B D"]) -> Float[Tensor, "B D"]:
    """Return `network(x)`, computed without a module call."""
    return linear(network.narrow, ACTIVATIONS[network.activation](linear(network.widen, x)))


def linear(layer: nn.Linear, x: Tensor) -> Tensor:
    """Return `layer(x)`, computed without a module call."""
    return F.linear(x, layer.weight, layer.bias)


def layer_norm(norm: LayerNorm, x: Tensor) -> Tensor:
    """Return `norm(x)`, computed without a module call."""
    gamma = norm.gamma
    return torch.layer_norm(x, gamma.shape, gamma, norm.beta, norm.eps)


INLINED = {TransformerBlock, MultiHeadAttention, RotaryAttention, Residual, FeedForward, LayerNorm, nn.Linear}


def can_inline(model: nn.Module) -> bool:
    """Whether functions can replace the modules of the blocks.

    No module may be in training mode, have a hook or be of a class outside `INLINED`. This is evaluated at every step,
    for about eleven modules per block.
    """
    parts = [*model.blocks, model.norm]
    for part in parts:
        if part.training or part._forward_pre_hooks or part._forward_hooks or type(part) not in INLINED:
            return False
        parts.extend(part._modules.values())                         # extends the list during the loop
    return True
