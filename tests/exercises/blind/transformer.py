"""Wrong answers to the exercises of chapter transformer, written without knowing its checks."""
from __future__ import annotations

import torch
import torch.nn.functional as F

from tests.exercises.answers.register import blind


@blind("layer_norm: the variance is the mean of x^2, without the mean taken off first")
def _(x, gamma, beta, eps=1e-5):
    mu = x.mean(-1, keepdim=True)
    var = (x ** 2).mean(-1, keepdim=True)
    return gamma * (x - mu) / torch.sqrt(var + eps) + beta


@blind("layer_norm: gamma multiplies beta too: gamma (x + beta) instead of gamma x + beta")
def _(x, gamma, beta, eps=1e-5):
    centred = x - x.mean(dim=-1, keepdim=True)
    scaled = centred * (centred.pow(2).mean(dim=-1, keepdim=True) + eps).rsqrt()
    return (scaled + beta) * gamma


@blind("find_placements: its own layer norm has the variance with d - 1, torch's default, not the population's")
def _(blocks, f, d):
    torch.manual_seed(0)
    x = 3 * torch.randn(6, d, dtype=torch.float64) + 2

    def norm(h):
        return (h - h.mean(-1, keepdim=True)) / (h.var(-1, keepdim=True) + 1e-5).sqrt()

    forms = {"post": norm(x + f(x)), "pre": x + f(norm(x)), "inner": x + norm(f(x))}
    answer = []
    for block in blocks:
        y, name = block(x), "none"
        for key, right in forms.items():
            if (y - right).abs().max() < 5e-5:
                name = key
        answer.append(name)
    return answer


@blind("find_placements: allows a difference of 0.1, so that a norm with a small fault passes")
def _(blocks, f, d):
    g = torch.Generator().manual_seed(5)
    x = torch.randn(20, d, generator=g, dtype=torch.float64) * 2 - 1
    right = [("post", F.layer_norm(x + f(x), (d,))),
             ("pre", x + f(F.layer_norm(x, (d,)))),
             ("inner", x + F.layer_norm(f(x), (d,)))]
    return [next((name for name, y in right if (block(x) - y).abs().max() < 0.1), "none")
            for block in blocks]
