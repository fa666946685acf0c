"""Dropout, with few random numbers where they are what takes the time."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor


def drop(x: Tensor, p: float | int) -> Tensor:
    """Dropout: each component is zero with probability p, and divided by 1 - p otherwise, so that its mean stays.

    p is the probability of dropping, as in torch; one deck of the slides calls by p the probability of keeping. On a
    CPU the time goes into random numbers, so four components share one of 64 bits, and p is rounded to 1/65536.
    """
    if p == 0 or x.device.type != "cpu" or torch.compiler.is_compiling():            # a graph has kernels of its own
        return F.dropout(x, p)
    dropped = round(65536 * p)                                       # of the 65536 values of 16 bits
    bits = torch.empty(x.numel() // 4 + 1, dtype=torch.int64).random_(-2 ** 63, None).view(torch.int16)
    kept = bits[:x.numel()].view(x.shape) >= dropped - 32768
    return x * kept.to(x.dtype).mul_(65536 / (65536 - dropped))
