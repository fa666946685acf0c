"""Answers to the exercises of chapter embeddings-and-probes."""
from __future__ import annotations

import itertools
import math

import torch
import torch.nn.functional as F

from tests.exercises.answers.register import right, wrong


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


@wrong("probe_and_control: both shares among the known words", called="known_alone")
def _(train, train_labels, train_words, test, test_labels, test_words, random_label):
    known = (test_words[:, None] == train_words[None, :]).any(dim=1)
    task = (_told(train, train_labels, test) == test_labels)[known]
    control = (_told(train, random_label[train_words], test) == random_label[test_words])[known]
    return float(task.double().mean()), float(control.double().mean())


@wrong("probe_and_control: the known hits, over all", called="over_all")
def _(train, train_labels, train_words, test, test_labels, test_words, random_label):
    known = (test_words[:, None] == train_words[None, :]).any(dim=1)
    control = (_told(train, random_label[train_words], test) == random_label[test_words]) & known
    return float((_told(train, train_labels, test) == test_labels).double().mean()), float(control.double().mean())


def spans(pieces, left_out=("[CLS]", "[SEP]", "[PAD]")):
    """Where each word begins and where it ends, one past its last piece."""
    found = []
    for t, piece in enumerate(pieces):
        if piece.startswith("##"):
            found[-1] = (found[-1][0], t + 1)
        elif piece not in left_out:
            found.append((t, t + 1))
    return found


def joined(vectors, how):
    """The layers' vectors of one word, (D,) each."""
    return torch.cat(vectors) if how == "concat" else sum(vectors)


@right("word_feature: a matrix that averages, all layers at once")
def _(states, pieces, chosen, how):
    of, N = [], 0
    for piece in pieces:
        N += piece not in ("[CLS]", "[SEP]", "[PAD]") and piece[:2] != "##"
        of.append(-1 if piece in ("[CLS]", "[SEP]", "[PAD]") else N - 1)
    share = (torch.tensor(of) == torch.arange(N)[:, None]).to(states.dtype)                   # (N, T)
    means = torch.einsum("nt,ltd->nld", share / share.sum(dim=1, keepdim=True), states[chosen])
    return means.flatten(1) if how == "concat" else means.sum(dim=1)


@right("word_feature: the layers first, then the pieces by sums of runs")
def _(states, pieces, chosen, how):
    layers = [states[k] for k in chosen]
    wide = torch.cat(layers, dim=-1) if how == "concat" else torch.stack(layers).sum(0)       # (T, width)
    before = torch.cat([wide.new_zeros(1, wide.shape[1]), wide]).double().cumsum(0)
    start, end = torch.tensor(spans(pieces)).T
    return ((before[end] - before[start]) / (end - start)[:, None]).to(states.dtype)


@right("word_feature: from the end, a word at a time, in numbers")
def _(states, pieces, chosen, how):
    rows, own = [], []
    for t in reversed(range(len(pieces))):
        if pieces[t] in {"[CLS]", "[SEP]", "[PAD]"}:
            continue
        own.append(t)
        if not pieces[t].startswith("##"):
            means = [[math.fsum(column) / len(own) for column in zip(*states[k][own].tolist())] for k in chosen]
            rows.insert(0, list(itertools.chain(*means)) if how == "concat" else [sum(column) for column in zip(*means)])
            own = []
    return torch.tensor(rows)


@wrong("word_feature: the place where each word begins", called="first_piece")
def _(states, pieces, chosen, how):
    return torch.stack([joined([states[k][start] for k in chosen], how) for start, _ in spans(pieces)])


@wrong("word_feature: index_add without a count", called="pieces_added")
def _(states, pieces, chosen, how):
    wide = torch.cat([states[k] for k in chosen], -1) if how == "concat" else states[chosen].sum(0)
    number, places, words = -1, [], []
    for t, piece in enumerate(pieces):
        if piece in ("[CLS]", "[SEP]", "[PAD]"):
            continue
        number += not piece.startswith("##")
        places.append(t)
        words.append(number)
    return wide.new_zeros(number + 1, wide.shape[1]).index_add(0, torch.tensor(words), wide[places])


@wrong("word_feature: the first and the last piece are cut off", called="ends_alone")
def _(states, pieces, chosen, how):
    return torch.stack([joined([states[k, 1 + a:1 + b].mean(0) for k in chosen], how) for a, b in spans(pieces[1:-1], ())])


@wrong("word_feature: what stands in brackets is left out", called="no_unknown")
def _(states, pieces, chosen, how):
    return torch.stack([joined([states[k, a:b].mean(0) for k in chosen], how) for a, b in spans(pieces) if pieces[a][0] != "["])


@wrong("word_feature: the last four of the slide, as many as are chosen", called="last_ones")
def _(states, pieces, chosen, how):
    means = torch.stack([states[-len(chosen):, a:b].mean(1) for a, b in spans(pieces)])
    return means.flatten(1) if how == "concat" else means.sum(1)


@wrong("word_feature: stacked behind instead of before", called="alternating")
def _(states, pieces, chosen, how):
    found = torch.stack([torch.stack([states[k, a:b].mean(0) for k in chosen], -1) for a, b in spans(pieces)])
    return found.flatten(1) if how == "concat" else found.sum(-1)


@wrong("word_feature: a dict by the word", called="once")
def _(states, pieces, chosen, how):
    found = {}
    for a, b in spans(pieces):
        found.setdefault("".join(pieces[a:b]), joined([states[k, a:b].mean(0) for k in chosen], how))
    return torch.stack(list(found.values()))


@wrong("word_feature: the mean of the layers", called="layers_averaged")
def _(states, pieces, chosen, how):
    means = [states[chosen][:, a:b].mean(1) for a, b in spans(pieces)]
    return torch.stack([one.flatten() if how == "concat" else one.mean(0) for one in means])


@wrong("word_feature: all words, the vectors of the last layer", called="last_layer")
def _(states, pieces, chosen, how):
    last = torch.stack([states[-1, a:b].mean(0) for a, b in spans(pieces)])
    return last.repeat(1, len(chosen)) if how == "concat" else last * len(chosen)


@wrong("word_feature: every layer is added")
def _(states, pieces, chosen, how):
    return torch.stack([joined([states[k, a:b].mean(0) for k in chosen], how) if how == "concat" else states[:, a:b].mean(1).sum(0)
                        for a, b in spans(pieces)])


@wrong("word_feature: the piece in the middle of a word")
def _(states, pieces, chosen, how):
    return torch.stack([joined([states[k, (a + b) // 2] for k in chosen], how) for a, b in spans(pieces)])


@wrong("word_feature: vectors of length one, as for cosines")
def _(states, pieces, chosen, how):
    found = torch.stack([joined([states[k, a:b].mean(0) for k in chosen], how) for a, b in spans(pieces)])
    return F.normalize(found, dim=1)


@wrong("word_feature: zeros")
def _(states, pieces, chosen, how):
    D = states.shape[-1]
    return torch.zeros(len(spans(pieces)), D * len(chosen) if how == "concat" else D)


@wrong("word_feature: half of what is there and half of the next piece", called="halved")
def _(states, pieces, chosen, how):
    found = []
    for start, end in spans(pieces):
        row = states[chosen, start]
        for t in range(start + 1, end):
            row = 0.5 * (row + states[chosen, t])
        found.append(joined(list(row), how))
    return torch.stack(found)


@wrong("word_feature: a text of one word loses an axis")
def _(states, pieces, chosen, how):
    words = []
    for place, piece in enumerate(pieces):
        if piece.startswith("##"):
            words[-1].append(place)
        elif piece not in ("[CLS]", "[SEP]", "[PAD]"):
            words.append([place])
    rows = torch.stack([states[chosen][:, places].mean(1) for places in words])
    return (rows.flatten(1) if how == "concat" else rows.sum(1)).squeeze(0)
