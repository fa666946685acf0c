"""Answers to the exercises of chapter 03."""
from __future__ import annotations

import itertools

import torch
import torch.nn.functional as F

from tests.grading.answers.register import right, wrong


@right("fvsbn_conditionals: loop, einsum, float64 inside")
def _(x, W, c):
    columns = [torch.sigmoid(c[i] + x[:, :i] @ W[i, :i]) for i in range(len(c))]
    return torch.stack(columns, dim=1)


@right("fvsbn_conditionals: the library's model")
def _(x, W, c):
    from torch.func import functional_call

    from course_lib.density import FVSBN

    class Probabilities(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.model = FVSBN(len(c))

        def forward(self, x):
            return self.model.conditionals(x).probs

    return functional_call(Probabilities(), {"model.weight": W, "model.bias": c}, (x,))


@wrong("fvsbn_conditionals: tanh")
def _(x, W, c):
    return torch.tanh(x @ W.tril(-1).T + c)


@wrong("fvsbn_conditionals: two diagonals cut")
def _(x, W, c):
    return torch.sigmoid(x @ W.tril(-2).T + c)


@wrong("fvsbn_conditionals: rounded")
def _(x, W, c):
    return torch.sigmoid(x @ W.tril(-1).T + c).round()


@wrong("fvsbn_conditionals: gradient to the bias alone")
def _(x, W, c):
    return torch.sigmoid(x @ W.detach().tril(-1).T + c)


@right("fvsbn_sample: a full pass for each variable")
def _(u, W, c):
    x = torch.zeros_like(u)
    for i in range(len(c)):
        x[:, i] = (u < torch.sigmoid(x @ W.tril(-1).T + c))[:, i].float()
    return x


@wrong("fvsbn_sample: randomness of its own")
def _(u, W, c):
    x = torch.zeros_like(u)
    for i in range(len(c)):
        x[:, i] = torch.bernoulli(torch.sigmoid(x @ W.tril(-1).T + c))[:, i]
    return x


@wrong("fvsbn_sample: booleans")
def _(u, W, c):
    x = torch.zeros_like(u)
    for i in range(len(c)):
        x[:, i] = (u[:, i] < torch.sigmoid(x @ W.tril(-1).T + c)[:, i]).float()
    return x.bool()


@right("find_leaks: state by state")
def _(conditionals, n):
    leaks = set()
    for state in itertools.product((0.0, 1.0), repeat=n):
        x = torch.tensor([state])
        for j in range(n):
            y = x.clone()
            y[0, j] = 1 - y[0, j]
            moved = (conditionals(x) != conditionals(y))[0]
            leaks |= {(i, j) for i in range(j + 1) if moved[i] and abs(conditionals(x) - conditionals(y))[0, i] > 1e-7}
    return sorted(leaks)


@wrong("find_leaks: sees nothing")
def _(conditionals, n):
    return []


@wrong("find_leaks: reports everything")
def _(conditionals, n):
    return [(i, j) for i in range(n) for j in range(i, n)]


@right("train_fvsbn: Newton's method, one variable after another")
def _(train):
    D = train.shape[1]
    W, c = torch.zeros(D, D), torch.zeros(D)
    for i in range(D):
        X, y, w = torch.cat([train[:, :i], torch.ones(len(train), 1)], 1), train[:, i], torch.zeros(i + 1)
        for _ in range(12):
            p = torch.sigmoid(X @ w)
            H = X.T @ (X * (p * (1 - p))[:, None]) + 1e-2 * torch.eye(i + 1)
            w = w + torch.linalg.solve(H, X.T @ (y - p) - 1e-2 * w)
        W[i, :i], c[i] = w[:-1], w[-1]
    return W, c


@wrong("train_fvsbn: stopped after five small steps")
def _(train):
    D = train.shape[1]
    W, c = torch.zeros(D, D, requires_grad=True), torch.zeros(D, requires_grad=True)
    optimizer = torch.optim.SGD([W, c], lr=0.1)
    for _ in range(5):
        loss = F.binary_cross_entropy_with_logits(F.linear(train, W.tril(-1), c), train)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return W.detach(), c.detach()


@wrong("train_fvsbn: noise")
def _(train):
    D = train.shape[1]
    return torch.randn(D, D, generator=torch.Generator().manual_seed(3)), torch.zeros(D)


@wrong("train_fvsbn: not a number")
def _(train):
    D = train.shape[1]
    return torch.full((D, D), float("nan")), torch.zeros(D)
