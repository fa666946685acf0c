"""Input of BERT from two texts."""
from __future__ import annotations

import torch
from jaxtyping import Integer
from torch import Tensor


def join_segments(a: Integer[Tensor, "..."], b: Integer[Tensor, "..."] | None, cls: int, sep: int
                  ) -> tuple[Integer[Tensor, "T"], Integer[Tensor, "T"]]:
    """Join two texts to an input of BERT: the tokens [CLS] a [SEP] b [SEP], and the type of each token.

    a, b      (T1,) and (T2,), token ids of the texts; without b, None, the tokens are [CLS] a [SEP]
    cls, sep  ids of [CLS] and [SEP]

    Returns tokens (T,) and types (T,): 0 up to the first [SEP], and 1 after it.
    """
    def as_column(i):
        return a.new_tensor([i])

    parts = [as_column(cls), a, as_column(sep)] + ([] if b is None else [b, as_column(sep)])
    tokens = torch.cat(parts)
    types = torch.zeros_like(tokens)
    types[len(a) + 2:] = 1
    return tokens, types
