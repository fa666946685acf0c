"""Static masking, as in BERT, and dynamic masking, as in RoBERTa."""

from __future__ import annotations

from typing import Any

import torch
from jaxtyping import Integer
from torch import Tensor

from course_lib.transformer.corruption import Corrupted, mask_tokens
from course_lib.validation import check_sizes


class StaticMasking:
    """Static masking: each text has `copies` masks, sampled before training; epoch e, from 0, uses mask e mod `copies`.

    The data of the original BERT had 10 copies for 40 epochs. RoBERTa samples a mask whenever a text is used:
    `DynamicMasking`.

    tokens     (N, T), all training texts
    copies     number of masks of each text
    generator  random number generator
    options    arguments of `mask_tokens`: mask_id, vocab_size, special, mask (N, T), rate, shares

    Slides: "Other models", RoBERTa. Paper: Liu et al. 2019, section 4.1.

    >>> fixed = StaticMasking(torch.randint(5, 9, (3, 6)), mask_id=4, vocab_size=9, special=range(4))
    >>> rows = torch.tensor([0, 2])
    >>> bool((fixed(rows, epoch=0).tokens == fixed(rows, epoch=7).tokens).all())
    True
    """

    def __init__(self, tokens: Integer[Tensor, "N T"], copies: int = 1,
                 generator: torch.Generator | None = None, **options: Any):
        check_sizes(copies=copies)
        drawn = [mask_tokens(tokens, generator=generator, **options) for _ in range(copies)]
        # (copies, N, T)
        self.tokens, self.chosen = (torch.stack(parts) for parts in zip(*drawn))

    def __call__(self, rows: Integer[Tensor, "B"], epoch: int = 0) -> Corrupted:
        """Corrupted texts of the rows (B,) in an epoch."""
        copy = epoch % len(self.tokens)
        return Corrupted(self.tokens[copy, rows], self.chosen[copy, rows])


class DynamicMasking:
    """Dynamic masking: a new mask whenever a text is used.

    The arguments are as in `StaticMasking`. A call with `rows` (B,), indices of texts, returns the corrupted texts (B,
    T) and `chosen` (B, T), True at the positions to be predicted; `epoch` is ignored.

    >>> drawn = DynamicMasking(torch.randint(5, 9, (3, 40)), mask_id=4, vocab_size=9, special=range(4))
    >>> rows = torch.tensor([0, 2])
    >>> bool((drawn(rows).chosen == drawn(rows).chosen).all())
    False
    """

    def __init__(self, tokens: Integer[Tensor, "N T"], generator: torch.Generator | None = None, **options: Any):
        self.tokens, self.generator = tokens, generator
        self.mask, self.options = options.pop("mask", None), options

    def __call__(self, rows: Integer[Tensor, "B"], epoch: int = 0) -> Corrupted:
        return mask_tokens(self.tokens[rows], mask=None if self.mask is None else self.mask[rows],
                           generator=self.generator, **self.options)
