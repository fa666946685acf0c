"""Wrong answers to the exercises of chapter recurrent, written without knowing its checks."""
from __future__ import annotations

import torch
import torch.nn.functional as F

from tests.exercises.answers.register import blind


@blind("rnn_forward: keeps the state before each step: h_0 to h_(T-1), not h_1 to h_T")
def _(x, h0, Wx, Wh, b):
    states, h = [], h0
    for t in range(x.shape[1]):
        states.append(h)
        h = torch.tanh(x[:, t] @ Wx.T + h @ Wh.T + b)
    return torch.stack(states, dim=1)


@blind("rnn_forward: multiplies the state by Wh from the wrong side: Wh transposed")
def _(x, h0, Wx, Wh, b):
    drive = torch.einsum("bti,hi->bth", x, Wx) + b
    h, out = h0, []
    for step in drive.unbind(1):
        h = (step + h @ Wh).tanh()
        out.append(h)
    return torch.stack(out, 1)


@blind("rnn_forward: the bracket of tanh closes too early: W_h h_(t-1) is added outside of it")
def _(x, h0, Wx, Wh, b):
    read = F.linear(x, Wx, b)                       # (B, T, H)
    h, out = h0, []
    for a in read.unbind(dim=1):
        h = torch.tanh(a) + F.linear(h, Wh)
        out.append(h)
    return torch.stack(out, dim=1)


@blind("lstm_step: the blocks are read in the order i, f, o, g: candidate and output gate are exchanged")
def _(x, h, c, W, U, b):
    H = h.shape[1]
    a = F.linear(x, W, b) + F.linear(h, U)
    i, f, o = (a[:, k * H:(k + 1) * H].sigmoid() for k in range(3))
    g = a[:, 3 * H:].tanh()
    c = f * c + i * g
    return torch.stack([o * c.tanh(), c])


@blind("through_time: hands on g_(t+1) alone, not the whole delta_(t+1): only one step back")
def _(h, Wh, g):
    back = (g[1:] * (1 - h[1:] ** 2)) @ Wh
    return g + torch.cat([back, torch.zeros_like(g[:1])])


@blind("through_time: the two factors of the Jacobian are in the wrong order: first Wh transposed, then the "
       "slope of tanh")
def _(h, Wh, g):
    T = h.shape[0]
    deltas = [g[-1]]
    for t in reversed(range(T - 1)):
        slope = 1 - h[t + 1] ** 2
        deltas.append(g[t] + slope * (deltas[-1] @ Wh))
    return torch.stack(deltas[::-1])


@blind("find_forgetful: looks at c' itself, which reacts by i and g too, and does not single out the part of c")
def _(cells, n, H):
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


@blind("find_forgetful: changes x and h together, so that a gate blind to one of them passes")
def _(cells, n, H):
    g = torch.Generator().manual_seed(1)

    def gate(cell, x, h):
        one, zero = torch.ones(len(x), H), torch.zeros(len(x), H)
        return cell(x, h, one)[1] - cell(x, h, zero)[1]

    xs = torch.randn(2, 300, n, generator=g)
    hs = torch.randn(2, 300, H, generator=g)
    moved = [(gate(cell, xs[0], hs[0]) - gate(cell, xs[1], hs[1])).abs().max().item()
             for cell in cells]
    return [k for k, size in enumerate(moved) if size < 0.005]


@blind("train_hello: the first letter is left out of the loss: o_0 = Why h0 is never trained to predict it")
def _(word):
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


@blind("train_hello: training stops when the mean probability of a letter is above 0.9, not the product of all")
def _(word):
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


@blind("train_hello: trained with rows, h @ Whh, and Whh returned as it is: the formula's matrix would be "
       "its transpose")
def _(word):
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
