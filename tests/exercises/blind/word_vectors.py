"""Wrong answers to the exercises of chapter word-vectors, written without knowing its checks."""
from __future__ import annotations

import torch
import torch.nn.functional as F

from tests.exercises.answers.register import blind


@blind("sgns_loss: takes the mean over the K negatives of a row, not their sum")
def _(center, context, negatives):
    good = F.logsigmoid((center * context).sum(-1))
    bad = F.logsigmoid(-torch.einsum("bkd,bd->bk", negatives, center))
    return -(good + bad.mean(-1)).mean()


@blind("sgns_loss: takes the logarithm of the sigmoid, which is -inf for products of hundreds")
def _(center, context, negatives):
    near = torch.sigmoid((center * context).sum(dim=1)).log()
    far = torch.sigmoid(-(negatives @ center[:, :, None]).squeeze(2)).log()
    return (-near - far.sum(dim=1)).mean()


@blind("sgns_loss: the negatives are detached, as if they were only noise: their vectors get no gradient")
def _(center, context, negatives):
    noise = negatives.detach()
    positive = F.logsigmoid((context * center).sum(dim=-1))
    products = torch.einsum("bkd,bd->bk", noise, center)
    negative = F.logsigmoid(-products).sum(dim=-1)
    return -(positive + negative).mean()


@blind("sgns_loss: a mean over all B (K + 1) pairs instead of a sum over each row's pairs and a mean over "
       "the rows: K + 1 times too small")
def _(center, context, negatives):
    candidates = torch.cat([context[:, None], negatives], dim=1)      # (B, 1 + K, D)
    logits = (candidates * center[:, None]).sum(dim=-1)
    labels = torch.zeros_like(logits)
    labels[:, 0] = 1
    return F.binary_cross_entropy_with_logits(logits, labels)


@blind("noise_distribution: adds 1 to every count, so that words that never occur get a probability")
def _(counts):
    powers = (counts.float() + 1).pow(0.75)
    return powers / powers.sum()


@blind("noise_distribution: made to sum to 1 before the power, and not after it: the result does not sum to 1")
def _(counts):
    frequencies = counts / counts.sum()
    return frequencies ** 0.75


@blind("noise_distribution: words that never occur are given a count of 1 first")
def _(counts):
    weights = counts.double().clamp(min=1).pow(0.75)
    return weights / weights.sum()


@blind("noise_distribution: a softmax of counts ** 0.75: proportional to their exponentials")
def _(counts):
    return torch.softmax(counts.double() ** 0.75, dim=0)


@blind("find_samplers: the expected probabilities are not divided by their sum again once the target is "
       "out: sound samplers look faulty")
def _(samplers, counts):
    p = counts.double() ** 0.75
    p = p / p.sum()
    target = int(counts.argmax())
    p[target] = 0
    faulty = []
    for number, sampler in enumerate(samplers):
        drawn = sampler(torch.full((1000,), target), 100).flatten()
        share = torch.bincount(drawn, minlength=len(counts)) / drawn.numel()
        never = share[counts == 0].sum() > 0
        if never or share[target] > 0 or (share - p).abs().max() > 0.015:
            faulty.append(number)
    return faulty


@blind("find_samplers: draws of the target are thrown away before the shares are compared: a sampler that "
       "draws the target too passes")
def _(samplers, counts):
    target = counts.argmax()
    others = torch.arange(len(counts)) != target
    expected = counts[others].double() ** 0.75
    expected /= expected.sum()
    result = []
    for i, sampler in enumerate(samplers):
        words = sampler(target.repeat(500), 200).reshape(-1)
        found = torch.bincount(words, minlength=len(counts))[others].double()
        found /= found.sum()
        wrong_share = (found - expected).abs().max() > 0.01
        draws_never = bool((found[expected == 0] > 0).any())
        if wrong_share or draws_never:
            result.append(i)
    return result


@blind("find_samplers: 100 draws a sampler only: chance alone moves the shares by the 0.03 that decides, so "
       "that sound samplers are called faulty")
def _(samplers, counts):
    target = int(counts.argmax())
    expected = counts.double() ** 0.75
    expected[target] = 0
    expected = expected / expected.sum()
    bad = []
    for i in range(len(samplers)):
        drawn = samplers[i](torch.tensor([target] * 10), 10)
        frequency = torch.tensor([(drawn == v).double().mean() for v in range(len(counts))])
        if frequency[target] > 0 or (frequency[counts == 0] > 0).any():
            bad.append(i)
        elif torch.any((frequency - expected).abs() >= 0.03):
            bad.append(i)
    return bad


@blind("glove_loss: the two biases are exchanged: b is added by column and b_tilde by row")
def _(counts, w, w_tilde, b, b_tilde, maximum):
    seen = counts > 0
    f = (counts / maximum).clamp(max=1) ** 0.75
    logs = torch.where(seen, counts, torch.ones_like(counts)).log()
    error = w @ w_tilde.T + b[None, :] + b_tilde[:, None] - logs
    return (f * error ** 2)[seen].sum()


@blind("glove_loss: the logarithm of 1 + count, so that zeros do no harm, instead of the logarithm of the count")
def _(counts, w, w_tilde, b, b_tilde, maximum):
    i, j = counts.nonzero(as_tuple=True)
    x = counts[i, j]
    weight = torch.minimum(torch.ones_like(x), (x / maximum) ** 0.75)
    guess = (w[i] * w_tilde[j]).sum(dim=1) + b[i] + b_tilde[j]
    return torch.sum(weight * (guess - torch.log1p(x)) ** 2)


@blind("glove_loss: each pair is taken once, i at most j: what lies below the diagonal of the table is not summed")
def _(counts, w, w_tilde, b, b_tilde, maximum):
    loss = (w * 0).sum() + (w_tilde * 0).sum() + (b * 0).sum() + (b_tilde * 0).sum()
    V = counts.shape[0]
    for i in range(V):
        for j in range(i, V):
            x = counts[i, j]
            if x > 0:
                f = torch.clamp((x / maximum) ** 0.75, max=1.0)
                loss = loss + f * (w[i] @ w_tilde[j] + b[i] + b_tilde[j] - x.log()) ** 2
    return loss


@blind("train_vectors: the SVD is taken of the plain counts, without a logarithm or PMI: the frequent words "
       "fill the axes")
def _(sentences, num_words):
    counts = torch.zeros(num_words, num_words)
    for sentence in sentences:
        words = torch.tensor(sentence)
        T = len(words)
        i, j = torch.meshgrid(torch.arange(T), torch.arange(T), indexing="ij")
        near = ((i - j).abs() <= 2) & (i != j)
        counts.index_put_((words[i[near]], words[j[near]]), torch.ones(int(near.sum())),
                          accumulate=True)
    U, s, _ = torch.linalg.svd(counts)
    return U[:, :24] * s[:24].sqrt()


@blind("train_vectors: eigh sorts from the smallest eigenvalue up, and the first 24 axes are kept: the "
       "least important ones")
def _(sentences, num_words):
    D = 24
    table = torch.zeros(num_words, num_words, dtype=torch.double)
    for s in sentences:
        for t in range(len(s)):
            for u in range(max(0, t - 2), min(len(s), t + 3)):
                if u != t:
                    table[s[t], s[u]] += 1
    logs = torch.log1p(table)
    values, vectors = torch.linalg.eigh(logs @ logs.T)
    values, vectors = values[:D].clamp(min=0), vectors[:, :D]
    return (vectors * values ** 0.25).float()


@blind("train_vectors: skip-gram without negatives: only pairs that stood together are pulled towards each "
       "other, and all vectors fall into one")
def _(sentences, num_words):
    torch.manual_seed(0)
    centers, contexts = [], []
    for s in sentences:
        for i, word in enumerate(s):
            for j in range(max(0, i - 2), min(len(s), i + 3)):
                if i != j:
                    centers.append(word)
                    contexts.append(s[j])
    centers, contexts = torch.tensor(centers), torch.tensor(contexts)
    v = torch.nn.Parameter(0.1 * torch.randn(num_words, 24))
    u = torch.nn.Parameter(0.1 * torch.randn(num_words, 24))
    optimizer = torch.optim.Adam([v, u], lr=0.02)
    for step in range(600):
        rows = torch.randint(len(centers), (512,))
        products = (v[centers[rows]] * u[contexts[rows]]).sum(dim=1)
        loss = -F.logsigmoid(products).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return v.detach()
