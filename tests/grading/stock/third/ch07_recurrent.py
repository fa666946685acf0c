"""Wrong answers to the exercises on recurrent networks."""
from __future__ import annotations

from tests.grading.stock import wrong

STOCK = [
    wrong("rnn_forward",
          "keeps the state before each step: h_0 to h_(T-1), not h_1 to h_T",
          "third", """
import torch

def rnn_forward(x, h0, Wx, Wh, b):
    states, h = [], h0
    for t in range(x.shape[1]):
        states.append(h)
        h = torch.tanh(x[:, t] @ Wx.T + h @ Wh.T + b)
    return torch.stack(states, dim=1)
"""),
    wrong("rnn_forward",
          "multiplies the state by Wh from the wrong side: Wh transposed",
          "third", """
import torch

def rnn_forward(x, h0, Wx, Wh, b):
    drive = torch.einsum("bti,hi->bth", x, Wx) + b
    h, out = h0, []
    for step in drive.unbind(1):
        h = (step + h @ Wh).tanh()
        out.append(h)
    return torch.stack(out, 1)
"""),
    wrong("lstm_step",
          "h' takes the tanh of the old cell c, not of the new one",
          "third", """
import torch

def lstm_step(x, h, c, W, U, b):
    i, f, g, o = (x @ W.T + h @ U.T + b).chunk(4, dim=-1)
    new = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
    return torch.stack([torch.sigmoid(o) * torch.tanh(c), new])
"""),
    wrong("lstm_step",
          "the blocks are read in the order i, f, o, g: candidate and output gate are exchanged",
          "third", """
import torch
import torch.nn.functional as F

def lstm_step(x, h, c, W, U, b):
    H = h.shape[1]
    a = F.linear(x, W, b) + F.linear(h, U)
    i, f, o = (a[:, k * H:(k + 1) * H].sigmoid() for k in range(3))
    g = a[:, 3 * H:].tanh()
    c = f * c + i * g
    return torch.stack([o * c.tanh(), c])
"""),
    wrong("through_time",
          "the slope of tanh is taken at h_t, not at h_(t+1)",
          "third", """
import torch

def through_time(h, Wh, g):
    delta = g.clone()
    for t in range(len(h) - 2, -1, -1):
        delta[t] += Wh.T @ ((1 - h[t] ** 2) * delta[t + 1])
    return delta
"""),
    wrong("through_time",
          "hands on g_(t+1) alone, not the whole delta_(t+1): only one step back",
          "third", """
import torch

def through_time(h, Wh, g):
    back = (g[1:] * (1 - h[1:] ** 2)) @ Wh
    return g + torch.cat([back, torch.zeros_like(g[:1])])
"""),
    wrong("find_forgetful",
          "looks at c' itself, which reacts by i and g too, and does not single out the part of c",
          "third", """
import torch

def find_forgetful(cells, n, H):
    torch.manual_seed(0)
    x, x2 = torch.randn(2, 200, n)
    h, h2 = torch.randn(2, 200, H)
    c = torch.ones(200, H)
    broken = []
    for k, cell in enumerate(cells):
        base = cell(x, h, c)[1]
        by_x = (cell(x2, h, c)[1] - base).abs().max()
        by_h = (cell(x, h2, c)[1] - base).abs().max()
        if by_x < 0.005 or by_h < 0.005:
            broken.append(k)
    return broken
"""),
    wrong("find_forgetful",
          "changes x and h together, so that a gate blind to one of them passes",
          "third", """
import torch

def find_forgetful(cells, n, H):
    g = torch.Generator().manual_seed(1)

    def gate(cell, x, h):
        one, zero = torch.ones(len(x), H), torch.zeros(len(x), H)
        return cell(x, h, one)[1] - cell(x, h, zero)[1]

    xs = torch.randn(2, 300, n, generator=g)
    hs = torch.randn(2, 300, H, generator=g)
    moved = [(gate(cell, xs[0], hs[0]) - gate(cell, xs[1], hs[1])).abs().max().item()
             for cell in cells]
    return [k for k, size in enumerate(moved) if size < 0.005]
"""),
]
