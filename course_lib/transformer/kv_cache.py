"""The KV cache: keys and values of the positions that a model has processed, for generation."""

from __future__ import annotations

import torch
from jaxtyping import Float
from torch import Tensor


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
