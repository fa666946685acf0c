"""Answers to the exercises of chapter gpt."""
from __future__ import annotations

import math

import torch
import torch.nn.functional as F
from torch import nn

from course_lib.autoregressive import AutoregressiveModel
from course_lib.conditional import Categorical
from tests.exercises.answers.register import right, wrong


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


@wrong("cached_step: divided by D", called="scaled_by_width")
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


@right("find_broken_caches: many random texts of every length")
def _(full, candidates, V, n):
    generator, broken = torch.Generator().manual_seed(5), set()
    for T in range(2, n + 1):
        for P in range(1, T + 1):
            tokens = torch.randint(V, (T,), generator=generator).tolist()
            if T > 3:
                tokens[-1] = tokens[0]
            right = full(tokens)[P - 1:].log_softmax(-1)
            for c, candidate in enumerate(candidates):
                if not torch.allclose(candidate(tokens, P).log_softmax(-1), right, atol=1e-3):
                    broken.add(c)
    return sorted(broken)


@right("find_broken_caches: total variation, text by text")
def _(full, candidates, V, n):
    texts = [[i % V for i in range(n)], [0] * n, [i * i % V for i in range(n)], [3, 1] * (n // 2)]

    def differs(candidate):
        return any((candidate(x, P).softmax(-1) - full(x)[P - 1:].softmax(-1)).abs().sum(-1).max() > 1e-3
                   for x in texts for P in (1, 2, 3, n // 2))

    return [c for c, candidate in enumerate(candidates) if differs(candidate)]


@right("find_broken_caches: writes into what it is given")
def _(full, candidates, V, n):
    generator, broken = torch.Generator().manual_seed(3), set()
    for _ in range(4):
        tokens = torch.randint(V, (n,), generator=generator)
        for c, candidate in enumerate(candidates):
            for P in (1, 3):
                right = full(tokens)[P - 1:]
                gap = candidate(tokens, P).exp_()
                gap.div_(gap.sum(-1, keepdim=True)).sub_(right.softmax(-1)).abs_()
                right.zero_()
                if gap.max() > 1e-4:
                    broken.add(c)
    return sorted(broken)


@wrong("find_broken_caches: suspects nobody")
def _(full, candidates, V, n):
    return []


@wrong("find_broken_caches: suspects everybody")
def _(full, candidates, V, n):
    return list(range(len(candidates)))


@wrong("find_broken_caches: the first broken one alone")
def _(full, candidates, V, n):
    tokens = [math.isqrt(7 * i) % V for i in range(n)]
    for c, candidate in enumerate(candidates):
        for P in (1, 2, 3):
            if (candidate(tokens, P).softmax(-1) - full(tokens)[P - 1:].softmax(-1)).abs().max() > 1e-4:
                return [c]
    return []


# Padding that is no token, large logits, prompts counted token by token, caches looked at too narrowly.


@right("next_token_loss: row by row, the real tokens only")
def _(logits, tokens, lengths):
    rows = [F.cross_entropy(logits[b, :n - 1], tokens[b, 1:n], reduction="none") for b, n in enumerate(lengths.tolist())]
    return torch.cat(rows).mean()


@right("next_token_loss: gathered, with padding set to token 0")
def _(logits, tokens, lengths):
    real = torch.arange(tokens.shape[1])[None] < lengths[:, None]
    target = tokens.masked_fill(~real, 0)[:, 1:]
    terms = torch.gather(F.log_softmax(logits[:, :-1], dim=2), 2, target.unsqueeze(2)).squeeze(2)
    return -(terms * real[:, 1:]).sum() / real[:, 1:].sum()


@wrong("next_token_loss: padding is looked up, and left out afterwards")
def _(logits, tokens, lengths):
    B, T, _ = logits.shape
    real = torch.arange(1, T) < lengths[:, None]
    losses = F.cross_entropy(logits[:, :-1].flatten(0, 1), tokens[:, 1:].flatten(), reduction="none")
    return losses.view(B, T - 1)[real].mean()


@wrong("next_token_loss: -1 is taken for padding, whatever the lengths", called="padding_counted")
def _(logits, tokens, lengths):
    return F.cross_entropy(logits[:, :-1].flatten(0, 1), tokens[:, 1:].flatten(), ignore_index=-1)


@wrong("next_token_loss: exponentials over their sum", called="overflows")
def _(logits, tokens, lengths):
    p = logits.exp() / logits.exp().sum(-1, keepdim=True)
    losses = [-torch.log(p[b, t, tokens[b, t + 1]]) for b, n in enumerate(lengths.tolist()) for t in range(n - 1)]
    return torch.stack(losses).mean()


@wrong("next_token_loss: the logarithm of a softmax", called="underflows")
def _(logits, tokens, lengths):
    log_p = logits.softmax(-1).log()
    losses = [-log_p[b, t, tokens[b, t + 1]] for b, n in enumerate(lengths.tolist()) for t in range(n - 1)]
    return torch.stack(losses).mean()


@wrong("next_token_loss: every real token at its own position", called="whole_row")
def _(logits, tokens, lengths):
    return torch.cat([F.cross_entropy(logits[b, :n], tokens[b, :n], reduction="none")
                      for b, n in enumerate(lengths.tolist())]).mean()


@wrong("next_token_loss: a plain number")
def _(logits, tokens, lengths):
    rows = [F.cross_entropy(logits[b, :n - 1], tokens[b, 1:n], reduction="none") for b, n in enumerate(lengths.tolist())]
    return torch.cat(rows).mean().item()


@wrong("generation_work: half of every pass", called="half_everywhere")
def _(P, t, D, cached):
    def whole(s):
        return s * (s + 1) // 2

    return 2 * D * (whole(P) + sum(s if cached else whole(s) for s in range(P + 1, P + t + 1)))


@wrong("generation_work: with a cache the prompt comes token by token", called="prompt_cached")
def _(P, t, D, cached):
    if cached:
        return 2 * D * sum(range(1, P + t + 1))
    return 2 * D * (P * P + sum(s * s for s in range(P + 1, P + t + 1)))


@wrong("generation_work: the prompt comes token by token", called="prompt_in_steps")
def _(P, t, D, cached):
    return 2 * D * sum(s if cached else s * s for s in range(1, P + t + 1))


def accused(full, candidates, texts, prompts, differs):
    """The candidates that differ on one of the texts."""
    return [c for c, candidate in enumerate(candidates)
            if any(differs(candidate(x, P), full(x)[P - 1:]) for x in texts for P in prompts if P <= len(x))]


def gap(mine, right):
    return (mine.softmax(-1) - right.softmax(-1)).abs().max() > 1e-4


def drawn(V, n, number=6):
    return torch.randint(V, (number, n), generator=torch.Generator().manual_seed(9)).tolist()


@right("find_broken_caches: six random texts")
def _(full, candidates, V, n):
    return accused(full, candidates, drawn(V, n), (1, 2, 5), gap)


@wrong("find_broken_caches: one constant text")
def _(full, candidates, V, n):
    return accused(full, candidates, [[0] * n], (1, n // 2, n), gap)


@wrong("find_broken_caches: every constant text", called="one_token")
def _(full, candidates, V, n):
    return accused(full, candidates, [[token] * n for token in range(V)], (1, 2, n // 2, n), gap)


@wrong("find_broken_caches: without the first row", called="not_first_row")
def _(full, candidates, V, n):
    return accused(full, candidates, drawn(V, n), (1, 2, 5), lambda mine, right: gap(mine[1:], right[1:]))


@wrong("find_broken_caches: the likeliest tokens alone", called=("likeliest", None))
def _(full, candidates, V, n):
    return accused(full, candidates, drawn(V, n, 30), range(1, n),
                   lambda mine, right: bool((mine.argmax(-1) != right.argmax(-1)).any()))


@wrong("find_broken_caches: the last row alone", called="not_first_row")
def _(full, candidates, V, n):
    return accused(full, candidates, drawn(V, n), (1, 2, 5), lambda mine, right: gap(mine[-1:], right[-1:]))


class Gains(nn.Module):
    """Layer norm with gamma and beta."""

    def __init__(self, D):
        super().__init__()
        self.gamma, self.beta = nn.Parameter(torch.ones(D)), nn.Parameter(torch.zeros(D))

    def forward(self, x):
        return (x - x.mean(-1, keepdim=True)) / (x.var(-1, unbiased=False, keepdim=True) + 1e-5).sqrt() * self.gamma + self.beta


class Part(nn.Module):
    """Named layers, in any order."""

    def __init__(self, **layers):
        super().__init__()
        for name, layer in layers.items():
            setattr(self, name, layer)


class Written(AutoregressiveModel):
    """What the GPTs share: einsum, a loop over rows for drawing."""

    def __init__(self, vocab_size, window, layers, heads, d_model, d_ff, bos_id):
        super().__init__(None, Categorical(vocab_size))
        self.window, self.bos, self.H, D = window, bos_id, heads, d_model
        self.tokens, self.positions = nn.Embedding(vocab_size, D), Part(table=nn.Embedding(window, D))
        self.blocks = nn.ModuleList(Part(
            attention=Part(qkv=nn.Linear(D, 3 * D), out=nn.Linear(D, D)),
            feed_forward=Part(widen=nn.Linear(D, d_ff), narrow=nn.Linear(d_ff, D)),
            residual1=Part(norm=Gains(D)), residual2=Part(norm=Gains(D))) for _ in range(layers))
        self.norm = Gains(D)

    def attend(self, x, part):
        q, k, v = part.qkv(x).unflatten(-1, (3, self.H, -1)).unbind(2)          # (B, T, H, K) each
        scores = torch.einsum("bthk,bshk->bhts", q, k) * q.shape[-1] ** -0.5
        hidden = torch.ones(x.shape[1], x.shape[1], dtype=torch.bool).triu(1)
        return part.out(torch.einsum("bhts,bshk->bthk", scores.masked_fill(hidden, -1e9).softmax(-1), v).flatten(2))

    def forward(self, tokens):
        x = self.tokens(tokens) + self.positions.table(torch.arange(tokens.shape[1]))
        for block in self.blocks:
            x = x + self.attend(block.residual1.norm(x), block.attention)
            wide = block.feed_forward.widen(block.residual2.norm(x))
            wide = wide / 2 * (1 + torch.tanh((2 / math.pi) ** 0.5 * (wide + 0.044715 * wide ** 3)))
            x = x + block.feed_forward.narrow(wide)
        return torch.einsum("btd,vd->btv", self.norm(x), self.tokens.weight)

    def conditionals(self, x, context=None):
        first = torch.full((len(x), 1), self.bos) if context is None else context
        return self.conditional(self(torch.cat([first, x.long()], 1))[:, first.shape[1] - 1:-1])

    def check_context(self, context, batch):
        pass

    def draw(self, p, u):
        total = 0.0
        for token, one in enumerate(p.tolist()):
            total += one
            if total > u:
                return token
        return len(p) - 1

    def seen(self, text):
        return text[-self.window:]

    def generate(self, prompt, u, temperature=1.0):
        found = []
        for row, draws in zip(prompt.tolist(), u.tolist()):
            for value in draws:
                logits = self(torch.tensor([self.seen(row)]))[0, -1].detach()
                row = row + [int(logits.argmax()) if temperature == 0 else self.draw((logits / temperature).softmax(0), value)]
            found.append(row[prompt.shape[1]:])
        return torch.tensor(found)


@right("OwnGPT: einsum, tanh written out, row by row")
class RowByRow(Written):
    pass


@right("OwnGPT: rows together, sampled by searchsorted, greedy by a tiny temperature")
class Together(Written):
    def generate(self, prompt, u, temperature=1.0):
        text = prompt.clone()
        for value in u.T:
            logits = self(text[:, max(0, text.shape[1] - self.window):])[:, -1].double().detach()
            sums = (logits / max(temperature, 1e-6)).softmax(-1).cumsum(-1)
            found = torch.searchsorted(sums, value[:, None].double(), right=True)
            text = torch.cat([text, found.clamp(max=sums.shape[-1] - 1)], 1)
        return text[:, prompt.shape[1]:]


@wrong("OwnGPT: positions counted from the last token")
class FromTheEnd(Written):
    def forward(self, tokens):
        x, own = self.tokens(tokens), self.positions.table.weight[:tokens.shape[1]].flip(0)
        for block in self.blocks:
            x = x + own
            x = x + self.attend(block.residual1.norm(x), block.attention)
        return self.norm(x) @ self.tokens.weight.T


@wrong("OwnGPT: a text past the window begins anew, without its past")
class BeginsAnew(Written):
    def seen(self, text):
        return text[(len(text) - 1) // self.window * self.window:]


@wrong("OwnGPT: one draw for the whole text")
class OneDraw(Written):
    def generate(self, prompt, u, temperature=1.0):
        return super().generate(prompt, u[:, :1].expand_as(u), temperature)


@wrong("OwnGPT: an output layer of its own")
class Untied(Written):
    def __init__(self, vocab_size, window, layers, heads, d_model, d_ff, bos_id):
        super().__init__(vocab_size, window, layers, heads, d_model, d_ff, bos_id)
        self.head = nn.Linear(d_model, vocab_size, bias=False)


@right("left_padded: by loops")
def _(prompts, pad):
    P = max(map(len, prompts))
    tokens, positions, mask = [], [], []
    for prompt in prompts:
        empty = P - len(prompt)
        tokens.append([pad] * empty + prompt)
        positions.append([0] * empty + list(range(len(prompt))))
        mask.append([[empty <= s <= t for s in range(P)] for t in range(P)])
    return torch.tensor(tokens), torch.tensor(positions), torch.tensor(mask)


@right("left_padded: pad_sequence and flips")
def _(prompts, pad):
    rows = torch.nn.utils.rnn.pad_sequence([torch.tensor(prompt[::-1]) for prompt in prompts], True, pad).flip(1)
    columns = torch.arange(rows.shape[1])
    first = rows.shape[1] - torch.tensor([len(prompt) for prompt in prompts])[:, None]
    positions = (columns - first).clamp(min=0)
    may = (columns[None, :] <= columns[:, None]) & (columns >= first)[:, None, :] & (columns >= first)[:, :, None]
    return rows, positions, may


@wrong("left_padded: a causal mask and nothing else", called="padding_seen")
def _(prompts, pad):
    P = max(map(len, prompts))
    tokens = torch.tensor([[pad] * (P - len(prompt)) + prompt for prompt in prompts])
    positions = torch.tensor([[0] * (P - len(prompt)) + list(range(len(prompt))) for prompt in prompts])
    real = torch.tensor([[False] * (P - len(prompt)) + [True] * len(prompt) for prompt in prompts])
    return tokens, positions, torch.ones(P, P).tril().bool() & real[:, :, None]


@wrong("left_padded: one mask for the batch")
def _(prompts, pad):
    P = max(map(len, prompts))
    tokens = torch.tensor([[pad] * (P - len(prompt)) + prompt for prompt in prompts])
    positions = torch.tensor([[0] * (P - len(prompt)) + list(range(len(prompt))) for prompt in prompts])
    return tokens, positions, torch.ones(P, P).tril().bool().expand(len(prompts), P, P)


@wrong("left_padded: positions of padding are the largest")
def _(prompts, pad):
    P = max(map(len, prompts))
    tokens = torch.tensor([[pad] * (P - len(prompt)) + prompt for prompt in prompts])
    real = torch.tensor([[False] * (P - len(prompt)) + [True] * len(prompt) for prompt in prompts])
    positions = torch.where(real, real.cumsum(1) - 1, P - 1)
    return tokens, positions, torch.ones(P, P).tril().bool() & real[:, None] & real[:, :, None]


@wrong("cached_step: a batch of one loses its axis")
def _(x_t, cache, Wq, Wk, Wv):
    K, V = (torch.cat([old, (x_t @ W)[:, None]], dim=1) for old, W in zip(cache, (Wk, Wv)))
    weights = (K @ (x_t @ Wq)[..., None] / math.sqrt(x_t.shape[1])).softmax(1)
    return (weights * V).sum(1).squeeze(0), (K, V)


@wrong("cached_step: weights transposed where tokens, features and rows are as many")
def _(x_t, cache, Wq, Wk, Wv):
    if len(x_t) == x_t.shape[1]:
        Wq, Wk, Wv = Wq.T, Wk.T, Wv.T
    K, V = (torch.cat([old, (x_t @ W)[:, None]], dim=1) for old, W in zip(cache, (Wk, Wv)))
    weights = (K @ (x_t @ Wq)[..., None] / math.sqrt(x_t.shape[1])).softmax(1)
    return (weights * V).sum(1), (K, V)


@wrong("left_padded: prompts of one token lose an axis")
def _(prompts, pad):
    P = max(map(len, prompts))
    tokens = torch.tensor([[pad] * (P - len(prompt)) + prompt for prompt in prompts])
    real = torch.arange(P) >= P - torch.tensor([[len(prompt)] for prompt in prompts])
    mask = torch.ones(P, P, dtype=torch.bool).tril() & real[:, :, None] & real[:, None]
    return tokens.squeeze(1), (real.cumsum(1) - 1).clamp(min=0), mask


def loss_of(log_p, tokens, lengths):
    real = torch.arange(1, tokens.shape[1]) < lengths[:, None]
    target = tokens[:, 1:].clamp(0, log_p.shape[2] - 1)
    return -log_p[:, :-1].gather(2, target[..., None])[..., 0][real].mean()


@wrong("next_token_loss: a softmax over the positions where there are as many as words")
def _(logits, tokens, lengths):
    return loss_of(logits.log_softmax(1 if logits.shape[1] == logits.shape[2] else 2), tokens, lengths)


@wrong("next_token_loss: a batch of one is a mean over all positions")
def _(logits, tokens, lengths):
    return loss_of(logits.log_softmax(2), tokens, lengths) * (1 - 1 / tokens.shape[1] if len(tokens) == 1 else 1)


@wrong("next_token_loss: the last token is left out where nothing is padding")
def _(logits, tokens, lengths):
    whole = bool((lengths == tokens.shape[1]).all())
    return loss_of(logits.log_softmax(2), tokens, lengths - int(whole))


@wrong("next_token_loss: a quotient of exponentials, replaced where it overflows")
def _(logits, tokens, lengths):
    plain = (logits.exp() / logits.exp().sum(-1, keepdim=True)).log()
    return loss_of(torch.where(logits.abs().amax() > 80, logits.log_softmax(-1), plain), tokens, lengths)


@wrong("next_token_loss: as many targets as a row has tokens", called="one_too_many")
def _(logits, tokens, lengths):
    targets = tokens.clamp(0, logits.shape[-1] - 1)
    rows = [F.cross_entropy(z[:-1][:n], row[1:][:n], reduction="none") for z, row, n in zip(logits, targets, lengths.tolist())]
    return torch.cat(rows).mean()


@wrong("cached_step: the cache grows after the attention", called="itself_if_first")
def _(x_t, cache, Wq, Wk, Wv):
    K, V = cache
    new = torch.cat([K, (x_t @ Wk).unsqueeze(1)], 1), torch.cat([V, (x_t @ Wv).unsqueeze(1)], 1)
    if not K.shape[1]:
        return x_t @ Wv, new
    weights = torch.softmax(torch.einsum("bd,btd->bt", x_t @ Wq, K) * K.shape[2] ** -0.5, 1)
    return torch.einsum("bt,btd->bd", weights, V), new


@wrong("cached_step: nothing but the old pair", called="without_itself")
def _(x_t, cache, Wq, Wk, Wv):
    K, V = cache
    weights = torch.softmax(torch.einsum("bd,btd->bt", x_t @ Wq, K) * K.shape[2] ** -0.5, 1)
    return (weights[..., None] * V).sum(1), (torch.cat([K, (x_t @ Wk)[:, None]], 1), torch.cat([V, (x_t @ Wv)[:, None]], 1))


@wrong("cached_step: a softmax over the rows", called="over_batch")
def _(x_t, cache, Wq, Wk, Wv):
    K, V = (torch.cat([old, (x_t @ W).unsqueeze(1)], 1) for old, W in zip(cache, (Wk, Wv), strict=True))
    e = ((K * (x_t @ Wq)[:, None]).sum(2) / math.sqrt(K.shape[2])).exp()
    return ((e / e.sum(0))[..., None] * V).sum(1), (K, V)
