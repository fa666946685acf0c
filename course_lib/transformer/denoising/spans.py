"""Spans of a text, drawn so that each place is as likely as another: what BART and T5 take out."""

from __future__ import annotations

from typing import NamedTuple, Sequence

import torch
from jaxtyping import Integer
from torch import Tensor


class Span(NamedTuple):
    """Tokens `start` to `end`, the last one not included; a span of length 0 lies between two tokens."""

    start: int
    end: int


def token_row(tokens: Tensor | Sequence[int], name: str = "tokens") -> Integer[Tensor, "T"]:
    """One text, (T,) integers, at least one; a ValueError that says what was got otherwise."""
    tokens = torch.as_tensor(tokens)
    if tokens.dim() != 1 or len(tokens) == 0 or tokens.is_floating_point() or tokens.dtype == torch.bool:
        raise ValueError(f"{name} has shape {tuple(tokens.shape)} and dtype {tokens.dtype}; expected one text, (T,) "
                         "integers with T at least 1")
    return tokens


def check_rate(rate: float | int, name: str = "rate") -> float:
    """A share of the tokens, or a ValueError."""
    if not 0 <= rate <= 1:
        raise ValueError(f"{name} is {rate}; expected a share of the tokens, from 0 to 1")
    return float(rate)


def check_mean(mean: float | int, least: float | int) -> None:
    """The mean length of spans, or a ValueError."""
    if not least <= mean < float("inf"):
        raise ValueError(f"mean is {mean}; expected a length of spans, at least {least}")


def poisson_lengths(budget: int, mean: float | int, generator: torch.Generator | None = None) -> list[int]:
    """Lengths of spans from a Poisson distribution, drawn until they add up to `budget`; the last one is cut to fit.

    Lengths of 0 come too, with probability exp(-mean): they take nothing away.
    """
    lengths: list[int] = []
    while sum(lengths) < budget:
        drawn = int(torch.poisson(torch.tensor(float(mean)), generator=generator))
        lengths.append(min(drawn, budget - sum(lengths)))
    return lengths


def place(length: int, lengths: Sequence[int], generator: torch.Generator | None = None) -> list[Span]:
    """Spans of these lengths in a text of `length` tokens, none over another: every arrangement is equally likely.

    The tokens that stay and the spans are items of one row; which of the items are spans is drawn without replacement.
    Two spans may touch.
    """
    kept = length - sum(lengths)
    items = kept + len(lengths)
    places = torch.randperm(items, generator=generator)[:len(lengths)].sort().values.tolist()
    spans, taken = [], 0
    for number, (place_, size) in enumerate(zip(places, lengths)):
        start = place_ - number + taken                              # tokens kept before it, and those in earlier spans
        spans.append(Span(start, start + size))
        taken += size
    return spans


def split(total: int, parts: int, generator: torch.Generator | None = None) -> list[int]:
    """`total` as a sum of `parts` whole numbers of at least 1, every such sum equally likely."""
    cuts = (torch.randperm(total - 1, generator=generator)[:parts - 1] + 1).sort().values.tolist()
    return [b - a for a, b in zip([0, *cuts], [*cuts, total])]


def separate_spans(length: int, rate: float | int, mean: float | int,
                   generator: torch.Generator | None = None) -> list[Span]:
    """Spans over round(rate * length) tokens, of the mean length asked for, with a token between any two of them.

    At least one token is covered and one is not, unless the rate is 0 or 1 or the text a single token. All lengths that
    add up are equally likely, and so are all gaps.
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
