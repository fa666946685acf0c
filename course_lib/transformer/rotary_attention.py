"""Attention with rotary positions, and a cache of the last positions."""

from __future__ import annotations

import torch
from jaxtyping import Float
from torch import Tensor

from course_lib.transformer.attention import KeysValues, MultiHeadAttention
from course_lib.transformer.kv_cache import KVCache
from course_lib.transformer.positions import rotary


class RotaryAttention(MultiHeadAttention):
    """Multi-head self-attention with rotary positions: queries and keys are rotated in each head by `rotary`.

    Keys are cached after rotation; the dot product of a cached key and a later query depends on their distance only.

    base  n in the frequencies: see `rotary`

    The other arguments are as in `MultiHeadAttention`; `d_model` / `heads`, the size of a head, must be even. Source:
    Su et al. 2021, "RoFormer".

    >>> attend, x = RotaryAttention(d_model=8, heads=2), torch.randn(1, 1, 8)
    >>> attend(x.repeat(1, 5, 1)).shape
    torch.Size([1, 5, 8])
    """

    def __init__(self, d_model: int, heads: int, dropout: float | int = 0.0, bias: bool = True,
                 base: float | int = 10000.0):
        super().__init__(d_model, heads, dropout, bias)
        if d_model // heads % 2:
            raise ValueError(f"d_model is {d_model} and heads is {heads}: the width of a head is {d_model // heads}; "
                             "expected an even size, because pairs of components are rotated")
        self.base = base

    def _project(self, x: Tensor, memory: Tensor | KeysValues | None,
                 cache: KVCache | None) -> tuple[Tensor, Tensor, Tensor]:
        if memory is not None:
            raise ValueError(f"memory is a {type(memory).__name__}; expected None, because rotary positions are for "
                             "self-attention")
        qkv = torch.stack(super()._project(x, None, None))           # (3, B, H, T, K)
        qkv = self.rotate(qkv, 0 if cache is None else cache.length)
        return tuple(qkv) if cache is None else (qkv[0], *cache.append(qkv[1], qkv[2]))

    def rotate(self, qkv: Float[Tensor, "3 B H T K"], past: int) -> Float[Tensor, "3 B H T K"]:
        """Rotate queries qkv[0] and keys qkv[1], at positions `past` to `past` + T - 1; values qkv[2] are unchanged."""
        places = torch.arange(past, past + qkv.shape[3], device=qkv.device)
        return torch.cat([rotary(qkv[:2], places, self.base), qkv[2:]])


class RollingCache(KVCache):
    """KV cache of the last `window` positions, for sliding-window attention.

    room  number of positions for which the first buffers have room

    `length` counts all appended positions, and is the index of the next position. The buffer holds about twice the
    window; when it is full, the positions still in the window move to a new buffer.

    >>> cache = RollingCache(window=4)
    >>> for _ in range(8):
    ...     # one position, 2 heads of width 6
    ...     k, v = cache.append(torch.zeros(1, 2, 1, 6), torch.zeros(1, 2, 1, 6))
    >>> k.shape, cache.length
    (torch.Size([1, 2, 4, 6]), 8)
    """

    def __init__(self, window: int, room: int = 64):
        super().__init__(room)
        if window < 1:
            raise ValueError(f"window is {window}; expected at least 1 position")
        self.window, self.first = window, 0                          # first: oldest position in the buffer

    @classmethod
    def from_cache(cls, cache: KVCache, window: int) -> RollingCache:
        """Return a rolling cache that takes over the positions and buffers of `cache`, at most `window` positions."""
        rolling = cls(window, cache.room)
        rolling.kv, rolling.length, cache.kv = cache.kv, cache.length, None
        return rolling

    @property
    def full(self) -> bool:
        """Whether the buffers are full, so that the next position needs new buffers."""
        return self.kv is not None and self.length - self.first == self.room

    def append(self, k: Float[Tensor, "B H T K"], v: Float[Tensor, "B H T K"]
               ) -> tuple[Float[Tensor, "B H S K"], Float[Tensor, "B H S K"]]:
        """Write T new positions; return keys and values of the last `window` positions (or all, if fewer) as views.

        Raises ValueError if T > 1 positions go beyond the window, because their queries would attend to different keys.
        """
        T = k.shape[2]
        if T > 1 and self.length + T > self.window:
            raise ValueError(f"k has {T} positions after {self.length}; expected 1, because beyond the window of "
                             f"{self.window} positions, positions are appended one at a time")
        if self.kv is None:
            self.room = max(self.room, T)
            self.kv = [new.new_empty(*new.shape[:2], self.room, new.shape[3]) for new in (k, v)]
        elif self.length - self.first + T > self.room:
            moved = self.select(more=T)
            self.kv, self.first, self.room = moved.kv, moved.first, moved.room
        for part, new in zip(self.kv, (k, v)):
            part.narrow(2, self.length - self.first, T).copy_(new)
        self.length += T
        seen = min(self.length, self.window)
        k, v = (part.narrow(2, self.length - self.first - seen, seen) for part in self.kv)
        return k, v

    def select(self, rows: Tensor | None = None, length: int | None = None, more: int = 1) -> RollingCache:
        """Return a copy of the cache as it was after `length` positions, for the batch rows with the indices `rows`.

        By default `length` and `rows` are all positions and all rows. The copy holds the last `window` - 1 of the
        positions, to which the next query can attend, and has room for `more` further positions. Raises ValueError if
        one of the positions to be copied was already dropped.
        """
        copy = RollingCache(self.window)
        copy.length = self.length if length is None else length
        kept = min(copy.length, self.window - 1)
        copy.first = copy.length - kept
        if copy.first < self.first:
            raise ValueError(f"length is {length}; expected at least {self.first + self.window - 1}, because the "
                             f"positions before {self.first} were dropped")
        copy.room = 2 * (kept + more)
        copy.kv = []
        for part in self.kv:                                         # (B, H, room, K)
            old = part.narrow(2, copy.first - self.first, kept)
            new = old.new_empty(len(old) if rows is None else len(rows), old.shape[1], copy.room, old.shape[3])
            room = new.narrow(2, 0, kept)
            room.copy_(old) if rows is None else torch.index_select(old, 0, rows, out=room)
            copy.kv.append(new)
        return copy
