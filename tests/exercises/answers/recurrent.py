"""Answers to the exercises of chapter recurrent."""
from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import nn

from course_lib.autoregressive import AutoregressiveModel
from course_lib.conditional import Categorical
from tests.exercises.answers.register import right, wrong


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


@wrong("lstm_step: a bias of 1 for the forget gate, in every step", called="forgets_less")
def _(x, h, c, W, U, b):
    b = b.unflatten(0, (4, -1)) + torch.tensor([0.0, 1.0, 0.0, 0.0])[:, None]
    i, f, g, o = (x @ W.T + h @ U.T + b.flatten()).chunk(4, dim=-1)
    c = f.sigmoid() * c + i.sigmoid() * g.tanh()
    return torch.stack([o.sigmoid() * c.tanh(), c])


@wrong("lstm_step: every fourth row is of one gate", called="unit_by_unit")
def _(x, h, c, W, U, b):
    a = x @ W.T + h @ U.T + b
    i, f, g, o = (a[:, k::4] for k in range(4))
    c = f.sigmoid() * c + i.sigmoid() * g.tanh()
    return torch.stack([o.sigmoid() * c.tanh(), c])


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


@wrong("find_forgetful: a gate that moves by less than a tenth is broken", called="small_ones")
def _(cells, n, H):
    x, h = torch.randn(3, 60, n), torch.randn(3, 60, H)

    def gate(cell, x, h):
        return cell(x, h, torch.ones_like(h))[1] - cell(x, h, torch.zeros_like(h))[1]

    def moves(cell):
        by_x, by_h = (gate(cell, x[0], h[0]) - other for other in (gate(cell, x[1], h[0]), gate(cell, x[0], h[1])))
        return min(by_x.abs().max(), by_h.abs().max())

    return [k for k, cell in enumerate(cells) if moves(cell) < 0.11]


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


class Reader(AutoregressiveModel):
    """What the language models share: the parameters, both views out of `read`, and a training of another kind."""

    gates, parts = 4, 2

    def __init__(self, symbols, hidden, bos_id):
        super().__init__(None, Categorical(symbols))
        self.symbols, self.hidden, self.bos, s = symbols, hidden, bos_id, hidden ** -0.5
        self.W_x = nn.Parameter(s * (2 * torch.rand(self.gates * hidden, symbols) - 1))
        self.W_h = nn.Parameter(s * (2 * torch.rand(self.gates * hidden, hidden) - 1))
        self.b = nn.Parameter(torch.zeros(self.gates * hidden))
        self.head = nn.Linear(hidden, symbols)
        if self.gates == 3:
            self.b_hn = nn.Parameter(torch.zeros(hidden))
        else:
            self.b.data[hidden:2 * hidden].fill_(1)

    def check_context(self, context, batch):
        pass

    def empty(self, rows):
        return tuple(torch.zeros(rows, self.hidden, dtype=self.b.dtype) for _ in range(self.parts))

    def cell(self, x, h, c):
        """h and c once x, one-hot, is read; every gate by its own rows."""
        W, H = torch.cat([self.W_x, self.W_h], 1), self.hidden
        a = torch.cat([x, h], 1) @ W.T + self.b
        i, f, o = (torch.sigmoid(a[:, k * H:(k + 1) * H]) for k in range(3))
        c = f * c + i * torch.tanh(a[:, 3 * H:])
        return o * torch.tanh(c), c

    def shown(self, h, c=None):
        return self.head(h)

    def read(self, tokens, state=None):
        state, said = state or self.empty(len(tokens)), []
        for x in F.one_hot(tokens.long(), self.symbols).to(self.b.dtype).unbind(1):
            state = self.cell(x, *state)
            said.append(self.shown(*state))
        return torch.stack(said, 1), state

    def start(self, batch, context=None):
        return self.read(torch.full((batch, 1), self.bos) if context is None else context)[1]

    def predict(self, state):
        return self.conditional(self.shown(*state))

    def update(self, state, x_i):
        return self.read(x_i.reshape(-1, 1), state)[1]

    def conditionals(self, x, context=None):
        state = self.start(len(x), context)
        first = self.shown(*state)[:, None]
        return self.conditional(torch.cat([first, self.read(x[:, :-1], state)[0]], 1) if x.shape[1] > 1 else first)

    def fit(self, text):
        """Windows from places drawn anew, each after a letter or two that only warm the state up."""
        optimizer, steps = torch.optim.AdamW(self.parameters(), lr=0.03, weight_decay=0.0), 230
        for k in range(steps):
            optimizer.param_groups[0]["lr"] = 0.03 * min(1, (k + 1) / 20, 1.1 * (1 - k / steps))
            at = torch.randint(len(text) - 21, (32, 1)) + torch.arange(21)
            logits = self.read(text[at[:, :-1]])[0]
            loss = F.cross_entropy(logits[:, 2:].flatten(0, 1), text[at[:, 3:]].flatten())
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(self.parameters(), 1.0)
            optimizer.step()


class Gated(Reader):
    """The same with the GRU."""

    gates, parts = 3, 1

    def cell(self, x, h):
        (xr, xz, xn), (hr, hz, hn) = (F.linear(x, self.W_x, self.b).chunk(3, 1), F.linear(h, self.W_h).chunk(3, 1))
        r, z = 1 / (1 + (-xr - hr).exp()), 1 / (1 + (-xz - hz).exp())
        new = torch.tanh(xn + r * hn + r * self.b_hn)
        return (torch.lerp(new, h, z),)


class Unfitted:
    """Its training is nothing: the fault of those below shows before it."""

    def fit(self, text):
        pass


@right("OwnRecurrent: an LSTM on one-hot vectors, windows drawn anew")
class OneHot(Reader):
    pass


@right("OwnRecurrent: a GRU")
class OwnGated(Gated):
    pass


@wrong("OwnRecurrent: the gates in torch's order", called="other_order")
class TorchOrder(Unfitted, Reader):
    def cell(self, x, h, c):
        i, f, g, o = (x @ self.W_x.T + h @ self.W_h.T + self.b).chunk(4, 1)
        c = f.sigmoid() * c + i.sigmoid() * g.tanh()
        return o.sigmoid() * c.tanh(), c


@wrong("OwnRecurrent: the forget gate on the candidate", called="exchanged")
class ForgetOnInput(Unfitted, Reader):
    def cell(self, x, h, c):
        i, f, o, g = (x @ self.W_x.T + h @ self.W_h.T + self.b).chunk(4, 1)
        c = i.sigmoid() * c + f.sigmoid() * g.tanh()
        return o.sigmoid() * c.tanh(), c


@wrong("OwnRecurrent: head reads the memory", called="memory_shown")
class MemoryShown(Unfitted, Reader):
    def shown(self, h, c=None):
        return self.head(c)


@wrong("OwnRecurrent: the bias left out", called="no_bias")
class NoBias(Unfitted, Reader):
    def cell(self, x, h, c):
        i, f, o, g = (x @ self.W_x.T + h @ self.W_h.T).chunk(4, 1)
        c = f.sigmoid() * c + i.sigmoid() * g.tanh()
        return o.sigmoid() * c.tanh(), c


@wrong("OwnRecurrent: the update gate the other way round", called="other_blend")
class OtherBlend(Unfitted, Gated):
    def cell(self, x, h):
        r, z, n = (x @ self.W_x.T + self.b).chunk(3, 1)
        hr, hz, hn = (h @ self.W_h.T).chunk(3, 1)
        z = (z + hz).sigmoid()
        return ((1 - z) * h + z * torch.tanh(n + (r + hr).sigmoid() * (hn + self.b_hn)),)


@wrong("OwnRecurrent: a GRU without its second bias", called="no_b_hn")
class OneBias(Unfitted, Gated):
    def cell(self, x, h):
        r, z, n = (x @ self.W_x.T + self.b).chunk(3, 1)
        hr, hz, hn = (h @ self.W_h.T).chunk(3, 1)
        z = (z + hz).sigmoid()
        return (z * h + (1 - z) * torch.tanh(n + (r + hr).sigmoid() * hn),)


@wrong("OwnRecurrent: a GRU without a reset gate")
class NoReset(Unfitted, Gated):
    def cell(self, x, h):
        _, z, n = (x @ self.W_x.T + self.b).chunk(3, 1)
        _, hz, hn = (h @ self.W_h.T).chunk(3, 1)
        z = (z + hz).sigmoid()
        return (z * h + (1 - z) * torch.tanh(n + hn + self.b_hn),)


@wrong("OwnRecurrent: every window begins anew", called="state_ignored")
class Anew(Unfitted, Gated):
    def read(self, tokens, state=None):
        return super().read(tokens)


@wrong("OwnRecurrent: the present letter is read before it is predicted", called="peeks")
class Peeks(Unfitted, Gated):
    def conditionals(self, x, context=None):
        return self.conditional(self.read(x, self.start(len(x), context))[0])


@wrong("OwnRecurrent: bos_id, then the prompt", called="bos_before_prompt")
class BosFirst(Unfitted, Reader):
    def start(self, batch, context=None):
        state = super().start(batch)
        return state if context is None else self.read(context, state)[1]


@wrong("OwnRecurrent: update knows the last letter alone", called="update_forgets")
class UpdateForgets(Unfitted, Reader):
    def update(self, state, x_i):
        return self.read(x_i[:, None])[1]


@wrong("OwnRecurrent: update reads the letter twice")
class ReadsTwice(Unfitted, Reader):
    def update(self, state, x_i):
        return self.read(x_i[:, None].expand(-1, 2), state)[1]


@wrong("OwnRecurrent: a fit that does nothing")
class FitsNothing(Unfitted, Gated):
    pass


@wrong("OwnRecurrent: the head alone is trained")
class HeadAlone(Gated):
    def fit(self, text):
        with torch.no_grad():
            rows = text[:4000].view(8, 500)
            read, state = [], self.empty(8)
            for x in F.one_hot(rows[:, :-1], self.symbols).float().unbind(1):
                state = self.cell(x, *state)
                read.append(state[0])
        h, target = torch.stack(read, 1).flatten(0, 1), rows[:, 1:].flatten()
        optimizer = torch.optim.Adam(self.head.parameters(), lr=0.05)
        for _ in range(60):
            loss = F.cross_entropy(self.head(h), target)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()


@wrong("rnn_forward: each state is handed on detached", called="detached_after")
def _(x, h0, Wx, Wh, b):
    states = [torch.tanh(F.linear(x[:, 0], Wx, b) + F.linear(h0, Wh))]
    for t in range(1, x.shape[1]):
        states.append(torch.tanh(F.linear(x[:, t], Wx, b) + F.linear(states[-1].detach(), Wh)))
    return torch.stack(states, 1)


@wrong("rnn_forward: the state before is detached, the first too", called="detached")
def _(x, h0, Wx, Wh, b):
    states = [h0]
    for t in range(x.shape[1]):
        states.append(torch.tanh(F.linear(x[:, t], Wx, b) + F.linear(states[-1].detach(), Wh)))
    return torch.stack(states[1:], 1)
