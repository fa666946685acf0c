"""The shares of the rule of BERT, and a text to hide tokens of."""
from __future__ import annotations

import torch
from torch import Tensor

RATE, HIDDEN, REPLACED = 0.15, 0.8, 0.1


def text(generator: torch.Generator, B: int, T: int, V: int) -> tuple[Tensor, Tensor]:
    """Rows of tokens 5 to V - 1 with [CLS] 2 in front, a [SEP] 3 here and there, and padding 0; and which are special."""
    tokens = torch.randint(5, V, (B, T), generator=generator)
    tokens[torch.rand(B, T, generator=generator) < 0.08] = 3
    tokens[:, 0] = 2
    ends = torch.randint(3 * T // 4, T + 1, (B, 1), generator=generator)
    tokens[torch.arange(T) >= ends] = 0
    return tokens, tokens < 5
