"""What answers are built from where they need more than a tensor's own operations: the course's library is not there when
an answer is graded."""
from __future__ import annotations

import math

import torch


def attention(q, k, v, mask=None):
    scores = q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])
    if mask is None:
        return scores.softmax(-1) @ v
    return scores.masked_fill(~mask, -math.inf).softmax(-1).masked_fill(~mask, 0) @ v


def sinusoidal(positions, d, n=10000.0):
    """The rows of the table for these positions, or for the first so many."""
    k = torch.as_tensor(positions).double() if isinstance(positions, torch.Tensor) else torch.arange(positions).double()
    angles = k[:, None] / n ** (torch.arange(0, d, 2).double() / d)
    return torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(1)[:, :d].float()
