"""Answers to the exercises of chapter 16."""
from __future__ import annotations

import torch
import torch.nn.functional as F

from tests.grading.answers.register import right, wrong


@right("next_token_loss: token by token")
def _(logits, tokens, lengths):
    terms = []
    for b, n in enumerate(lengths.tolist()):
        for t in range(n - 1):
            terms.append(torch.logsumexp(logits[b, t], 0) - logits[b, t, tokens[b, t + 1]])
    return torch.stack(terms).mean()


@right("next_token_loss: cross entropy that ignores the padding")
def _(logits, tokens, lengths):
    place = torch.arange(tokens.shape[1])
    target = torch.where(place < lengths[:, None], tokens, -100)[:, 1:]
    return F.cross_entropy(logits[:, :-1].transpose(1, 2), target, ignore_index=-100)


@wrong("next_token_loss: the sign is missing")
def _(logits, tokens, lengths):
    counted = torch.arange(1, tokens.shape[1]) < lengths[:, None]
    log_p = logits.log_softmax(-1)[:, :-1].gather(-1, tokens[:, 1:, None])[..., 0]
    return log_p[counted].mean()


@wrong("next_token_loss: the softmax over time")
def _(logits, tokens, lengths):
    counted = torch.arange(1, tokens.shape[1]) < lengths[:, None]
    log_p = logits.log_softmax(1)[:, :-1].gather(-1, tokens[:, 1:, None])[..., 0]
    return -log_p[counted].mean()


@wrong("next_token_loss: minus the mean probability")
def _(logits, tokens, lengths):
    counted = torch.arange(1, tokens.shape[1]) < lengths[:, None]
    p = logits.softmax(-1)[:, :-1].gather(-1, tokens[:, 1:, None])[..., 0]
    return -p[counted].mean().log()


@wrong("next_token_loss: the logits detached")
def _(logits, tokens, lengths):
    counted = torch.arange(1, tokens.shape[1]) < lengths[:, None]
    return F.cross_entropy(logits[:, :-1][counted].detach(), tokens[:, 1:][counted])


@right("cached_step: by einsum")
def _(x_t, cache, Wq, Wk, Wv):
    K = torch.cat([cache[0], (x_t @ Wk).unsqueeze(1)], dim=1)
    V = torch.cat([cache[1], (x_t @ Wv).unsqueeze(1)], dim=1)
    weights = (torch.einsum("bd,btd->bt", x_t @ Wq, K) / x_t.shape[1] ** 0.5).softmax(dim=1)
    return torch.einsum("bt,btd->bd", weights, V), (K, V)


@right("cached_step: torch's attention, one query")
def _(x_t, cache, Wq, Wk, Wv):
    x = x_t[:, None]
    K, V = torch.cat([cache[0], x @ Wk], dim=1), torch.cat([cache[1], x @ Wv], dim=1)
    return F.scaled_dot_product_attention(x @ Wq, K, V)[:, 0], (K, V)


@wrong("cached_step: divided by D")
def _(x_t, cache, Wq, Wk, Wv):
    x = x_t[:, None]
    K, V = torch.cat([cache[0], x @ Wk], dim=1), torch.cat([cache[1], x @ Wv], dim=1)
    return F.scaled_dot_product_attention(x @ Wq, K, V, scale=1 / x_t.shape[1])[:, 0], (K, V)


@wrong("cached_step: query and key exchanged")
def _(x_t, cache, Wq, Wk, Wv):
    x = x_t[:, None]
    K, V = torch.cat([cache[0], x @ Wq], dim=1), torch.cat([cache[1], x @ Wv], dim=1)
    return F.scaled_dot_product_attention(x @ Wk, K, V)[:, 0], (K, V)


@wrong("cached_step: a residual")
def _(x_t, cache, Wq, Wk, Wv):
    x = x_t[:, None]
    K, V = torch.cat([cache[0], x @ Wk], dim=1), torch.cat([cache[1], x @ Wv], dim=1)
    return x_t + F.scaled_dot_product_attention(x @ Wq, K, V)[:, 0], (K, V)


@wrong("cached_step: written into the caller's pair")
def _(x_t, cache, Wq, Wk, Wv):
    x = x_t[:, None]
    K, V = torch.cat([cache[0], x @ Wk], dim=1), torch.cat([cache[1], x @ Wv], dim=1)
    out = F.scaled_dot_product_attention(x @ Wq, K, V)[:, 0]
    cache[0].zero_()
    return out, (K, V)


@right("generation_work: by hand")
def _(P, t, D, cached):
    pairs = P ** 2
    for s in range(P + 1, P + t + 1):
        pairs += s if cached else s ** 2
    return 2 * D * pairs


@right("generation_work: closed forms")
def _(P, t, D, cached):
    if cached:
        return 2 * D * (P * P + t * P + t * (t + 1) // 2)

    def squares(m):
        return m * (m + 1) * (2 * m + 1) // 6

    return 2 * D * (P * P + squares(P + t) - squares(P))


@wrong("generation_work: the orders of magnitude")
def _(P, t, D, cached):
    return (P + t) ** (2 if cached else 3) * D


@wrong("generation_work: one step too many")
def _(P, t, D, cached):
    return 2 * D * (P * P + sum(s if cached else s * s for s in range(P + 1, P + t + 2)))


@wrong("generation_work: three products for each pair")
def _(P, t, D, cached):
    return 3 * D * (P * P + sum(s if cached else s * s for s in range(P + 1, P + t + 1)))
