"""What all ways of decoding share: their result, a step's probabilities, and a look at what was asked for."""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
from jaxtyping import Bool, Float, Integer
from torch import Tensor, nn
from torch.distributions import Distribution

from course_lib.conditional import Categorical


class Decoded(NamedTuple):
    """Sequences, best first where there are several a row.

    tokens    (B, T), or (B, N, T) with N sequences a row; after the end, the end token again
    length    (B,) or (B, N): values before that, the end token included
    log_prob  (B,) or (B, N): log p of the sequence under the model, in nats
    score     what it was ranked by
    """

    tokens: Tensor
    length: Tensor
    log_prob: Tensor
    score: Tensor


def log_probs(model: nn.Module, distribution: Distribution) -> Float[Tensor, "B V"]:
    """log p of every value that the next variable may take."""
    if isinstance(model.conditional, Categorical):
        return distribution.logits                                   # torch has normalised them
    values = torch.arange(model.conditional.num_values, device=device_of(model))
    values = model.conditional.check(values, dtype=model._like().dtype)
    return distribution.log_prob(values[:, None]).T                  # (V, B) -> (B, V)


def sizes(model: nn.Module, length: int | None, end: int | None) -> tuple[int, int]:
    """Number of variables and of the values each takes, after a look at what was asked for."""
    name = type(model).__name__
    if not hasattr(model, "predict"):
        raise TypeError(f"{name} has no predict; what is decoded gives one variable at a time")
    V = model.conditional.num_values
    if V is None:
        raise TypeError(f"{name} models continuous variables, whose values cannot be listed; use its sample")
    if end is not None and model.n is not None:
        raise ValueError(f"end is {end}; {name} has {model.n} variables, all of them written")
    if end is not None and not 0 <= end < V:
        raise ValueError(f"end is {end}; the values are 0..{V - 1}")
    return model._length(length), V


def batch_of(context: Any, batch: int | None) -> int:
    rows = None if context is None else len(context)
    if batch is not None and (batch < 1 or rows not in (None, batch)):
        raise ValueError(f"batch is {batch}; needed is " + ("at least 1" if rows is None else f"{rows}, as in context"))
    return batch or rows or 1


def device_of(model: nn.Module) -> torch.device:
    return model._like().device


def gather(tokens: Integer[Tensor, "B k T"], row: Integer[Tensor, "B C"]) -> Integer[Tensor, "B C T"]:
    return tokens.gather(1, row[..., None].expand(-1, -1, tokens.shape[-1]))


def ended(value: Integer[Tensor, "..."], end: int | None, last: bool) -> Bool[Tensor, "..."]:
    """True where a sequence is over: it has come to the end token, or this is the last step."""
    return torch.full_like(value, last, dtype=torch.bool) if end is None else (value == end) | last


def finish(model: nn.Module, found: Decoded, end: int | None, best: int | None = None) -> Decoded:
    """The first `best` of each row; after the end, the end token; columns are variables, whatever their order."""
    tokens, size, log_p, score = found if best is None else (part[:, :best] for part in found)
    if model.order is not None:
        tokens = tokens[..., model.order.argsort()]                  # the k-th written is variable order[k]
    if end is not None:
        late = torch.arange(tokens.shape[-1], device=size.device) >= size[..., None]
        tokens = tokens.masked_fill(late, end)[..., :max(1, int(size.max()))]
    return Decoded(tokens, size, log_p, score)
