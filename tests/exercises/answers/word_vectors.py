"""Answers to the exercises of chapter word-vectors."""
from __future__ import annotations

import math

import torch
import torch.nn.functional as F

from tests.exercises.answers.register import right, wrong


@right("sgns_loss: as cross-entropy of pairs")
def _(center, context, negatives):
    u = torch.cat([context[:, None], negatives], dim=1)
    logits = torch.einsum("bkd,bd->bk", u, center)
    wanted = torch.zeros_like(logits)
    wanted[:, 0] = 1
    return F.binary_cross_entropy_with_logits(logits, wanted, reduction="sum") / len(center)


@right("sgns_loss: by softplus")
def _(center, context, negatives):
    return (F.softplus(-(center * context).sum(1)) + F.softplus((negatives @ center[..., None])[..., 0]).sum(1)).mean()


@wrong("sgns_loss: zero")
def _(center, context, negatives):
    return center.sum() * 0


@wrong("sgns_loss: the negatives are left out")
def _(center, context, negatives):
    return -F.logsigmoid((center * context).sum(dim=1)).mean()


@wrong("sgns_loss: one sigmoid of the sum of the products", called="summed_inside")
def _(center, context, negatives):
    far = torch.matmul(negatives, center.unsqueeze(2)).squeeze(2).sum(dim=1)
    return torch.mean(F.softplus(-torch.sum(center * context, dim=1)) + F.softplus(far))


@wrong("sgns_loss: the logarithm of 0 replaced afterwards")
def _(center, context, negatives):
    z = torch.cat([(center * context).sum(1, keepdim=True), -(negatives * center[:, None]).sum(2)], 1)
    plain = z.sigmoid().log()
    return -torch.where(plain.isfinite(), plain, z).sum(1).mean()


@wrong("sgns_loss: products without their axes of length 1, the terms added along the last")
def _(center, context, negatives):
    far = (negatives @ center[..., None]).squeeze()
    return (F.softplus(-(center * context).sum(1)) + F.softplus(far).sum(-1)).mean()


@right("noise_distribution: by logarithms")
def _(counts):
    return (0.75 * counts.double().log()).softmax(dim=0)


@wrong("noise_distribution: the counts")
def _(counts):
    return counts.double()


@wrong("noise_distribution: the count 1 for a word that never occurs", called="zero_as_one")
def _(counts):
    weights = torch.where(counts == 0, 1, counts) ** 0.75
    return weights / weights.sum()


@wrong("noise_distribution: the logarithms of the counts")
def _(counts):
    weights = counts.double().log1p()
    return weights / weights.sum()


@right("find_samplers: each word as the target")
def _(samplers, counts):
    found = []
    p = counts.double() ** 0.75
    for number, sampler in enumerate(samplers):
        target = int(counts.argmax())
        drawn = torch.cat([sampler(torch.full((2000,), target), 4).flatten() for _ in range(3)])
        shares = torch.bincount(drawn, minlength=len(counts)) / len(drawn)
        q = p.clone()
        q[target] = 0
        q = q / q.sum()
        never = {target, *(counts == 0).nonzero().flatten().tolist()}
        if never & set(drawn.tolist()) or (shares - q).abs().sum() > 0.05:
            found.append(number)
    return found


@wrong("find_samplers: the shapes are looked at", called="nobody")
def _(samplers, counts):
    return [i for i, sampler in enumerate(samplers) if sampler(torch.tensor([0, 1]), 3).shape != (2, 3)]


@wrong("find_samplers: the first one")
def _(samplers, counts):
    return [0]


@right("train_vectors: counts, in logarithms, and an SVD")
def _(sentences, num_words):
    X = torch.zeros(num_words, num_words)
    for words in sentences:
        for i, word in enumerate(words):
            for other in words[max(0, i - 6):i + 7]:
                X[word, other] += 1
    X.fill_diagonal_(0)
    P = X / X.sum()
    M = ((P + 1e-6) / (P.sum(0) * P.sum(1)[:, None] + 1e-6)).log().clamp(min=0)
    u, s, _ = torch.linalg.svd(M)
    return (u * s)[:, :24]


@wrong("train_vectors: zeros", called="no_text")
def _(sentences, num_words):
    return torch.zeros(num_words, 24)


@wrong("train_vectors: random numbers", called="no_text")
def _(sentences, num_words):
    return torch.randn(num_words, 24, generator=torch.Generator().manual_seed(0))


@right("glove_loss: a double loop")
def _(counts, w, w_tilde, b, b_tilde, maximum):
    total = 0 * (w.sum() + w_tilde.sum() + b.sum() + b_tilde.sum())
    for i, row in enumerate(counts.tolist()):
        for j, x in enumerate(row):
            if x > 0:
                total = total + min(1, (x / maximum) ** 0.75) * (w[i] @ w_tilde[j] + b[i] + b_tilde[j] - math.log(x)) ** 2
    return total


@right("glove_loss: the pairs that were seen")
def _(counts, w, w_tilde, b, b_tilde, maximum):
    i, j = counts.nonzero(as_tuple=True)
    x = counts[i, j]
    off = (w[i] * w_tilde[j]).sum(1) + b[i] + b_tilde[j] - x.log()
    return ((x / maximum).clamp(max=1) ** 0.75 * off * off).sum()


@wrong("glove_loss: zero")
def _(counts, w, w_tilde, b, b_tilde, maximum):
    return 0 * w.sum()


@wrong("glove_loss: the mean over the pairs that were seen", called="mean")
def _(counts, w, w_tilde, b, b_tilde, maximum):
    i, j = counts.nonzero(as_tuple=True)
    x = counts[i, j]
    off = (w[i] * w_tilde[j]).sum(1) + b[i] + b_tilde[j] - x.log()
    terms = (x / maximum).clamp(max=1) ** 0.75 * off * off
    return terms.sum() / max(len(x), 1)


@wrong("glove_loss: a new zero for a table of zeros")
def _(counts, w, w_tilde, b, b_tilde, maximum):
    if not counts.any():
        return torch.tensor(0.0)
    i, j = counts.nonzero(as_tuple=True)
    x = counts[i, j]
    off = (w[i] * w_tilde[j]).sum(1) + b[i] + b_tilde[j] - x.log()
    return ((x / maximum).clamp(max=1) ** 0.75 * off * off).sum()


@wrong("find_samplers: shares among all words, the target too", called="everybody")
def _(samplers, counts):
    top, p = int(counts.argmax()), counts.double() ** 0.75 / (counts.double() ** 0.75).sum()
    drawn = [torch.bincount(sampler(torch.tensor([top]).expand(3000), 10).flatten(), minlength=len(counts)) / 30000 for sampler in samplers]
    return [k for k, shares in enumerate(drawn) if shares[top] or (p - shares).index_fill(0, torch.tensor(top), 0).abs().max() > 0.015]
