"""Dropout with fewer random numbers on a CPU."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor


def drop(x: Tensor, p: float | int) -> Tensor:
    """Dropout: set each component of x to 0 with probability p, and divide it by 1 - p otherwise.

    p is the probability of dropping a component, as in torch; in one deck of the slides p is the probability of keeping
    it. On a CPU, where random numbers dominate the time, four components share 64 random bits, and p is rounded to a
    multiple of 1/65536.
    """
    if p == 0 or x.device.type != "cpu" or torch.compiler.is_compiling():            # a graph has kernels of its own
        return F.dropout(x, p)
    dropped = round(65536 * p)                                       # of the 65536 values of 16 bits
    bits = torch.empty(x.numel() // 4 + 1, dtype=torch.int64).random_(-2 ** 63, None).view(torch.int16)
    kept = bits[:x.numel()].view(x.shape) >= dropped - 32768
    return x * kept.to(x.dtype).mul_(65536 / (65536 - dropped))
