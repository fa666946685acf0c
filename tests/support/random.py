"""Random numbers for tests: one generator for each seed, and models whose parameters are drawn anew."""
from __future__ import annotations

import torch


def rng(seed=0):
    return torch.Generator().manual_seed(seed)


def normal(*shape, seed=0, grad=False):
    """Standard normal numbers in float64."""
    return torch.randn(shape, generator=rng(seed), dtype=torch.float64).requires_grad_(grad)


def rows(family, num, n, seed=0):
    """Values (num, n) that a family takes; standard normal ones if it is continuous."""
    k = family.num_values
    return normal(num, n, seed=seed) if k is None else torch.randint(k, (num, n), generator=rng(seed))


def drawn(model, seed=0):
    """The model with parameters redrawn by its own `randomize`, in float64."""
    model = model.double()
    model.randomize(rng(seed))
    return model


@torch.no_grad()
def redrawn(module, seed=0, scale=1.0):
    """Every tensor of any module redrawn, gains and biases too, in float64 and eval mode: nothing is left at 0 or 1."""
    module = module.double().eval()
    generator = rng(seed)
    for p in module.parameters():
        fan = p.shape[-1] if p.dim() > 1 else 4
        noise = torch.randn(p.shape, generator=generator, dtype=torch.float64)
        p.copy_(scale * fan ** -0.5 * noise + 0.3 * (p.dim() == 1))
    return module
