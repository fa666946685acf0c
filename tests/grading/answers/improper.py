"""Answers to the exercise of chapter 05 on densities that are none."""
from __future__ import annotations

import torch

from tests.grading.answers.register import right, wrong


@right("find_improper: Riemann sums by midpoints")
def _(log_densities, low, high):
    count = 20000
    width = (high - low) / count
    x = low + width * (torch.arange(count) + 0.5)
    return [k for k, f in enumerate(log_densities) if abs(f(x).exp().sum().item() * width - 1) > 0.02]


@right("find_improper: piece by piece, in single precision")
def _(log_densities, low, high):
    found = []
    for k, f in enumerate(log_densities):
        area = 0.0
        for begin in torch.linspace(low, high, 25)[:-1].tolist():
            x = torch.linspace(begin, begin + (high - low) / 24, 1001)
            area += torch.trapezoid(f(x).exp().float(), x).item()
        if not 0.98 < area < 1.02:
            found.append(k)
    return found


@wrong("find_improper: nothing is improper")
def _(log_densities, low, high):
    return []


@wrong("find_improper: the areas themselves")
def _(log_densities, low, high):
    x = torch.linspace(low, high, 20001)
    return [torch.trapezoid(f(x).exp().float(), x).item() for f in log_densities]


@wrong("find_improper: the low ones, by the height of their peak")
def _(log_densities, low, high):
    x = torch.linspace(low, high, 8001)
    return [k for k, f in enumerate(log_densities) if f(x).exp().max().item() < 1]


@wrong("find_improper: every other one")
def _(log_densities, low, high):
    return list(range(0, len(log_densities), 2))
