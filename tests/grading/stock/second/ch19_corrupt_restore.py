"""Wrong answers to the exercises on corrupting and restoring."""
from __future__ import annotations

from tests.grading.stock import wrong

STOCK = [
    wrong("cut_spans", "the spans are cut out of the list one after another, from the left, by their old numbers: after the first cut all places have moved", "second", """
import torch

def cut_spans(tokens, spans, first):
    text = tokens.tolist()
    target = []
    for k, (start, end) in enumerate(spans):
        target += [first + k] + text[start:end]
        text[start:end] = [first + k]
    target.append(first + len(spans))
    return torch.tensor(text), torch.tensor(target)
"""),
    wrong("cut_spans", "what stands after the last span is missing in `read`", "second", """
import torch

def cut_spans(tokens, spans, first):
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
"""),
    wrong("cut_spans", "the target ends with the last span's sentinel once more, not with the next one", "second", """
import torch

def cut_spans(tokens, spans, first):
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
"""),
    wrong("put_back", "sentinels are the numbers above `first`: `first` itself is taken for a word", "second", """
import torch

def put_back(read, target, first):
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
"""),
    wrong("put_back", "a span is kept when the next sentinel comes: the last one is lost where no sentinel closes the target", "second", """
import torch

def put_back(read, target, first):
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
"""),
    wrong("put_back", "only a sentinel that `read` has begins a new span: what the target wrote of another one goes to the span before it", "second", """
import torch

def put_back(read, target, first):
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
"""),
    wrong("replaced_labels", "the label compares what was drawn with the text at every place, also where the generator was not asked", "second", """
import torch

def replaced_labels(tokens, chosen, drawn, real):
    read = torch.where(chosen, drawn, tokens)
    labels = (drawn != tokens).float() * real
    return read, labels, real
"""),
    wrong("replaced_labels", "the labels are the wrong way round: 1.0 where the word is the one that stood there", "second", """
import torch

def replaced_labels(tokens, chosen, drawn, real):
    read = tokens.clone()
    read[chosen] = drawn[chosen]
    labels = torch.eq(read, tokens).float()
    asked = real.bool()
    return read, labels, asked
"""),
    wrong("replaced_labels", "there is a loss at every place of the rectangle, padding included", "second", """
import torch

def replaced_labels(tokens, chosen, drawn, real):
    read = torch.where(chosen & real, drawn, tokens)
    labels = torch.where(read == tokens, 0.0, 1.0)
    asked = torch.ones_like(tokens, dtype=torch.bool)
    return read, labels, asked
"""),
    wrong("masks_of_order", "order[i] is taken for the turn of place i: the inverse permutation is missing", "second", """
import torch

def masks_of_order(order):
    turn = torch.tensor(order)
    content = turn[None, :] <= turn[:, None]
    query = turn[None, :] < turn[:, None]
    return content, query
"""),
    wrong("masks_of_order", "only the columns are put back to the places: the rows stay in the order of telling", "second", """
import torch

def masks_of_order(order):
    n = len(order)
    told = torch.ones(n, n, dtype=torch.bool).tril()          # k-th told reads up to k-th
    turn = torch.argsort(torch.tensor(order))
    content = told[:, turn]
    query = (told & ~torch.eye(n, dtype=torch.bool))[:, turn]
    return content, query
"""),
    wrong("masks_of_order", "rows and columns are exchanged: [i, j] says whether the word at j may read the one at i", "second", """
import torch

def masks_of_order(order):
    n = len(order)
    content = torch.eye(n, dtype=torch.bool)
    query = torch.zeros(n, n, dtype=torch.bool)
    for a in range(n):
        for b in range(a + 1, n):
            earlier, later = order[a], order[b]
            content[earlier, later] = True
            query[earlier, later] = True
    return content, query
"""),
]
