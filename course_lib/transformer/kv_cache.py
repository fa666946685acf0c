"""KV cache: keys and values of processed positions, for generation."""

from __future__ import annotations

import torch
from jaxtyping import Float
from torch import Tensor


class KVCache:
    """Keys and values of the positions so far, in a buffer that is allocated ahead and doubled when it is full.

    Not differentiable, because new positions are written in place.

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
        self.rows: Tensor | None = None                              # rows of kv that are selected and not copied yet
        self.shared = False                                          # kv belongs to another cache: copy before writing

    def append(self, kv: Float[Tensor, "2 B H T K"]) -> Float[Tensor, "2 B H S K"]:
        """Write T new positions, and return all S positions so far as a view."""
        start, T = self.length, kv.shape[3]
        self.length += T
        if self.kv is None or self.shared or self.length > self.room:
            if self.shared:  # beams copy at every step: no room ahead
                self.room = self.length
            else:
                self.room = max(self.room, 2 * self.length if start else T)
            self._move_to(kv.new_empty(*kv.shape[:3], self.room, kv.shape[4]), start)
        self.kv.narrow(3, start, T).copy_(kv)
        return self.kv.narrow(3, 0, self.length)

    def _move_to(self, room: Tensor, length: int) -> None:
        """Copy the first `length` positions of the selected rows to the new buffer `room`; the old buffer is freed
        unless another cache shares it."""
        if length:
            filled, new = self.kv.narrow(3, 0, length), room.narrow(3, 0, length)
            new.copy_(filled) if self.rows is None else torch.index_select(filled, 1, self.rows, out=new)
        self.kv, self.rows, self.shared = room, None, False

    def select(self, rows: Tensor | None = None, length: int | None = None) -> KVCache:
        """Return the cache of the batch rows `rows` (default: all), with its first `length` positions (default: all).

        The data are not copied until the next `append`. Layers append one after another, so a beam search never holds
        the old and the new data of more than one layer.
        """
        selected = KVCache(self.room)
        selected.length = self.length if length is None else length
        selected.kv, selected.shared = self.kv, True
        selected.rows = rows if self.rows is None else self.rows if rows is None else self.rows[rows]
        return selected
