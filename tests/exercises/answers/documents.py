"""Answers to the exercises of chapter documents."""
from __future__ import annotations

import math
from collections import Counter

import torch
from sklearn.feature_extraction.text import TfidfVectorizer

from tests.exercises.answers.register import right, wrong


@right("tfidf: by counters")
def _(docs):
    df = Counter(word for doc in docs for word in set(doc))
    return [{word: count / sum(bag.values()) * (1 + math.log1p(len(docs)) - math.log1p(df[word]))
             for word, count in bag.items()} for bag in map(Counter, docs)]


@wrong("tfidf: scikit-learn's", called="unit_rows")
def _(docs):
    model = TfidfVectorizer(analyzer=lambda doc: doc)
    rows = model.fit_transform(docs).toarray()
    names = model.get_feature_names_out()
    return [{str(word): float(v) for word, v in zip(names, row) if v} for row in rows]


@wrong("tfidf: zeros")
def _(docs):
    return [dict.fromkeys(doc, 0.0) for doc in docs]


@wrong("tfidf: equal documents taken for one")
def _(docs):
    rows = [{} for _ in docs]
    for doc in docs:
        for word in doc:
            df = sum(word in each for each in docs)
            rows[docs.index(doc)][word] = doc.count(word) / len(doc) * (math.log((len(docs) + 1) / (df + 1)) + 1)
    return rows


@wrong("tfidf: words sought in the text, not in the list")
def _(docs):
    texts = [" ".join(doc) for doc in docs]
    return [{word: doc.count(word) / len(doc) * (math.log((len(docs) + 1) / (sum(word in text for text in texts) + 1)) + 1)
             for word in doc} for doc in docs]


@right("lsa: from the eigenvectors, every axis turned round")
def _(weights, k, queries):
    values, V = torch.linalg.eigh(weights.double().T @ weights.double())
    V = -V[:, values.argsort(descending=True)[:k]]
    s = values.sort(descending=True).values[:k].clamp(min=0).sqrt()
    return (weights.double() @ V).float(), (V * s).float(), (queries.double() @ V).float()


@right("lsa: every second axis turned round")
def _(weights, k, queries):
    u, s, vt = torch.linalg.svd(weights, full_matrices=False)
    turn = torch.tensor([(-1.0) ** j for j in range(k)])
    V = vt[:k].T * turn
    return u[:, :k] * turn * s[:k], V * s[:k], queries @ V


@wrong("lsa: the rows of V for a column each", called=None)
def _(weights, k, queries):
    u, s, vt = torch.linalg.svd(weights, full_matrices=False)
    return u[:, :k] * s[:k], vt[:k] * s[:k, None], queries @ vt[:k].T


@wrong("lsa: folded in", called="query_divided")
def _(weights, k, queries):
    u, s, vt = torch.linalg.svd(weights, full_matrices=False)
    return u[:, :k] * s[:k], vt[:k].T * s[:k], queries @ vt[:k].T / s[:k]


@wrong("lsa: zeros")
def _(weights, k, queries):
    return torch.zeros(len(weights), k), torch.zeros(weights.shape[1], k), torch.zeros(len(queries), k)


@wrong("lsa: the means of the columns taken away", called="centred")
def _(weights, k, queries):
    u, s, vt = torch.linalg.svd(weights - weights.mean(0, keepdim=True), full_matrices=False)
    return u[:, :k] * s[:k], vt[:k].T * s[:k], queries @ vt[:k].T


@wrong("lsa: the first columns of what is V transposed", called="not_turned")
def _(weights, k, queries):
    u, s, v = torch.linalg.svd(weights)
    return u[:, :k] * s[:k], v[:, :k] * s[:k], queries @ v[:, :k]


@wrong("tfidf: counts over the largest count", called="over_most_frequent")
def _(docs):
    counts = [Counter(doc) for doc in docs]
    df = sum((Counter(count.keys()) for count in counts), Counter())
    idf = {word: 1 + math.log((1 + len(docs)) / (1 + number)) for word, number in df.items()}
    return [{word: number / count.most_common(1)[0][1] * idf[word] for word, number in count.items()} for count in counts]
