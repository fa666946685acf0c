"""Wrong answers to the exercises of chapter positions, written without knowing its checks."""
from __future__ import annotations

import math

import torch
import torch.nn.functional as F

from tests.exercises.answers.register import blind


@blind("positional_encoding: a cosine takes its own column 2i + 1 into the exponent, not the 2i of its pair")
def _(T, d):
    k = torch.arange(T, dtype=torch.float64)[:, None]
    column = torch.arange(d, dtype=torch.float64)
    angle = k / 10000 ** (column / d)
    return torch.where(column.long() % 2 == 0, angle.sin(), angle.cos()).float()


@blind("positional_encoding: all sines come first and the cosines after them: the columns are not in pairs")
def _(T, d):
    power = torch.arange(0, d, 2).double() / d
    angle = torch.outer(torch.arange(T).double(), 10000.0 ** -power)
    return torch.cat([angle.sin(), angle.cos()[:, :d // 2]], dim=1).float()


@blind("shift_rotation: turns the wrong way: it leads from p(k) to p(k - o)")
def _(o, d, n):
    R = torch.zeros(d, d)
    for i in range(0, d, 2):
        angle = o / n ** (i / d)
        s, c = math.sin(angle), math.cos(angle)
        R[i:i + 2, i:i + 2] = torch.tensor([[c, -s], [s, c]])
    return R


@blind("shift_rotation: keeps the base 10000 and does not use n")
def _(o, d, n):
    angle = o * 10000.0 ** (-torch.arange(0, d, 2, dtype=torch.float64) / d)
    blocks = [torch.stack([torch.stack([a.cos(), a.sin()]), torch.stack([-a.sin(), a.cos()])])
              for a in angle]
    return torch.block_diag(*blocks).float()


@blind("combined_position: takes the ReLU of word and position apart and adds the two, not of their sum")
def _(x, W_x, W_e, W):
    word = torch.relu(x @ W_x)
    place = torch.relu(W_e[:x.shape[1]])
    return (word + place) @ W


@blind("combined_position: the ReLU comes after W, not before it")
def _(x, W_x, W_e, W):
    T = x.shape[1]
    e = F.one_hot(torch.arange(T), W_e.shape[0]).to(x.dtype)
    return F.relu((x @ W_x + e @ W_e) @ W)


@blind("find_position_fault: looks at the first ten positions only: a pair that breaks late is missed")
def _(encode, d, n):
    few = min(n, 10)
    table = encode(torch.arange(few)).double()
    broken = []
    for pair in range(d // 2):
        p = table[:, 2 * pair:2 * pair + 2]
        gram = p @ p.T
        spread = [float(line.max() - line.min())
                  for line in (gram.diagonal(o) for o in range(few))]
        if max(spread) > 1e-4:
            broken.append(pair)
    return broken


@blind("find_position_fault: compares the lengths only, the offset 0: pairs that turn unevenly pass")
def _(encode, d, n):
    pairs = encode(torch.arange(n)).double().reshape(n, -1, 2)
    lengths = (pairs ** 2).sum(-1)
    spread = lengths.amax(0) - lengths.amin(0)
    return (spread > 1e-4).nonzero().flatten().tolist()
