"""Answers to the exercise of chapter 05 that trains a mixture."""
from __future__ import annotations

import math

import torch

from tests.grading.answers.register import right, wrong


@right("train_mog: expectation maximisation")
def _(x, K):
    x = x.double()
    mu = torch.linspace(x.min().item(), x.max().item(), K + 2, dtype=torch.float64)[1:-1]
    sigma, weights = torch.full_like(mu, x.std().item() / K), torch.full_like(mu, 1 / K)
    for _ in range(200):
        logs = weights.log() - sigma.log() - ((x[:, None] - mu) / sigma) ** 2 / 2
        r = logs.softmax(1)                                                    # (N, K): who is responsible for x
        count = r.sum(0)
        weights, mu = count / len(x), (r * x[:, None]).sum(0) / count
        sigma = ((r * (x[:, None] - mu) ** 2).sum(0) / count).sqrt()
    return weights.log(), mu, sigma.log()


@right("train_mog: clusters first, then torch.distributions and Adam, in the units of x")
def _(x, K):
    from torch.distributions import Categorical, MixtureSameFamily, Normal

    mu = torch.linspace(float(x.min()), float(x.max()), K + 2)[1:-1]
    for _ in range(20):
        nearest = (x[:, None] - mu).abs().argmin(1)
        mu = torch.stack([x[nearest == k].mean() for k in range(K)])
    logits = torch.bincount(nearest, minlength=K).float().log().requires_grad_()
    log_sigma = torch.stack([x[nearest == k].std() for k in range(K)]).log().requires_grad_()
    mu.requires_grad_()
    optimizer = torch.optim.Adam([logits, mu, log_sigma], lr=0.03)
    for _ in range(150):
        loss = -MixtureSameFamily(Categorical(logits=logits), Normal(mu, log_sigma.exp())).log_prob(x).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return logits.detach(), mu.detach(), log_sigma.detach()


@wrong("train_mog: one Gaussian for all, the others without weight")
def _(x, K):
    logits = torch.full((K,), -30.0)
    logits[0] = 0
    return logits, x.mean() + torch.arange(K).float(), x.std().log().expand(K)


@wrong("train_mog: means at the quantiles, nothing else fitted")
def _(x, K):
    mu = x.sort().values[[len(x) * (2 * k + 1) // (2 * K) for k in range(K)]]
    return torch.zeros(K), mu, torch.full((K,), math.log(6.0))


@wrong("train_mog: not a number")
def _(x, K):
    return torch.zeros(K), torch.full((K,), float("nan")), torch.zeros(K)
