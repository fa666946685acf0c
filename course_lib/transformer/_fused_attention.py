"""Attention by torch's fused kernel, which does not store the attention weights; equal to `attention.attention`."""

from __future__ import annotations

import math

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float
from torch import Tensor

from course_lib.transformer.dropout import drop
from course_lib.transformer.masks import causal_mask, check_mask, combine_masks

LONG = 512                                                           # up to this length a T x T mask takes no more time


def fused_attention(q: Float[Tensor, "... T K"], k: Float[Tensor, "... S K"], v: Float[Tensor, "... S E"],
                    mask: Bool[Tensor, "... #T #S"] | None = None, dropout: float | int = 0.0,
                    causal: bool = False) -> Float[Tensor, "... T E"]:
    """Scaled dot-product attention of queries q, keys k and values v by torch's fused kernel: outputs (..., T, E).

    mask     boolean, True where a query may attend to a key, with axes that broadcast to the scores (..., T, S)
    dropout  dropout probability of the attention weights
    causal   whether to add the causal mask, where the queries are the last T of the S positions

    The T x S attention weights are not stored. The output is 0 for a query that may attend to no key.
    """
    T, S = q.shape[-2], k.shape[-2]
    if causal and T == 1:                                            # the last position attends to all
        causal = False
    dropped_here = dropout > 0 and q.device.type == "cpu"            # no CPU kernel has dropout
    if causal and mask is not None and T == S > LONG and mask.shape[-2:] == (1, S) and not dropped_here:
        return _causal_past_padding(q, k, v, mask, dropout)
    if causal and (mask is not None or T != S):                      # the kernel has the square causal mask only
        mask, causal = combine_masks(causal_mask(T, S, q.device), mask), False
    reachable = None
    if mask is not None:
        check_mask(mask, (*q.shape[:-1], S))
        reachable = mask.any(dim=-1, keepdim=True)                   # (..., T, 1)
        mask = mask | ~reachable                                     # the kernel needs a key for every query
    if dropped_here:
        out = _with_dropout(q, k, v, causal_mask(T, device=q.device) if causal else mask, dropout)
    else:
        out = F.scaled_dot_product_attention(q, k, v, mask, dropout, causal)
    return out if reachable is None else out.masked_fill(~reachable, 0)


def _causal_past_padding(q: Tensor, k: Tensor, v: Tensor, seen: Bool[Tensor, "... 1 S"],
                         dropout: float | int) -> Tensor:
    r"""Causal attention with padding, without a T x T mask: a bias $b_j$ masks key j, $[q, 1]\,[k_j, b_j]^\top =
    q k_j^\top + b_j$.

    `seen` (..., 1, S) is True for keys that are not padding. $b_j$ is 0, or for padding so low that the attention
    weight is exactly 0. The size K + 1 is padded with zeros to a multiple of 8, as GPU kernels require.
    """
    check_mask(seen, (*q.shape[:-1], k.shape[-2]))
    (K, E), seen = (q.shape[-1], v.shape[-1]), seen.mT               # (..., S, 1)
    width = -(-max(K + 1, E) // 8) * 8
    low = torch.finfo(k.dtype).min / 2                               # finite, since a row may have no other key
    b = k.new_zeros(seen.shape).masked_fill(~seen, low).expand(*k.shape[:-1], 1)
    q = F.pad(F.pad(q, (0, 1), value=1.0), (0, width - K - 1))       # (..., T, width)
    k = F.pad(torch.cat([k, b], dim=-1), (0, width - K - 1))
    out = F.scaled_dot_product_attention(q, k, F.pad(v, (0, width - E)), None, dropout, True, scale=K ** -0.5)
    return out[..., :E].masked_fill(seen.cumsum(dim=-2) == 0, 0)     # no key to attend to


def _with_dropout(q: Tensor, k: Tensor, v: Tensor, mask: Bool[Tensor, "... #T #S"] | None,
                  dropout: float | int) -> Tensor:
    """Attention with dropout of the weights, (..., T, E), for a CPU, with few passes over the T x S scores.

    Every row of `mask` needs a key that is True; otherwise the output of its query is NaN.
    """
    scores = q / math.sqrt(q.shape[-1]) @ k.transpose(-2, -1)        # (..., T, S)
    if mask is not None:
        scores = scores + scores.new_zeros(mask.shape).masked_fill(~mask, -torch.inf)
    return drop(scores.softmax(dim=-1), dropout) @ v
