"""Random spans of a text, placed uniformly, for the corruptions of BART and T5."""

from __future__ import annotations

from typing import NamedTuple, Sequence

import torch
from jaxtyping import Integer
from torch import Tensor


class Span(NamedTuple):
    """A span of adjacent tokens of a text; a span of length 0 lies between two tokens."""

    start: int                                                       # index of its first token
    end: int                                                         # index of the first token after it


def token_row(tokens: Tensor | Sequence[int], name: str = "tokens") -> Integer[Tensor, "T"]:
    """Return one text as a tensor of integers (T,), T at least 1. Otherwise raises ValueError, with `name` for it."""
    tokens = torch.as_tensor(tokens)
    if tokens.dim() != 1 or len(tokens) == 0 or tokens.is_floating_point() or tokens.dtype == torch.bool:
        raise ValueError(f"{name} has shape {tuple(tokens.shape)} and dtype {tokens.dtype}; expected one text, (T,) "
                         "integers with T at least 1")
    return tokens


def check_rate(rate: float | int, name: str = "rate") -> float:
    """Return the share `rate` of the tokens as a float. Raises ValueError unless it is in [0, 1]."""
    if not 0 <= rate <= 1:
        raise ValueError(f"{name} is {rate}; expected a share of the tokens, from 0 to 1")
    return float(rate)


def check_mean(mean: float | int, least: float | int) -> None:
    """Raise ValueError unless `mean`, the mean length of spans, is finite and at least `least`."""
    if not least <= mean < float("inf"):
        raise ValueError(f"mean is {mean}; expected the mean length of spans, at least {least}")


def poisson_lengths(budget: int, mean: float | int, generator: torch.Generator | None = None) -> list[int]:
    """Sample lengths of spans, in tokens, from a Poisson distribution until their sum is `budget`.

    The last length is truncated so that the sum is exact. A length is 0 with probability exp(-mean).
    """
    lengths: list[int] = []
    while sum(lengths) < budget:
        drawn = int(torch.poisson(torch.tensor(float(mean)), generator=generator))
        lengths.append(min(drawn, budget - sum(lengths)))
    return lengths


def place(length: int, lengths: Sequence[int], generator: torch.Generator | None = None) -> list[Span]:
    """Place spans of the given `lengths` in a text of `length` tokens; return them in the order of the text.

    They do not overlap, but may be adjacent. All arrangements are equally probable: kept tokens and spans are items of
    one sequence, and the indices of the spans are sampled without replacement.
    """
    kept = length - sum(lengths)
    items = kept + len(lengths)
    places = torch.randperm(items, generator=generator)[:len(lengths)].sort().values.tolist()
    spans, taken = [], 0
    for number, (place_, size) in enumerate(zip(places, lengths)):
        start = place_ - number + taken                              # kept tokens and spans before it
        spans.append(Span(start, start + size))
        taken += size
    return spans


def split(total: int, parts: int, generator: torch.Generator | None = None) -> list[int]:
    """Sample `parts` integers of at least 1 with the sum `total`; all such lists are equally probable.

    total  at least `parts`
    """
    cuts = (torch.randperm(total - 1, generator=generator)[:parts - 1] + 1).sort().values.tolist()
    return [b - a for a, b in zip([0, *cuts], [*cuts, total])]


def separate_spans(length: int, rate: float | int, mean: float | int,
                   generator: torch.Generator | None = None) -> list[Span]:
    """Sample T5's spans, in the order of the text: they cover round(rate * length) tokens, and none are adjacent.

    length  number of tokens of the text
    rate    share of the tokens that the spans cover
    mean    mean length of the spans, at least 1: there are round(covered tokens / mean) spans, if that many fit

    At least one token is covered and at least one is not, unless the rate is 0 or 1 or the text has a single token.
    All divisions of the covered tokens into spans are equally probable, and so are all divisions of the other tokens
    into the gaps between spans.
    """
    check_rate(rate)
    check_mean(mean, 1)
    covered = round(rate * length)
    if 0 < rate < 1 and length > 1:
        covered = min(max(covered, 1), length - 1)
    if covered in (0, length):
        return [Span(0, length)] if covered else []
    number = min(max(1, round(covered / mean)), covered, length - covered + 1)
    sizes = split(covered, number, generator)
    gaps = split(length - covered + 2, number + 1, generator)         # two more: the first and the last may be empty
    gaps[0] -= 1
    spans, at = [], 0
    for gap, size in zip(gaps, sizes):
        spans.append(Span(at + gap, at + gap + size))
        at += gap + size
    return spans
