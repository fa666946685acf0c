"""Answers to the exercises of chapter gray-levels."""
from __future__ import annotations

import math

import torch
import torch.nn.functional as F

from tests.exercises.answers.register import right, wrong


@right("stable_log_softmax: row by row")
def _(a):
    rows = [row - row.max() for row in a.reshape(-1, a.shape[-1])]
    return torch.stack([row - row.exp().sum().log() for row in rows]).reshape(a.shape)


@right("stable_log_softmax: differences of scores in double precision")
def _(a):
    wide = a.double()
    m = wide.max(-1, keepdim=True).values
    return (wide - m - torch.log(torch.exp(wide - m).sum(-1, keepdim=True))).to(a.dtype)


@right("stable_log_softmax: the chapter's own formula, ln of the sum first")
def _(a):
    m = a.amax(-1, keepdim=True)
    lse = m + (a - m).exp().sum(-1, keepdim=True).log()
    return a - lse


@right("stable_log_softmax: sorted first, the largest at the end")
def _(a):
    m = a.sort(dim=-1).values[..., -1:].detach()
    return a - m - torch.log(torch.sum(torch.exp(a - m), dim=-1, keepdim=True))


@wrong("stable_log_softmax: the smallest score taken off", called="minimum")
def _(a):
    m = a.amin(-1, keepdim=True)
    return a - m - (a - m).exp().sum(-1, keepdim=True).log()


@wrong("stable_log_softmax: the maximum taken off in place", called="written_over")
def _(a):
    a -= a.amax(-1, keepdim=True).clone()
    return a - a.exp().sum(-1, keepdim=True).log()


@wrong("stable_log_softmax: minus the logarithms")
def _(a):
    m = a.amax(-1, keepdim=True)
    return m + (a - m).exp().sum(-1, keepdim=True).log() - a


@wrong("stable_log_softmax: bits")
def _(a):
    m = a.amax(-1, keepdim=True)
    return (a - m - (a - m).exp().sum(-1, keepdim=True).log()) / math.log(2)


@wrong("stable_log_softmax: probabilities clamped")
def _(a):
    p = (a - a.amax(-1, keepdim=True)).exp()
    return (p / p.sum(-1, keepdim=True)).clamp(min=1e-8).log()


@wrong("stable_log_softmax: the shift takes no part in the gradient of the scores")
def _(a):
    b = a.detach()
    m = b.amax(-1, keepdim=True)
    return a - m - (b - m).exp().sum(-1, keepdim=True).log()


@wrong("stable_log_softmax: the logarithm of 0 replaced afterwards")
def _(a):
    shifted = a - a.amax(-1, keepdim=True)
    total = shifted.exp().sum(-1, keepdim=True)
    p = shifted.exp() / total
    return torch.where(p > 1e-30, p.log(), shifted - total.log())


@wrong("stable_log_softmax: log1p of the scores below the largest")
def _(a):
    shifted = a - a.amax(-1, keepdim=True)
    return shifted - (shifted.exp() * (shifted < 0)).sum(-1, keepdim=True).log1p()


@wrong("stable_log_softmax: without the axes of length 1")
def _(a):
    a = (a - a.amax(-1, keepdim=True)).squeeze()
    return a - a.exp().sum(-1, keepdim=True).log()


@right("categorical_nade_loglik: all layers by a cumulative sum")
def _(x, W, V, b, c):
    read = W[torch.arange(len(x)), x]                                          # (D, H)
    before = torch.cat([torch.zeros_like(read[:1]), read[:-1]]).cumsum(0)
    scores = torch.einsum("dkh,dh->dk", V, torch.sigmoid(c + before)) + b
    return -F.cross_entropy(scores, x, reduction="sum")


@right("categorical_nade_loglik: one-hot products, each layer from nothing")
def _(x, W, V, b, c):
    hot, total = F.one_hot(x, W.shape[1]).to(W.dtype), 0
    for i in range(len(x)):
        h = torch.sigmoid(c + sum((hot[j] @ W[j] for j in range(i)), torch.zeros_like(c)))
        scores = V[i] @ h + b[i]
        total = total + scores[x[i]] - torch.logsumexp(scores, 0)
    return total


def log_factors(x, W, V, b, c, squash=torch.sigmoid):
    a, logs = c, []
    for i in range(len(x)):
        logs.append(torch.log_softmax(b[i] + V[i] @ squash(a), 0)[x[i]])
        a = a + W[i, x[i]]
    return torch.stack(logs)


@wrong("categorical_nade_loglik: the sign of the loss")
def _(x, W, V, b, c):
    return -log_factors(x, W, V, b, c).sum()


@wrong("categorical_nade_loglik: tanh")
def _(x, W, V, b, c):
    return log_factors(x, W, V, b, c, torch.tanh).sum()


@wrong("categorical_nade_loglik: the product, not its logarithm")
def _(x, W, V, b, c):
    return log_factors(x, W, V, b, c).exp().prod()


@wrong("categorical_nade_loglik: the last variable is not scored")
def _(x, W, V, b, c):
    return log_factors(x, W, V, b, c)[:-1].sum()


@wrong("categorical_nade_loglik: the logarithm of 0 replaced afterwards")
def _(x, W, V, b, c):
    a, total = c, 0
    for i in range(len(x)):
        scores = b[i] + V[i] @ a.sigmoid()
        p = scores.softmax(0)
        total = total + torch.where(p > 1e-30, p.log(), scores - scores.logsumexp(0))[x[i]]
        a = a + W[i, x[i]]
    return total


@wrong("categorical_nade_loglik: levels times one row of weights", called="times_first_row")
def _(x, W, V, b, c):
    total = torch.zeros(())
    for i in range(len(x)):
        a = c + sum(x[j] * W[j, 0] for j in range(i))
        total = total + (V[i] @ torch.sigmoid(a) + b[i]).log_softmax(0)[x[i]]
    return total
