"""What comes in: sequences of symbols and prompts, checked once for every model of text."""

from __future__ import annotations

from typing import Any

import torch
from jaxtyping import Integer
from torch import Tensor, nn

from course_lib.autoregressive import Context

Tokens = Any                                     # (T,), (B, T) or a list of sequences; tensors, arrays or lists


def as_sequences(tokens: Tokens, vocab_size: int, name: str = "tokens",
                 bos_id: int | None = None) -> list[Integer[Tensor, "T"]]:
    """One text or several as a list of LongTensors: (T,) is one, (B, T) and a list of sequences are several.

    Raises ValueError for an empty text, numbers that are not integers, tokens outside 0..vocab_size-1, and bos_id, which
    a model puts in front of every sequence itself.
    """
    if isinstance(tokens, str):
        raise ValueError(f"{name} is a string; encode it first: expected integers 0..{vocab_size - 1}")
    if hasattr(tokens, "__array__"):                                 # a tensor, or an array of numpy
        tokens = torch.as_tensor(tokens)
        if tokens.dim() not in (1, 2):
            raise ValueError(f"{name} has shape {tuple(tokens.shape)}; expected (T,), (B, T) or a list of sequences")
        parts = [tokens] if tokens.dim() == 1 else list(tokens)
    else:
        tokens = list(tokens)
        parts = [tokens] if tokens and isinstance(tokens[0], int) else tokens
    sequences = [torch.as_tensor(part) for part in parts]
    if not sequences or any(s.numel() == 0 for s in sequences):
        problem = "holds an empty sequence" if sequences else "is empty"
        raise ValueError(f"{name} {problem}; expected at least one symbol")
    for s in sequences:
        if s.dim() != 1 or s.is_floating_point() or s.is_complex() or s.dtype == torch.bool:
            raise ValueError(f"{name} holds a sequence of shape {tuple(s.shape)}, {s.dtype}; expected integers (T,)")
    symbols = torch.cat(sequences)
    outside = (symbols < 0) | (symbols >= vocab_size)
    if outside.any():
        raise ValueError(f"{name} holds {int(symbols[outside][0])}; this vocabulary has {vocab_size} symbols, "
                         f"0..{vocab_size - 1}")
    if bos_id is not None and (symbols == bos_id).any():
        raise ValueError(f"{name} holds bos_id = {bos_id}; the model puts it in front of every sequence itself")
    return [s.long() for s in sequences]


def check_symbols(x: Tensor) -> Tensor:
    """x itself, or a ValueError if it holds sequences (B, 0) without a symbol."""
    if x.dim() == 2 and x.shape[1] == 0:
        raise ValueError(f"x has shape {tuple(x.shape)}: its sequences are empty; expected at least one symbol")
    return x


def check_prompt(model: nn.Module, context: Context, batch: int, least: int) -> Integer[Tensor, "B P"]:
    """A prompt (B, P) of at least `least` symbols, or a ValueError."""
    if isinstance(context, tuple):
        raise ValueError(f"context is a pair; {type(model).__name__} takes prompts of one length, a tensor (B, P)")
    if context.dim() != 2 or len(context) != batch:
        raise ValueError(f"context has shape {tuple(context.shape)}; expected (B, P) with B = {batch}, the same batch")
    if context.shape[1] < least:
        raise ValueError(f"context has {context.shape[1]} symbols; this model needs the last {least}")
    return model.conditional.check(context, "context")
