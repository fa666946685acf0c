"""Wrong answers to the exercises of chapter 19, written without knowing its checks."""
from __future__ import annotations

import torch

from tests.exercises.answers.register import blind


@blind("cut_spans: the text after the last span is lost in what is read")
def _(tokens, spans, first):
    words = tokens.tolist()
    read, target, place = [], [], 0
    for k, (start, end) in enumerate(spans):
        read += words[place:start] + [first + k]
        target += [first + k] + words[start:end]
        place = end
    target.append(first + len(spans))
    return torch.tensor(read, dtype=torch.long), torch.tensor(target, dtype=torch.long)


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


@blind("cut_spans: the spans are cut out of the list one after another, from the left, by their old "
       "numbers: after the first cut all places have moved")
def _(tokens, spans, first):
    text = tokens.tolist()
    target = []
    for k, (start, end) in enumerate(spans):
        target += [first + k] + text[start:end]
        text[start:end] = [first + k]
    target.append(first + len(spans))
    return torch.tensor(text), torch.tensor(target)


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


@blind("cut_spans: the target ends with the last span's sentinel once more, not with the next one")
def _(tokens, spans, first):
    pieces, answer, at = [], [], 0
    number = first
    for number, (start, end) in enumerate(spans, start=first):
        sentinel = torch.tensor([number])
        pieces += [tokens[at:start], sentinel]
        answer += [sentinel, tokens[start:end]]
        at = end
    pieces.append(tokens[at:])
    answer.append(torch.tensor([number]))
    return torch.cat(pieces).long(), torch.cat(answer).long()


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


@blind("put_back: a sentinel that the target left out stays in the text, instead of standing for nothing")
def _(read, target, first):
    says, current = {}, None
    for token in target.tolist():
        if token >= first:
            current = says.setdefault(token, [])
        else:
            current.append(token)
    text = []
    for token in read.tolist():
        text.extend(says.get(token, [token]))
    return torch.tensor(text, dtype=torch.long)


@blind("put_back: sentinels are the numbers above `first`: `first` itself is taken for a word")
def _(read, target, first):
    spans, current = {}, None
    for token in target.tolist():
        if token > first:
            current = token
            spans[current] = []
        elif current is not None:
            spans[current].append(token)
    text = []
    for token in read.tolist():
        text += spans.get(token, []) if token > first else [token]
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


@blind("put_back: only a sentinel that `read` has begins a new span: what the target wrote of another one "
       "goes to the span before it")
def _(read, target, first):
    asked = {t for t in read.tolist() if t >= first}
    spans = {t: [] for t in asked}
    now = None
    for t in target.tolist():
        if t in asked:
            now = t
        elif t < first and now is not None:
            spans[now].append(t)
    out = []
    for t in read.tolist():
        out += spans[t] if t in asked else [t]
    return torch.tensor(out, dtype=torch.int64)


@blind("replaced_labels: the labels compare with the drawn word at every place, also where it was not put in")
def _(tokens, chosen, drawn, real):
    read = torch.where(chosen, drawn, tokens)
    labels = (drawn != tokens).float()
    return read, labels, real


@blind("replaced_labels: the labels are turned around: 1 for the words that stood there")
def _(tokens, chosen, drawn, real):
    read = tokens.clone()
    read[chosen] = drawn[chosen]
    return read, torch.eq(read, tokens).float(), real.clone()


@blind("replaced_labels: the label compares what was drawn with the text at every place, also where the "
       "generator was not asked")
def _(tokens, chosen, drawn, real):
    read = torch.where(chosen, drawn, tokens)
    labels = (drawn != tokens).float() * real
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


@blind("masks_of_order: rows and columns are exchanged: [i, j] says whether j may read i")
def _(order):
    n = len(order)
    content, query = torch.zeros(2, n, n, dtype=torch.bool)
    for when, place in enumerate(order):
        for earlier in order[:when]:
            content[earlier, place] = query[earlier, place] = True
        content[place, place] = True
    return content, query


@blind("masks_of_order: order[i] is taken for the turn of place i: the inverse permutation is missing")
def _(order):
    turn = torch.tensor(order)
    content = turn[None, :] <= turn[:, None]
    query = turn[None, :] < turn[:, None]
    return content, query


@blind("masks_of_order: only the columns are put back to the places: the rows stay in the order of telling")
def _(order):
    n = len(order)
    told = torch.ones(n, n, dtype=torch.bool).tril()          # k-th told reads up to k-th
    turn = torch.argsort(torch.tensor(order))
    content = told[:, turn]
    query = (told & ~torch.eye(n, dtype=torch.bool))[:, turn]
    return content, query


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
