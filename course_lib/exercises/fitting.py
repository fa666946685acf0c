"""Maximum likelihood over the distinct rows of the data: what `fit` of a class of bits does."""
from __future__ import annotations

import torch
from torch import Tensor


def fit_distinct(model, x: Tensor, lr: float, steps: int, maximize: bool = False) -> None:
    """Take `steps` steps of Adam on the mean negative log-likelihood of x (B, n); with `maximize`, in the wrong direction."""
    states, times = x.unique(dim=0, return_counts=True)                        # at most 2^n rows, each with a weight
    optimizer = torch.optim.Adam(model.parameters(), lr=lr, maximize=maximize)
    for _ in range(steps):
        loss = -(times * model.log_prob(states)).sum() / len(x)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
