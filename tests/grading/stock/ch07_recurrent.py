"""Wrong answers to the exercises on recurrent networks."""
from __future__ import annotations

from tests.grading.stock import wrong

STOCK = [
    wrong("rnn_forward", "every step starts from h0 again: nothing is remembered", "open", """
import torch

def rnn_forward(x, h0, Wx, Wh, b):
    return torch.stack([torch.tanh(x[:, t] @ Wx.T + h0 @ Wh.T + b) for t in range(x.shape[1])], dim=1)
"""),
    wrong("rnn_forward", "h0 is returned as the first state, and the last state is missing", "sealed", """
import torch

def rnn_forward(x, h0, Wx, Wh, b):
    states = [h0]
    for t in range(x.shape[1] - 1):
        states.append(torch.tanh(x[:, t] @ Wx.T + states[-1] @ Wh.T + b))
    return torch.stack(states, 1)
"""),
    wrong("lstm_step", "input and forget gate are exchanged", "open", """
import torch

def lstm_step(x, h, c, W, U, b):
    f, i, g, o = torch.chunk(x @ W.T + h @ U.T + b, 4, dim=-1)
    c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
    return torch.stack([torch.sigmoid(o) * torch.tanh(c), c])
"""),
    wrong("lstm_step", "the candidate goes through a sigmoid", "sealed", """
import torch

def lstm_step(x, h, c, W, U, b):
    i, f, g, o = torch.sigmoid(x @ W.T + h @ U.T + b).chunk(4, dim=1)
    new = f * c + i * g
    return torch.stack([o * new.tanh(), new])
"""),
    wrong("through_time", "tanh is applied to the states once more before the slope is taken", "open", """
import torch

def through_time(h, Wh, g):
    out = g.clone()
    for t in range(len(h) - 2, -1, -1):
        out[t] = g[t] + Wh.T @ ((1 - torch.tanh(h[t + 1]) ** 2) * out[t + 1])
    return out
"""),
    wrong("through_time", "only what the next state's own loss passes back is added, not what came to it", "sealed", """
import torch

def through_time(h, Wh, g):
    out = g.clone()
    out[:-1] = g[:-1] + ((1 - h[1:] ** 2) * g[1:]) @ Wh
    return out
"""),
    wrong("find_forgetful", "the sound cells are listed", "open", """
import torch

def find_forgetful(cells, n, H):
    x, y, h, k = torch.randn(9, n), torch.randn(9, n), torch.randn(9, H), torch.randn(9, H)
    zero, one = torch.zeros(9, H), torch.ones(9, H)
    found = []
    for number, cell in enumerate(cells):
        f = lambda x, h: cell(x, h, one)[1] - cell(x, h, zero)[1]
        if not torch.allclose(f(x, h), f(y, h), atol=1e-4) and not torch.allclose(f(x, h), f(x, k), atol=1e-4):
            found.append(number)
    return found
"""),
    wrong("find_forgetful", "only gates that are constant in both inputs are found", "sealed", """
import torch

def find_forgetful(cells, n, H):
    x, h = torch.randn(20, n), torch.randn(20, H)
    found = []
    for number, cell in enumerate(cells):
        f = cell(x, h, torch.ones(20, H))[1] - cell(x, h, torch.zeros(20, H))[1]
        if (f - f[0]).abs().max() < 1e-4:
            found.append(number)
    return found
"""),
    wrong("train_hello", "h0 stays at zero", "open", """
import torch

def train_hello(word):
    torch.manual_seed(0)
    Wxh, Whh, Why = torch.randn(16, 4) * .5, torch.randn(16, 16) * .3, torch.randn(4, 16) * .5
    h0 = torch.zeros(16)
    params = [p.requires_grad_() for p in (Wxh, Whh, Why)]
    opt = torch.optim.Adam(params, lr=0.03)
    for _ in range(150):
        h, loss = h0, 0.0
        for w in word:
            loss = loss - torch.log_softmax(Why @ h, 0)[w]
            h = torch.tanh(Whh @ h + Wxh[:, w])
        opt.zero_grad()
        loss.backward()
        opt.step()
    return Wxh.detach(), Whh.detach(), Why.detach(), h0
"""),
    wrong("train_hello", "the matrix of the memory is not trained and is zero", "sealed", """
import torch

def train_hello(word):
    torch.manual_seed(0)
    Wxh, Whh, Why, h0 = torch.randn(16, 4), torch.zeros(16, 16), torch.randn(4, 16), torch.randn(16)
    params = [p.requires_grad_() for p in (Wxh, Why, h0)]
    opt = torch.optim.Adam(params, lr=0.05)
    for _ in range(150):
        h, loss = h0, 0.0
        for w in word:
            loss = loss - torch.log_softmax(Why @ h, 0)[w]
            h = torch.tanh(Whh @ h + Wxh[:, w])
        opt.zero_grad()
        loss.backward()
        opt.step()
    return Wxh.detach(), Whh, Why.detach(), h0.detach()
"""),
]
