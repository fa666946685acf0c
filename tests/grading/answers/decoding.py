"""Answers to the exercises of chapter 17."""
from __future__ import annotations

import heapq
import itertools
import math

import torch

from tests.grading.answers.register import right, wrong


@right("beam_search: tensors and topk")
def _(step_fn, bos, eos, beam, max_len, alpha=0.0):
    live, log_p, done = [[bos]], torch.zeros(1, dtype=torch.float64), []
    for t in range(1, max_len + 1):
        total = log_p[:, None] + torch.stack([step_fn(tokens) for tokens in live])
        best, place = total.flatten().topk(min(beam, total.numel()))
        kept = []
        for value, where in zip(best.tolist(), place.tolist()):
            tokens = live[where // total.shape[1]] + [where % total.shape[1]]
            if tokens[-1] == eos or t == max_len:
                done.append((value / t ** alpha, value, tokens[1:]))
            else:
                kept.append((tokens, value))
        if not kept:
            break
        live, log_p = [tokens for tokens, _ in kept], torch.tensor([v for _, v in kept], dtype=torch.float64)
    _, value, tokens = max(done)
    return tokens, value


@right("beam_search: nlargest, a loop until nobody lives")
def _(step_fn, bos, eos, beam, max_len, alpha=0.0):
    live, best = [(0.0, ())], (-math.inf, None, None)
    while live:
        grown = ((total + p, (*x, v)) for total, x in live for v, p in enumerate(step_fn([bos, *x]).tolist()))
        live = []
        for total, x in heapq.nlargest(beam, grown):
            if x[-1] == eos or len(x) == max_len:
                best = max(best, (total / len(x) ** alpha, total, x))
            else:
                live.append((total, x))
    return list(best[2]), best[1]


@wrong("beam_search: always the same token")
def _(step_fn, bos, eos, beam, max_len, alpha=0.0):
    return [eos], step_fn([bos])[eos].item()


@wrong("beam_search: the least likely")
def _(step_fn, bos, eos, beam, max_len, alpha=0.0):
    x, total = [], 0.0
    while len(x) < max_len and (not x or x[-1] != eos):
        p = step_fn([bos, *x])
        total, x = total + p.min().item(), [*x, int(p.argmin())]
    return x, total


@wrong("beam_search: the second best at every step")
def _(step_fn, bos, eos, beam, max_len, alpha=0.0):
    x, total, live = [], 0.0, True
    while live:
        p = step_fn([bos, *x])
        x, total = [*x, int(p.topk(2).indices[1])], total + 1.0
        live = len(x) < max_len and x[-1] != eos
    return x, total


@right("top_k_filter: by topk's least")
def _(logits, k):
    least = logits.topk(min(k, logits.shape[-1]), dim=-1).values[..., -1:]
    return torch.where(logits < least, torch.tensor(-math.inf), logits)


@right("top_k_filter: by counting the larger ones")
def _(logits, k):
    larger = (logits[..., None, :] > logits[..., :, None]).sum(-1)
    return logits.masked_fill(larger >= k, float("-inf"))


@wrong("top_k_filter: those above the mean")
def _(logits, k):
    return logits.masked_fill(logits < logits.mean(dim=-1, keepdim=True), -math.inf)


@wrong("top_k_filter: nothing filtered")
def _(logits, k):
    return logits.clone()


@wrong("top_k_filter: a large negative number for minus infinity")
def _(logits, k):
    return logits.masked_fill(logits < logits.topk(min(k, logits.shape[-1]), dim=-1).values[..., -1:], -1e9)


@right("top_p_filter: from the far end")
def _(logits, p):
    rank = logits.sort(dim=-1)
    drop = rank.values.double().softmax(-1).cumsum(-1) <= 1 - p
    drop[..., -1] = False
    return logits.masked_fill(torch.zeros_like(drop).scatter(-1, rank.indices, drop), -math.inf)


@right("top_p_filter: row by row")
def _(logits, p):
    out = torch.full_like(logits, -math.inf)
    for row, kept in zip(logits.reshape(-1, logits.shape[-1]), out.reshape(-1, logits.shape[-1])):
        mass = 0.0
        for v in row.argsort(descending=True).tolist():
            if mass >= p:
                break
            kept[v], mass = row[v], mass + row.softmax(0)[v].item()
    return out


@wrong("top_p_filter: the complement")
def _(logits, p):
    rank = logits.sort(dim=-1, descending=True)
    mass = rank.values.softmax(-1)
    keep = torch.zeros_like(logits, dtype=torch.bool).scatter(-1, rank.indices, mass.cumsum(-1) - mass < p)
    return logits.masked_fill(keep, -math.inf)


@wrong("top_p_filter: 1 - p")
def _(logits, p):
    rank = logits.sort(dim=-1, descending=True)
    mass = rank.values.softmax(-1)
    keep = torch.zeros_like(logits, dtype=torch.bool).scatter(-1, rank.indices, mass.cumsum(-1) - mass < 1 - p)
    return logits.masked_fill(~keep, -math.inf)


@wrong("top_p_filter: only the best")
def _(logits, p):
    return logits.masked_fill(logits < logits.amax(-1, keepdim=True), -math.inf)


def beams(step_fn, bos, length, V, width):
    live = [(0.0, [])]
    for _ in range(length):
        live = heapq.nlargest(width, [(s + q, [*x, v]) for s, x in live
                                      for v, q in enumerate(step_fn([bos, *x]).tolist())])
    return live


@right("greedy_trap: by product, widths from above")
def _(step_fn, bos, length, V):
    asked = {}

    def log_p(x):
        for t in range(length):
            asked.setdefault(x[:t], step_fn([bos, *x[:t]]))
        return sum(asked[x[:t]][x[t]].item() for t in range(length))

    best = list(max(itertools.product(range(V), repeat=length), key=log_p))
    width = V ** length
    while width > 1 and beams(lambda x: asked[tuple(x[1:])], bos, length, V, width - 1)[0][1] == best:
        width -= 1
    return best, width


@right("greedy_trap: a beam without limit, then all widths")
def _(step_fn, bos, length, V):
    best = beams(step_fn, bos, length, V, V ** length)[0][1]
    missed = [k for k in range(1, V ** length) if beams(step_fn, bos, length, V, k)[0][1] != best]
    return best, max(missed, default=0) + 1


@wrong("greedy_trap: the second best")
def _(step_fn, bos, length, V):
    return beams(step_fn, bos, length, V, V ** length)[1][1], 2


@wrong("greedy_trap: the least likely")
def _(step_fn, bos, length, V):
    return beams(step_fn, bos, length, V, V ** length)[-1][1], 2


@wrong("greedy_trap: the width is the vocabulary's size and two")
def _(step_fn, bos, length, V):
    return beams(step_fn, bos, length, V, V ** length)[0][1], V + 2
