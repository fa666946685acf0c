"""Answers to the exercises of chapter denoising."""
from __future__ import annotations

import torch

from tests.exercises.answers.register import right, wrong


@right("cut_spans: by a label for each token")
def _(tokens, spans, first):
    of = {i: k for k, (start, end) in enumerate(spans) for i in range(start, end)}
    read, target, last = [], [], None
    for i, token in enumerate(tokens.tolist()):
        k = of.get(i)
        if k is None:
            read.append(token)
        else:
            if k != last:
                read.append(first + k)
                target.append(first + k)
            target.append(token)
        last = k
    return torch.tensor(read), torch.tensor([*target, first + len(spans)])


@right("cut_spans: pieces put together")
def _(tokens, spans, first):
    edges = [0, *(place for span in spans for place in span), len(tokens)]
    read, target = [], []
    for k in range(len(spans) + 1):
        read.append(tokens[edges[2 * k]:edges[2 * k + 1]])
        target.append(torch.tensor([first + k]))
        if k < len(spans):
            read.append(torch.tensor([first + k]))
            target.append(tokens[edges[2 * k + 1]:edges[2 * k + 2]])
    return torch.cat(read), torch.cat(target)


@wrong("cut_spans: nothing cut")
def _(tokens, spans, first):
    return tokens.clone(), torch.tensor([first])


@wrong("cut_spans: read and target exchanged")
def _(tokens, spans, first):
    read, target, at = [], [], 0
    for k, (start, end) in enumerate(spans):
        read += [*tokens[at:start].tolist(), first + k]
        target += [first + k, *tokens[start:end].tolist()]
        at = end
    return torch.tensor([*target, first + len(spans)]), torch.tensor([*read, *tokens[at:].tolist()])


@wrong("cut_spans: the first token of each span stays")
def _(tokens, spans, first):
    read, target, at = [], [], 0
    for k, (start, end) in enumerate(spans):
        read += [*tokens[at:start + 1].tolist(), first + k]
        target += [first + k, *tokens[start + 1:end].tolist()]
        at = end
    return torch.tensor([*read, *tokens[at:].tolist()]), torch.tensor([*target, first + len(spans)])


@wrong("cut_spans: cut from the left by the old numbers", called="places_moved")
def _(tokens, spans, first):
    read, target = tokens.clone(), []
    for k, (start, end) in enumerate(spans):
        sentinel = torch.tensor([first + k])
        target += [sentinel, read[start:end]]
        read = torch.cat([read[:start], sentinel, read[end:]])
    return read, torch.cat([*target, torch.tensor([first + len(spans)])])


@right("put_back: by slices of the target")
def _(read, target, first):
    places = [i for i, token in enumerate(target.tolist()) if token >= first] + [len(target)]
    spans = {int(target[a]): target[a + 1:b] for a, b in zip(places, places[1:])}
    parts = [torch.tensor([token]) if token < first else spans.get(token, target[:0]) for token in read.tolist()]
    return torch.cat(parts)


@right("put_back: the target searched for each sentinel")
def _(read, target, first):
    text, said = [], target.tolist()
    for token in read.tolist():
        if token < first:
            text.append(token)
        elif token in said:
            i = said.index(token) + 1
            while i < len(said) and said[i] < first:
                text.append(said[i])
                i += 1
    return torch.tensor(text)


@wrong("put_back: the target alone")
def _(read, target, first):
    return target[target < first]


@wrong("put_back: a sentinel that target leaves out is kept", called="unsaid_stays")
def _(read, target, first):
    said, key = {}, None
    for token in target.tolist():
        if token >= first:
            key = token
        else:
            said.setdefault(key, []).append(token)
    return torch.tensor([part for token in read.tolist() for part in said.get(token, [token])])


@wrong("put_back: the last token of each span is lost")
def _(read, target, first):
    places = [i for i, token in enumerate(target.tolist()) if token >= first] + [len(target)]
    spans = {int(target[a]): target[a + 1:b - 1] for a, b in zip(places, places[1:])}
    return torch.cat([torch.tensor([token]) if token < first else spans.get(token, target[:0]) for token in read.tolist()])


@wrong("put_back: every span twice")
def _(read, target, first):
    places = [i for i, token in enumerate(target.tolist()) if token >= first] + [len(target)]
    spans = {int(target[a]): target[a + 1:b].repeat(2) for a, b in zip(places, places[1:])}
    return torch.cat([torch.tensor([token]) if token < first else spans.get(token, target[:0]) for token in read.tolist()])


@wrong("put_back: sentinels from first + 1 on", called="above_first")
def _(read, target, first):
    said, key = {}, None
    for token in target.tolist():
        if token > first:
            key = token
        else:
            said.setdefault(key, []).append(token)
    return torch.tensor([t for token in read.tolist() for t in (said.get(token, []) if token > first else [token])])


@wrong("put_back: a sentinel that is not asked for is passed over", called="joined")
def _(read, target, first):
    asked = read[read >= first].tolist()
    target = [t for t in target.tolist() if t < first or t in asked]
    text = []
    for token in read.tolist():
        if token < first:
            text.append(token)
        elif token in target:
            rest = target[target.index(token) + 1:]
            text += rest[:next((i for i, t in enumerate(rest) if t >= first), len(rest))]
    return torch.tensor(text)


@right("replaced_labels: word by word")
def _(tokens, chosen, drawn, real):
    read, labels = tokens.clone(), torch.zeros(tokens.shape)
    for b in range(tokens.shape[0]):
        for t in range(tokens.shape[1]):
            if chosen[b, t]:
                read[b, t] = drawn[b, t]
                labels[b, t] = float(drawn[b, t] != tokens[b, t])
    return read, labels, real.clone()


@right("replaced_labels: the two texts compared")
def _(tokens, chosen, drawn, real):
    read = tokens.masked_scatter(chosen, drawn[chosen])
    return read, (read != tokens).to(torch.get_default_dtype()), real & torch.ones_like(chosen)


@wrong("replaced_labels: no label at all")
def _(tokens, chosen, drawn, real):
    return torch.where(chosen, drawn, tokens), torch.zeros(tokens.shape), real.clone()


@wrong("replaced_labels: all labels 1")
def _(tokens, chosen, drawn, real):
    return torch.where(chosen, drawn, tokens), torch.ones(tokens.shape), real.clone()


@wrong("replaced_labels: asked at the places that were not chosen")
def _(tokens, chosen, drawn, real):
    read = torch.where(chosen, drawn, tokens)
    return read, (read != tokens).to(torch.get_default_dtype()), real & ~chosen


@wrong("replaced_labels: drawn compared with the text, wherever a word is", called="drawn_labels")
def _(tokens, chosen, drawn, real):
    return torch.where(chosen, drawn, tokens), ((drawn != tokens) & real).float(), real.clone()


@right("masks_of_order: a pair of words at a time")
def _(order):
    n = len(order)
    query = torch.tensor([[order.index(j) < order.index(i) for j in range(n)] for i in range(n)])
    return torch.tensor([[bool(query[i, j]) or i == j for j in range(n)] for i in range(n)]), query


@right("masks_of_order: a triangle, its rows and columns put in place")
def _(order):
    n = len(order)
    content, query = torch.zeros(n, n, dtype=torch.bool), torch.zeros(n, n, dtype=torch.bool)
    for k, i in enumerate(order):
        query[i, order[:k]] = True
        content[i, order[:k + 1]] = True
    return content, query


@wrong("masks_of_order: everybody reads everybody")
def _(order):
    n = len(order)
    return torch.ones(n, n, dtype=torch.bool), torch.ones(n, n, dtype=torch.bool)


@wrong("masks_of_order: only the word told just before")
def _(order):
    n = len(order)
    content = torch.eye(n, dtype=torch.bool)
    for a, b in zip(order, order[1:]):
        content[b, a] = True
    return content, content & ~torch.eye(n, dtype=torch.bool)


@wrong("masks_of_order: nobody reads anybody")
def _(order):
    n = len(order)
    return torch.eye(n, dtype=torch.bool), torch.zeros(n, n, dtype=torch.bool)


@wrong("masks_of_order: the columns alone put back", called="columns_alone")
def _(order):
    n = len(order)
    content, query = torch.ones(n, n).tril().bool(), torch.ones(n, n).tril(-1).bool()
    back = [order.index(i) for i in range(n)]
    return content[:, back], query[:, back]


@wrong("masks_of_order: the rows alone put back", called="rows_alone")
def _(order):
    n = len(order)
    content, query = torch.ones(n, n).tril().bool(), torch.ones(n, n).tril(-1).bool()
    back = [order.index(i) for i in range(n)]
    return content[back], query[back]


@wrong("cut_spans: a text that is one span keeps its first token")
def _(tokens, spans, first):
    read, target, at = [], [], 0
    for k, (start, end) in enumerate(spans):
        start += (start, end) == (0, len(tokens))
        read += [*tokens[at:start].tolist(), first + k]
        target += [first + k, *tokens[start:end].tolist()]
        at = end
    return torch.tensor(read + tokens[at:].tolist()), torch.tensor([*target, first + len(spans)])


@wrong("replaced_labels: drawn compared with the text, at padding too", called="drawn_everywhere")
def _(tokens, chosen, drawn, real):
    return torch.where(chosen, drawn, tokens), (drawn != tokens).float(), real.clone()


@wrong("replaced_labels: the labels of all drawn words where none was chosen")
def _(tokens, chosen, drawn, real):
    read = torch.where(chosen, drawn, tokens)
    return read, ((read if chosen.any() else drawn) != tokens).float(), real
