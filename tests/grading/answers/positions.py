"""Answers to the exercises of chapter 14."""
from __future__ import annotations

import math

import torch
import torch.nn.functional as F

from tests.grading.answers.register import right, wrong


@right("positional_encoding: entry by entry")
def _(T, d):
    rows = []
    for k in range(T):
        angles = [k / 10000 ** (2 * (j // 2) / d) for j in range(d)]
        rows.append([math.cos(a) if j % 2 else math.sin(a) for j, a in enumerate(angles)])
    return torch.tensor(rows)


@right("positional_encoding: cosine as a shifted sine, by exp and log")
def _(T, d):
    columns = torch.arange(d)
    speed = torch.exp(-math.log(10000.0) * (columns - columns % 2) / d)
    return torch.sin(torch.arange(T)[:, None] * speed + (columns % 2) * math.pi / 2)


@right("positional_encoding: the library's table")
def _(T, d):
    from course_lib.transformer import sinusoidal

    return sinusoidal(T, d)


@wrong("positional_encoding: exponent over d - 1")
def _(T, d):
    columns = torch.arange(d)
    speed = 10000.0 ** (-(columns - columns % 2) / max(d - 1, 1))
    return torch.sin(torch.arange(T)[:, None] * speed + (columns % 2) * math.pi / 2)


@wrong("positional_encoding: positions over T")
def _(T, d):
    columns = torch.arange(d)
    speed = 10000.0 ** (-(columns - columns % 2) / d)
    return torch.sin(torch.arange(T)[:, None] / T * speed + (columns % 2) * math.pi / 2)


@wrong("positional_encoding: cosines negated")
def _(T, d):
    columns = torch.arange(d)
    speed = 10000.0 ** (-(columns - columns % 2) / d)
    return torch.sin(torch.arange(T)[:, None] * speed - (columns % 2) * math.pi / 2)


@right("shift_rotation: block by block")
def _(o, d, n):
    R = torch.zeros(d, d)
    for i in range(d // 2):
        a = o * n ** (-2 * i / d)
        R[2 * i:2 * i + 2, 2 * i:2 * i + 2] = torch.tensor([[math.cos(a), math.sin(a)], [-math.sin(a), math.cos(a)]])
    return R


@right("shift_rotation: the matrix exponential of the speeds")
def _(o, d, n):
    generator = torch.zeros(d, d, dtype=torch.float64)
    for i in range(d // 2):
        generator[2 * i, 2 * i + 1], generator[2 * i + 1, 2 * i] = n ** (-2 * i / d), -n ** (-2 * i / d)
    return torch.linalg.matrix_exp(o * generator)


@wrong("shift_rotation: the outer product of two positions")
def _(o, d, n):
    from course_lib.transformer import sinusoidal

    p = sinusoidal(torch.tensor([3, 3 + o]), d, n)
    return torch.outer(p[1], p[0]) / p[0].dot(p[0])


@wrong("shift_rotation: the angle in degrees")
def _(o, d, n):
    a = [math.radians(o * n ** (-2 * i / d)) for i in range(d // 2)]
    return torch.block_diag(*(torch.tensor([[math.cos(b), math.sin(b)], [-math.sin(b), math.cos(b)]]) for b in a))


@wrong("shift_rotation: the identity")
def _(o, d, n):
    return torch.eye(d)


@right("combined_position: one-hot vectors, word by word")
def _(x, W_x, W_e, W):
    e = torch.eye(len(W_e), dtype=x.dtype)
    rows = [[W.T @ F.relu(W_x.T @ word + W_e.T @ e[k]) for k, word in enumerate(sentence)] for sentence in x]
    return torch.stack([torch.stack(row) for row in rows])


@right("combined_position: side by side into one matrix")
def _(x, W_x, W_e, W):
    e = F.one_hot(torch.arange(x.shape[1]), len(W_e)).to(x.dtype).expand(len(x), -1, -1)
    return (torch.cat([x, e], dim=-1) @ torch.cat([W_x, W_e])).relu() @ W


@wrong("combined_position: gelu")
def _(x, W_x, W_e, W):
    return F.gelu(x @ W_x + W_e[:x.shape[1]]) @ W


@wrong("combined_position: the position detached")
def _(x, W_x, W_e, W):
    return (x @ W_x + W_e[:x.shape[1]].detach()).relu() @ W


@wrong("combined_position: one-hot of the batch row")
def _(x, W_x, W_e, W):
    return (x @ W_x + W_e[torch.arange(len(x)) % len(W_e)][:, None]).relu() @ W


@right("find_position_fault: a list for each offset")
def _(encode, d, n):
    table, found = encode(torch.arange(n)), []
    for i in range(d // 2):
        p = table[:, 2 * i:2 * i + 2]
        spread = max(float((p[:n - o] * p[o:]).sum(1).max() - (p[:n - o] * p[o:]).sum(1).min()) for o in range(n - 1))
        if spread > 1e-6:
            found.append(i)
    return found


@right("find_position_fault: the best matrix for one step, fitted")
def _(encode, d, n):
    table, found = encode(torch.arange(n)).double(), []
    for i in range(d // 2):
        p = table[:, 2 * i:2 * i + 2]
        steps = torch.linalg.lstsq(p[:-1], p[1:]).solution
        turns = (steps @ steps.T - torch.eye(2, dtype=torch.float64)).abs().max() < 1e-6
        if not turns or (p[:-1] @ steps - p[1:]).abs().max() > 1e-6:
            found.append(i)
    return found


@wrong("find_position_fault: sees nothing")
def _(encode, d, n):
    return []


@wrong("find_position_fault: the first broken pair alone")
def _(encode, d, n):
    p = encode(torch.arange(n)).unflatten(1, (-1, 2))
    products = torch.einsum("kic,jic->ikj", p, p)
    broken = ((products[:, 1:, 1:] - products[:, :-1, :-1]).abs().flatten(1).amax(1) > 1e-4).nonzero().flatten()
    return broken.tolist()[:1]


@wrong("find_position_fault: every second pair")
def _(encode, d, n):
    return list(range(0, d // 2, 2))
