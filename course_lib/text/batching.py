"""Texts of unequal length as one rectangle of tokens, and back."""
from __future__ import annotations

from collections.abc import Sequence

import torch
from jaxtyping import Bool, Integer
from torch import Tensor


def pad(sequences: Sequence[Integer[Tensor, "..."]], value: int, side: str = "right"
        ) -> tuple[Integer[Tensor, "B T"], Bool[Tensor, "B T"]]:
    """The sequences (T_b,) as rows of one tensor, filled up with `value`, and a mask: True for a real token.

    side: where the filling stands. "right" for training; "left" where all rows are to be continued at their end.
    Raises ValueError if there is no sequence, or `side` is neither.
    """
    if not sequences:
        raise ValueError("sequences is empty; a batch needs at least one")
    if side not in ("left", "right"):
        raise ValueError(f"side is {side!r}; it is 'left' or 'right'")
    longest = max(map(len, sequences))
    tokens = torch.full((len(sequences), longest), value, dtype=torch.long, device=sequences[0].device)
    mask = torch.zeros(len(sequences), longest, dtype=torch.bool, device=sequences[0].device)
    for b, sequence in enumerate(sequences):
        place = slice(0, len(sequence)) if side == "right" else slice(longest - len(sequence), longest)
        tokens[b, place], mask[b, place] = sequence, True
    return tokens, mask


def unpad(tokens: Integer[Tensor, "B T"], mask: Bool[Tensor, "B T"]) -> list[Integer[Tensor, "..."]]:
    """The real tokens of each row."""
    return [row[keep] for row, keep in zip(tokens, mask, strict=True)]


def join_segments(a: Integer[Tensor, "..."], b: Integer[Tensor, "..."] | None, cls: int, sep: int
                  ) -> tuple[Integer[Tensor, "T"], Integer[Tensor, "T"]]:
    """BERT's input: [CLS] a [SEP] b [SEP], and the token types, 0 up to the first [SEP] and 1 after it."""
    def one(i):
        return a.new_tensor([i])

    parts = [one(cls), a, one(sep)] + ([] if b is None else [b, one(sep)])
    tokens = torch.cat(parts)
    types = torch.zeros_like(tokens)
    types[len(a) + 2:] = 1
    return tokens, types
