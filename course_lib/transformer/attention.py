"""Scaled dot-product attention and multi-head attention.

Masks are boolean, True where a query may attend to a key (module `masks`). The output of a query that may attend to no
key is 0. `MultiHeadAttention` uses `fused_attention`, which computes `attention` by torch's fused kernel.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import torch
import torch.nn.functional as F
from einops import rearrange
from jaxtyping import Bool, Float
from torch import Tensor, nn

from course_lib.transformer._fused_attention import fused_attention
from course_lib.transformer.dropout import drop
from course_lib.transformer.kv_cache import KVCache
from course_lib.transformer.masks import causal_mask, check_mask, combine_masks


def attention_weights(q: Float[Tensor, "... T K"], k: Float[Tensor, "... S K"],
                      mask: Bool[Tensor, "... #T #S"] | None = None
                      ) -> Float[Tensor, "... T S"]:
    r"""Attention weights $\alpha = \mathrm{softmax}\bigl(q k^\top / \sqrt{K}\bigr)$, a row
    for each query.

    mask  boolean, (T, S) or with all axes of the scores, where axes of length 1 broadcast;
          True where a query may attend. A row without any key has weights and gradients 0

    Raises ValueError if the mask is not boolean or has a wrong shape.
    """
    K = q.shape[-1]
    scores = q @ k.transpose(-2, -1) / math.sqrt(K)                  # (..., T, S)
    if mask is None:
        return scores.softmax(dim=-1)
    check_mask(mask, scores.shape)
    # NaN in a row that is all -inf
    weights = scores.masked_fill(~mask, -torch.inf).softmax(dim=-1)
    return weights.masked_fill(~mask, 0)  # removes the NaN and its gradient


def attention(q: Float[Tensor, "... T K"], k: Float[Tensor, "... S K"],
              v: Float[Tensor, "... S E"], mask: Bool[Tensor, "... #T #S"] | None = None,
              dropout: float | int = 0.0) -> Float[Tensor, "... T E"]:
    r"""Scaled dot-product attention, $\mathrm{softmax}\bigl(q k^\top / \sqrt{K}\bigr)\, v$.

    mask     boolean, True where a query may attend; see `attention_weights`
    dropout  dropout probability of the weights; 0 outside training

    Slides: "Scaled dot-product attention". Paper: Vaswani et al. 2017, equation 1.
    """
    weights = attention_weights(q, k, mask)                          # (..., T, S)
    return drop(weights, dropout) @ v                                # (..., T, E)


class KeysValues(NamedTuple):
    """Keys and values of S positions for H heads of size K, as `MultiHeadAttention.keys_values` returns them."""

    k: Tensor                                                        # keys (B, H, S, K)
    v: Tensor                                                        # values (B, H, S, K)


class MultiHeadAttention(nn.Module):
    r"""Multi-head attention: H heads of size K = D / H with their own projections, concatenated and projected,

    $$\mathrm{head}_h = \mathrm{attention}(x W^Q_h,\; m W^K_h,\; m W^V_h), \qquad
      y = [\mathrm{head}_1, \dots, \mathrm{head}_H]\, W^O,$$

    with m = x in self-attention, and in cross-attention m = `memory`, the output of the encoder.

    d_model  D, dimension of input and output, a multiple of `heads`
    heads    H, number of heads
    dropout  dropout probability of the attention weights
    bias     whether the projections have a bias

    Slides: "Multi-head attention". Paper: Vaswani et al. 2017, section 3.2.2.

    >>> attend = MultiHeadAttention(d_model=8, heads=2)
    >>> attend(torch.randn(1, 5, 8), causal=True).shape
    torch.Size([1, 5, 8])
    >>> # a row of weights sums to one
    >>> attend.weights(torch.randn(1, 5, 8)).sum(-1).allclose(torch.ones(1, 2, 5))
    True
    """

    def __init__(self, d_model: int, heads: int, dropout: float | int = 0.0,
                 bias: bool = True):
        super().__init__()
        if heads < 1 or d_model % heads:
            raise ValueError(f"d_model is {d_model}; expected a multiple of heads, {heads}")
        if not 0 <= dropout < 1:
            raise ValueError(f"dropout is {dropout}; expected a probability, at least 0 "
                             "and less than 1")
        self.d_model, self.heads, self.dropout = d_model, heads, dropout
        # W^Q, W^K, W^V of all heads, stacked
        self.qkv = nn.Linear(d_model, 3 * d_model, bias=bias)
        self.out = nn.Linear(d_model, d_model, bias=bias)            # W^O

    def forward(self, x: Float[Tensor, "B T D"], memory: Tensor | KeysValues | None = None,
                mask: Bool[Tensor, "... #T S"] | None = None, causal: bool = False,
                cache: KVCache | None = None) -> Float[Tensor, "B T D"]:
        """Attention from x to x, or to `memory` (B, S, D), which may be projected already
        by `keys_values`.

        mask    boolean, True where a query may attend: (T, S), (B, T, S) or, for each head,
                (B, H, T, S)
        causal  whether to mask later positions; the queries are the last T of the S
                positions
        cache   keys and values of the positions before x, to which those of x are appended
        """
        # (B, H, T, K), (B, H, S, K), (B, H, S, K)
        q, k, v = self._project(x, memory, cache)
        heads = fused_attention(q, k, v, self._expand_mask(mask, q, k),
                                self.dropout if self.training else 0.0, causal)
        return self.out(rearrange(heads, "B H T K -> B T (H K)"))    # concatenated: H K = D

    def weights(self, x: Float[Tensor, "B T D"], memory: Tensor | KeysValues | None = None,
                mask: Bool[Tensor, "... #T #S"] | None = None, causal: bool = False) -> Float[Tensor, "B H T S"]:
        """Return the attention weights (B, H, T, S) of every head, without dropout; arguments as in `forward`."""
        q, k, _ = self._project(x, memory, None)
        mask = self._expand_mask(mask, q, k)
        if causal:
            mask = combine_masks(causal_mask(q.shape[2], k.shape[2], q.device), mask)
        return attention_weights(q, k, mask)

    def keys_values(self, memory: Float[Tensor, "B S D"]) -> KeysValues:
        """Return the keys and values of `memory`, split into heads; a decoder computes them once for all its steps."""
        D = self.d_model
        self._check(memory, "memory")
        kv = F.linear(memory, self.qkv.weight[D:], None if self.qkv.bias is None else self.qkv.bias[D:])
        return KeysValues(*self._split(kv))

    def _project(self, x: Tensor, memory: Tensor | KeysValues | None,
                 cache: KVCache | None) -> tuple[Tensor, Tensor, Tensor]:
        D = self.d_model
        self._check(x, "x")
        if memory is None:
            qkv = self._split(self.qkv(x))                           # (3, B, H, T, K)
            return tuple(qkv) if cache is None else (qkv[0], *cache.append(qkv[1], qkv[2]))
        if cache is not None:
            raise ValueError("cache and memory are given; expected at most one of them, because a cache is for self-attention")
        q = F.linear(x, self.qkv.weight[:D], None if self.qkv.bias is None else self.qkv.bias[:D])
        return (self._split(q)[0], *(memory if isinstance(memory, KeysValues) else self.keys_values(memory)))

    def _split(self, x: Float[Tensor, "B T E"]) -> Float[Tensor, "parts B H T K"]:
        """Split the last axis into 1 to 3 projections, and each projection into heads."""
        return rearrange(x, "B T (parts H K) -> parts B H T K", H=self.heads,
                         K=self.d_model // self.heads)

    def _expand_mask(self, mask: Bool[Tensor, "..."] | None, q: Tensor, k: Tensor) -> Bool[Tensor, "..."] | None:
        """Check the mask, and add an axis for the heads to a mask (B, T, S): it becomes (B, 1, T, S).

        q, k  projected queries (B, H, T, K) and keys (B, H, S, K)
        """
        if mask is None:
            return None
        (B, H, T, _), S = q.shape, k.shape[2]
        check_mask(mask, (B, T, S) if mask.dim() < 4 else (B, H, T, S))
        return mask[:, None] if mask.dim() == 3 else mask

    def _check(self, x: Tensor, name: str) -> None:
        if x.dim() != 3 or x.shape[-1] != self.d_model:
            raise ValueError(f"{name} has shape {tuple(x.shape)}; expected (B, T, D) with D = {self.d_model}")
