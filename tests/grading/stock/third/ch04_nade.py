"""Wrong answers to the exercises on NADE."""
from __future__ import annotations

from tests.grading.stock import wrong

STOCK = [
    wrong("nade_loglik",
          "carries sigma(a) from variable to variable, not a: the sigmoid is taken again and again",
          "third", """
import torch
import torch.nn.functional as F

def nade_loglik(x, W, V, b, c):
    h, total = torch.sigmoid(c), 0.0
    for i in range(len(x)):
        logit = b[i] + V[i] @ h
        total = total + (F.logsigmoid(logit) if x[i] == 1 else F.logsigmoid(-logit))
        h = torch.sigmoid(h + W[:, i] * x[i])
    return total
"""),
    wrong("nade_loglik",
          "the running sum is detached at every step, so that no gradient reaches W and c",
          "third", """
import torch
import torch.nn.functional as F

def nade_loglik(x, W, V, b, c):
    logits, a = [], c
    for i, x_i in enumerate(x):
        a = a.detach()
        logits.append(b[i] + V[i] @ a.sigmoid())
        a = a + W[:, i] * x_i
    logits = torch.stack(logits)
    return -F.binary_cross_entropy_with_logits(logits, x.to(logits.dtype), reduction="sum")
"""),
    wrong("nade_sample",
          "the running sum starts from zeros, not from c",
          "third", """
import torch

def nade_sample(u, W, V, b, c):
    a = torch.zeros(len(u), len(c), dtype=u.dtype)
    drawn = []
    for i in range(u.shape[1]):
        p = torch.sigmoid(b[i] + torch.sigmoid(a) @ V[i])
        x_i = (u[:, i] < p).to(u.dtype)
        a = a + torch.outer(x_i, W[:, i])
        drawn.append(x_i)
    return torch.stack(drawn, dim=1)
"""),
    wrong("nade_sample",
          "compares u with the logits: the outer sigmoid is forgotten",
          "third", """
import torch

def nade_sample(u, W, V, b, c):
    B, D = u.shape
    x = torch.zeros(B, D, dtype=u.dtype)
    a = c.repeat(B, 1)
    for i in range(D):
        p = b[i] + torch.einsum("h,bh->b", V[i], a.sigmoid())
        x[:, i] = (u[:, i] < p).to(u.dtype)
        a = a + x[:, i:i + 1] * W[:, i]
    return x
"""),
    wrong("find_impostors",
          "only sums above 1 are reported; what sums to less than 1 passes",
          "third", """
import itertools

import torch

def find_impostors(log_probs, n):
    states = torch.tensor(list(itertools.product([0.0, 1.0], repeat=n)))
    return [k for k, log_prob in enumerate(log_probs)
            if float(log_prob(states).double().exp().sum()) > 1.005]
"""),
    wrong("find_impostors",
          "the sum over the states leaves out the first, all zeros",
          "third", """
import torch

def find_impostors(log_probs, n):
    rows = [[number >> bit & 1 for bit in range(n)] for number in range(1, 2 ** n)]
    states = torch.tensor(rows, dtype=torch.float32)
    bad = []
    for k, log_prob in enumerate(log_probs):
        mass = log_prob(states).double().exp().sum().item()
        if abs(mass - 1) > 0.005:
            bad.append(k)
    return bad
"""),
]
