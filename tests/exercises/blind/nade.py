"""Wrong answers to the exercises of chapter nade, written without knowing its checks."""
from __future__ import annotations

import itertools

import torch
import torch.nn.functional as F

from tests.exercises.answers.register import blind


@blind("nade_loglik: carries sigma(a) from variable to variable, not a: the sigmoid is taken again and again")
def _(x, W, V, b, c):
    h, total = torch.sigmoid(c), 0.0
    for i in range(len(x)):
        logit = b[i] + V[i] @ h
        total = total + (F.logsigmoid(logit) if x[i] == 1 else F.logsigmoid(-logit))
        h = torch.sigmoid(h + W[:, i] * x[i])
    return total


@blind("nade_loglik: the running sum is detached at every step, so that no gradient reaches W and c")
def _(x, W, V, b, c):
    logits, a = [], c
    for i, x_i in enumerate(x):
        a = a.detach()
        logits.append(b[i] + V[i] @ a.sigmoid())
        a = a + W[:, i] * x_i
    logits = torch.stack(logits)
    return -F.binary_cross_entropy_with_logits(logits, x.to(logits.dtype), reduction="sum")


@blind("nade_sample: the running sum starts from zeros, not from c")
def _(u, W, V, b, c):
    a = torch.zeros(len(u), len(c), dtype=u.dtype)
    drawn = []
    for i in range(u.shape[1]):
        p = torch.sigmoid(b[i] + torch.sigmoid(a) @ V[i])
        x_i = (u[:, i] < p).to(u.dtype)
        a = a + torch.outer(x_i, W[:, i])
        drawn.append(x_i)
    return torch.stack(drawn, dim=1)


@blind("nade_sample: compares u with the logits: the outer sigmoid is forgotten")
def _(u, W, V, b, c):
    B, D = u.shape
    x = torch.zeros(B, D, dtype=u.dtype)
    a = c.repeat(B, 1)
    for i in range(D):
        p = b[i] + torch.einsum("h,bh->b", V[i], a.sigmoid())
        x[:, i] = (u[:, i] < p).to(u.dtype)
        a = a + x[:, i:i + 1] * W[:, i]
    return x


@blind("find_impostors: only sums above 1 are reported; what sums to less than 1 passes")
def _(log_probs, n):
    states = torch.tensor(list(itertools.product([0.0, 1.0], repeat=n)))
    return [k for k, log_prob in enumerate(log_probs)
            if float(log_prob(states).double().exp().sum()) > 1.005]


@blind("find_impostors: the sum over the states leaves out the first, all zeros")
def _(log_probs, n):
    rows = [[number >> bit & 1 for bit in range(n)] for number in range(1, 2 ** n)]
    states = torch.tensor(rows, dtype=torch.float32)
    bad = []
    for k, log_prob in enumerate(log_probs):
        mass = log_prob(states).double().exp().sum().item()
        if abs(mass - 1) > 0.005:
            bad.append(k)
    return bad
