"""Answers to the exercises of chapter 04."""
from __future__ import annotations

import itertools

import torch
import torch.nn.functional as F

from tests.grading.answers.register import right, wrong


@right("nade_loglik: every hidden layer from nothing, in one product")
def _(x, W, V, b, c):
    earlier = torch.tril(torch.ones(len(x), len(x)), diagonal=-1)
    h = torch.sigmoid(c + (earlier * x) @ W.T)                                 # (D, H)
    return -F.binary_cross_entropy_with_logits((V * h).sum(1) + b, x, reduction="sum")


@right("nade_loglik: the library's model")
def _(x, W, V, b, c):
    from torch.func import functional_call

    from course_lib.density import NADE

    class Likelihood(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.model = NADE(len(x), len(c))

        def forward(self, x):
            return self.model.log_prob(x)[0]

    parameters = {"model.W": W.T[:, None], "model.V": V[:, None], "model.b": b, "model.c": c}
    return functional_call(Likelihood(), parameters, (x[None],))


@wrong("nade_loglik: tanh in the hidden layer")
def _(x, W, V, b, c):
    a, total = c, 0.0
    for i in range(len(x)):
        z = b[i] + V[i] @ torch.tanh(a)
        total = total + F.logsigmoid(z if x[i] == 1 else -z)
        a = a + W[:, i] * x[i]
    return total


@wrong("nade_loglik: a zero subtracts its column")
def _(x, W, V, b, c):
    a, total = c, 0.0
    for i in range(len(x)):
        z = b[i] + V[i] @ torch.sigmoid(a)
        total = total + F.logsigmoid(z if x[i] == 1 else -z)
        a = a + W[:, i] * (2 * x[i] - 1)
    return total


@wrong("nade_loglik: the last variable left out")
def _(x, W, V, b, c):
    a, total = c, torch.zeros(())
    for i in range(len(x) - 1):
        z = b[i] + V[i] @ torch.sigmoid(a)
        total = total + F.logsigmoid(z if x[i] == 1 else -z)
        a = a + W[:, i] * x[i]
    return total


@wrong("nade_loglik: no gradient to the running sum")
def _(x, W, V, b, c):
    a, total = c, 0.0
    for i in range(len(x)):
        z = b[i] + V[i] @ torch.sigmoid(a)
        total = total + F.logsigmoid(z if x[i] == 1 else -z)
        a = a + W[:, i].detach() * x[i]
    return total


@right("nade_sample: a full pass for each variable")
def _(u, W, V, b, c):
    x = torch.zeros_like(u)
    for i in range(u.shape[1]):
        h = torch.sigmoid(c + x[:, :i] @ W[:, :i].T)
        x[:, i] = (u[:, i] < torch.sigmoid(h @ V[i] + b[i])).float()
    return x


@right("nade_sample: row by row")
def _(u, W, V, b, c):
    rows = []
    for numbers in u:
        a, row = c.clone(), []
        for i, number in enumerate(numbers):
            row.append(float(number < torch.sigmoid(b[i] + V[i] @ torch.sigmoid(a))))
            a += W[:, i] * row[-1]
        rows.append(row)
    return torch.tensor(rows)


@wrong("nade_sample: randomness of its own")
def _(u, W, V, b, c):
    x, a = torch.zeros_like(u), c.repeat(len(u), 1)
    for i in range(u.shape[1]):
        x[:, i] = torch.bernoulli(torch.sigmoid(torch.sigmoid(a) @ V[i] + b[i]))
        a = a + x[:, i, None] * W[:, i]
    return x


@wrong("nade_sample: drawn from the last variable to the first")
def _(u, W, V, b, c):
    x, a = torch.zeros_like(u), c.repeat(len(u), 1)
    for i in reversed(range(u.shape[1])):
        x[:, i] = (u[:, i] < torch.sigmoid(torch.sigmoid(a) @ V[i] + b[i])).float()
        a = a + x[:, i, None] * W[:, i]
    return x


@wrong("nade_sample: booleans")
def _(u, W, V, b, c):
    x, a = torch.zeros_like(u), c.repeat(len(u), 1)
    for i in range(u.shape[1]):
        x[:, i] = (u[:, i] < torch.sigmoid(torch.sigmoid(a) @ V[i] + b[i])).float()
        a = a + x[:, i, None] * W[:, i]
    return x.bool()


@right("find_impostors: state by state, in double precision")
def _(log_probs, n):
    found = []
    for k, log_prob in enumerate(log_probs):
        total = sum(log_prob(torch.tensor([state]))[0].double().exp() for state in itertools.product((0.0, 1.0), repeat=n))
        if abs(total - 1) > 1e-3:
            found.append(k)
    return found


@right("find_impostors: logsumexp")
def _(log_probs, n):
    states = torch.cartesian_prod(*[torch.tensor([0.0, 1.0])] * n)
    return [k for k, f in enumerate(log_probs) if f(states).logsumexp(0).abs() > 1e-3]


@wrong("find_impostors: the last one left out")
def _(log_probs, n):
    states = torch.cartesian_prod(*[torch.tensor([0.0, 1.0])] * n)
    return [k for k, f in enumerate(log_probs) if f(states).logsumexp(0).abs() > 1e-3][:-1]


@wrong("find_impostors: by how far they are off")
def _(log_probs, n):
    states = torch.cartesian_prod(*[torch.tensor([0.0, 1.0])] * n)
    off = [f(states).logsumexp(0).abs().item() for f in log_probs]
    return sorted((k for k in range(len(off)) if off[k] > 1e-3), key=lambda k: off[k])


@wrong("find_impostors: the first only")
def _(log_probs, n):
    states = torch.cartesian_prod(*[torch.tensor([0.0, 1.0])] * n)
    return [k for k, f in enumerate(log_probs) if f(states).logsumexp(0).abs() > 1e-3][:1]
