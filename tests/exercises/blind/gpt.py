"""Wrong answers to the exercises of chapter gpt, written without knowing its checks."""
from __future__ import annotations

import math

import torch
import torch.nn.functional as F

from tests.exercises.answers.register import blind


@blind("next_token_loss: takes the mean of each row first and then the mean of the rows: tokens of short "
       "rows weigh more")
def _(logits, tokens, lengths):
    rows = []
    for b, n in enumerate(lengths.tolist()):
        log_p = logits[b, :n - 1].log_softmax(-1)
        rows.append(-log_p[torch.arange(n - 1), tokens[b, 1:n]].mean())
    return torch.stack(rows).mean()


@blind("next_token_loss: divides by the number of real tokens, though the first of each row is not predicted")
def _(logits, tokens, lengths):
    T = tokens.shape[1]
    real = torch.arange(1, T) < lengths[:, None]
    target = tokens[:, 1:].masked_fill(~real, -100)
    total = F.cross_entropy(logits[:, :-1].transpose(1, 2), target,
                            ignore_index=-100, reduction="sum")
    return total / lengths.sum()


@blind("cached_step: attends to the old pair: the new token does not see itself")
def _(x_t, cache, Wq, Wk, Wv):
    K, V = cache
    q = (x_t @ Wq)[:, None]
    shares = (q @ K.transpose(1, 2) / K.shape[-1] ** 0.5).softmax(-1)
    out = (shares @ V)[:, 0]
    K = torch.cat([K, (x_t @ Wk)[:, None]], dim=1)
    V = torch.cat([V, (x_t @ Wv)[:, None]], dim=1)
    return out, (K, V)


@blind("cached_step: divides the scores by the root of the number of keys, not of the width D")
def _(x_t, cache, Wq, Wk, Wv):
    keys = torch.cat((cache[0], torch.unsqueeze(x_t @ Wk, 1)), 1)
    values = torch.cat((cache[1], torch.unsqueeze(x_t @ Wv, 1)), 1)
    scores = torch.einsum("bd,btd->bt", x_t @ Wq, keys) / math.sqrt(keys.shape[1])
    out = torch.einsum("bt,btd->bd", torch.softmax(scores, dim=1), values)
    return out, (keys, values)


@blind("left_padded: the positions of a prompt begin at 1, not at 0")
def _(prompts, pad):
    P = max(map(len, prompts))
    tokens = torch.tensor([[pad] * (P - len(p)) + list(p) for p in prompts])
    real = torch.tensor([[False] * (P - len(p)) + [True] * len(p) for p in prompts])
    positions = real.long().cumsum(dim=1)
    mask = real[:, :, None] & real[:, None, :] & torch.ones(P, P, dtype=torch.bool).tril()
    return tokens, positions, mask


@blind("left_padded: takes every token equal to pad for padding in the mask, also a real one")
def _(prompts, pad):
    B, P = len(prompts), max(len(p) for p in prompts)
    tokens = torch.full((B, P), pad, dtype=torch.long)
    positions = torch.zeros(B, P, dtype=torch.long)
    for b, prompt in enumerate(prompts):
        tokens[b, P - len(prompt):] = torch.tensor(prompt)
        positions[b, P - len(prompt):] = torch.arange(len(prompt))
    real = tokens != pad
    causal = torch.arange(P)[None, :] <= torch.arange(P)[:, None]
    return tokens, positions, causal & real.unsqueeze(1) & real.unsqueeze(2)


@blind("generation_work: with a cache the new token meets the earlier ones only, not itself")
def _(P, t, D, cached):
    pairs = P * P
    for s in range(1, t + 1):
        pairs += P + s - 1 if cached else (P + s) ** 2
    return 2 * D * pairs


@blind("find_broken_caches: compares the logits, not the probabilities: a shift of a whole row counts as broken")
def _(full, candidates, V, n):
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


@blind("find_broken_caches: always reads a first pass of one token (P = 1); a fault after longer ones is missed")
def _(full, candidates, V, n):
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
