"""NADE in one pass, its weights, and all states of a few bits."""
from __future__ import annotations

import itertools

import torch
import torch.nn.functional as F
from torch import Tensor

from course_lib.exercises.draws import normal


def logits(x: Tensor, W: Tensor, V: Tensor, b: Tensor, c: Tensor) -> Tensor:
    """Logits (B, D) of every factor for x (B, D): b_i + V_i . sigmoid(c + sum_{j<i} W[:, j] x_j)."""
    adds = x[:, :, None] * W.T                                                 # (B, D, H)
    h = torch.sigmoid(c + adds.cumsum(1) - adds)                               # without the variable's own
    return (h * V).sum(-1) + b


def log_prob(x: Tensor, z: Tensor) -> Tensor:
    """Log-probability (B,) of the bits x under the logits z, both (B, D)."""
    return -F.binary_cross_entropy_with_logits(z, x.to(z.dtype), reduction="none").sum(1)


def every_state(n: int) -> Tensor:
    return torch.tensor(list(itertools.product([0.0, 1.0], repeat=n)))


def weights(generator, H: int, D: int, scale: float = 1.3) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """W (H, D), V (D, H), b (D,), c (H,)."""
    return (normal(generator, H, D, scale=scale), normal(generator, D, H, scale=scale), normal(generator, D),
            normal(generator, H))
