"""Wrong answers to the exercises of chapter denoising, written without knowing its checks."""
from __future__ import annotations

import torch

from tests.exercises.answers.register import blind


@blind("cut_spans: the target ends with the sentinel of the last span again, not with the next one")
def _(tokens, spans, first):
    read, target, sentinel = [], [], first - 1
    starts = dict(spans)
    k, T = 0, len(tokens)
    while k < T:
        if k in starts:
            sentinel += 1
            read.append(sentinel)
            target.append(sentinel)
            target.extend(tokens[k:starts[k]].tolist())
            k = starts[k]
        else:
            read.append(int(tokens[k]))
            k += 1
    target.append(max(sentinel, first))
    return torch.tensor(read).long(), torch.tensor(target).long()


@blind("cut_spans: what stands after the last span is missing in `read`")
def _(tokens, spans, first):
    read, target = [], []
    place, sentinel = 0, first
    for start, end in spans:
        read.extend(tokens[place:start].tolist())
        read.append(sentinel)
        target.append(sentinel)
        target.extend(tokens[start:end].tolist())
        place = end
        sentinel += 1
    target.append(sentinel)
    return torch.tensor(read, dtype=torch.long), torch.tensor(target, dtype=torch.long)


@blind("put_back: goes by the order of the sentinels in the target, not by their numbers")
def _(read, target, first):
    pieces = []
    for token in target.tolist():
        if token >= first:
            pieces.append([])
        else:
            pieces[-1].append(token)
    text, k = [], 0
    for token in read.tolist():
        if token < first:
            text.append(token)
        else:
            text += pieces[k] if k < len(pieces) else []
            k += 1
    return torch.tensor(text, dtype=torch.long)


@blind("put_back: a span is kept when the next sentinel comes: the last one is lost where no sentinel "
       "closes the target")
def _(read, target, first):
    found = {}
    name, words = None, []
    for t in target.tolist():
        if t >= first:
            if name is not None:
                found[name] = words
            name, words = t, []
        else:
            words.append(t)
    result = []
    for t in read.tolist():
        if t >= first:
            result.extend(found.get(t, []))
        else:
            result.append(t)
    return torch.tensor(result).long()


@blind("replaced_labels: the labels compare with the drawn word at every place, also where it was not put in")
def _(tokens, chosen, drawn, real):
    read = torch.where(chosen, drawn, tokens)
    labels = (drawn != tokens).float()
    return read, labels, real


@blind("replaced_labels: the labels are the wrong way round: 1.0 where the word is the one that stood there")
def _(tokens, chosen, drawn, real):
    read = tokens.clone()
    read[chosen] = drawn[chosen]
    labels = torch.eq(read, tokens).float()
    asked = real.bool()
    return read, labels, asked


@blind("replaced_labels: there is a loss at every place of the rectangle, padding included")
def _(tokens, chosen, drawn, real):
    read = torch.where(chosen & real, drawn, tokens)
    labels = torch.where(read == tokens, 0.0, 1.0)
    asked = torch.ones_like(tokens, dtype=torch.bool)
    return read, labels, asked


@blind("masks_of_order: takes order[i] for the time at which place i is told: the order is not inverted")
def _(order):
    time = torch.tensor(order)
    query = time[None, :] < time[:, None]
    return query | torch.eye(len(order), dtype=torch.bool), query


@blind("masks_of_order: rows and columns are exchanged: [i, j] says whether the word at j may read the one at i")
def _(order):
    n = len(order)
    content = torch.eye(n, dtype=torch.bool)
    query = torch.zeros(n, n, dtype=torch.bool)
    for a in range(n):
        for b in range(a + 1, n):
            earlier, later = order[a], order[b]
            content[earlier, later] = True
            query[earlier, later] = True
    return content, query
