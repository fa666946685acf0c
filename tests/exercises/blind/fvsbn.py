"""Wrong answers to the exercises of chapter fvsbn, written without knowing its checks."""
from __future__ import annotations

import itertools

import torch

from tests.exercises.answers.register import blind


@blind("fvsbn_conditionals: the first variable, which has no parents, gets 0.5: its bias is forgotten")
def _(x, W, c):
    columns = [torch.full_like(x[:, 0] * c[0], 0.5)]
    for i in range(1, x.shape[1]):
        columns.append(torch.sigmoid(c[i] + x[:, :i] @ W[i, :i]))
    return torch.stack(columns, dim=1)


@blind("fvsbn_conditionals: takes the weights of variable i from column i of W, not from row i")
def _(x, W, c):
    logits = [c[i] + x[:, :i] @ W[:i, i] for i in range(len(c))]
    return torch.stack(logits, dim=1).sigmoid()


@blind("fvsbn_sample: the loop begins at the second variable: the first is never drawn and stays 0")
def _(u, W, c):
    x = torch.zeros_like(u)
    for i in range(1, u.shape[1]):
        p = torch.sigmoid(c[i] + x[:, :i] @ W[i, :i])
        x[:, i] = (u[:, i] < p).to(u.dtype)
    return x


@blind("fvsbn_sample: later variables read the probabilities of the earlier ones, not their drawn values")
def _(u, W, c):
    L = torch.tril(W, diagonal=-1)
    p = torch.zeros_like(u)
    for i in range(u.shape[1]):
        p[:, i] = torch.sigmoid(p @ L[i] + c[i])
    return (u < p).to(u.dtype)


@blind("find_leaks: takes only a rise of the probability for a leak: the difference has no absolute value")
def _(conditionals, n):
    states = torch.tensor(list(itertools.product([0.0, 1.0], repeat=n)))
    found = []
    for j in range(n):
        off, on = states.clone(), states.clone()
        off[:, j], on[:, j] = 0, 1
        rise = (conditionals(on) - conditionals(off)).amax(0)
        for i in range(j + 1):
            if rise[i] > 0.001:
                found.append((i, j))
    return sorted(found)
