"""Wrong answers to the exercises of chapter gray-levels, written without knowing its checks."""
from __future__ import annotations

import torch
import torch.nn.functional as F

from tests.exercises.answers.register import blind


@blind("stable_log_softmax: subtracts the largest score of the whole tensor, not of each row: low rows underflow")
def _(a):
    shifted = a - a.max().detach()
    return shifted - shifted.exp().sum(-1, keepdim=True).log()


@blind("stable_log_softmax: the maximum is subtracted inside the sum and not given back: every row is off by it")
def _(a):
    top = a.amax(dim=-1, keepdim=True)
    normaliser = torch.log(torch.sum(torch.exp(a - top), dim=-1, keepdim=True))
    return a - normaliser


@blind("categorical_nade_loglik: the softmax runs over the variables (D), not over the levels (K)")
def _(x, W, V, b, c):
    D = len(x)
    steps = W[torch.arange(D), x]
    a = c + torch.cumsum(steps, dim=0) - steps
    logits = b + torch.einsum("ikh,ih->ik", V, a.sigmoid())
    return F.log_softmax(logits, dim=0)[torch.arange(D), x].sum()


@blind("categorical_nade_loglik: the hidden layer of variable i has x_i in it already: it is updated before the score")
def _(x, W, V, b, c):
    a, total = c, 0
    for i, level in enumerate(x.tolist()):
        a = a + W[i, level]
        log_p = (b[i] + V[i] @ torch.sigmoid(a)).log_softmax(dim=0)
        total = total + log_p[level]
    return total
