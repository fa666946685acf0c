"""Wrong answers to the exercises on decoding."""
from __future__ import annotations

from tests.grading.stock import wrong

STOCK = [
    wrong("beam_search", "a slot once used never comes back: the beam gets narrower for good", "open", """
import torch

def beam_search(step_fn, bos, eos, beam, max_len, alpha=0.0):
    live, done = [([bos], 0.0)], []
    for _ in range(max_len):
        new = [(t + [v], s + lp) for t, s in live for v, lp in enumerate(step_fn(t).tolist())]
        new = sorted(new, key=lambda h: -h[1])[:beam - len(done)]
        done += [h for h in new if h[0][-1] == eos]
        live = [h for h in new if h[0][-1] != eos]
    tokens, score = max(done + live, key=lambda h: h[1] / (len(h[0]) - 1) ** alpha)
    return tokens[1:], score
"""),
    wrong("beam_search", "the first hypothesis that ends is returned, better ones still live are dropped", "sealed", """
import torch

def beam_search(step_fn, bos, eos, beam, max_len, alpha=0.0):
    beams = [([bos], 0.0)]
    for _ in range(max_len):
        ext = []
        for tokens, score in beams:
            logp = step_fn(tokens)
            for v in range(len(logp)):
                ext.append((tokens + [v], score + float(logp[v])))
        ext.sort(key=lambda h: h[1], reverse=True)
        beams = ext[:beam]
        for tokens, score in beams:
            if tokens[-1] == eos:
                return tokens[1:], score
    return beams[0][0][1:], beams[0][1]
"""),
    wrong("beam_search", "an ended hypothesis keeps no slot: the beam is filled up with others", "open", """
import torch

def beam_search(step_fn, bos, eos, beam, max_len, alpha=0.0):
    live, done = [((), 0.0)], []
    for _ in range(max_len):
        ext = []
        for y, s in live:
            for v, lp in enumerate(step_fn([bos, *y]).tolist()):
                (done if v == eos else ext).append(((*y, v), s + lp))
        live = sorted(ext, key=lambda h: h[1], reverse=True)[:beam]
    y, s = max(done + live, key=lambda h: h[1] / len(h[0]) ** alpha)
    return list(y), s
"""),
    wrong("beam_search", "the divided score is returned instead of the summed log-probability", "sealed", """
import torch

def beam_search(step_fn, bos, eos, beam, max_len, alpha=0.0):
    hyps, finished = [([], 0.0)], []
    for _ in range(max_len):
        cand = []
        for toks, score in hyps:
            logp = step_fn([bos] + toks)
            cand += [(toks + [v], score + logp[v].item()) for v in range(logp.shape[0])]
        cand = sorted(cand, key=lambda c: c[1], reverse=True)[:beam]
        finished += [c for c in cand if c[0][-1] == eos]
        hyps = [c for c in cand if c[0][-1] != eos]
    scored = [(toks, score / len(toks) ** alpha) for toks, score in finished + hyps]
    return max(scored, key=lambda c: c[1])
"""),
    wrong("beam_search", "what has not ended by max_len is thrown away if anything has ended", "open", """
import torch

def beam_search(step_fn, bos, eos, beam, max_len, alpha=0.0):
    live, done = [([bos], 0.0)], []
    for _ in range(max_len):
        new = [(t + [v], s + lp) for t, s in live for v, lp in enumerate(step_fn(t).tolist())]
        new = sorted(new, key=lambda h: h[1], reverse=True)[:beam]
        done += [h for h in new if h[0][-1] == eos]
        live = [h for h in new if h[0][-1] != eos]
    best = max(done or live, key=lambda h: h[1] / (len(h[0]) - 1) ** alpha)
    return best[0][1:], best[1]
"""),
    wrong("top_k_filter", "exactly k are kept: what ties with the last is cut", "sealed", """
import torch

def top_k_filter(logits, k):
    k = min(k, logits.shape[-1])
    values, places = logits.topk(k, dim=-1)
    return torch.full_like(logits, float("-inf")).scatter(-1, places, values)
"""),
    wrong("top_k_filter", "k larger than V raises", "open", """
import torch

def top_k_filter(logits, k):
    kth = torch.topk(logits, k, dim=-1).values[..., -1:]
    return logits.masked_fill(logits < kth, float("-inf"))
"""),
    wrong("top_k_filter", "the k-th largest itself is cut: greater instead of greater or equal", "sealed", """
import torch

def top_k_filter(logits, k):
    k = min(k, logits.size(-1))
    kth = logits.sort(dim=-1, descending=True).values[..., k - 1, None]
    return torch.where(logits > kth, logits, torch.tensor(float("-inf")))
"""),
    wrong("top_k_filter", "the others become 0 instead of -inf: they keep a probability", "open", """
import torch

def top_k_filter(logits, k):
    kth = logits.topk(min(k, logits.shape[-1]), dim=-1).values[..., -1, None]
    return torch.where(logits >= kth, logits, 0.0)
"""),
    wrong("top_p_filter", "the token that carries the sum over p is left out", "sealed", """
import torch

def top_p_filter(logits, p):
    s, idx = logits.sort(dim=-1, descending=True)
    keep = s.softmax(-1).cumsum(-1) <= p
    keep[..., 0] = True
    keep = torch.zeros_like(keep).scatter(-1, idx, keep)
    return logits.masked_fill(~keep, float("-inf"))
"""),
    wrong("top_p_filter", "the mask stays in sorted order: it is not put back to the tokens' places", "open", """
import torch

def top_p_filter(logits, p):
    probs = torch.softmax(logits, dim=-1)
    sorted_p, _ = torch.sort(probs, dim=-1, descending=True)
    before = torch.cumsum(sorted_p, dim=-1) - sorted_p
    return torch.where(before < p, logits, float("-inf"))
"""),
    wrong("top_p_filter", "sorted from the smallest up: the least likely tokens make the set", "sealed", """
import torch

def top_p_filter(logits, p):
    s, idx = torch.sort(logits, dim=-1)
    probs = s.softmax(dim=-1)
    keep = probs.cumsum(-1) - probs < p
    mask = torch.empty_like(keep).scatter_(-1, idx, keep)
    return logits.masked_fill(~mask, float("-inf"))
"""),
    wrong("top_p_filter", "each token's own probability is compared with p, nothing is summed", "open", """
import torch

def top_p_filter(logits, p):
    probs = logits.softmax(-1)
    best = probs.amax(-1, keepdim=True)
    keep = (probs >= p) | (probs == best)
    return torch.where(keep, logits, float("-inf"))
"""),
    wrong("greedy_trap", "the first width that finds best, though a wider one misses it again", "sealed", """
import itertools

def greedy_trap(step_fn, bos, length, V):
    memo = {}
    def logp(y):
        if y not in memo:
            memo[y] = step_fn([bos, *y]).tolist()
        return memo[y]
    def score(y):
        return sum(logp(y[:t])[y[t]] for t in range(len(y)))
    best = max(itertools.product(range(V), repeat=length), key=score)
    for width in range(1, V ** length + 1):
        live = [()]
        for _ in range(length):
            live = sorted(((*y, v) for y in live for v in range(V)), key=score, reverse=True)[:width]
        if live[0] == best:
            return list(best), width
"""),
    wrong("greedy_trap", "best is the greedy sequence, not the likeliest of all", "open", """
import torch

def greedy_trap(step_fn, bos, length, V):
    tokens = [bos]
    for _ in range(length):
        tokens.append(int(step_fn(tokens).argmax()))
    return tokens[1:], 1
"""),
    wrong("greedy_trap", "asks step_fn again and again for the same beginning", "sealed", """
import itertools

def greedy_trap(step_fn, bos, length, V):
    def score(y):
        return sum(float(step_fn([bos, *y[:t]])[y[t]]) for t in range(len(y)))
    every = sorted(itertools.product(range(V), repeat=length), key=score, reverse=True)
    best = every[0]
    good = V ** length
    for width in range(V ** length, 0, -1):
        live = [()]
        for _ in range(length):
            live = sorted([(*y, v) for y in live for v in range(V)], key=score, reverse=True)[:width]
        if live[0] != best:
            break
        good = width
    return list(best), good
"""),
    wrong("greedy_trap", "the tokens of best begin with bos", "open", """
def greedy_trap(step_fn, bos, length, V):
    memo = {}
    def search(width):
        live = [((bos,), 0.0)]
        for _ in range(length):
            new = []
            for y, s in live:
                if y not in memo:
                    memo[y] = step_fn(list(y)).tolist()
                new += [(y + (v,), s + lp) for v, lp in enumerate(memo[y])]
            live = sorted(new, key=lambda h: h[1], reverse=True)[:width]
        return live[0][0]
    widest = V ** length
    best = search(widest)
    width = widest
    while width > 1 and search(width - 1) == best:
        width -= 1
    return list(best), width
"""),
    wrong("greedy_trap", "the widest beam that still misses is returned: one too few", "sealed", """
def greedy_trap(step_fn, bos, length, V):
    memo = {}
    def ask(y):
        if y not in memo:
            memo[y] = step_fn([bos] + list(y)).tolist()
        return memo[y]
    def search(width):
        live = [((), 0.0)]
        for _ in range(length):
            new = [(y + (v,), s + ask(y)[v]) for y, s in live for v in range(V)]
            live = sorted(new, key=lambda h: -h[1])[:width]
        return list(live[0][0])
    width = V ** length
    best = search(width)
    while width > 0 and search(width) == best:
        width -= 1
    return best, width
"""),
]
