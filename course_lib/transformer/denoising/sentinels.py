r"""T5's span corruption: the spans leave the text for the target, and sentinels say where each of them belongs.

    text     Thank you for inviting me to your party last week
    read     Thank you <X> me to your party <Y> week
    target   <X> for inviting <Y> last <Z>

The target holds what is missing and nothing else; the two together hold the text, and `restore` puts it back.
"""

from __future__ import annotations

from typing import NamedTuple, Sequence

import torch
from jaxtyping import Integer
from torch import Tensor

from course_lib.transformer.denoising.spans import separate_spans, token_row


class Pair(NamedTuple):
    """What the encoder reads, and what the decoder writes."""

    read: Integer[Tensor, "S"]
    target: Integer[Tensor, "T"]


def span_corruption(tokens: Integer[Tensor, "..."], sentinels: Sequence[int],
                    rate: float | int = 0.15, mean: float | int = 3.0,
                    generator: torch.Generator | None = None) -> Pair:
    """Spans of the text exchanged for sentinels, one after another in their order; one more
    ends the target.

    sentinels  ids that stand for no word, in the order of use: one more than there are
               spans is needed
    rate       share of the tokens that go, rounded to whole tokens, at least one of a text
               of two
    mean       of the spans' lengths: round(rate * T / mean) spans of at least 1, none
               touching another

    (T5's own code makes every text begin with a kept token and end with a span, which does
    no harm in windows of 512 tokens. Here both ends may be either.) Raises ValueError where
    sentinels run out, or one stands in the text.

    Slides: "Other models". Paper: Raffel et al. 2019, section 3.1.4.

    >>> pair = span_corruption(torch.arange(10), sentinels=[97, 98, 99], rate=0.3,
    ...                        generator=torch.Generator().manual_seed(0))
    >>> pair.read.tolist(), pair.target.tolist()
    ([0, 1, 2, 3, 4, 5, 6, 97], [97, 7, 8, 9, 98])
    """
    tokens = token_row(tokens)
    return exchange(tokens, separate_spans(len(tokens), rate, mean, generator), sentinels)


def exchange(tokens: Integer[Tensor, "..."], spans: Sequence[tuple[int, int]], sentinels: Sequence[int]) -> Pair:
    """The pair for spans that are given, in order and without overlap. Raises ValueError as `span_corruption` does."""
    tokens, sentinels = token_row(tokens), _checked(sentinels)
    if len(sentinels) <= len(spans):
        raise ValueError(f"sentinels has {len(sentinels)} tokens; {len(spans)} spans need {len(spans) + 1}, one for each "
                         "and one that ends the target")
    if torch.isin(tokens, tokens.new_tensor(sentinels)).any():
        clashing = sorted(set(sentinels) & set(tokens.tolist()))
        raise ValueError(f"tokens holds {clashing[0]}, which is one of the sentinels; a sentinel stands for no word")
    read, target, at = [], [], 0
    for (start, end), sentinel in zip(spans, sentinels):
        if not at <= start <= end <= len(tokens):
            raise ValueError(f"spans holds ({start}, {end}) after a span that ends at {at}; expected spans in order, "
                             f"without overlap, within 0 to {len(tokens)}")
        mark = tokens.new_tensor([sentinel])
        read += [tokens[at:start], mark]
        target += [mark, tokens[start:end]]
        at = end
    return Pair(torch.cat([*read, tokens[at:]]), torch.cat([*target, tokens.new_tensor([sentinels[len(spans)]])]))


def restore(read: Integer[Tensor, "..."], target: Integer[Tensor, "..."], sentinels: Sequence[int]) -> Integer[Tensor, "..."]:
    """The text: every sentinel in `read` replaced by what follows it in `target`, up to the next one.

    A model's target need not be a right one. ValueError where it does not start with a sentinel, holds one twice, or
    lacks one that `read` has; what follows the sentinel that `read` has not is dropped.

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
                raise ValueError(f"target has the sentinel {token} twice; expected each once")
            current = spans.setdefault(token, [])
        elif current is None:
            raise ValueError(f"target starts with {token}; expected one of the sentinels")
        else:
            current.append(token)
    text: list[int] = []
    for token in read.tolist():
        if token in sentinels and token not in spans:
            raise ValueError(f"target lacks the sentinel {token}, which read has; expected each of read's")
        text += spans[token] if token in sentinels else [token]
    return read.new_tensor(text)


def _checked(sentinels: Sequence[int]) -> list[int]:
    sentinels = [int(s) for s in sentinels]
    if len(set(sentinels)) < len(sentinels):
        raise ValueError(f"sentinels is {sentinels}; expected each of them once")
    return sentinels
