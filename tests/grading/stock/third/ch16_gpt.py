"""Wrong answers to the exercises on GPT."""
from __future__ import annotations

from tests.grading.stock import wrong

STOCK = [
    wrong("next_token_loss",
          "takes the mean of each row first and then the mean of the rows: "
          "tokens of short rows weigh more",
          "third", """
import torch

def next_token_loss(logits, tokens, lengths):
    rows = []
    for b, n in enumerate(lengths.tolist()):
        log_p = logits[b, :n - 1].log_softmax(-1)
        rows.append(-log_p[torch.arange(n - 1), tokens[b, 1:n]].mean())
    return torch.stack(rows).mean()
"""),
    wrong("next_token_loss",
          "divides by the number of real tokens, though the first of each row is not predicted",
          "third", """
import torch
import torch.nn.functional as F

def next_token_loss(logits, tokens, lengths):
    T = tokens.shape[1]
    real = torch.arange(1, T) < lengths[:, None]
    target = tokens[:, 1:].masked_fill(~real, -100)
    total = F.cross_entropy(logits[:, :-1].transpose(1, 2), target,
                            ignore_index=-100, reduction="sum")
    return total / lengths.sum()
"""),
    wrong("cached_step",
          "attends to the old pair: the new token does not see itself",
          "third", """
import torch

def cached_step(x_t, cache, Wq, Wk, Wv):
    K, V = cache
    q = (x_t @ Wq)[:, None]
    shares = (q @ K.transpose(1, 2) / K.shape[-1] ** 0.5).softmax(-1)
    out = (shares @ V)[:, 0]
    K = torch.cat([K, (x_t @ Wk)[:, None]], dim=1)
    V = torch.cat([V, (x_t @ Wv)[:, None]], dim=1)
    return out, (K, V)
"""),
    wrong("cached_step",
          "divides the scores by the root of the number of keys, not of the width D",
          "third", """
import math

import torch

def cached_step(x_t, cache, Wq, Wk, Wv):
    keys = torch.cat((cache[0], torch.unsqueeze(x_t @ Wk, 1)), 1)
    values = torch.cat((cache[1], torch.unsqueeze(x_t @ Wv, 1)), 1)
    scores = torch.einsum("bd,btd->bt", x_t @ Wq, keys) / math.sqrt(keys.shape[1])
    out = torch.einsum("bt,btd->bd", torch.softmax(scores, dim=1), values)
    return out, (keys, values)
"""),
    wrong("left_padded",
          "the positions of a prompt begin at 1, not at 0",
          "third", """
import torch

def left_padded(prompts, pad):
    P = max(map(len, prompts))
    tokens = torch.tensor([[pad] * (P - len(p)) + list(p) for p in prompts])
    real = torch.tensor([[False] * (P - len(p)) + [True] * len(p) for p in prompts])
    positions = real.long().cumsum(dim=1)
    mask = real[:, :, None] & real[:, None, :] & torch.ones(P, P, dtype=torch.bool).tril()
    return tokens, positions, mask
"""),
    wrong("left_padded",
          "takes every token equal to pad for padding in the mask, also a real one",
          "third", """
import torch

def left_padded(prompts, pad):
    B, P = len(prompts), max(len(p) for p in prompts)
    tokens = torch.full((B, P), pad, dtype=torch.long)
    positions = torch.zeros(B, P, dtype=torch.long)
    for b, prompt in enumerate(prompts):
        tokens[b, P - len(prompt):] = torch.tensor(prompt)
        positions[b, P - len(prompt):] = torch.arange(len(prompt))
    real = tokens != pad
    causal = torch.arange(P)[None, :] <= torch.arange(P)[:, None]
    return tokens, positions, causal & real.unsqueeze(1) & real.unsqueeze(2)
"""),
    wrong("generation_work",
          "with a cache the new token meets the earlier ones only, not itself",
          "third", """
def generation_work(P, t, D, cached):
    pairs = P * P
    for s in range(1, t + 1):
        pairs += P + s - 1 if cached else (P + s) ** 2
    return 2 * D * pairs
"""),
    wrong("generation_work",
          "counts the pairs under the causal mask only, half of a pass",
          "third", """
def generation_work(P, t, D, cached):
    def a_pass(s):
        return s * (s + 1) // 2

    if cached:
        pairs = a_pass(P) + sum(P + s for s in range(1, t + 1))
    else:
        pairs = sum(a_pass(s) for s in range(P, P + t + 1))
    return pairs * D * 2
"""),
    wrong("find_broken_caches",
          "compares the logits, not the probabilities: a shift of a whole row counts as broken",
          "third", """
import torch

def find_broken_caches(full, candidates, V, n):
    g = torch.Generator().manual_seed(0)
    texts = [torch.randint(V, (n,), generator=g).tolist() for _ in range(20)]
    broken = []
    for k, candidate in enumerate(candidates):
        worst = 0.0
        for tokens in texts:
            right = full(tokens)
            for P in range(1, n + 1):
                gap = (candidate(tokens, P) - right[P - 1:]).abs().max()
                worst = max(worst, float(gap))
        if worst > 1e-4:
            broken.append(k)
    return broken
"""),
    wrong("find_broken_caches",
          "always reads a first pass of one token (P = 1); a fault after longer ones is missed",
          "third", """
import torch

def find_broken_caches(full, candidates, V, n):
    torch.manual_seed(1)
    broken = set()
    for _ in range(40):
        tokens = torch.randint(V, (n,)).tolist()
        p = torch.softmax(full(tokens), dim=-1)
        for k, candidate in enumerate(candidates):
            q = torch.softmax(candidate(tokens, 1), dim=-1)
            if torch.any((p - q).abs() > 1e-4):
                broken.add(k)
    return sorted(broken)
"""),
]
