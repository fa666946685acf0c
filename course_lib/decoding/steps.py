"""Shared parts of decoding: the result, the log-probabilities of a step, checks of arguments."""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
from jaxtyping import Bool, Float, Integer
from torch import Tensor, nn
from torch.distributions import Distribution

from course_lib.conditional import Categorical


class Decoded(NamedTuple):
    """Decoded sequences, best first if there are several per row.

    tokens    (B, T), or (B, N, T) for N sequences per row; the end token is repeated after the end
    length    (B,) or (B, N): number of values up to the end, the end token included
    log_prob  (B,) or (B, N): log-probability of the sequence under the model, in nats
    score     (B,) or (B, N): the value by which the sequences of a row are ranked; its definition depends on the method

    >>> from course_lib.decoding import greedy
    >>> from course_lib.decoding.prefix_tree import yes_or_ok
    >>> found = greedy(yes_or_ok(), length=3, eos_id=2)
    >>> found.tokens, found.length, found.log_prob.exp()  # "yes yes </s>"
    (tensor([[0, 0, 2]]), tensor([3]), tensor([0.2000], dtype=torch.float64))
    """

    tokens: Tensor
    length: Tensor
    log_prob: Tensor
    score: Tensor


def log_probs(model: nn.Module, distribution: Distribution) -> Float[Tensor, "B V"]:
    """Log-probability of each of the V values of the next variable, given its `distribution`, batch shape (B,)."""
    if isinstance(model.conditional, Categorical):
        return distribution.logits                                   # torch has normalized them
    values = torch.arange(model.conditional.num_values, device=device_of(model))
    values = model.conditional.check(values, dtype=model.like().dtype)
    return distribution.log_prob(values[:, None]).T                  # (V, B) -> (B, V)


def sizes(model: nn.Module, length: int | None, eos_id: int | None) -> tuple[int, int]:
    """Return the number of variables and the number V of values per variable.

    Raises TypeError if the model cannot be decoded, and ValueError if `length` or `eos_id` does not fit the model.
    """
    name = type(model).__name__
    if not hasattr(model, "predict"):
        raise TypeError(f"model is a {name}, which has no method predict; expected a model that predicts one variable "
                        "at a time")
    V = model.conditional.num_values
    if V is None:
        raise TypeError(f"{name} models continuous variables; expected a model of discrete variables (its sample works for both)")
    if eos_id is not None and model.n is not None:
        raise ValueError(f"eos_id is {eos_id}; expected None, because {name} has a fixed number of variables ({model.n})")
    if eos_id is not None and not 0 <= eos_id < V:
        raise ValueError(f"eos_id is {eos_id}; expected 0 to {V - 1}, one of the {V} values of a variable, or None")
    return model.length_for(length), V


def batch_of(context: Any, batch: int | None) -> int:
    """Number of rows: the rows of `context` if it is given, else `batch`, else 1. Raises ValueError if they differ."""
    rows = None if context is None else len(context[0] if isinstance(context, tuple) else context)
    if batch is not None and (batch < 1 or rows not in (None, batch)):
        raise ValueError(f"batch is {batch}; expected " + ("at least 1" if rows is None else f"{rows}, as in context"))
    return batch or rows or 1


def device_of(model: nn.Module) -> torch.device:
    """Device of the model's parameters."""
    return model.like().device


def gather(tokens: Integer[Tensor, "B k T"], row: Integer[Tensor, "B C"]) -> Integer[Tensor, "B C T"]:
    """For each batch row b, select C of its k sequences, whose indices are row[b]: tokens[b, row[b]]."""
    return tokens.gather(1, row[..., None].expand(-1, -1, tokens.shape[-1]))


def ended(value: Integer[Tensor, "..."], eos_id: int | None, last: bool) -> Bool[Tensor, "..."]:
    """True where `value` ends a sequence: where it is `eos_id`, or everywhere if `last`, in the last step."""
    return torch.full_like(value, last, dtype=torch.bool) if eos_id is None else (value == eos_id) | last


def finish(model: nn.Module, decoded: Decoded, eos_id: int | None, num_return: int | None = None) -> Decoded:
    """Final result: the first `num_return` sequences of each row, padded with the end token; `num_return` None: all.

    `decoded` has the values in sampling order; in the result column i of `tokens` is variable i.
    """
    tokens, size, log_p, score = decoded if num_return is None else (part[:, :num_return] for part in decoded)
    if model.order is not None:
        tokens = tokens[..., model.order.argsort()]                  # the k-th written is variable order[k]
    if eos_id is not None:
        late = torch.arange(tokens.shape[-1], device=size.device) >= size[..., None]
        tokens = tokens.masked_fill(late, eos_id)[..., :max(1, int(size.max()))]
    return Decoded(tokens, size, log_p, score)
