"""Wrong answers to the exercises on corrupting and restoring."""
from __future__ import annotations

from tests.grading.stock import wrong

STOCK = [
    wrong("cut_spans",
          "the text after the last span is lost in what is read",
          "third", """
import torch

def cut_spans(tokens, spans, first):
    words = tokens.tolist()
    read, target, place = [], [], 0
    for k, (start, end) in enumerate(spans):
        read += words[place:start] + [first + k]
        target += [first + k] + words[start:end]
        place = end
    target.append(first + len(spans))
    return torch.tensor(read, dtype=torch.long), torch.tensor(target, dtype=torch.long)
"""),
    wrong("cut_spans",
          "the target ends with the sentinel of the last span again, not with the next one",
          "third", """
import torch

def cut_spans(tokens, spans, first):
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
"""),
    wrong("put_back",
          "goes by the order of the sentinels in the target, not by their numbers",
          "third", """
import torch

def put_back(read, target, first):
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
"""),
    wrong("put_back",
          "a sentinel that the target left out stays in the text, instead of standing for nothing",
          "third", """
import torch

def put_back(read, target, first):
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
"""),
    wrong("replaced_labels",
          "the labels compare with the drawn word at every place, also where it was not put in",
          "third", """
import torch

def replaced_labels(tokens, chosen, drawn, real):
    read = torch.where(chosen, drawn, tokens)
    labels = (drawn != tokens).float()
    return read, labels, real
"""),
    wrong("replaced_labels",
          "the labels are turned around: 1 for the words that stood there",
          "third", """
import torch

def replaced_labels(tokens, chosen, drawn, real):
    read = tokens.clone()
    read[chosen] = drawn[chosen]
    return read, torch.eq(read, tokens).float(), real.clone()
"""),
    wrong("masks_of_order",
          "takes order[i] for the time at which place i is told: the order is not inverted",
          "third", """
import torch

def masks_of_order(order):
    time = torch.tensor(order)
    query = time[None, :] < time[:, None]
    return query | torch.eye(len(order), dtype=torch.bool), query
"""),
    wrong("masks_of_order",
          "rows and columns are exchanged: [i, j] says whether j may read i",
          "third", """
import torch

def masks_of_order(order):
    n = len(order)
    content, query = torch.zeros(2, n, n, dtype=torch.bool)
    for when, place in enumerate(order):
        for earlier in order[:when]:
            content[earlier, place] = query[earlier, place] = True
        content[place, place] = True
    return content, query
"""),
]
