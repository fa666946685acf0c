"""KV cache: keys and values of processed positions, for generation."""

from __future__ import annotations

import torch
from jaxtyping import Float
from torch import Tensor


class KVCache:
    """Keys and values of the positions so far, in buffers that are allocated ahead and doubled when they are full.

    room  number of positions for which the first buffers have room

    `length` is the number of positions so far. Not differentiable, because new positions are written in place.

    >>> cache = KVCache()
    >>> # three positions, 4 heads of width 8
    >>> k, v = cache.append(torch.zeros(1, 4, 3, 8), torch.zeros(1, 4, 3, 8))
    >>> k, v = cache.append(torch.zeros(1, 4, 1, 8), torch.zeros(1, 4, 1, 8))   # one more
    >>> k.shape
    torch.Size([1, 4, 4, 8])
    """

    def __init__(self, room: int = 64):
        self.length, self.room = 0, max(1, room)
        self.kv: list[Tensor] | None = None                          # keys and values, (B, H, room, K), `length` of the room filled
        self.rows: Tensor | None = None                              # rows of kv that are selected and not copied yet
        self.shared = False                                          # kv belongs to another cache: copy before writing

    def append(self, k: Float[Tensor, "B H T K"], v: Float[Tensor, "B H T K"]
               ) -> tuple[Float[Tensor, "B H S K"], Float[Tensor, "B H S K"]]:
        """Write T new positions; return keys and values of all S positions as views."""
        start, T = self.length, k.shape[2]
        self.length += T
        if self.kv is None or self.shared or self.length > self.room:
            if self.shared:  # beams copy at every step: no room ahead
                self.room = self.length
            else:
                self.room = max(self.room, 2 * self.length if start else T)
            self._move(k, start)
        for part, new in zip(self.kv, (k, v)):
            part.narrow(2, start, T).copy_(new)
        return self.kv[0].narrow(2, 0, self.length), self.kv[1].narrow(2, 0, self.length)

    def _move(self, like: Tensor, length: int) -> None:
        """Copy the first `length` positions of the selected rows to new buffers for `self.room` positions.

        `like` (B, H, T, K) has the batch size, the heads and the head size of the new buffers. The old keys are freed
        before the values are copied, unless another cache shares them.
        """
        old = list(self.kv or (None, None))
        self.kv = []
        while old:
            part, new = old.pop(0), like.new_empty(*like.shape[:2], self.room, like.shape[3])
            if length:
                filled, kept = part.narrow(2, 0, length), new.narrow(2, 0, length)
                kept.copy_(filled) if self.rows is None else torch.index_select(filled, 0, self.rows, out=kept)
                del filled
            del part
            self.kv.append(new)
        self.rows, self.shared = None, False

    def select(self, rows: Tensor | None = None, length: int | None = None) -> KVCache:
        """Return a cache of the batch rows `rows` (indices; None: all) and the first `length` positions (None: all).

        The data are not copied until the next `append`. Layers append one after another, so a beam search never holds
        the old and the new data of more than one layer.
        """
        selected = KVCache(self.room)
        selected.length = self.length if length is None else length
        selected.kv, selected.shared = self.kv, True
        selected.rows = rows if self.rows is None else self.rows if rows is None else self.rows[rows]
        return selected
