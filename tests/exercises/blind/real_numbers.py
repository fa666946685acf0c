"""Wrong answers to the exercises of chapter real-numbers, written without knowing its checks."""
from __future__ import annotations

import math

import torch

from tests.exercises.answers.register import blind


@blind("mog_loglik: the Gaussians lack the factor 1 / sigma")
def _(x, logits, mu, log_sigma):
    z = (x[:, None] - mu) / log_sigma.exp()
    log_n = -0.5 * z ** 2 - 0.5 * math.log(2 * math.pi)
    return torch.logsumexp(logits.log_softmax(-1) + log_n, dim=-1)


@blind("mog_loglik: averages the logarithms of the Gaussians with the weights pi, not the densities")
def _(x, logits, mu, log_sigma):
    parts = torch.distributions.Normal(mu, log_sigma.exp()).log_prob(x.unsqueeze(-1))
    return (torch.softmax(logits, dim=-1) * parts).sum(dim=-1)


@blind("find_improper: the grid has 100 points, too coarse for peaks of a deviation of 0.02")
def _(log_densities, low, high):
    x = torch.linspace(low, high, 100, dtype=torch.float64)
    areas = [torch.trapezoid(f(x).exp(), x).item() for f in log_densities]
    return [k for k, area in enumerate(areas) if abs(area - 1) > 0.025]


@blind("find_improper: positions are counted from 1")
def _(log_densities, low, high):
    n = 200_000
    width = (high - low) / n
    x = low + width * (torch.arange(n, dtype=torch.float64) + 0.5)
    bad = []
    for k, f in enumerate(log_densities, start=1):
        area = float(f(x).exp().sum() * width)
        if not 0.975 < area < 1.025:
            bad.append(k)
    return bad
