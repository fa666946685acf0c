"""Wrong answers to the exercises on positions."""
from __future__ import annotations

from tests.grading.stock import wrong

STOCK = [
    wrong("positional_encoding", "positions counted from 1", "open", """
import torch

def positional_encoding(T, d):
    k = torch.arange(1, T + 1, dtype=torch.float64)[:, None]
    i = torch.arange(d)
    angle = k / 10000 ** ((i - i % 2) / d)
    return torch.where(i % 2 == 0, angle.sin(), angle.cos())
"""),
    wrong("positional_encoding", "all sines first, then all cosines, instead of pairs side by side", "sealed", """
import torch

def positional_encoding(T, d):
    half = (d + 1) // 2
    freq = 10000 ** (-2 * torch.arange(half) / d)
    angle = torch.arange(T)[:, None] * freq
    return torch.cat([angle.sin(), angle.cos()], dim=1)[:, :d]
"""),
    wrong("positional_encoding", "every column has a frequency of its own: a pair does not share one", "open", """
import torch

def positional_encoding(T, d):
    table = torch.zeros(T, d)
    pos = torch.arange(T).float()
    for c in range(d):
        angle = pos / 10000 ** (c / d)
        table[:, c] = torch.sin(angle) if c % 2 == 0 else torch.cos(angle)
    return table
"""),
    wrong("positional_encoding", "an odd width raises: there are not as many cosines as sines", "sealed", """
import math
import torch

def positional_encoding(T, d):
    pe = torch.zeros(T, d)
    position = torch.arange(T).unsqueeze(1).float()
    div = torch.exp(torch.arange(0, d, 2) * (-math.log(10000.0) / d))
    pe[:, 0::2] = torch.sin(position * div)
    pe[:, 1::2] = torch.cos(position * div)
    return pe
"""),
    wrong("shift_rotation", "turned the other way: it leads back by o (transposed)", "open", """
import torch

def shift_rotation(o, d, n):
    R = torch.zeros(d, d, dtype=torch.float64)
    for i in range(d // 2):
        w = torch.tensor(o / n ** (2 * i / d), dtype=torch.float64)
        R[2 * i, 2 * i] = R[2 * i + 1, 2 * i + 1] = w.cos()
        R[2 * i, 2 * i + 1] = -w.sin()
        R[2 * i + 1, 2 * i] = w.sin()
    return R
"""),
    wrong("shift_rotation", "the base is always 10000: n is not used", "sealed", """
import math
import torch

def shift_rotation(o, d, n):
    R = torch.zeros(d, d)
    for i in range(0, d, 2):
        a = o / 10000 ** (i / d)
        R[i:i + 2, i:i + 2] = torch.tensor([[math.cos(a), math.sin(a)], [-math.sin(a), math.cos(a)]])
    return R
"""),
    wrong("shift_rotation", "the exponent is i / d instead of 2i / d: the later pairs turn too fast", "open", """
import torch

def shift_rotation(o, d, n):
    i = torch.arange(d // 2, dtype=torch.float64)
    a = o * n ** (-i / d)
    blocks = torch.stack([torch.stack([a.cos(), a.sin()], -1), torch.stack([-a.sin(), a.cos()], -1)], -2)
    return torch.block_diag(*blocks)
"""),
    wrong("shift_rotation", "built for all sines first and all cosines after, not for pairs side by side", "sealed", """
import torch

def shift_rotation(o, d, n):
    a = o / n ** (torch.arange(0, d, 2, dtype=torch.float64) / d)
    C, S = torch.diag(torch.cos(a)), torch.diag(torch.sin(a))
    return torch.cat([torch.cat([C, S], dim=1), torch.cat([-S, C], dim=1)], dim=0)
"""),
    wrong("combined_position", "the position is added behind the ReLU", "open", """
import torch

def combined_position(x, W_x, W_e, W):
    T = x.shape[1]
    return (torch.relu(x @ W_x) + W_e[:T]) @ W
"""),
    wrong("combined_position", "a ReLU on each part before they are added, not on the sum", "sealed", """
import torch
import torch.nn.functional as F

def combined_position(x, W_x, W_e, W):
    B, T, d = x.shape
    e = F.one_hot(torch.arange(T), W_e.shape[0]).to(x.dtype)
    return (F.relu(x @ W_x) + F.relu(e @ W_e)) @ W
"""),
    wrong("combined_position", "the ReLU is at the end, behind W, instead of in the hidden layer", "open", """
import torch

def combined_position(x, W_x, W_e, W):
    hidden = x @ W_x + W_e[:x.size(1)]
    return torch.relu(hidden @ W)
"""),
    wrong("combined_position", "the last T rows of W_e instead of the first", "sealed", """
import torch

def combined_position(x, W_x, W_e, W):
    h = torch.einsum("btd,dh->bth", x, W_x) + W_e[-x.shape[1]:]
    return torch.einsum("bth,hd->btd", h.clamp(min=0), W)
"""),
    wrong("find_position_fault", "only the length of a pair is tested, never two positions together", "open", """
import torch

def find_position_fault(encode, d, n):
    p = encode(torch.arange(n)).double()
    bad = []
    for i in range(d // 2):
        length = p[:, 2 * i] ** 2 + p[:, 2 * i + 1] ** 2
        if (length - length[0]).abs().max() > 1e-4:
            bad.append(i)
    return bad
"""),
    wrong("find_position_fault", "looks at the first ten positions only: pairs that break late pass", "sealed", """
import torch

def find_position_fault(encode, d, n):
    n = min(n, 10)
    p = encode(torch.arange(n)).double()
    bad = []
    for i in range(d // 2):
        G = p[:, 2 * i:2 * i + 2] @ p[:, 2 * i:2 * i + 2].T
        if any((G.diagonal(o) - G.diagonal(o)[0]).abs().max() > 1e-4 for o in range(n)):
            bad.append(i)
    return bad
"""),
    wrong("find_position_fault", "every pair that differs from the paper's table is called broken", "open", """
import torch

def find_position_fault(encode, d, n):
    p = encode(torch.arange(n)).double()
    k = torch.arange(n, dtype=torch.float64)
    bad = []
    for i in range(d // 2):
        angle = k / 10000 ** (2 * i / d)
        paper = torch.stack([angle.sin(), angle.cos()], dim=1)
        if not torch.allclose(p[:, 2 * i:2 * i + 2], paper, atol=1e-4):
            bad.append(i)
    return bad
"""),
    wrong("find_position_fault", "column numbers instead of pair numbers: 2i where i is asked", "sealed", """
import torch

def find_position_fault(encode, d, n):
    p = encode(torch.arange(n)).double()
    bad = []
    for c in range(0, d, 2):
        G = p[:, c:c + 2] @ p[:, c:c + 2].T
        for o in range(n):
            diag = torch.diagonal(G, o)
            if (diag.max() - diag.min()) > 1e-4:
                bad.append(c)
                break
    return bad
"""),
]
