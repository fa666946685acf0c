"""Answers to the exercises of chapter attention."""
from __future__ import annotations

import math

import torch
import torch.nn.functional as F
from torch import nn

from course_lib.autoregressive import AutoregressiveModel
from course_lib.conditional import Categorical
from tests.exercises.answers.register import right, wrong


@right("additive_attention: row by row over the real tokens")
def _(query, keys, mask, W, U, v):
    found = []
    for q, k, m in zip(query, keys, mask):
        real = k[m]
        shares = (torch.tanh(W @ q + real @ U.T) @ v).softmax(0) if len(real) else k.new_zeros(0)
        found.append(shares @ real)
    return torch.stack(found)


@right("additive_attention: by exponentials")
def _(query, keys, mask, W, U, v):
    s = torch.einsum("bsa,a->bs", torch.tanh(torch.einsum("ah,bh->ba", W, query)[:, None] + keys @ U.T), v)
    e = (s - s.amax(1, keepdim=True).detach()).exp() * mask
    total = e.sum(1, keepdim=True)
    return torch.einsum("bs,bsk->bk", e / torch.where(total > 0, total, torch.ones_like(total)), keys)


@wrong("additive_attention: the sum of the real keys")
def _(query, keys, mask, W, U, v):
    return (keys * mask[..., None]).sum(1)


@wrong("additive_attention: the best key alone")
def _(query, keys, mask, W, U, v):
    s = (torch.tanh((query @ W.T)[:, None] + keys @ U.T) @ v).masked_fill(~mask, -math.inf)
    return keys[torch.arange(len(keys)), s.argmax(1)] * mask.any(1)[:, None]


@wrong("additive_attention: a sigmoid for the tanh")
def _(query, keys, mask, W, U, v):
    s = (torch.sigmoid((query @ W.T)[:, None] + keys @ U.T) @ v).masked_fill(~mask, -math.inf)
    return (s.softmax(1).nan_to_num()[..., None] * keys).sum(1)


@wrong("additive_attention: nothing but zeros")
def _(query, keys, mask, W, U, v):
    return keys[:, 0] * 0


@right("choice_gradients: by autograd")
def _(scores, losses, slots):
    found = []
    for i, slot in enumerate(slots.tolist()):
        s = scores.clone().requires_grad_()
        slope, = torch.autograd.grad(s.log_softmax(0)[slot], s)
        others = torch.cat([slots[:i], slots[i + 1:]])
        found.append((losses[slot] - losses[others].mean()) * slope)
    return torch.stack(found)


@right("choice_gradients: with an identity matrix")
def _(scores, losses, slots):
    N, found = len(slots), losses[slots]
    advantage = (found - found.mean()) * N / (N - 1)
    return advantage[:, None] * (torch.eye(len(scores), dtype=scores.dtype)[slots] - scores.softmax(0))


@wrong("choice_gradients: the smallest loss as the baseline")
def _(scores, losses, slots):
    p = scores.softmax(0)
    return (losses[slots] - losses.min())[:, None] * (torch.eye(len(p), dtype=p.dtype)[slots] - p)


@wrong("choice_gradients: zeros, as through a hard choice")
def _(scores, losses, slots):
    return scores.new_zeros(len(slots), len(scores))


@wrong("choice_gradients: the exact gradient in every row")
def _(scores, losses, slots):
    p = scores.softmax(0)
    return (p * (losses - p @ losses)).expand(len(slots), -1).clone()


@wrong("choice_gradients: divided by N")
def _(scores, losses, slots):
    p, found = scores.softmax(0), losses[slots]
    b = (found.sum() - found) / (len(slots) - 1)
    return (found - b)[:, None] * (torch.eye(len(p), dtype=p.dtype)[slots] - p) / len(slots)


@wrong("choice_gradients: as many slots as the largest that is drawn")
def _(scores, losses, slots):
    found = losses[slots]
    b = (found.sum() - found) / (len(slots) - 1)
    return (found - b)[:, None] * (F.one_hot(slots) - scores.softmax(0))


def four(q, k, W, Wa, Ua, v):
    return {"dot": q @ k.T, "scaled": q @ k.T / len(v) ** 0.5, "bilinear": q @ (W @ k.T),
            "additive": torch.tanh((q @ Wa.T)[:, None] + k @ Ua.T) @ v}


@right("find_scores: in float32, by norm")
def _(functions, W, Wa, Ua, v):
    q, k = torch.randn(7, len(v)), torch.randn(9, len(v))
    wanted = four(q, k, *(each.float() for each in (W, Wa, Ua, v)))
    names = []
    for function in functions:
        off = {name: float((function(q, k) - want).norm() / want.norm()) for name, want in wanted.items()}
        best = min(off, key=off.get)
        names.append(best if off[best] < 1e-4 else "none")
    return names


@right("find_scores: pair by pair")
def _(functions, W, Wa, Ua, v):
    weights = [each.double() for each in (W, Wa, Ua, v)]
    names = ["none"] * len(functions)
    pairs = [(torch.randn(1, len(v), dtype=torch.float64), torch.randn(1, len(v), dtype=torch.float64)) for _ in range(20)]
    for i, function in enumerate(functions):
        for name in ("dot", "scaled", "bilinear", "additive"):
            if all(abs(float(function(q, k) - four(q, k, *weights)[name])) < 1e-5 for q, k in pairs):
                names[i] = name
    return names


@wrong("find_scores: all dots")
def _(functions, W, Wa, Ua, v):
    return ["dot"] * len(functions)


@wrong("find_scores: other words")
def _(functions, W, Wa, Ua, v):
    return ["luong"] * len(functions)


@wrong("find_scores: one name too few")
def _(functions, W, Wa, Ua, v):
    return ["none"] * (len(functions) - 1)


@wrong("find_scores: the additive ones are not found")
def _(functions, W, Wa, Ua, v):
    q, k = torch.randn(7, len(v), dtype=torch.float64), torch.randn(9, len(v), dtype=torch.float64)
    wanted = four(q, k, *(each.double() for each in (W, Wa, Ua, v)))
    fits = [[name for name in ("dot", "scaled", "bilinear") if (f(q, k) - wanted[name]).abs().max() < 1e-4] for f in functions]
    return [found[0] if found else "none" for found in fits]


class Written(AutoregressiveModel):
    """What the decoders share: names and shapes, and a training of another kind."""

    def __init__(self, symbols, hidden, bos_id):
        super().__init__(None, Categorical(symbols))
        self.bos, H = bos_id, hidden
        self.source, self.target = nn.Embedding(symbols, H), nn.Embedding(symbols, H)
        self.encoder = nn.GRU(H, H, batch_first=True, bidirectional=True)
        self.decoder = nn.GRU(H, H, batch_first=True)
        self.bridge, self.head = nn.Linear(2 * H, H), nn.Linear(3 * H, symbols)
        self.W, self.U = nn.Parameter(torch.randn(H, H) / H ** 0.5), nn.Parameter(torch.randn(H, 2 * H) / H ** 0.5)
        self.v = nn.Parameter(torch.randn(H) / H ** 0.5)

    def check_context(self, context, batch):
        pass

    def scores(self, h, m):
        return torch.tanh(torch.einsum("bh,ah->ba", h, self.W)[:, None] + torch.einsum("bsk,ak->bsa", m, self.U)) @ self.v

    def steps(self, x, context):
        m, ends = self.encoder(self.source(context.long()))
        h = torch.tanh(self.bridge(ends.transpose(0, 1).flatten(1)))
        symbol = torch.full((len(x),), self.bos)
        for following in x.long().T:
            h = self.decoder(self.target(symbol)[:, None], h[None])[0][:, 0]
            shares = self.scores(h, m).softmax(1)
            yield h, shares, torch.einsum("bs,bsk->bk", shares, m)
            symbol = following

    def weights(self, x, context):
        return torch.stack([shares for _, shares, _ in self.steps(x, context)], 1)

    def conditionals(self, x, context=None):
        return self.conditional(torch.stack([self.head(torch.cat([h, c], 1)) for h, _, c in self.steps(x, context)], 1))

    def fit(self, pairs):
        optimizer = torch.optim.AdamW(self.parameters(), lr=0.015, weight_decay=0.0)
        steps = 260
        for k in range(steps):
            optimizer.param_groups[0]["lr"] = 0.015 * min(1, (k + 1) / 20, 1.2 * (1 - k / steps))
            rows = torch.randint(len(pairs), (40,))
            loss = self.conditionals(pairs[rows, 1], pairs[rows, 0]).log_prob(pairs[rows, 1]).mean().neg()
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(self.parameters(), 1.0)
            optimizer.step()


@right("OwnDecoder: step by step, rows drawn anew, a warm-up")
class StepByStep(Written):
    pass


@right("OwnDecoder: the softmax by exponentials, all steps at once")
class ByExponentials(Written):
    def shifted(self, x):
        return torch.cat([torch.full_like(x[:, :1], self.bos), x[:, :-1]], 1).long()

    def encoded(self, context):
        """The states of all positions, and those of the two ends."""
        m, ends = self.encoder(self.source(context.long()))
        return m, torch.cat(ends.unbind(), 1)

    def looked(self, x, context):
        m, ends = self.encoded(context)
        h = self.decoder(self.target(self.shifted(x)), torch.tanh(self.bridge(ends))[None])[0]
        s = torch.tanh((h @ self.W.T).unsqueeze(2) + (m @ self.U.T).unsqueeze(1)) @ self.v
        e = (s - s.amax(2, keepdim=True).detach()).exp()
        return h, m, e / e.sum(2, keepdim=True)

    def weights(self, x, context):
        return self.looked(x, context)[2]

    def conditionals(self, x, context=None):
        h, m, shares = self.looked(x, context)
        return self.conditional(self.head(torch.cat([h, torch.einsum("bts,bsk->btk", shares, m)], 2)))


class Hasty(ByExponentials):
    """Its training is a few steps: the fault of those below shows before it."""

    def fit(self, pairs):
        super().fit(pairs[:1].expand(4, -1, -1)[:, :, :2])


@wrong("OwnDecoder: the encoder reads backward alone")
class BackwardAlone(Hasty):
    def encoded(self, context):
        m, ends = super().encoded(context)
        return m * (torch.arange(m.shape[2]) >= m.shape[2] // 2), ends


@wrong("OwnDecoder: the two ends exchanged")
class EndsExchanged(Hasty):
    def encoded(self, context):
        m, ends = super().encoded(context)
        return m, torch.cat(ends.chunk(2, 1)[::-1], 1)


@wrong("OwnDecoder: the hardest place alone")
class HardestAlone(Hasty):
    def looked(self, x, context):
        h, m, shares = super().looked(x, context)
        return h, m, F.one_hot(shares.argmax(2), shares.shape[2]).to(shares)


@wrong("OwnDecoder: probabilities instead of logits")
class Squeezed(Hasty):
    def conditionals(self, x, context=None):
        return self.conditional(super().conditionals(x, context).probs)


@wrong("OwnDecoder: the target shifted in a circle", called="reads_the_end")
class ShiftedInACircle(Hasty):
    def shifted(self, x):
        return x.long().roll(1, dims=1)


@wrong("OwnDecoder: source and target exchanged in the training")
class Exchanged(ByExponentials):
    def fit(self, pairs):
        super().fit(pairs.flip(1))


@wrong("OwnDecoder: a training that stops too early")
class TooEarly(ByExponentials):
    def fit(self, pairs):
        for rows in range(0, 320, 32):
            loss = -self.log_prob(pairs[rows:rows + 32, 1], pairs[rows:rows + 32, 0]).mean()
            loss.backward()
        with torch.no_grad():
            for one in self.parameters():
                one -= 1e-3 * one.grad


def look_back(query, keys, mask, W, U, v):
    scores = ((query @ W.T)[:, None] + keys @ U.T).tanh() @ v
    return (scores.masked_fill(~mask, -math.inf).softmax(1).masked_fill(~mask, 0)[..., None] * keys).sum(1)


@wrong("additive_attention: W and U exchanged where they have one shape")
def _(query, keys, mask, W, U, v):
    return look_back(query, keys, mask, *((U, W) if W.shape == U.shape else (W, U)), v)


@wrong("additive_attention: the mask on its side where it is square")
def _(query, keys, mask, W, U, v):
    return look_back(query, keys, mask.T if len(mask) == mask.shape[1] else mask, W, U, v)


@wrong("additive_attention: a batch of one loses its axis")
def _(query, keys, mask, W, U, v):
    return look_back(query, keys, mask, W, U, v).squeeze(0)


@wrong("additive_attention: rows without a token are put out after the softmax, and their gradient is NaN")
def _(query, keys, mask, W, U, v):
    scores = ((query @ W.T)[:, None] + keys @ U.T).tanh() @ v + torch.zeros(mask.shape).masked_fill(~mask, -math.inf)
    return (scores.softmax(1).nan_to_num()[..., None] * keys).sum(1)


@wrong("choice_gradients: the losses of all slots where as many were drawn")
def _(scores, losses, slots):
    drawn = losses if len(losses) == len(slots) else losses[slots]
    b = (drawn.sum() - drawn) / (len(drawn) - 1)
    return (drawn - b)[:, None] * (F.one_hot(slots, len(scores)) - scores.softmax(0))


@wrong("choice_gradients: a single slot loses its axis")
def _(scores, losses, slots):
    drawn = losses[slots]
    b = (drawn.sum() - drawn) / (len(drawn) - 1)
    return ((drawn - b)[:, None] * (F.one_hot(slots, len(scores)) - scores.softmax(0))).squeeze(1)


@wrong("OwnDecoder: attention weights on their side where both texts are as long")
class OnTheirSide(Hasty):
    def weights(self, x, context):
        shares = super().weights(x, context)
        return shares.mT if x.shape == context.shape else shares
