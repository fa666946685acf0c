"""Wrong answers to the exercises on words as vectors."""
from __future__ import annotations

from tests.grading.stock import wrong

STOCK = [
    wrong("tfidf", "the raw count is the tf", "open", """
import math

def tfidf(docs):
    idf = lambda word: math.log((len(docs) + 1) / (sum(word in doc for doc in docs) + 1)) + 1
    return [{word: doc.count(word) * idf(word) for word in set(doc)} for doc in docs]
"""),
    wrong("tfidf", "the 1 after the logarithm is missing", "sealed", """
import math

def tfidf(docs):
    idf = lambda word: math.log((len(docs) + 1) / (sum(word in doc for doc in docs) + 1))
    return [{word: doc.count(word) / len(doc) * idf(word) for word in set(doc)} for doc in docs]
"""),
    wrong("sgns_loss", "negatives are pulled", "open", """
import torch.nn.functional as F

def sgns_loss(center, context, negatives):
    drawn = (negatives * center[:, None]).sum(dim=2)
    return -(F.logsigmoid((center * context).sum(dim=1)) + F.logsigmoid(drawn).sum(dim=1)).mean()
"""),
    wrong("sgns_loss", "the mean over the negatives", "sealed", """
import torch.nn.functional as F

def sgns_loss(center, context, negatives):
    drawn = (negatives * center[:, None]).sum(dim=2)
    return -(F.logsigmoid((center * context).sum(dim=1)) + F.logsigmoid(-drawn).mean(dim=1)).mean()
"""),
    wrong("noise_distribution", "the plain shares", "open", """
def noise_distribution(counts):
    return counts / counts.sum()
"""),
    wrong("noise_distribution", "it is not normalised", "sealed", """
def noise_distribution(counts):
    return counts.double() ** 0.75
"""),
    wrong("find_samplers", "only the target is looked for", "open", """
import torch

def find_samplers(samplers, counts):
    most = int(counts.argmax())
    return [i for i, sampler in enumerate(samplers)
            if (sampler(torch.full((2000,), most), 5) == most).any()]
"""),
    wrong("find_samplers", "numbers from one", "sealed", """
import torch

def find_samplers(samplers, counts):
    most, found = int(counts.argmax()), []
    p = counts.double() ** 0.75
    p[most] = 0
    for i, sampler in enumerate(samplers, 1):
        seen = torch.bincount(sampler(torch.full((4000,), most), 5).flatten(), minlength=len(counts)).double()
        if seen[p == 0].sum() or (seen / seen.sum() - p / p.sum()).abs().max() > 0.015:
            found.append(i)
    return found
"""),
    wrong("train_vectors", "vectors without a text", "open", """
import torch

def train_vectors(sentences, num_words):
    return torch.randn(num_words, 24)
"""),
    wrong("train_vectors", "the table of counts itself", "sealed", """
import torch

def train_vectors(sentences, num_words):
    X = torch.zeros(num_words, num_words)
    for words in sentences:
        for word in words:
            for other in words:
                X[word, other] += 1
    return X[:, :40]
"""),
    wrong("lsa", "words and documents have the roots of the singular values", "open", """
import torch

def lsa(weights, k, queries):
    u, s, vt = torch.linalg.svd(weights, full_matrices=False)
    u, s, v = u[:, :k], s[:k].sqrt(), vt[:k].T
    return u * s, v * s, queries @ v
"""),
    wrong("lsa", "the axes come from the covariance of the words", "sealed", """
import torch

def lsa(weights, k, queries):
    centred = weights - weights.mean(0, keepdim=True)
    u, s, vt = torch.linalg.svd(centred, full_matrices=False)
    return u[:, :k] * s[:k], vt[:k].T * s[:k], queries @ vt[:k].T
"""),
    wrong("glove_loss", "every pair weighs the same", "open", """
import torch

def glove_loss(counts, w, w_tilde, b, b_tilde, maximum):
    i, j = counts.nonzero(as_tuple=True)
    off = (w[i] * w_tilde[j]).sum(1) + b[i] + b_tilde[j] - counts[i, j].log()
    return off.square().sum()
"""),
    wrong("glove_loss", "the weight of a frequent pair goes on above 1", "sealed", """
import torch

def glove_loss(counts, w, w_tilde, b, b_tilde, maximum):
    i, j = counts.nonzero(as_tuple=True)
    x = counts[i, j]
    off = (w[i] * w_tilde[j]).sum(1) + b[i] + b_tilde[j] - x.log()
    return ((x / maximum) ** 0.75 * off ** 2).sum()
"""),
]
