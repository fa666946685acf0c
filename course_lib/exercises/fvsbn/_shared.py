"""Logits, weights and probabilities of an FVSBN."""
from __future__ import annotations

import itertools

import torch
import torch.nn.functional as F
from torch import Tensor

from course_lib.exercises.draws import normal


def logits(x: Tensor, W: Tensor, c: Tensor) -> Tensor:
    """c_i + sum_{j<i} W[i, j] x_j, shape (B, D)."""
    return x @ W.tril(-1).T + c


def weights(generator, D: int):
    return normal(generator, D, D, scale=1.5), normal(generator, D)


def every_state(generator, D: int, scale: float) -> tuple[Tensor, Tensor]:
    """All states (2^D, D), and their probabilities under an FVSBN that is drawn, with weights of this deviation."""
    states = torch.tensor(list(itertools.product([0.0, 1.0], repeat=D)), dtype=torch.float64)
    W, c = normal(generator, D, D, scale=scale).double(), normal(generator, D, scale=0.5).double()
    return states, (-F.binary_cross_entropy_with_logits(logits(states, W, c), states, reduction="none").sum(1)).exp()
