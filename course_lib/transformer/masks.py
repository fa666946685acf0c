"""Attention masks: boolean, True where a query may attend to a key."""

from __future__ import annotations

import torch
from jaxtyping import Bool, Int
from torch import Tensor


def causal_mask(n: int, m: int | None = None, device: torch.device | str | None = None) -> Bool[Tensor, "n m"]:
    """Causal mask: True at [i, j] if key j is not after query i. The n queries are the last of m positions; by default
    m = n."""
    m = n if m is None else m
    if not 1 <= n <= m:
        raise ValueError(f"n is {n} and m is {m}; expected 1 <= n <= m, because the n queries are the last of m positions")
    return torch.ones(n, m, dtype=torch.bool, device=device).tril(m - n)


def padding_mask(lengths: Int[Tensor, "B"], m: int) -> Bool[Tensor, "B 1 m"]:
    """Padding mask: True for the first `lengths[b]` of m keys, the real tokens of row b, for every query of the row."""
    if ((lengths < 0) | (lengths > m)).any():
        raise ValueError(f"lengths is {lengths.tolist()}; expected values from 0 to {m}, the number of keys")
    return (torch.arange(m, device=lengths.device) < lengths[:, None])[:, None, :]


def combine_masks(*masks: Bool[Tensor, "..."] | None) -> Bool[Tensor, "..."] | None:
    """Return the elementwise conjunction of masks, whose shapes broadcast: (T, S) and (B, 1, S) give (B, T, S).

    A mask of None masks nothing and is omitted; if all masks are None, the result is None.
    """
    both = None
    for mask in masks:
        if mask is not None:
            both = mask if both is None else both & mask
    return both


def check_mask(mask: Tensor, scores: tuple[int, ...]) -> None:
    """Raise ValueError unless the mask is boolean and fits attention scores of the shape `scores`.

    The mask must have all axes of the scores or only the last two, each of the same length or of length 1. A mask (B,
    T, S) is invalid for scores (B, H, T, S), because B would be aligned with H.
    """
    if mask.dtype != torch.bool:
        raise ValueError(f"mask has dtype {mask.dtype}; expected torch.bool, True where a query may attend")
    scores = tuple(scores)
    fits = mask.dim() in (2, len(scores)) and all(a in (1, b) for a, b in zip(mask.shape[::-1], scores[::-1]))
    if not fits:
        raise ValueError(f"mask has shape {tuple(mask.shape)}; expected {len(scores)} axes as the scores, {scores}, or their "
                         f"last two, {scores[-2:]}, where an axis of the mask may have length 1")
