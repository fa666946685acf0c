"""Answers to the exercises of chapter 07."""
from __future__ import annotations

import torch
import torch.nn.functional as F

from tests.grading.answers.register import right, wrong


@right("rnn_forward: one product of input and memory together")
def _(x, h0, Wx, Wh, b):
    W, h, states = torch.cat([Wx, Wh], dim=1), h0, []
    for t in range(x.shape[1]):
        h = torch.tanh(F.linear(torch.cat([x[:, t], h], dim=1), W, b))
        states.append(h)
    return torch.stack(states, dim=1)


@right("rnn_forward: the input's part ahead, time first")
def _(x, h0, Wx, Wh, b):
    ahead, states = torch.einsum("bti,hi->tbh", x, Wx) + b, [h0]
    for a in ahead:
        states.append((a + states[-1] @ Wh.T).tanh())
    return torch.stack(states[1:]).transpose(0, 1)


@wrong("rnn_forward: zeros for the first state", called="no_start")
def _(x, h0, Wx, Wh, b):
    h, states = torch.zeros_like(h0), []
    for t in range(x.shape[1]):
        h = torch.tanh(x[:, t] @ Wx.T + h @ Wh.T + b)
        states.append(h)
    return torch.stack(states, dim=1)


@wrong("rnn_forward: the memory times Wh, not its transpose", called="transposed")
def _(x, h0, Wx, Wh, b):
    h, states = h0, []
    for t in range(x.shape[1]):
        h = torch.tanh(x[:, t] @ Wx.T + h @ Wh + b)
        states.append(h)
    return torch.stack(states, dim=1)


@wrong("rnn_forward: time first in what is returned")
def _(x, h0, Wx, Wh, b):
    h, states = h0, []
    for t in range(x.shape[1]):
        h = torch.tanh(x[:, t] @ Wx.T + h @ Wh.T + b)
        states.append(h)
    return torch.stack(states)


@wrong("rnn_forward: the last state alone")
def _(x, h0, Wx, Wh, b):
    for t in range(x.shape[1]):
        h0 = torch.tanh(x[:, t] @ Wx.T + h0 @ Wh.T + b)
    return h0


@wrong("rnn_forward: the bias counted twice, as in torch's two")
def _(x, h0, Wx, Wh, b):
    h, states = h0, []
    for t in range(x.shape[1]):
        h = torch.tanh(x[:, t] @ Wx.T + b + h @ Wh.T + b)
        states.append(h)
    return torch.stack(states, dim=1)


@right("lstm_step: gate by gate")
def _(x, h, c, W, U, b):
    H = h.shape[1]
    a = F.linear(x, W) + F.linear(h, U) + b
    i, f, o = (torch.sigmoid(a[:, k * H:(k + 1) * H]) for k in (0, 1, 3))
    new = f * c + i * torch.tanh(a[:, 2 * H:3 * H])
    return torch.stack([o * torch.tanh(new), new])


@right("lstm_step: one matrix for both inputs, the gates by an index")
def _(x, h, c, W, U, b):
    a = (torch.cat([x, h], 1) @ torch.cat([W, U], 1).T + b).view(len(x), 4, -1)
    gates = a[:, [0, 1, 3]].sigmoid()
    new = gates[:, 1] * c + gates[:, 0] * a[:, 2].tanh()
    return torch.stack((gates[:, 2] * new.tanh(), new), 0)


@wrong("lstm_step: the gates in the order of the course's cell", called="other_order")
def _(x, h, c, W, U, b):
    i, f, o, g = (x @ W.T + h @ U.T + b).chunk(4, 1)
    new = f.sigmoid() * c + i.sigmoid() * g.tanh()
    return torch.stack([o.sigmoid() * new.tanh(), new])


@wrong("lstm_step: the old memory is shown", called="old_memory")
def _(x, h, c, W, U, b):
    i, f, g, o = (x @ W.T + h @ U.T + b).chunk(4, 1)
    return torch.stack([o.sigmoid() * c.tanh(), f.sigmoid() * c + i.sigmoid() * g.tanh()])


@wrong("lstm_step: c first, then h")
def _(x, h, c, W, U, b):
    i, f, g, o = (x @ W.T + h @ U.T + b).chunk(4, 1)
    new = f.sigmoid() * c + i.sigmoid() * g.tanh()
    return torch.stack([new, o.sigmoid() * new.tanh()])


@wrong("lstm_step: tanh for every gate")
def _(x, h, c, W, U, b):
    i, f, g, o = (x @ W.T + h @ U.T + b).tanh().chunk(4, 1)
    new = f * c + i * g
    return torch.stack([o * new.tanh(), new])


@right("through_time: by autograd, each state a leaf of its own step")
def _(h, Wh, g):
    found, delta = [g[-1]], g[-1]
    for t in range(len(h) - 2, -1, -1):
        state = h[t].clone().requires_grad_()
        a = Wh @ state
        delta = torch.autograd.grad(a, state, (1 - h[t + 1] ** 2) * delta)[0] + g[t]
        found.append(delta)
    return torch.stack(found[::-1])


@right("through_time: the Jacobians multiplied")
def _(h, Wh, g):
    T, H = h.shape
    out = g.clone()
    for t in range(T):
        J = torch.eye(H)
        for s in range(t + 1, T):
            J = torch.diag(1 - h[s] ** 2) @ Wh @ J
            out[t] = out[t] + J.T @ g[s]
    return out


@wrong("through_time: through Wh, not its transpose", called="not_transposed")
def _(h, Wh, g):
    out = g.clone()
    for t in range(len(h) - 2, -1, -1):
        out[t] += Wh @ ((1 - h[t + 1] ** 2) * out[t + 1])
    return out


@wrong("through_time: the slope at the state itself", called="own_slope")
def _(h, Wh, g):
    out = g.clone()
    for t in range(len(h) - 2, -1, -1):
        out[t] += Wh.T @ ((1 - h[t] ** 2) * out[t + 1])
    return out


@wrong("through_time: the slope is 1 - h")
def _(h, Wh, g):
    out = g.clone()
    for t in range(len(h) - 2, -1, -1):
        out[t] += Wh.T @ ((1 - h[t + 1]) * out[t + 1])
    return out


@wrong("through_time: the list is not turned round")
def _(h, Wh, g):
    out = [g[-1]]
    for t in range(len(h) - 2, -1, -1):
        out.append(g[t] + Wh.T @ ((1 - h[t + 1] ** 2) * out[-1]))
    return torch.stack(out)


@right("find_forgetful: the slope of c' by c, by autograd")
def _(cells, n, H):
    generator, found = torch.Generator().manual_seed(4), []
    for k, cell in enumerate(cells):
        gates = []
        x, h = torch.randn(2, 30, n, generator=generator), torch.randn(2, 30, H, generator=generator)
        for a, b in ((0, 0), (1, 0), (0, 1)):
            c = torch.zeros(30, H, requires_grad=True)
            gates.append(torch.autograd.grad(cell(x[a], h[b], c)[1].sum(), c, allow_unused=True)[0])
        first, by_x, by_h = gates
        if (by_x - first).abs().max() < 1e-4 or (by_h - first).abs().max() < 1e-4:
            found.append(k)
    return found


@right("find_forgetful: from a memory of two and of minus one")
def _(cells, n, H):
    def f(cell, x, h):
        return (cell(x, h, torch.full((50, H), 2.0))[1] - cell(x, h, -torch.ones(50, H))[1]) / 3

    torch.manual_seed(3)
    x, h, flat = torch.randn(50, n), torch.randn(50, H), []
    for k, cell in enumerate(cells):
        blind_to_h = f(cell, x[:1].expand(50, -1), h).std(0).max() < 1e-4
        if blind_to_h or f(cell, x, h[:1].expand(50, -1)).std(0).max() < 1e-4:
            flat.append(k)
    return flat


@wrong("find_forgetful: reaction to x alone", called="h_unwatched")
def _(cells, n, H):
    x, h = torch.randn(40, n), torch.zeros(40, H)
    gates = [cell(x, h, torch.ones(40, H))[1] - cell(x, h, torch.zeros(40, H))[1] for cell in cells]
    return [k for k, f in enumerate(gates) if f.std(0).max() < 1e-4]


@wrong("find_forgetful: gates that are nearly open or shut are taken for broken")
def _(cells, n, H):
    x, h = torch.randn(40, n), torch.randn(40, H)
    gates = [cell(x, h, torch.ones(40, H))[1] - cell(x, h, torch.zeros(40, H))[1] for cell in cells]
    return [k for k, f in enumerate(gates) if f.std(0).max() < 0.05]


@wrong("find_forgetful: looks at h' instead of c'", called="whole_memory")
def _(cells, n, H):
    x, h = torch.randn(40, n), torch.randn(40, H)
    gates = [cell(x, h, torch.ones(40, H))[0] - cell(x, h, torch.zeros(40, H))[0] for cell in cells]
    return [k for k, f in enumerate(gates) if f.std(0).max() < 1e-4]


def spoken(word, Wxh, Whh, Why, h0):
    h, loss = h0, 0.0
    for letter in word.tolist():
        loss = loss - (Why @ h).log_softmax(0)[letter]
        h = torch.tanh(Whh @ h + Wxh[:, letter])
    return loss


def taught(word, seed, H, steps, make, loss=spoken):
    torch.manual_seed(seed)
    parameters = [torch.randn(shape).mul_(0.5).requires_grad_() for shape in ((H, 4), (H, H), (4, H), (H,))]
    optimizer = make(parameters)
    for _ in range(steps):
        value = loss(word, *parameters)
        optimizer.zero_grad()
        value.backward()
        optimizer.step()
    return [p.detach() for p in parameters]


@right("train_hello: Adam, another width")
def _(word):
    return taught(word, 1, 24, 150, lambda parameters: torch.optim.Adam(parameters, lr=0.02))


@right("train_hello: plain gradient descent")
def _(word):
    return taught(word, 2, 20, 600, lambda parameters: torch.optim.SGD(parameters, lr=0.1))


@wrong("train_hello: three steps")
def _(word):
    return taught(word, 1, 16, 3, lambda parameters: torch.optim.Adam(parameters, lr=0.005))


@wrong("train_hello: every letter is read before it is predicted", called=("same_letter", None))
def _(word):
    def shifted(word, Wxh, Whh, Why, h0):
        h, loss = h0, 0.0
        for letter in word.tolist():
            h = torch.tanh(Whh @ h + Wxh[:, letter])
            loss = loss - (Why @ h).log_softmax(0)[letter]
        return loss

    return taught(word, 1, 16, 150, lambda parameters: torch.optim.Adam(parameters, lr=0.03), shifted)


@wrong("train_hello: noise")
def _(word):
    torch.manual_seed(3)
    return torch.randn(8, 4), torch.randn(8, 8), torch.randn(4, 8), torch.randn(8)
