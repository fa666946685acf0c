"""Inputs that hide nothing: uneven sizes, both signs, no entry equal to another by accident."""
from __future__ import annotations

import torch
from torch import Tensor


def integer(generator: torch.Generator, low: int, high: int) -> int:
    """A whole number from low to high, both included."""
    return int(torch.randint(low, high + 1, (), generator=generator))


def uneven(generator: torch.Generator, *ranges: tuple[int, int]) -> list[int]:
    """One size from each range (both ends included), no two alike; the ranges must leave room for that."""
    while True:
        sizes = [integer(generator, low, high) for low, high in ranges]
        if len(set(sizes)) == len(sizes):
            return sizes


def normal(generator: torch.Generator, *shape: int, scale: float = 1.0) -> Tensor:
    """Normal draws of this shape, with mean 0 and deviation `scale`."""
    return scale * torch.randn(shape, generator=generator)


def uniform(generator: torch.Generator, *shape: int, low: float = 0.0, high: float = 1.0) -> Tensor:
    """Uniform draws of this shape from `low`, included, to `high`."""
    return low + (high - low) * torch.rand(shape, generator=generator)


def bits(generator: torch.Generator, *shape: int) -> Tensor:
    """Zeros and ones as floats; at least one of each where there are two entries or more."""
    while True:
        x = torch.randint(0, 2, shape, generator=generator).float()
        if x.numel() < 2 or 0 < x.sum() < x.numel():
            return x


def joint(generator: torch.Generator, n: int) -> Tensor:
    """A table of 2^n probabilities, shape (2,) * n, float64, none of them near 0."""
    table = 0.05 + torch.rand((2,) * n, generator=generator, dtype=torch.float64) ** 2
    return table / table.sum()
