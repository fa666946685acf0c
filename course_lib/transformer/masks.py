"""Masks of attention: boolean, True where a query may attend to a key."""

from __future__ import annotations

import torch
from jaxtyping import Bool, Int
from torch import Tensor


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
