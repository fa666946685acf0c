r"""Attention: every query takes a weighted mean of the values, by how well it matches their keys.

Masks are boolean and say where a query *may* attend. A query that may attend nowhere gets zeros.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import torch
import torch.nn.functional as F
from einops import rearrange
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from course_lib.transformer._dropout import drop

LONG = 512                                                           # up to here a T x T mask takes no more time

# --- the equation ----------------------------------------------------------------------------------------------------


def attention_weights(q: Float[Tensor, "... T K"], k: Float[Tensor, "... S K"],
                      mask: Bool[Tensor, "... #T #S"] | None = None
                      ) -> Float[Tensor, "... T S"]:
    r"""$\alpha = \mathrm{softmax}\bigl(q k^\top / \sqrt{K}\bigr)$: row i says how query i
    shares its attention.

    mask  boolean, (T, S) or with all axes of the scores, axes of length 1 repeated; True
          where a query may attend. The softmax runs over what is allowed; a row with
          nothing allowed is zero, and so are its gradients.

    Raises ValueError for a mask that is not boolean or does not fit.
    """
    K = q.shape[-1]
    scores = q @ k.transpose(-2, -1) / math.sqrt(K)                  # (..., T, S)
    if mask is None:
        return scores.softmax(dim=-1)
    check_mask(mask, scores.shape)
    # NaN in a row that is all -inf
    weights = scores.masked_fill(~mask, -torch.inf).softmax(dim=-1)
    return weights.masked_fill(~mask, 0)  # no longer, and no gradient passes there


def attention(q: Float[Tensor, "... T K"], k: Float[Tensor, "... S K"],
              v: Float[Tensor, "... S E"], mask: Bool[Tensor, "... #T #S"] | None = None,
              dropout: float | int = 0.0) -> Float[Tensor, "... T E"]:
    r"""Scaled dot-product attention, $\mathrm{softmax}\bigl(q k^\top / \sqrt{K}\bigr)\, v$.

    mask     boolean, True where a query may attend; see `attention_weights`
    dropout  probability with which a weight is dropped; the caller passes 0 outside
             training

    Slides: "Scaled dot-product attention". Paper: Vaswani et al. 2017, equation 1.
    """
    weights = attention_weights(q, k, mask)                          # (..., T, S)
    return drop(weights, dropout) @ v                                # (..., T, E)


def fused_attention(q: Float[Tensor, "... T K"], k: Float[Tensor, "... S K"], v: Float[Tensor, "... S E"],
                    mask: Bool[Tensor, "... #T #S"] | None = None, dropout: float | int = 0.0,
                    causal: bool = False) -> Float[Tensor, "... T E"]:
    """The same by torch's fused kernel, which never stores the T x S weights.

    causal  add the causal mask, the queries being the last T of the S positions. Where T = S, a mask of keys alone,
            (..., 1, S) for padding, is not joined with it in long texts: no T x S mask is made
    """
    T, S = q.shape[-2], k.shape[-2]
    if causal and T == 1:                                            # the last position sees all
        causal = False
    dropped_here = dropout > 0 and q.device.type == "cpu"            # no kernel drops weights there
    if causal and mask is not None and T == S > LONG and mask.shape[-2:] == (1, S) and not dropped_here:
        return _causal_past_padding(q, k, v, mask, dropout)
    if causal and (mask is not None or T != S):                      # the kernel knows the square causal mask alone
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
    r"""The causal kernel, and in the keys what a mask of keys says: $[q, 1]\,[k_j, b_j]^\top = q k_j^\top + b_j$.

    With $b_j$ = 0 for a key that may be seen, and else so low that its weight is exactly zero, no T x T mask is needed.
    The width K + 1 is filled up with zeros to a multiple of 8, as kernels on a GPU want it.
    """
    check_mask(seen, (*q.shape[:-1], k.shape[-2]))
    (K, E), seen = (q.shape[-1], v.shape[-1]), seen.mT               # (..., S, 1)
    width = -(-max(K + 1, E) // 8) * 8
    low = torch.finfo(k.dtype).min / 2                               # finite: a row may have nothing else
    b = k.new_zeros(seen.shape).masked_fill(~seen, low).expand(*k.shape[:-1], 1)
    q = F.pad(F.pad(q, (0, 1), value=1.0), (0, width - K - 1))       # (..., T, width)
    k = F.pad(torch.cat([k, b], dim=-1), (0, width - K - 1))
    out = F.scaled_dot_product_attention(q, k, F.pad(v, (0, width - E)), None, dropout, True, scale=K ** -0.5)
    return out[..., :E].masked_fill(seen.cumsum(dim=-2) == 0, 0)     # nothing to attend to, up to there


def _with_dropout(q: Tensor, k: Tensor, v: Tensor, mask: Bool[Tensor, "... #T #S"] | None,
                  dropout: float | int) -> Tensor:
    """The equation with few passes over the T x S weights: q is scaled, and minus infinity added where mask is False.

    Every row has something to attend to, or the sum would be NaN.
    """
    scores = q / math.sqrt(q.shape[-1]) @ k.transpose(-2, -1)        # (..., T, S)
    if mask is not None:
        scores = scores + scores.new_zeros(mask.shape).masked_fill(~mask, -torch.inf)
    return drop(scores.softmax(dim=-1), dropout) @ v


# --- masks -----------------------------------------------------------------------------------------------------------


def causal_mask(n: int, m: int | None = None, device: torch.device | str | None = None) -> Bool[Tensor, "n m"]:
    """True where query i may see key j: its own position and all before. The n queries are the last of m positions."""
    m = n if m is None else m
    if not 1 <= n <= m:
        raise ValueError(f"n is {n} and m {m}; the n queries are the last of m positions; expected 1 <= n <= m")
    return torch.ones(n, m, dtype=torch.bool, device=device).tril(m - n)


def padding_mask(lengths: Int[Tensor, "B"], m: int) -> Bool[Tensor, "B 1 m"]:
    """True for the first `lengths[b]` of m keys, for every query of row b: what follows is padding."""
    if ((lengths < 0) | (lengths > m)).any():
        raise ValueError(f"lengths are {lengths.tolist()}; expected 0..{m}, the number of keys")
    return (torch.arange(m, device=lengths.device) < lengths[:, None])[:, None, :]


def combine_masks(*masks: Bool[Tensor, "..."] | None) -> Bool[Tensor, "..."] | None:
    """True where all of them are; None allows everything. (T, S) and (B, 1, S) give (B, T, S)."""
    both = None
    for mask in masks:
        if mask is not None:
            both = mask if both is None else both & mask
    return both


def check_mask(mask: Tensor, scores: tuple[int, ...]) -> None:
    """ValueError unless the mask is boolean and has the two axes, or all the axes, of the scores, or 1 in place of one.

    A mask with some of the axes is refused: (B, T, S) would meet (B, H, T, S) as H, and pass where B equals H.
    """
    if mask.dtype != torch.bool:
        raise ValueError(f"mask has dtype {mask.dtype}; expected torch.bool, True where a query may attend")
    scores = tuple(scores)
    fits = mask.dim() in (2, len(scores)) and all(a in (1, b) for a, b in zip(mask.shape[::-1], scores[::-1]))
    if not fits:
        raise ValueError(f"mask has shape {tuple(mask.shape)}; the scores have {scores}; expected their last two "
                         "axes, or all of them, 1 where an axis repeats")


# --- keys and values of the past -------------------------------------------------------------------------------------


class KeysValues(NamedTuple):
    """Projected keys and values, split into heads."""

    k: Tensor                                                        # (B, H, S, K)
    v: Tensor                                                        # (B, H, S, K)


class KVCache:
    """Keys and values of the positions seen so far, in room that is allocated ahead and doubled when it is full.

    Not differentiable: new positions are written in place.

    >>> cache = KVCache()
    >>> # three positions, 4 heads of width 8
    >>> cache.append(torch.zeros(2, 1, 4, 3, 8)).shape
    torch.Size([2, 1, 4, 3, 8])
    >>> cache.append(torch.zeros(2, 1, 4, 1, 8)).shape                     # one more
    torch.Size([2, 1, 4, 4, 8])
    """

    def __init__(self, room: int = 64):
        self.length, self.room = 0, max(1, room)
        self.kv: Tensor | None = None                                # (2, B, H, room, K), `length` of the room filled
        self.spare: list[Tensor] = []                                # the room of a copy that is gone; copies share it

    def append(self, kv: Float[Tensor, "2 B H T K"]) -> Float[Tensor, "2 B H S K"]:
        """Write T new positions; return all S of them so far, as a view."""
        start, T = self.length, kv.shape[3]
        self.length += T
        if self.kv is None or self.length > self.room:
            self.room = max(self.room, 2 * self.length if start else T)
            old, self.kv = self.kv, kv.new_empty(*kv.shape[:3], self.room, kv.shape[4])
            if old is not None:
                self.kv[:, :, :, :start] = old[:, :, :, :start]
        self.kv.narrow(3, start, T).copy_(kv)
        return self.kv.narrow(3, 0, self.length)

    def select(self, rows: Tensor | None = None, length: int | None = None) -> KVCache:
        """A copy with these rows of the batch, all of them if None, and the first `length` positions."""
        copy = KVCache(self.room)
        copy.length = self.length if length is None else length
        copy.spare = self.spare
        filled = self.kv[:, :, :, :copy.length]
        copy.kv = self._new_room(2, filled.shape[1] if rows is None else len(rows), *self.kv.shape[2:])
        room = copy.kv[:, :, :, :copy.length]
        room.copy_(filled) if rows is None else torch.index_select(filled, 1, rows, out=room)         # in one pass
        return copy

    def _new_room(self, *shape: int) -> Tensor:
        """That of a copy that is gone, if it fits: beams copy at every step, and fresh memory costs as much as the copy."""
        kv = self.spare.pop() if self.spare else None
        if kv is None or tuple(kv.shape) != shape or kv.is_inference() != torch.is_inference_mode_enabled():
            return self.kv.new_empty(shape)
        return kv

    def __del__(self):
        if self.kv is not None:
            self.spare[:] = [self.kv]


# --- several heads ---------------------------------------------------------------------------------------------------


class MultiHeadAttention(nn.Module):
    r"""H heads of width K = D / H, each attending with its own projections, put side by side and mixed:

    $$\mathrm{head}_h = \mathrm{attention}(x W^Q_h,\; m W^K_h,\; m W^V_h), \qquad
      y = [\mathrm{head}_1, \dots, \mathrm{head}_H]\, W^O$$

    with m = x in self-attention and m the encoder's output, `memory`, in cross-attention.

    d_model  D, which `heads` must divide
    dropout  probability with which an attention weight is dropped in training
    bias     add a bias to each projection

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
            raise ValueError(f"d_model is {d_model}, which {heads} heads do not divide")
        if not 0 <= dropout < 1:
            raise ValueError(f"dropout is {dropout}; it is the probability of dropping, 0 "
                             "<= dropout < 1")
        self.d_model, self.heads, self.dropout = d_model, heads, dropout
        # W^Q, W^K, W^V of all heads, one below the other
        self.qkv = nn.Linear(d_model, 3 * d_model, bias=bias)
        self.out = nn.Linear(d_model, d_model, bias=bias)            # W^O

    def forward(self, x: Float[Tensor, "B T D"], memory: Tensor | KeysValues | None = None,
                mask: Bool[Tensor, "... #T S"] | None = None, causal: bool = False,
                cache: KVCache | None = None) -> Float[Tensor, "B T D"]:
        """Attend from x to x, or to `memory` (B, S, D), which may come projected, from
        `keys_values`.

        mask    boolean, True where a query may attend: (T, S), (B, T, S) or, for each head,
                (B, H, T, S)
        causal  hide what follows each query, the queries being the last T of the S
                positions
        cache   keys and values of the positions before x, to which those of x are added
        """
        # (B, H, T, K), (B, H, S, K), (B, H, S, K)
        q, k, v = self._project(x, memory, cache)
        heads = fused_attention(q, k, v, self._for_heads(mask, q, k),
                                self.dropout if self.training else 0.0, causal)
        return self.out(rearrange(heads, "B H T K -> B T (H K)"))    # side by side: H K = D

    def weights(self, x: Float[Tensor, "B T D"], memory: Tensor | KeysValues | None = None,
                mask: Bool[Tensor, "... #T #S"] | None = None, causal: bool = False) -> Float[Tensor, "B H T S"]:
        """The attention weights of every head, without dropout."""
        q, k, _ = self._project(x, memory, None)
        mask = self._for_heads(mask, q, k)
        if causal:
            mask = combine_masks(causal_mask(q.shape[2], k.shape[2], q.device), mask)
        return attention_weights(q, k, mask)

    def keys_values(self, memory: Float[Tensor, "B S D"]) -> KeysValues:
        """Keys and values of `memory`: projected once, they serve every step of a decoder."""
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
            return tuple(qkv) if cache is None else (qkv[0], *cache.append(qkv[1:]))
        if cache is not None:
            raise ValueError("cache and memory were both given; a cache is for self-attention")
        q = F.linear(x, self.qkv.weight[:D], None if self.qkv.bias is None else self.qkv.bias[:D])
        return (self._split(q)[0], *(memory if isinstance(memory, KeysValues) else self.keys_values(memory)))

    def _split(self, x: Float[Tensor, "B T E"]) -> Float[Tensor, "parts B H T K"]:
        """One, two or three projections side by side, and in each the heads: the width is
        cut, no position is mixed."""
        return rearrange(x, "B T (parts H K) -> parts B H T K", H=self.heads,
                         K=self.d_model // self.heads)

    def _for_heads(self, mask: Bool[Tensor, "..."] | None, q: Tensor, k: Tensor) -> Bool[Tensor, "..."] | None:
        """The mask with an axis for the heads, checked here, where (B, T, S) can be told from (H, T, S)."""
        if mask is None:
            return None
        (B, H, T, _), S = q.shape, k.shape[2]
        check_mask(mask, (B, T, S) if mask.dim() < 4 else (B, H, T, S))
        return mask[:, None] if mask.dim() == 3 else mask

    def _check(self, x: Tensor, name: str) -> None:
        if x.dim() != 3 or x.shape[-1] != self.d_model:
            raise ValueError(f"{name} has shape {tuple(x.shape)}; expected (B, T, D) with D = {self.d_model}")
