"""Wrong answers to the exercises on texts corrupted and restored."""
from __future__ import annotations

from tests.grading.stock import wrong

STOCK = [
    wrong("cut_spans", "the next sentinel counts the tokens that went, not the spans", "open", """
import torch

def cut_spans(tokens, spans, first):
    read, target, at, number = [], [], 0, 0
    for start, end in spans:
        read += tokens[at:start].tolist() + [first + number]
        target += [first + number] + tokens[start:end].tolist()
        at, number = end, number + end - start
    return torch.tensor(read + tokens[at:].tolist()), torch.tensor(target + [first + number])
"""),
    wrong("cut_spans", "the target is in the order of the longest span first", "sealed", """
import torch

def cut_spans(tokens, spans, first):
    read, parts, at = [], [], 0
    for k, (start, end) in enumerate(spans):
        read += tokens[at:start].tolist() + [first + k]
        parts.append([first + k] + tokens[start:end].tolist())
        at = end
    parts.sort(key=lambda part: -len(part))
    target = [t for part in parts for t in part] + [first + len(spans)]
    return torch.tensor(read + tokens[at:].tolist()), torch.tensor(target)
"""),
    wrong("put_back", "a sentinel that was left out takes the span of the one before it", "open", """
import torch

def put_back(read, target, first):
    spans, current = {}, None
    for token in target.tolist():
        if token >= first:
            current = spans.setdefault(token, [])
        else:
            current.append(token)
    text, last = [], []
    for token in read.tolist():
        if token >= first:
            last = spans.get(token, last)
            text += last
        else:
            text.append(token)
    return torch.tensor(text)
"""),
    wrong("put_back", "only sentinels above first are seen", "sealed", """
import torch

def put_back(read, target, first):
    spans, current = {}, []
    for token in target.tolist():
        if token > first:
            current = spans.setdefault(token, [])
        else:
            current.append(token)
    text = []
    for token in read.tolist():
        text += spans.get(token, []) if token > first else [token]
    return torch.tensor(text)
"""),
    wrong("replaced_labels", "padding is labelled as replaced", "open", """
import torch

def replaced_labels(tokens, chosen, drawn, real):
    read = torch.where(chosen, drawn, tokens)
    return read, ((read != tokens) | ~real).float(), real.clone()
"""),
    wrong("replaced_labels", "the words that were drawn right are not asked for", "sealed", """
import torch

def replaced_labels(tokens, chosen, drawn, real):
    read = torch.where(chosen, drawn, tokens)
    return read, (read != tokens).float(), real & ~(chosen & (read == tokens))
"""),
    wrong("masks_of_order", "the query of the first word told reads itself, so that it has something to read", "open", """
import torch

def masks_of_order(order):
    turn = torch.tensor(order).argsort()
    query = turn[None] < turn[:, None]
    content = query | torch.eye(len(order), dtype=torch.bool)
    query = query.clone()
    query[order[0], order[0]] = True
    return content, query
"""),
    wrong("masks_of_order", "a query reads one word too few", "sealed", """
import torch

def masks_of_order(order):
    turn = torch.tensor(order).argsort()
    content = turn[None] <= turn[:, None]
    return content, turn[None] < turn[:, None] - 1
"""),
]
