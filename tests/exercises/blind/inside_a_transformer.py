"""Wrong answers to the exercises of chapter inside-a-transformer, written without knowing its checks."""
from __future__ import annotations

import torch

from tests.exercises.answers.register import blind


@blind("find_peeking: asks at a single input, zeros: paths that are open elsewhere are missed")
def _(layer, T, d):
    base = torch.zeros(1, T, d, dtype=torch.float64)
    out = layer(base)[0]
    pairs = []
    for j in range(T):
        moved = base.repeat(2 * d, 1, 1)
        for f in range(d):
            moved[f, j, f] += 1.0
            moved[d + f, j, f] -= 1.0
        change = (layer(moved) - out).abs().amax(dim=(0, 2))
        pairs += [(i, j) for i in range(j) if change[i] > 1e-6]
    return sorted(pairs)


@blind("find_peeking: looks one position ahead only: the pairs (i, i + 1)")
def _(layer, T, d):
    g = torch.Generator().manual_seed(0)
    found = []
    for i in range(T - 1):
        x = 2 * torch.randn(2000, T, d, generator=g, dtype=torch.float64)
        other = x.clone()
        other[:, i + 1] = 2 * torch.randn(2000, d, generator=g, dtype=torch.float64)
        if (layer(x) - layer(other))[:, i].abs().max() > 1e-6:
            found.append((i, i + 1))
    return found
