"""Check sequences of ids and prompts, for every model of text."""

from __future__ import annotations

from typing import Any

import torch
from jaxtyping import Integer
from torch import Tensor, nn

from course_lib.autoregressive import Context

Tokens = Any                                     # (T,), (B, T) or a list of sequences; tensors, arrays or lists


def as_sequences(tokens: Tokens, vocab_size: int, name: str = "tokens",
                 bos_id: int | None = None) -> list[Integer[Tensor, "T"]]:
    """Convert one text (T,), or several texts, (B, T) or a list of sequences, to a list of LongTensors (T,).

    vocab_size  V, number of tokens
    name        name of `tokens` in error messages
    bos_id      start symbol that the model prepends itself; None: the model prepends no start symbol

    Raises ValueError if there is no text, if a text is empty or contains `bos_id`, or if its elements are not integers
    in 0..V-1.
    """
    if isinstance(tokens, str):
        raise ValueError(f"{name} is a string; expected integers 0 to {vocab_size - 1}, as tokenizer.encode returns")
    if hasattr(tokens, "__array__"):                                 # a tensor or a NumPy array
        tokens = torch.as_tensor(tokens)
        if tokens.dim() not in (1, 2):
            raise ValueError(f"{name} has shape {tuple(tokens.shape)}; expected (T,), (B, T) or a list of sequences")
        parts = [tokens] if tokens.dim() == 1 else list(tokens)
    else:
        tokens = list(tokens)
        parts = [tokens] if tokens and isinstance(tokens[0], int) else tokens
    sequences = [torch.as_tensor(part) for part in parts]
    if not sequences or any(s.numel() == 0 for s in sequences):
        problem = "contains an empty sequence" if sequences else "is empty"
        raise ValueError(f"{name} {problem}; expected at least one symbol")
    for s in sequences:
        if s.dim() != 1 or s.is_floating_point() or s.is_complex() or s.dtype == torch.bool:
            raise ValueError(f"{name} contains a sequence of shape {tuple(s.shape)}, {s.dtype}; expected integers (T,)")
    symbols = torch.cat(sequences)
    outside = (symbols < 0) | (symbols >= vocab_size)
    if outside.any():
        raise ValueError(f"{name} contains {int(symbols[outside][0])}; expected 0 to {vocab_size - 1}, the ids of this vocabulary")
    if bos_id is not None and (symbols == bos_id).any():
        raise ValueError(f"{name} contains bos_id = {bos_id}; expected texts without it, because the model prepends it")
    return [s.long() for s in sequences]


def check_symbols(x: Tensor) -> Tensor:
    """Return x, tokens (B, n). Raises ValueError if n is 0."""
    if x.dim() == 2 and x.shape[1] == 0:
        raise ValueError(f"x has shape {tuple(x.shape)}; expected at least one symbol in each sequence")
    return x


def check_prompt(model: nn.Module, context: Context, batch: int, least: int) -> Integer[Tensor, "B P"]:
    """Return the prompt `context`, (B, P), in the dtype of the model's variables.

    Raises ValueError unless B is `batch`, P is at least `least`, and the values are valid for the model.
    """
    if isinstance(context, tuple):
        raise ValueError(f"context is a pair; {type(model).__name__} expects prompts of one length, a tensor (B, P)")
    if context.dim() != 2 or len(context) != batch:
        raise ValueError(f"context has shape {tuple(context.shape)}; expected (B, P) with B = {batch}, the batch size")
    if context.shape[1] < least:
        raise ValueError(f"context has {context.shape[1]} symbols; expected at least {least}")
    return model.conditional.check(context, "context")
