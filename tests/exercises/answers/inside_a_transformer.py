"""Answers to the exercises of chapter inside-a-transformer."""
from __future__ import annotations

import math

import torch
from torch import nn

from tests.exercises.answers.register import right, wrong


@right("find_peeking: pairs of inputs that share all but one position")
def _(layer, T, d):
    generator, found = torch.Generator().manual_seed(11), set()
    for j in range(1, T):
        a = 4 * torch.rand(80, T, d, generator=generator) - 2
        b = a.clone()
        b[:, j] = 4 * torch.rand(80, d, generator=generator) - 2
        moved = (layer(a) - layer(b)).abs().sum((0, 2)) > 1e-5
        found |= {(i, j) for i in range(j) if moved[i]}
    return sorted(found)


@right("find_peeking: positions set to zero, one sequence at a time")
def _(layer, T, d):
    generator, moved = torch.Generator().manual_seed(5), torch.zeros(T, T)
    for _ in range(60):
        x = 2 * torch.randn(1, T, d, generator=generator)
        for j in range(T):
            y = x.clone()
            y[0, j] = 0
            moved[:, j] = torch.maximum(moved[:, j], (layer(x) - layer(y))[0].abs().amax(1).float())
    return [tuple(p) for p in (moved.triu(1) > 1e-5).nonzero().tolist()]


@wrong("find_peeking: sees nothing")
def _(layer, T, d):
    return []


@wrong("find_peeking: suspects everybody")
def _(layer, T, d):
    return [(i, j) for i in range(T) for j in range(i + 1, T)]


@wrong("find_peeking: all features of a position raised alike", called="same_shift")
def _(layer, T, d):
    x = 2 * torch.randn(200, T, d, generator=torch.Generator().manual_seed(8))
    raised = [torch.where((torch.arange(T) == j)[:, None], x + 3, x) for j in range(T)]
    moved = [(layer(y) - layer(x)).abs().amax((0, 2)) > 1e-6 for y in raised]
    return [(i, j) for i in range(T) for j in range(i + 1, T) if moved[j][i]]


@wrong("find_peeking: only the last position is changed")
def _(layer, T, d):
    generator = torch.Generator().manual_seed(2)
    a = 2 * torch.randn(60, T, d, generator=generator)
    b = a.clone()
    b[:, -1] = 2 * torch.randn(60, d, generator=generator)
    return [(i, T - 1) for i in range(T - 1) if (layer(a) - layer(b))[:, i].abs().max() > 1e-6]


@right("find_peeking: one feature at a time, all outputs")
def _(layer, T, d):
    generator, found = torch.Generator().manual_seed(3), set()
    x = 3 * torch.randn(100, T, d, generator=generator)
    before = layer(x)
    for j in range(T):
        for feature in range(d):
            y = x.clone()
            y[:, j, feature] += 2.0
            moved = (layer(y) - before).abs().sum((0, 2)) > 1e-6
            found |= {(i, j) for i in range(j) if moved[i]}
    return sorted(found)


def peeking(layer, T, d, moved, changed=lambda y, x, j: y[:, j].copy_(x)):
    """The pairs, any i and j, where `moved` of the change of the result says so."""
    generator, found = torch.Generator().manual_seed(1), []
    x = 2 * torch.randn(64, T, d, generator=generator)
    for j in range(T):
        y = x.clone()
        changed(y, 2 * torch.randn(64, d, generator=generator), j)
        found += [(i, j) for i in range(T) if moved((layer(y) - layer(x))[:, i].abs())]
    return sorted(found)


@wrong("find_peeking: the first feature of the result alone", called="one_output")
def _(layer, T, d):
    return [(i, j) for i, j in peeking(layer, T, d, lambda gap: gap[:, 0].max() > 1e-6) if i < j]


@wrong("find_peeking: all features of the result but the last")
def _(layer, T, d):
    return [(i, j) for i, j in peeking(layer, T, d, lambda gap: gap[:, :-1].max() > 1e-6) if i < j]


@wrong("find_peeking: the first feature of the input alone", called="one_feature")
def _(layer, T, d):
    pairs = peeking(layer, T, d, lambda gap: gap.max() > 1e-6, lambda y, x, j: y[:, j, 0].copy_(x[:, 0]))
    return [(i, j) for i, j in pairs if i < j]


@wrong("find_peeking: all features of the input but the first")
def _(layer, T, d):
    pairs = peeking(layer, T, d, lambda gap: gap.max() > 1e-6, lambda y, x, j: y[:, j, 1:].copy_(x[:, 1:]))
    return [(i, j) for i, j in pairs if i < j]


@wrong("find_peeking: one random sequence")
def _(layer, T, d):
    return [(i, j) for i, j in peeking(lambda x: layer(x[:1]), T, d, lambda gap: gap.max() > 1e-6) if i < j]


@wrong("find_peeking: the past and the position itself listed too", called="all_reads")
def _(layer, T, d):
    return peeking(layer, T, d, lambda gap: gap.max() > 1e-6)


@wrong("find_peeking: everything from j on is changed", called="suffix")
def _(layer, T, d):
    pairs = peeking(layer, T, d, lambda gap: gap.max() > 1e-6,
                    lambda y, x, j: y[:, j:].copy_(x[:, None].expand_as(y[:, j:])))
    return [(i, j) for i, j in pairs if i < j]


class AttentionBase(nn.Module):
    """What the answers to MendedAttention share that is right."""

    def __init__(self, d):
        super().__init__()
        self.Q, self.K, self.V = nn.Linear(d, d), nn.Linear(d, d), nn.Linear(d, d)

    def weights(self, x, mask=None):
        scores = torch.einsum("bid,bjd->bij", self.Q(x), self.K(x)) * x.shape[-1] ** -0.5
        if mask is not None:
            scores = scores + torch.zeros(mask.shape).masked_fill(~mask, float("-inf"))
        return scores.softmax(-1)

    def forward(self, x, mask=None):
        return torch.einsum("bij,bjd->bid", self.weights(x, mask), self.V(x))


@right("MendedAttention: einsum, a mask that is added")
class AttentionByEinsum(AttentionBase):
    pass


@right("MendedAttention: exponentials by hand, masked by a product before the division")
class AttentionByHand(AttentionBase):
    def weights(self, x, mask=None):
        scores = self.Q(x) @ self.K(x).mT / math.sqrt(self.Q.out_features)
        powers = (scores - scores.amax(-1, keepdim=True)).exp()
        powers = powers if mask is None else powers * mask
        return powers / powers.sum(-1, keepdim=True)


@wrong("MendedAttention: keys and queries exchanged")
class AttentionTurned(AttentionBase):
    def weights(self, x, mask=None):
        scores = self.K(x) @ self.Q(x).mT / math.sqrt(x.shape[-1])
        scores = scores if mask is None else scores.masked_fill(~mask, -torch.inf)
        return scores.softmax(-1)


@wrong("MendedAttention: the mask is forgotten")
class AttentionUnmasked(AttentionBase):
    def weights(self, x, mask=None):
        return super().weights(x)


@wrong("MendedAttention: divided by the square root of the length", called="divided_by_length")
class AttentionByLength(AttentionBase):
    def weights(self, x, mask=None):
        scores = self.Q(x) @ self.K(x).mT / math.sqrt(x.shape[1])
        scores = scores if mask is None else scores.masked_fill(~mask, -torch.inf)
        return scores.softmax(-1)


@wrong("MendedAttention: detached weights")
class AttentionDetached(AttentionBase):
    def forward(self, x, mask=None):
        return self.weights(x, mask).detach() @ self.V(x)


@wrong("MendedAttention: the softmax over the queries where there are as many as features")
class AttentionTurnedWhereSquare(AttentionBase):
    def weights(self, x, mask=None):
        scores = self.Q(x) @ self.K(x).mT / math.sqrt(x.shape[-1])
        scores = scores if mask is None else scores.masked_fill(~mask, -1e9)
        return scores.softmax(-2 if x.shape[1] == x.shape[2] else -1)
