"""Orders and degrees to draw masks from."""
from __future__ import annotations

import torch
from torch import Tensor


def permutation(generator, D: int) -> Tensor:
    """A random order of 0..D-1 that is not its own inverse."""
    while True:
        order = torch.randperm(D, generator=generator)
        if not torch.equal(order, order.argsort()):
            return order


def degrees(generator, D: int, H: int) -> Tensor:
    """Random degrees in 1..D-1, both ends among them."""
    drawn = torch.randint(1, D, (H,), generator=generator)
    drawn[torch.randperm(H, generator=generator)[:2]] = torch.tensor([1, D - 1])
    return drawn
