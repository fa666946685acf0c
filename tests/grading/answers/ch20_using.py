"""Answers to the exercises of chapter 20."""
from __future__ import annotations

import math
from collections import Counter

import torch

from tests.grading.answers.register import right, wrong


@right("bm25: document frequencies first")
def _(docs, question, k1, b):
    df = Counter(word for doc in docs for word in set(doc))
    N, mean = len(docs), sum(map(len, docs)) / len(docs)
    found = []
    for doc in docs:
        counts, norm = Counter(doc), k1 * (1 - b + b * len(doc) / mean)
        found.append(sum(math.log((N + 1) / (df[t] + 0.5)) * counts[t] * (k1 + 1) / (counts[t] + norm)
                         for t in question if counts[t]))
    return [float(score) for score in found]


@right("bm25: a word of the question at a time")
def _(docs, question, k1, b):
    N, scores = len(docs), [0.0] * len(docs)
    mean = sum(map(len, docs)) / N
    for word in question:
        holding = [i for i, doc in enumerate(docs) if word in doc]
        idf = math.log1p((N - len(holding) + 0.5) / (len(holding) + 0.5))
        for i in holding:
            n = sum(other == word for other in docs[i])
            scores[i] += idf * n * (k1 + 1) / (n + k1 * (1 - b + b * len(docs[i]) / mean))
    return scores


@wrong("bm25: zeros")
def _(docs, question, k1, b):
    return [0.0] * len(docs)


@wrong("bm25: shared words")
def _(docs, question, k1, b):
    return [float(len(set(question) & set(doc))) for doc in docs]


@wrong("bm25: the mean over the question's words")
def _(docs, question, k1, b):
    N, mean = len(docs), sum(map(len, docs)) / len(docs)
    found = []
    for doc in docs:
        total = 0.0
        for t in question:
            n, df = doc.count(t), sum(t in other for other in docs)
            if n:
                total += math.log(1 + (N - df + 0.5) / (df + 0.5)) * n * (k1 + 1) / (n + k1 * (1 - b + b * len(doc) / mean))
        found.append(total / len(question))
    return found


def _told(x, y, new):
    best, which = None, None
    for k in y.unique().tolist():
        distance = (new - x[y == k].mean(dim=0)).square().sum(dim=1)
        if best is None:
            best, which = distance, torch.full((len(new),), k)
        else:
            which = torch.where(distance < best, k, which)
            best = torch.minimum(distance, best)
    return which


@right("probe_and_control: class by class")
def _(train, train_labels, train_words, test, test_labels, test_words, random_label):
    known = torch.tensor([int(word) in set(train_words.tolist()) for word in test_words])
    task = (_told(train, train_labels, test) == test_labels).float().mean().item()
    said = _told(train, random_label[train_words], test[known])
    return task, (said == random_label[test_words][known]).float().mean().item()


@right("probe_and_control: sums by matrices")
def _(train, train_labels, train_words, test, test_labels, test_words, random_label):
    def told(labels, new):
        hot = torch.nn.functional.one_hot(labels).to(train.dtype)
        means = hot.T @ train / hot.sum(dim=0)[:, None]
        return (new @ means.T - 0.5 * means.square().sum(dim=1)).argmax(dim=1)

    known = (test_words[:, None] == train_words[None, :]).any(dim=1)
    right_ones = told(random_label[train_words], test) == random_label[test_words]
    return (float((told(train_labels, test) == test_labels).double().mean()), float(right_ones[known].double().mean()))


@wrong("probe_and_control: zeros")
def _(train, train_labels, train_words, test, test_labels, test_words, random_label):
    return 0.0, 0.0


@wrong("probe_and_control: the commonest label")
def _(train, train_labels, train_words, test, test_labels, test_words, random_label):
    common = float((test_labels == train_labels.bincount().argmax()).double().mean())
    return common, common


@wrong("probe_and_control: the task twice")
def _(train, train_labels, train_words, test, test_labels, test_words, random_label):
    task = float((_told(train, train_labels, test) == test_labels).double().mean())
    return task, task


@right("planted_passages: every start")
def _(question, passages, share):
    def run(passage):
        best = 0
        for i in range(len(question)):
            for j in range(len(passage)):
                n = 0
                while i + n < len(question) and j + n < len(passage) and question[i + n] == passage[j + n]:
                    n += 1
                best = max(best, n)
        return best
    return [run(passage) >= share * len(question) for passage in passages]


@right("planted_passages: runs of the length that is needed")
def _(question, passages, share):
    need = max(0, math.ceil(share * len(question)))
    runs = {tuple(question[i:i + need]) for i in range(len(question) - need + 1)}
    return [any(tuple(passage[j:j + need]) in runs for j in range(len(passage) - need + 1)) for passage in passages]


@wrong("planted_passages: as the page has it", called="as_given")
def _(question, passages, share):
    def longest_piece(passage):
        pieces = [n for n in range(len(question) + 1) if passage[:n] == question[:n]]
        return max(pieces)

    return [longest_piece(passage) > share * len(passage) for passage in passages]


@wrong("planted_passages: the boundary alone mended", called="from_the_start")
def _(question, passages, share):
    def longest_run(passage):
        return max(n for n in range(len(question) + 1) if passage[:n] == question[:n])

    return [longest_run(passage) >= share * len(question) for passage in passages]


@wrong("planted_passages: none")
def _(question, passages, share):
    return [False] * len(passages)


@wrong("planted_passages: all")
def _(question, passages, share):
    return [True] * len(passages)


@wrong("planted_passages: whoever ends with a question's word")
def _(question, passages, share):
    return [passage[-1] in question for passage in passages]
