"""Count n-grams: the n-grams of a text, and a tree of histories with the counts of their successors.

A history consists of the symbols before a symbol; that symbol is its successor.
"""

from __future__ import annotations

import torch
from jaxtyping import Integer
from torch import Tensor, nn


def windows(sequences: list[Tensor], order: int, bos_id: int | None) -> Integer[Tensor, "N m"]:
    """All N n-grams of `sequences`, each (T,), as rows (N, order + 1): a history of `order` symbols, and its successor.

    With `bos_id`, histories are padded with it on the left, so that every symbol ends an n-gram. Without it, the first
    `order` symbols of a sequence have no complete history, and no n-gram ends with them.
    """
    pad = [] if bos_id is None else [torch.full((order,), bos_id, device=sequences[0].device)]
    parts = [torch.cat([*pad, s]) for s in sequences]
    flat = torch.cat(parts)
    lengths = torch.tensor([len(p) for p in parts], device=flat.device)
    start = (lengths.cumsum(0) - lengths).repeat_interleave(lengths)                 # start of each symbol's sequence
    last = torch.arange(len(flat), device=flat.device)
    last = last[last - start >= order]                               # positions with a complete history
    return flat[last[:, None] + torch.arange(-order, 1, device=flat.device)]


def distinct(rows: Integer[Tensor, "N m"]) -> tuple[Tensor, Tensor]:
    """The G distinct rows of `rows` in lexicographic order, (G, m), and the count of each, (G,).

    A row is encoded as one integer, whose digits are its symbols. Before the integers overflow, they are replaced by
    their ranks, which are smaller than the number of rows.
    """
    base = int(rows.max()) + 1
    number, largest = torch.zeros(len(rows), dtype=torch.long, device=rows.device), 0
    for column in rows.T:
        if (largest + 1) * base >= 2 ** 63:
            number = torch.unique(number, return_inverse=True)[1]
            largest = len(rows) - 1
        number, largest = number * base + column, (largest + 1) * base - 1
    _, group, counts = torch.unique(number, return_inverse=True, return_counts=True)
    grams = rows.new_zeros(len(counts), rows.shape[1])
    grams[group] = rows                                              # all rows of a group are equal
    return grams, counts


class Histories(nn.Module):
    """Counts of the n-grams of a text, as a tree of H histories of 0 to m = n - 1 symbols and their successors.

    Histories have numbers: 0 is the empty history, and a longer history has a larger number. They form a tree: the
    parent of a history is the history without its oldest symbol. The path from the root to a history therefore contains
    all its suffixes, whose counts are needed for smoothing.

    vocab_size       V, number of symbols
    depth  (H,)      number of symbols of each history
    keys   (H - 1,)  sorted: number of the parent * V + oldest symbol, for histories 1, 2, ..., H - 1
    pairs  (M,)      sorted: number of the history * V + successor, for the M pairs of both that occur in the text
    count  (M,)      count of each pair
    total  (H,)      sum of the counts of each history's successors
    types  (H,)      number of distinct successors of each history
    """

    def __init__(self, vocab_size: int, depth: Tensor, keys: Tensor, pairs: Tensor, count: Tensor):
        super().__init__()
        self.vocab_size = vocab_size
        history = pairs // vocab_size
        total = torch.zeros(len(depth), dtype=torch.long, device=keys.device).index_add_(0, history, count)
        columns = {"depth": depth, "keys": keys, "pairs": pairs, "count": count, "total": total,
                   "types": torch.bincount(history, minlength=len(depth))}
        for name, column in columns.items():                         # derived from the packed counts, not saved
            self.register_buffer(name, column, persistent=False)

    @classmethod
    def of(cls, grams: Integer[Tensor, "G m"], counts: Tensor, vocab_size: int) -> Histories:
        """Build the tree from G distinct n-grams, the rows of `grams`: a history of n - 1 symbols and its successor.

        counts      (G,), count of each n-gram; also added to the counts of the successor after all shorter histories
        vocab_size  V, number of symbols
        """
        h = torch.zeros(len(grams), dtype=torch.long, device=grams.device)           # each n-gram's history, by number
        depth, keys, pairs, count, size = [h[:1]], [], [], [], 1
        for k in range(grams.shape[1]):
            if k:
                key, rank = torch.unique(h * vocab_size + grams[:, -1 - k], return_inverse=True)
                h, size = size + rank, size + len(key)
                keys.append(key)
                depth.append(torch.full_like(key, k))
            pair, place = torch.unique(h * vocab_size + grams[:, -1], return_inverse=True)
            pairs.append(pair)
            count.append(torch.zeros_like(pair).index_add_(0, place, counts.long()))
        return cls(vocab_size, torch.cat(depth), torch.cat([h[:0], *keys]), torch.cat(pairs), torch.cat(count))

    def continued(self, bos_id: int | None) -> Histories:
        r"""The same tree with the continuation counts of Kneser-Ney smoothing.

        The count of a history h and its successor w becomes $N_{1+}(\cdot\, h\, w)$, the number of distinct symbols
        before h w. The longest histories, and histories that begin with `bos_id`, keep their counts.
        """
        v, h = self.vocab_size, self.pairs // self.vocab_size
        deeper = h > 0
        parent = self.keys[h[deeper] - 1] // v
        place = find(self.pairs, parent * v + self.pairs[deeper] % v)
        count = torch.bincount(place, minlength=len(self.pairs))
        true = self.depth[h] == self.depth.max()
        if bos_id is not None and len(self.keys):
            true |= deeper & (self.keys[(h - 1).clamp(min=0)] % v == bos_id)
        return Histories(v, self.depth, self.keys, self.pairs, torch.where(true, self.count, count))

    def walk(self, history: Integer[Tensor, "... m"]) -> Integer[Tensor, "... L"]:
        """Numbers (..., m + 1) of the suffixes of `history` with 0, 1, ..., m symbols; -1 for an unseen suffix.

        history  (..., m), oldest symbol first
        """
        met = [torch.zeros(history.shape[:-1], dtype=torch.long, device=self.keys.device)]
        for k in range(1, history.shape[-1] + 1):
            rank = find(self.keys, met[-1] * self.vocab_size + history[..., -k])     # a key from -1 is negative, so absent
            met.append(torch.where(rank >= 0, rank + 1, -1))
        return torch.stack(met, dim=-1)

    def count_of(self, h: Tensor, symbol: Tensor) -> Tensor:
        """Count of `symbol` after the history with number h, elementwise; 0 for an unseen pair or h = -1."""
        place = find(self.pairs, h * self.vocab_size + symbol)
        return torch.where(place >= 0, self.count[place], 0)

    def following(self, h: Integer[Tensor, "T"]) -> tuple[Tensor, Tensor, Tensor]:
        """All seen successors of the histories with numbers h (T,), concatenated; a history of -1 has none.

        Returns three tensors of equal length: for each successor, the index of its history in h, its symbol, its count.
        """
        first = torch.searchsorted(self.pairs, h * self.vocab_size)                  # the pairs of a history are adjacent
        number = torch.where(h >= 0, self.types[h], 0)
        row = torch.arange(len(h), device=h.device).repeat_interleave(number)
        place = torch.arange(len(row), device=h.device) + (first - number.cumsum(0) + number)[row]
        return row, self.pairs[place] % self.vocab_size, self.count[place]


def find(table: Tensor, keys: Tensor) -> Tensor:
    """The index of each key in the sorted tensor `table`, -1 if absent."""
    if len(table) == 0:
        return torch.full_like(keys, -1)
    place = torch.searchsorted(table, keys).clamp(max=len(table) - 1)
    return torch.where(table[place] == keys, place, -1)
