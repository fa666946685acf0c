"""What comes in: sequences of symbols and prompts, checked once for every model of text."""

from __future__ import annotations

from typing import Any

import torch
from jaxtyping import Integer
from torch import Tensor, nn

Tokens = Any                                     # (T,), (B, T) or a list of sequences; tensors, arrays or lists


def as_sequences(tokens: Tokens, vocabulary: int, name: str = "tokens",
                 bos_id: int | None = None) -> list[Integer[Tensor, "T"]]:
    """One text or several as a list of LongTensors: (T,) is one, (B, T) and a list of sequences are several.

    Raises ValueError for an empty text, numbers that are no integers, tokens outside 0..vocabulary-1, and bos_id, which
    a model puts in front of every sequence itself.
    """
    if isinstance(tokens, str):
        raise ValueError(f"{name} is a string; encode it first: needed are integers 0..{vocabulary - 1}")
    if hasattr(tokens, "__array__"):                                 # a tensor, or an array of numpy
        tokens = torch.as_tensor(tokens)
        if tokens.dim() not in (1, 2):
            raise ValueError(f"{name} has shape {tuple(tokens.shape)}; needed is (T,), (B, T) or a list of sequences")
        parts = [tokens] if tokens.dim() == 1 else list(tokens)
    else:
        tokens = list(tokens)
        parts = [tokens] if tokens and isinstance(tokens[0], int) else tokens
    sequences = [torch.as_tensor(part) for part in parts]
    if not sequences or any(s.numel() == 0 for s in sequences):
        found = "holds an empty sequence" if sequences else "is empty"
        raise ValueError(f"{name} {found}; at least one symbol is needed")
    for s in sequences:
        if s.dim() != 1 or s.is_floating_point() or s.is_complex() or s.dtype == torch.bool:
            raise ValueError(f"{name} holds a sequence of shape {tuple(s.shape)}, {s.dtype}; needed are integers (T,)")
    everything = torch.cat(sequences)
    outside = (everything < 0) | (everything >= vocabulary)
    if outside.any():
        raise ValueError(f"{name} holds {int(everything[outside][0])}; this vocabulary has {vocabulary} symbols, "
                         f"0..{vocabulary - 1}")
    if bos_id is not None and (everything == bos_id).any():
        raise ValueError(f"{name} holds bos_id = {bos_id}; the model puts it in front of every sequence itself")
    return [s.long() for s in sequences]


def check_symbols(model: nn.Module, x: Tensor, context: Tensor | None) -> Integer[Tensor, "B n"]:
    if x.dim() == 2 and x.shape[1] == 0:
        raise ValueError(f"x has shape {tuple(x.shape)}: its sequences are empty; at least one symbol is needed")
    return model.check_input(x, context)


def check_prompt(model: nn.Module, context: Tensor, batch: int, least: int) -> Integer[Tensor, "B P"]:
    """A prompt (B, P) of at least `least` symbols, or a ValueError."""
    if context.dim() != 2 or len(context) != batch:
        raise ValueError(f"context has shape {tuple(context.shape)}; needed is (B, P) with B = {batch}, the same batch")
    if context.shape[1] < least:
        raise ValueError(f"context has {context.shape[1]} symbols; this model needs the last {least}")
    return model.conditional.check(context, "context")
