"""Pad texts of different lengths to a batch, and split a batch into texts.

GPT, BERT and the encoder-decoder share one convention for padding: a boolean mask (B, T) accompanies the tokens (B, T).
The mask is True for real tokens and False for padding, whose ids may have any value.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Union

import torch
from jaxtyping import Bool, Integer
from torch import Tensor

from course_lib.conditional import Categorical

Padded = Union[Tensor, tuple[Tensor, Union[Tensor, None]]]           # tokens (B, T), or a pair with their mask (B, T)


def pad(sequences: Sequence[Integer[Tensor, "..."] | Sequence[int]], value: int, side: str = "right"
        ) -> tuple[Integer[Tensor, "B T"], Bool[Tensor, "B T"]]:
    """Pad B sequences (T_b,) to the longest, T; return the tokens (B, T) and the mask (B, T), True for real tokens.

    value  id of padding
    side   side of the padding: "right" for training, "left" for prompts that are continued at the end

    Raises ValueError if there is no sequence, or if `side` is neither "left" nor "right".
    """
    sequences = [torch.as_tensor(sequence) for sequence in sequences]
    if not sequences:
        raise ValueError("sequences is empty; expected at least one sequence")
    if side not in ("left", "right"):
        raise ValueError(f"side is {side!r}; expected 'left' or 'right'")
    longest = max(map(len, sequences))
    tokens = torch.full((len(sequences), longest), value, dtype=torch.long, device=sequences[0].device)
    mask = torch.zeros(len(sequences), longest, dtype=torch.bool, device=sequences[0].device)
    for b, sequence in enumerate(sequences):
        place = slice(0, len(sequence)) if side == "right" else slice(longest - len(sequence), longest)
        tokens[b, place], mask[b, place] = sequence, True
    return tokens, mask


def left_pad(prompts: Sequence[Integer[Tensor, "..."] | Sequence[int]]
             ) -> tuple[Integer[Tensor, "B P"], Bool[Tensor, "B P"]]:
    """Pad prompts on the left with 0, so that each is continued at its end; return tokens and mask as `pad` does."""
    return pad(prompts, 0, side="left")


def tokens_and_mask(batch: Padded | Any, vocab_size: int, name: str = "tokens") -> tuple[Tensor, Tensor | None]:
    """Return the tokens and the mask of a batch; the mask is None if there is none.

    batch       tokens (B, T), or a pair of tokens and mask, as `pad` returns it
    vocab_size  V; ids of padding outside 0..V-1 are replaced by 0
    name        name of `batch` in error messages

    Raises TypeError if `batch` is neither a tensor nor a pair of tensors, and ValueError if the tokens are boolean, or if
    the mask is not boolean or differs in shape. The ids of real tokens are not checked.
    """
    tokens, mask = batch if isinstance(batch, tuple) and len(batch) == 2 else (batch, None)
    if not isinstance(tokens, Tensor) or not isinstance(mask, Tensor | None):
        raise TypeError(f"{name} is {_kind(batch)}; expected a tensor (B, T), or a pair with a mask (B, T), True for "
                        "real tokens, as pad returns it")
    if tokens.dtype == torch.bool:
        raise ValueError(f"{name} is boolean; expected integer tokens. Pass a mask as a pair (tokens, mask)")
    if mask is None:
        return tokens, None
    if mask.dtype != torch.bool or mask.shape != tokens.shape:
        raise ValueError(f"mask has shape {tuple(mask.shape)} and dtype {mask.dtype}; expected {tuple(tokens.shape)}, "
                         f"as {name} has, and torch.bool, True for real tokens")
    return tokens.masked_fill(~mask & ((tokens < 0) | (tokens >= vocab_size)), 0), mask


def tokens_at_the_left(
    batch: Padded, vocab_size: int, name: str = "tokens"
) -> tuple[Integer[Tensor, "B T"], Bool[Tensor, "B T"] | None]:
    """Return the tokens and the mask of a batch that is padded on the right only; the mask is None if there is none.

    batch       tokens (B, T), or a pair of tokens and mask, as `pad` returns it
    vocab_size  V, number of tokens
    name        name of `batch` in error messages

    Raises ValueError if the batch is empty, if an id is outside 0..V-1, or if there is padding before a token.
    """
    tokens, mask = tokens_and_mask(batch, vocab_size, name)
    if tokens.dim() != 2 or tokens.numel() == 0:
        raise ValueError(f"{name} has shape {tuple(tokens.shape)}; expected (B, T) with B and T at least 1")
    tokens = Categorical(vocab_size).check(tokens, name)
    if mask is not None and (not mask[:, 0].all() or (mask[:, 1:] & ~mask[:, :-1]).any()):
        raise ValueError(f"the mask of {name} has padding before a token; expected padding on the right only")
    return tokens, mask


def _kind(batch: object) -> str:
    if isinstance(batch, tuple):
        return f"a tuple of {', '.join(type(part).__name__ for part in batch)}"
    return f"of type {type(batch).__name__}"


def unpad(tokens: Integer[Tensor, "B T"], mask: Bool[Tensor, "B T"]) -> list[Integer[Tensor, "..."]]:
    """Return the real tokens of each row, a list of tensors (T_b,); the inverse of `pad`."""
    return [row[keep] for row, keep in zip(tokens, mask, strict=True)]
