"""Wrong answers to the exercises on vectors of words."""
from __future__ import annotations

from tests.grading.stock import wrong

STOCK = [
    wrong("tfidf",
          "empty documents do not count among the N of the idf",
          "third", """
import math
from collections import Counter

def tfidf(docs):
    N = sum(1 for doc in docs if doc)
    df = Counter(word for doc in docs for word in set(doc))
    return [{word: count / len(doc) * (math.log((N + 1) / (df[word] + 1)) + 1)
             for word, count in Counter(doc).items()} for doc in docs]
"""),
    wrong("tfidf",
          "df counts how often the word occurs in all documents, not how many hold it",
          "third", """
import math

def tfidf(docs):
    df = {}
    for doc in docs:
        for word in doc:
            df[word] = df.get(word, 0) + 1
    weights = []
    for doc in docs:
        row = {}
        for word in doc:
            tf = doc.count(word) / len(doc)
            row[word] = tf * (math.log((len(docs) + 1) / (df[word] + 1)) + 1)
        weights.append(row)
    return weights
"""),
    wrong("lsa",
          "the queries are folded in, x V diag(s)^-1, where x V is asked for",
          "third", """
import torch

def lsa(weights, k, queries):
    U, s, Vh = torch.linalg.svd(weights, full_matrices=False)
    U, s, V = U[:, :k], s[:k], Vh[:k].T
    return U * s, V * s, queries @ V / s
"""),
    wrong("lsa",
          "takes the columns of Vh for the singular vectors: V is transposed",
          "third", """
import torch

def lsa(weights, k, queries):
    U, s, V = torch.linalg.svd(weights, full_matrices=True)
    scale = torch.diag(s[:k])
    return U[:, :k] @ scale, V[:, :k] @ scale, queries @ V[:, :k]
"""),
    wrong("sgns_loss",
          "takes the mean over the K negatives of a row, not their sum",
          "third", """
import torch
import torch.nn.functional as F

def sgns_loss(center, context, negatives):
    good = F.logsigmoid((center * context).sum(-1))
    bad = F.logsigmoid(-torch.einsum("bkd,bd->bk", negatives, center))
    return -(good + bad.mean(-1)).mean()
"""),
    wrong("sgns_loss",
          "takes the logarithm of the sigmoid, which is -inf for products of hundreds",
          "third", """
import torch

def sgns_loss(center, context, negatives):
    near = torch.sigmoid((center * context).sum(dim=1)).log()
    far = torch.sigmoid(-(negatives @ center[:, :, None]).squeeze(2)).log()
    return (-near - far.sum(dim=1)).mean()
"""),
    wrong("noise_distribution",
          "normalises before the power and not after it: the result does not sum to 1",
          "third", """
import torch

def noise_distribution(counts):
    return (counts / counts.sum()) ** 0.75
"""),
    wrong("noise_distribution",
          "adds 1 to every count, so that words that never occur get a probability",
          "third", """
import torch

def noise_distribution(counts):
    powers = (counts.float() + 1).pow(0.75)
    return powers / powers.sum()
"""),
    wrong("find_samplers",
          "compares with the noise over all words: it is not renormalised without the target",
          "third", """
import torch

def find_samplers(samplers, counts):
    p = counts.double() ** 0.75
    p = p / p.sum()
    top = int(counts.argmax())
    p[top] = 0
    faulty = []
    for number, sampler in enumerate(samplers):
        drawn = sampler(torch.full((1000,), top), 100).flatten()
        share = torch.bincount(drawn, minlength=len(counts)).double() / len(drawn)
        if (share - p).abs().max() > 0.015:
            faulty.append(number)
    return faulty
"""),
    wrong("find_samplers",
          "judges by 100 draws a sampler, too few: sound ones are off by more than 0.015 by chance",
          "third", """
import torch

def find_samplers(samplers, counts):
    V, top = len(counts), counts.argmax().item()
    powers = counts.double().pow(0.75)
    powers[top] = 0.0
    expected = powers / powers.sum()

    def off(sampler):
        words = sampler(torch.tensor([top] * 20), 5).reshape(-1)
        share = torch.stack([(words == v).double().mean() for v in range(V)])
        return (share - expected).abs().max().item()

    return [k for k in range(len(samplers)) if off(samplers[k]) > 0.015]
"""),
    wrong("glove_loss",
          "the target is ln(1 + count), not ln(count)",
          "third", """
import torch

def glove_loss(counts, w, w_tilde, b, b_tilde, maximum):
    i, j = (counts > 0).nonzero(as_tuple=True)
    n = counts[i, j]
    miss = (w[i] * w_tilde[j]).sum(-1) + b[i] + b_tilde[j] - torch.log1p(n)
    return ((n / maximum).clamp(max=1) ** 0.75 * miss ** 2).sum()
"""),
    wrong("glove_loss",
          "b and b_tilde are exchanged: b stands with the columns j, b_tilde with the rows i",
          "third", """
import torch

def glove_loss(counts, w, w_tilde, b, b_tilde, maximum):
    seen = counts > 0
    log_n = torch.where(seen, counts, torch.ones_like(counts)).log()
    f = torch.minimum(torch.ones_like(counts), (counts / maximum) ** 0.75)
    guess = w @ w_tilde.T + b + b_tilde[:, None]
    return (f * seen * (guess - log_n) ** 2).sum()
"""),
]
