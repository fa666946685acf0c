"""Wrong answers to the exercises on recurrent networks."""
from __future__ import annotations

from tests.grading.stock import wrong

STOCK = [
    wrong("rnn_forward", "h @ Wh for Wh h: the recurrent matrix is used transposed", "second", """
import torch

def rnn_forward(x, h0, Wx, Wh, b):
    h, states = h0, []
    for t in range(x.shape[1]):
        h = torch.tanh(x[:, t] @ Wx.T + h @ Wh + b)
        states.append(h)
    return torch.stack(states, dim=1)
"""),
    wrong("rnn_forward", "each state is stored before the step: h_0 to h_(T-1) come back, h_T is missing", "second", """
import torch

def rnn_forward(x, h0, Wx, Wh, b):
    B, T, _ = x.shape
    states = []
    h = h0
    for t in range(T):
        states.append(h)
        h = torch.tanh(x[:, t] @ Wx.T + h @ Wh.T + b)
    return torch.stack(states, dim=1)
"""),
    wrong("rnn_forward", "the bracket of tanh closes too early: W_h h_(t-1) is added outside of it", "second", """
import torch
import torch.nn.functional as F

def rnn_forward(x, h0, Wx, Wh, b):
    read = F.linear(x, Wx, b)                       # (B, T, H)
    h, out = h0, []
    for a in read.unbind(dim=1):
        h = torch.tanh(a) + F.linear(h, Wh)
        out.append(h)
    return torch.stack(out, dim=1)
"""),
    wrong("lstm_step", "h' is o times tanh of the old c, not of the new one", "second", """
import torch

def lstm_step(x, h, c, W, U, b):
    i, f, g, o = (x @ W.T + h @ U.T + b).chunk(4, dim=1)
    i, f, g, o = torch.sigmoid(i), torch.sigmoid(f), torch.tanh(g), torch.sigmoid(o)
    c_new = f * c + i * g
    h_new = o * torch.tanh(c)
    return torch.stack([h_new, c_new])
"""),
    wrong("lstm_step", "1 is added to the forget gate's argument at every step (the start value of its bias, taken for part of the formula)", "second", """
import torch

def lstm_step(x, h, c, W, U, b):
    H = h.shape[1]
    a = x @ W.T + h @ U.T + b
    i = torch.sigmoid(a[:, :H])
    f = torch.sigmoid(a[:, H:2 * H] + 1.0)     # remember at first
    g = torch.tanh(a[:, 2 * H:3 * H])
    o = torch.sigmoid(a[:, 3 * H:])
    c = f * c + i * g
    return torch.stack([o * torch.tanh(c), c])
"""),
    wrong("lstm_step", "the rows are taken as i, f, g, o of the first unit, then of the second, and so on, instead of four blocks of H rows", "second", """
import torch

def lstm_step(x, h, c, W, U, b):
    B, H = h.shape
    a = (x @ W.T + h @ U.T + b).view(B, H, 4)
    i, f, g, o = a.unbind(dim=-1)
    c_next = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
    h_next = torch.sigmoid(o) * torch.tanh(c_next)
    return torch.stack([h_next, c_next])
"""),
    wrong("through_time", "the slope of tanh is taken at h_t instead of at h_(t+1)", "second", """
import torch

def through_time(h, Wh, g):
    delta = g.clone()
    for t in range(len(h) - 2, -1, -1):
        delta[t] = g[t] + Wh.T @ ((1 - h[t] ** 2) * delta[t + 1])
    return delta
"""),
    wrong("through_time", "the two factors of the Jacobian are in the wrong order: first Wh transposed, then the slope of tanh", "second", """
import torch

def through_time(h, Wh, g):
    T = h.shape[0]
    deltas = [g[-1]]
    for t in reversed(range(T - 1)):
        slope = 1 - h[t + 1] ** 2
        deltas.append(g[t] + slope * (deltas[-1] @ Wh))
    return torch.stack(deltas[::-1])
"""),
    wrong("through_time", "only one step back: what comes from t+1 is g of t+1 and not the whole delta of t+1", "second", """
import torch

def through_time(h, Wh, g):
    delta = g.clone()
    for t in range(len(h) - 1):
        jacobian = torch.diag(1 - h[t + 1] ** 2) @ Wh
        delta[t] += jacobian.T @ g[t + 1]
    return delta
"""),
    wrong("find_forgetful", "x and h are changed together: a gate that is blind to only one of the two passes as sound", "second", """
import torch

def find_forgetful(cells, n, H):
    generator = torch.Generator().manual_seed(0)
    x1, x2 = torch.randn(2, 50, n, generator=generator)
    h1, h2 = torch.randn(2, 50, H, generator=generator)
    zero, one = torch.zeros(50, H), torch.ones(50, H)
    broken = []
    for number, cell in enumerate(cells):
        f1 = cell(x1, h1, one)[1] - cell(x1, h1, zero)[1]
        f2 = cell(x2, h2, one)[1] - cell(x2, h2, zero)[1]
        if (f1 - f2).abs().max() < 1e-3:
            broken.append(number)
    return broken
"""),
    wrong("find_forgetful", "looks at the first of the pair, h', for the gate: the output gate reacts there too, so no cell looks blind", "second", """
import torch

def find_forgetful(cells, n, H):
    torch.manual_seed(0)
    B = 40
    x, other_x = torch.randn(B, n), torch.randn(B, n)
    h, other_h = torch.randn(B, H), torch.randn(B, H)

    def gate(cell, x, h):
        after_one, _ = cell(x, h, torch.ones(B, H))
        after_zero, _ = cell(x, h, torch.zeros(B, H))
        return after_one - after_zero

    def reacts(a, b):
        return bool((a - b).abs().max() > 1e-4)

    result = []
    for k, cell in enumerate(cells):
        f = gate(cell, x, h)
        if not (reacts(f, gate(cell, other_x, h)) and reacts(f, gate(cell, x, other_h))):
            result.append(k)
    return result
"""),
    wrong("find_forgetful", "a gate counts as reacting only if it moves by 0.2 or more: sound ones that are nearly open or nearly shut are called broken", "second", """
import torch

def find_forgetful(cells, n, H):
    g = torch.Generator().manual_seed(3)
    x = torch.randn(32, n, generator=g)
    h = torch.randn(32, H, generator=g)
    ones, zeros = torch.ones(32, H), torch.zeros(32, H)
    forgetful = []
    for number, cell in enumerate(cells):
        def f(x, h):
            return cell(x, h, ones)[1] - cell(x, h, zeros)[1]
        moved_by_x = (f(x, h) - f(x.flip(0), h)).abs().max().item()
        moved_by_h = (f(x, h) - f(x, h.flip(0))).abs().max().item()
        if min(moved_by_x, moved_by_h) < 0.2:
            forgetful.append(number)
    return forgetful
"""),
    wrong("train_hello", "the first letter is left out of the loss: o_0 = Why h0 is never trained to predict it", "second", """
import torch
import torch.nn.functional as F

def train_hello(word):
    torch.manual_seed(0)
    H = 32
    Wxh = (0.3 * torch.randn(H, 4)).requires_grad_()
    Whh = (torch.randn(H, H) / H ** 0.5).requires_grad_()
    Why = (0.3 * torch.randn(4, H)).requires_grad_()
    h0 = (0.3 * torch.randn(H)).requires_grad_()
    parameters = [Wxh, Whh, Why, h0]
    optimizer = torch.optim.Adam(parameters, lr=0.01)
    for step in range(400):
        h, loss = h0, 0.0
        for now, following in zip(word[:-1], word[1:]):
            h = torch.tanh(Whh @ h + Wxh[:, now])
            loss = loss + F.cross_entropy(Why @ h, following)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return tuple(p.detach() for p in parameters)
"""),
    wrong("train_hello", "training stops when the mean probability of a letter is above 0.9, not the product of all", "second", """
import torch

def train_hello(word):
    torch.manual_seed(0)
    H, T = 24, len(word)
    Wxh = torch.nn.Parameter(torch.randn(H, 4) * 0.2)
    Whh = torch.nn.Parameter(torch.randn(H, H) * 0.2)
    Why = torch.nn.Parameter(torch.randn(4, H) * 0.2)
    h0 = torch.nn.Parameter(torch.randn(H) * 0.2)
    optimizer = torch.optim.Adam([Wxh, Whh, Why, h0], lr=0.01)
    while True:
        h, logp = h0, []
        for t in range(T):
            logp.append((Why @ h).log_softmax(0)[word[t]])
            h = torch.tanh(Whh @ h + Wxh[:, word[t]])
        logp = torch.stack(logp)
        if logp.exp().mean() > 0.9:
            break
        optimizer.zero_grad()
        (-logp.mean()).backward()
        optimizer.step()
    return Wxh.detach(), Whh.detach(), Why.detach(), h0.detach()
"""),
    wrong("train_hello", "trained with rows, h @ Whh, and Whh returned as it is: the formula's matrix would be its transpose", "second", """
import torch
import torch.nn.functional as F

def train_hello(word):
    torch.manual_seed(2)
    H = 40
    x = F.one_hot(word, 4).float()                       # (T, 4)
    Wxh = (torch.randn(4, H) * 0.3).requires_grad_()
    Whh = (torch.randn(H, H) * H ** -0.5).requires_grad_()
    Why = (torch.randn(H, 4) * 0.3).requires_grad_()
    h0 = (torch.randn(H) * 0.3).requires_grad_()
    optimizer = torch.optim.Adam([Wxh, Whh, Why, h0], lr=5e-3)
    for _ in range(500):
        states = [h0]
        for x_t in x[:-1]:
            states.append(torch.tanh(states[-1] @ Whh + x_t @ Wxh))
        logits = torch.stack(states) @ Why               # (T, 4)
        loss = F.cross_entropy(logits, word, reduction="sum")
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return Wxh.detach().T, Whh.detach(), Why.detach().T, h0.detach()
"""),
]
