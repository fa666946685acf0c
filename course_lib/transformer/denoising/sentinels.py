"""T5's span corruption: spans move from the text to the target, and sentinel tokens mark their positions.

    text     Thank you for inviting me to your party last week
    read     Thank you <X> me to your party <Y> week
    target   <X> for inviting <Y> last <Z>

Here <X>, <Y> and <Z> are sentinels, and `read` is the input of the encoder. The target contains the missing spans only.
`restore` reconstructs the text from `read` and the target.
"""

from __future__ import annotations

from typing import NamedTuple, Sequence

import torch
from jaxtyping import Integer
from torch import Tensor

from course_lib.transformer.denoising.spans import separate_spans, token_row


class Pair(NamedTuple):
    """Example of span corruption: token ids of the input of the encoder and of the target of the decoder."""

    read: Integer[Tensor, "S"]                                       # the text, with a sentinel for each span
    target: Integer[Tensor, "T"]                                     # each sentinel and its span, and a last sentinel


def span_corruption(tokens: Integer[Tensor, "..."], sentinels: Sequence[int],
                    rate: float | int = 0.15, mean: float | int = 3.0,
                    generator: torch.Generator | None = None) -> Pair:
    """Replace spans of the text by sentinels, in their order; one more sentinel ends the
    target.

    sentinels  ids of the sentinel tokens, in the order of use: one more than there are
               spans
    rate       share of the tokens in spans, rounded to a whole number of tokens, but at
               least 1 if the text has 2 or more
    mean       mean length of the spans: there are round(rate * T / mean) spans of at least
               one token, and no two are adjacent

    In T5's own code a text always begins with a kept token and ends with a span; here it
    may also begin with a span or end with a kept token. Raises ValueError if there are too
    few sentinels, or if the text contains one.

    Slides: "Other models". Paper: Raffel et al. 2019, section 3.1.4.

    >>> pair = span_corruption(torch.arange(10), sentinels=[97, 98, 99], rate=0.3,
    ...                        generator=torch.Generator().manual_seed(0))
    >>> pair.read.tolist(), pair.target.tolist()
    ([0, 1, 2, 3, 4, 5, 6, 97], [97, 7, 8, 9, 98])
    """
    tokens = token_row(tokens)
    return exchange(tokens, separate_spans(len(tokens), rate, mean, generator), sentinels)


def exchange(tokens: Integer[Tensor, "..."], spans: Sequence[tuple[int, int]], sentinels: Sequence[int]) -> Pair:
    """Replace the given spans of a text (T,) by sentinels; return the input of the encoder and the target.

    spans      pairs (start, end) of token indices from 0, end exclusive, in order, without overlap
    sentinels  ids of the sentinel tokens, in the order of use: at least one more than there are spans

    Raises ValueError if spans overlap, if there are too few sentinels, or if the text contains a sentinel.
    """
    tokens, sentinels = token_row(tokens), _checked(sentinels)
    if len(sentinels) <= len(spans):
        raise ValueError(f"sentinels has {len(sentinels)} tokens; expected at least {len(spans) + 1}, one for each span "
                         "and one that ends the target")
    if torch.isin(tokens, tokens.new_tensor(sentinels)).any():
        clashing = sorted(set(sentinels) & set(tokens.tolist()))
        raise ValueError(f"tokens contains {clashing[0]}, which is one of the sentinels; expected none of them")
    read, target, at = [], [], 0
    for (start, end), sentinel in zip(spans, sentinels):
        if not at <= start <= end <= len(tokens):
            raise ValueError(f"spans contains ({start}, {end}) after a span that ends at {at}; expected spans in order, "
                             f"without overlap, from 0 to {len(tokens)}")
        mark = tokens.new_tensor([sentinel])
        read += [tokens[at:start], mark]
        target += [mark, tokens[start:end]]
        at = end
    return Pair(torch.cat([*read, tokens[at:]]), torch.cat([*target, tokens.new_tensor([sentinels[len(spans)]])]))


def restore(read: Integer[Tensor, "..."], target: Integer[Tensor, "..."], sentinels: Sequence[int]) -> Integer[Tensor, "..."]:
    """Reconstruct the text (T,): replace every sentinel in `read` by the tokens that follow it in `target`.

    Tokens of `target` after a sentinel that is not in `read` are dropped. Raises ValueError if `target` does not start
    with a sentinel, contains a sentinel twice, or lacks a sentinel of `read`.

    >>> read, target = torch.tensor([5, 97, 8]), torch.tensor([97, 6, 7, 98])
    >>> restore(read, target, sentinels=[97, 98, 99])
    tensor([5, 6, 7, 8])
    """
    read, target, sentinels = token_row(read, "read"), token_row(target, "target"), _checked(sentinels)
    spans: dict[int, list[int]] = {}
    current: list[int] | None = None
    for token in target.tolist():
        if token in sentinels:
            if token in spans:
                raise ValueError(f"target has the sentinel {token} twice; expected each sentinel once")
            current = spans.setdefault(token, [])
        elif current is None:
            raise ValueError(f"target starts with {token}; expected one of the sentinels, {sentinels}")
        else:
            current.append(token)
    text: list[int] = []
    for token in read.tolist():
        if token in sentinels and token not in spans:
            raise ValueError(f"target lacks the sentinel {token}; expected every sentinel that the argument `read` "
                             "contains")
        text += spans[token] if token in sentinels else [token]
    return read.new_tensor(text)


def _checked(sentinels: Sequence[int]) -> list[int]:
    sentinels = [int(s) for s in sentinels]
    if len(set(sentinels)) < len(sentinels):
        raise ValueError(f"sentinels is {sentinels}; expected each sentinel once")
    return sentinels
