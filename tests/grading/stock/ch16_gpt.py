"""Wrong answers to the exercises on GPT."""
from __future__ import annotations

from tests.grading.stock import wrong

STOCK = [
    wrong("next_token_loss", "no shift: each position is scored on the token that it has just read", "open", """
import torch
import torch.nn.functional as F

def next_token_loss(logits, tokens, lengths):
    B, T, V = logits.shape
    keep = torch.arange(T) < lengths[:, None]
    return F.cross_entropy(logits[keep], tokens[keep])
"""),
    wrong("next_token_loss", "one target too many in each row: the first token of the padding is counted", "sealed", """
import torch
import torch.nn.functional as F

def next_token_loss(logits, tokens, lengths):
    T = tokens.shape[1]
    log_p = F.log_softmax(logits[:, :-1], dim=-1)
    target = tokens[:, 1:].clamp(0, logits.shape[-1] - 1)
    nll = -log_p.gather(-1, target.unsqueeze(-1)).squeeze(-1)
    mask = torch.arange(T - 1) < lengths[:, None]
    return nll[mask].mean()
"""),
    wrong("next_token_loss", "a mean of the rows' means: short rows weigh as much as long ones", "open", """
import torch
import torch.nn.functional as F

def next_token_loss(logits, tokens, lengths):
    losses = []
    for row, seq, n in zip(logits, tokens, lengths.tolist()):
        losses.append(F.cross_entropy(row[:n - 1], seq[1:n]))
    return torch.stack(losses).mean()
"""),
    wrong("next_token_loss", "the sum is divided by all real tokens, the first of each row included", "sealed", """
import torch
import torch.nn.functional as F

def next_token_loss(logits, tokens, lengths):
    total = 0.0
    for b in range(len(tokens)):
        n = int(lengths[b])
        log_p = torch.log_softmax(logits[b, :n - 1], dim=-1)
        total = total - log_p[torch.arange(n - 1), tokens[b, 1:n]].sum()
    return total / lengths.sum()
"""),
    wrong("cached_step", "the new token does not attend to itself: only to the old cache", "open", """
import math
import torch

def cached_step(x_t, cache, Wq, Wk, Wv):
    K, V = cache
    q = (x_t @ Wq)[:, None]
    w = torch.softmax(q @ K.transpose(1, 2) / math.sqrt(x_t.shape[-1]), dim=-1)
    out = (w @ V)[:, 0]
    K = torch.cat([K, (x_t @ Wk)[:, None]], dim=1)
    V = torch.cat([V, (x_t @ Wv)[:, None]], dim=1)
    return out, (K, V)
"""),
    wrong("cached_step", "the scores are not divided by the root of D", "sealed", """
import torch

def cached_step(x_t, cache, Wq, Wk, Wv):
    K, V = cache
    K = torch.cat((K, (x_t @ Wk).unsqueeze(1)), dim=1)
    V = torch.cat((V, (x_t @ Wv).unsqueeze(1)), dim=1)
    scores = torch.einsum("bd,btd->bt", x_t @ Wq, K)
    return torch.einsum("bt,btd->bd", scores.softmax(dim=-1), V), (K, V)
"""),
    wrong("cached_step", "the result keeps an axis of length one: (B, 1, D)", "open", """
import math
import torch

def cached_step(x_t, cache, Wq, Wk, Wv):
    x = x_t.unsqueeze(1)
    K = torch.cat([cache[0], x @ Wk], dim=1)
    V = torch.cat([cache[1], x @ Wv], dim=1)
    att = torch.softmax(x @ Wq @ K.transpose(-2, -1) / math.sqrt(K.shape[-1]), dim=-1)
    return att @ V, (K, V)
"""),
    wrong("cached_step", "the token itself goes into the cache, not its key and value", "sealed", """
import torch

def cached_step(x_t, cache, Wq, Wk, Wv):
    K = torch.cat([cache[0], x_t[:, None]], dim=1)
    V = torch.cat([cache[1], x_t[:, None]], dim=1)
    q = x_t @ Wq
    scores = (K @ Wk @ q[:, :, None]).squeeze(-1) / x_t.shape[1] ** 0.5
    w = scores.softmax(-1)
    return (w[:, :, None] * (V @ Wv)).sum(1), (K, V)
"""),
    wrong("cached_step", "the softmax runs over the query's axis, not the keys: every weight is 1", "open", """
import torch

def cached_step(x_t, cache, Wq, Wk, Wv):
    K, V = cache
    K = torch.cat([K, (x_t @ Wk)[:, None, :]], dim=1)
    V = torch.cat([V, (x_t @ Wv)[:, None, :]], dim=1)
    q = (x_t @ Wq)[:, None, :]
    scores = torch.bmm(q, K.transpose(1, 2)) / K.shape[-1] ** 0.5        # (B, 1, t)
    weights = torch.softmax(scores, dim=1)
    return torch.bmm(weights, V).squeeze(1), (K, V)
"""),
    wrong("generation_work", "the products with the values are forgotten: D instead of 2 D for a pair", "sealed", """
def generation_work(P, t, D, cached):
    pairs = P * P
    for s in range(P + 1, P + t + 1):
        pairs += s if cached else s * s
    return pairs * D
"""),
    wrong("generation_work", "a new token does not count itself: off by one", "open", """
def generation_work(P, t, D, cached):
    total = 2 * D * P * P
    for i in range(t):
        so_far = P + i
        total += 2 * D * (so_far if cached else so_far ** 2)
    return total
"""),
    wrong("generation_work", "only half of the pairs: the causal mask saves no multiplications", "sealed", """
def generation_work(P, t, D, cached):
    def full_pass(s):
        return s * (s + 1) // 2
    total = full_pass(P)
    for s in range(P + 1, P + t + 1):
        total += s if cached else full_pass(s)
    return 2 * D * total
"""),
    wrong("generation_work", "the pass over the prompt is forgotten", "open", """
def generation_work(P, t, D, cached):
    lengths = range(P + 1, P + t + 1)
    if cached:
        return 2 * D * sum(lengths)
    return 2 * D * sum(s * s for s in lengths)
"""),
    wrong("find_broken_caches", "logits are compared, not probabilities: a constant on all is no fault", "sealed", """
import torch

def find_broken_caches(full, candidates, V, n):
    bad = set()
    for _ in range(50):
        tokens = torch.randint(V, (n,)).tolist()
        want = full(tokens)
        for P in range(1, n + 1):
            for k, candidate in enumerate(candidates):
                if not torch.allclose(candidate(tokens, P), want[P - 1:], atol=1e-4):
                    bad.add(k)
    return sorted(bad)
"""),
    wrong("find_broken_caches", "only a prompt of one token is tried: faults after a longer one are missed", "open", """
import torch

def find_broken_caches(full, candidates, V, n):
    bad = []
    for k, candidate in enumerate(candidates):
        for _ in range(20):
            tokens = torch.randint(0, V, (n,)).tolist()
            got = torch.softmax(candidate(tokens, 1), dim=-1)
            if (got - full(tokens).softmax(-1)).abs().max() > 1e-4:
                bad.append(k)
                break
    return bad
"""),
    wrong("find_broken_caches", "only the likeliest token is compared, not the probabilities", "sealed", """
import torch

def find_broken_caches(full, candidates, V, n):
    broken = set()
    for trial in range(20):
        tokens = torch.randint(V, (n,)).tolist()
        best = full(tokens).argmax(-1)
        for k, candidate in enumerate(candidates):
            for P in range(1, n + 1):
                if not torch.equal(candidate(tokens, P).argmax(-1), best[P - 1:]):
                    broken.add(k)
    return sorted(broken)
"""),
    wrong("left_padded", "positions are those of the columns", "open", """
import torch

def left_padded(prompts, pad):
    P = max(len(p) for p in prompts)
    tokens = torch.tensor([[pad] * (P - len(p)) + p for p in prompts])
    real = torch.tensor([[False] * (P - len(p)) + [True] * len(p) for p in prompts])
    positions = torch.arange(P).repeat(len(prompts), 1)
    return tokens, positions, torch.ones(P, P).tril().bool() & real[:, None] & real[:, :, None]
"""),
    wrong("left_padded", "what has the number of padding is padding", "sealed", """
import torch

def left_padded(prompts, pad):
    P = max(len(p) for p in prompts)
    tokens = torch.full((len(prompts), P), pad)
    for row, p in zip(tokens, prompts):
        row[P - len(p):] = torch.tensor(p)
    real = tokens != pad
    positions = (real.cumsum(1) - 1) * real
    return tokens, positions, torch.ones(P, P).tril().bool() & real[:, None] & real[:, :, None]
"""),
]
