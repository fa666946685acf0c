"""Answers to the exercises of chapter 05."""
from __future__ import annotations

import math

import torch
import torch.nn.functional as F

from tests.grading.answers.register import right, wrong


@right("stable_log_softmax: row by row")
def _(a):
    rows = [row - row.max() for row in a.reshape(-1, a.shape[-1])]
    return torch.stack([row - row.exp().sum().log() for row in rows]).reshape(a.shape)


@right("stable_log_softmax: differences of scores in double precision")
def _(a):
    wide = a.double()
    m = wide.max(-1, keepdim=True).values
    return (wide - m - torch.log(torch.exp(wide - m).sum(-1, keepdim=True))).to(a.dtype)


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


@wrong("categorical_nade_loglik: the sign of the loss")
def _(x, W, V, b, c):
    a, total = c, 0
    for i in range(len(x)):
        total = total - torch.log_softmax(b[i] + V[i] @ a.sigmoid(), 0)[x[i]]
        a = a + W[i, x[i]]
    return total


@wrong("categorical_nade_loglik: tanh")
def _(x, W, V, b, c):
    a, total = c, 0
    for i in range(len(x)):
        total = total + torch.log_softmax(b[i] + V[i] @ a.tanh(), 0)[x[i]]
        a = a + W[i, x[i]]
    return total


@wrong("categorical_nade_loglik: the product, not its logarithm")
def _(x, W, V, b, c):
    a, total = c, 1
    for i in range(len(x)):
        total = total * torch.softmax(b[i] + V[i] @ a.sigmoid(), 0)[x[i]]
        a = a + W[i, x[i]]
    return total


@wrong("categorical_nade_loglik: the last variable is not scored")
def _(x, W, V, b, c):
    a, total = c, c.sum() * 0
    for i in range(len(x) - 1):
        total = total + torch.log_softmax(b[i] + V[i] @ a.sigmoid(), 0)[x[i]]
        a = a + W[i, x[i]]
    return total


@right("mog_loglik: torch.distributions")
def _(x, logits, mu, log_sigma):
    from torch.distributions import Categorical, MixtureSameFamily, Normal

    return MixtureSameFamily(Categorical(logits=logits), Normal(mu, log_sigma.exp())).log_prob(x)


@right("mog_loglik: the largest term by hand, row by row")
def _(x, logits, mu, log_sigma):
    rows = []
    for b in range(len(x)):
        terms = logits[b] - torch.logsumexp(logits[b], 0) - log_sigma[b] - 0.5 * math.log(2 * math.pi) \
            - 0.5 * ((x[b] - mu[b]) * torch.exp(-log_sigma[b])) ** 2
        rows.append(terms.max() + (terms - terms.max()).exp().sum().log())
    return torch.stack(rows)


@wrong("mog_loglik: the density, not its logarithm")
def _(x, logits, mu, log_sigma):
    z = (x[:, None] - mu) / log_sigma.exp()
    return (logits.softmax(1) * (-z ** 2 / 2).exp() / log_sigma.exp() / math.sqrt(2 * math.pi)).sum(1)


@wrong("mog_loglik: a floor under the density")
def _(x, logits, mu, log_sigma):
    z = (x[:, None] - mu) / log_sigma.exp()
    p = (logits.softmax(1) * (-z ** 2 / 2).exp() / log_sigma.exp() / math.sqrt(2 * math.pi)).sum(1)
    return (p + 1e-10).log()


@wrong("mog_loglik: log_sigma used as the deviation")
def _(x, logits, mu, log_sigma):
    sigma = log_sigma.abs()
    logs = -((x[:, None] - mu) / sigma) ** 2 / 2 - sigma.log() - math.log(2 * math.pi) / 2
    return torch.logsumexp(logits.log_softmax(1) + logs, 1)


@wrong("mog_loglik: gradient to the means alone")
def _(x, logits, mu, log_sigma):
    logits, log_sigma = logits.detach(), log_sigma.detach()
    logs = -((x[:, None] - mu) / log_sigma.exp()) ** 2 / 2 - log_sigma - math.log(2 * math.pi) / 2
    return torch.logsumexp(logits.log_softmax(1) + logs, 1)
