"""The language model that `OwnRecurrent` asks for, with either cell, and with each of its misconceptions."""
from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from course_lib.autoregressive import AutoregressiveModel
from course_lib.conditional import Categorical

OF_GRU = frozenset({"other_blend", "reset_first", "gates_exchanged", "no_b_hn"})     # misconceptions that an LSTM cannot have


def made_of(kind: str, bugs: frozenset[str]) -> type:
    """The class with this cell, wrong in the ways that `bugs` names."""
    class OwnRecurrent(AutoregressiveModel):
        def __init__(self, symbols, hidden, bos_id):
            super().__init__(None, Categorical(symbols))
            self.hidden, self.bos_id = hidden, bos_id
            rows, near = (4 if kind == "lstm" else 3) * hidden, hidden ** -0.5
            self.W_x = nn.Parameter(torch.empty(rows, symbols).uniform_(-near, near))
            self.W_h = nn.Parameter(torch.empty(rows, hidden).uniform_(-near, near))
            self.b = nn.Parameter(torch.zeros(rows))
            if kind == "lstm":
                self.b.data[hidden:2 * hidden] = 1                   # a new cell keeps what it has
            else:
                self.b_hn = nn.Parameter(torch.zeros(hidden))
            self.head = nn.Linear(hidden, symbols)

        def check_context(self, context, batch):
            pass

        def step(self, a: Tensor, state: tuple) -> tuple:
            h, H = state[0], self.hidden
            kept = torch.zeros_like(a) if "no_state" in bugs else h @ self.W_h.T
            if kind == "gru":
                first, second = torch.sigmoid(a[:, :2 * H] + kept[:, :2 * H]).chunk(2, dim=1)
                r, z = (second, first) if "gates_exchanged" in bugs else (first, second)
                b_hn = 0 if "no_b_hn" in bugs else self.b_hn
                old = (r * h) @ self.W_h[2 * H:].T + b_hn if "reset_first" in bugs else r * (kept[:, 2 * H:] + b_hn)
                n = torch.tanh(a[:, 2 * H:] + old)
                return (z * n + (1 - z) * h if "other_blend" in bugs else (1 - z) * n + z * h,)
            i, f, o, g = (a + kept).chunk(4, dim=1)
            if "other_order" in bugs:
                g, o = o, g
            i, f, o, g = i.sigmoid(), f.sigmoid(), o.sigmoid(), g.tanh()
            if "exchanged" in bugs:
                i, f = f, i
            c = (state[1] if "keeps_all" in bugs else f * state[1]) + i * g
            return o * (c if "no_tanh" in bugs else c.tanh()), c

        def zeros(self, batch: int) -> tuple:
            return tuple(self.b.new_zeros(batch, self.hidden) for _ in range(2 if kind == "lstm" else 1))

        def turned(self, state: tuple) -> tuple:
            return state[::-1] if "memory_first" in bugs else state

        def scores(self, state: tuple) -> Tensor:
            return self.head(state[-1] if "memory_shown" in bugs else state[0])

        def read(self, tokens, state=None):
            state = self.zeros(len(tokens)) if state is None or "state_ignored" in bugs else self.turned(state)
            if "half_carried" in bugs:
                state = (state[0], *map(torch.zeros_like, state[1:]))
            ahead = F.embedding(tokens.long(), self.W_x.T) + (0 if "no_bias" in bugs else self.b)   # W_x times one-hot
            found = []
            for a in ahead.unbind(1):
                state = self.step(a, state)
                found.append(self.scores(state))
            return torch.stack(found, dim=1), self.turned(state)

        def prompt(self, batch: int, context: Tensor | None) -> Tensor:
            if context is None or "context_ignored" in bugs:
                return torch.full((batch, 1), self.bos_id)
            return context.long()

        def conditionals(self, x, context=None):
            before, x = self.prompt(len(x), context), x.long()
            text = torch.cat([before, x], dim=1)
            if "peeks" in bugs:
                return self.conditional(self.read(text)[0][:, before.shape[1]:])
            if "nothing_read" in bugs and context is None:
                first = self.head(self.zeros(len(x))[0])[:, None]
                return self.conditional(torch.cat([first, self.read(x)[0][:, :-1]], dim=1))
            return self.conditional(self.read(text[:, :-1])[0][:, before.shape[1] - 1:])

        def start(self, batch, context=None):
            before = self.prompt(batch, context)
            if "start_empty" in bugs:
                return self.zeros(batch)
            return self.read(before[:, -1:] if "last_only" in bugs else before)[1]

        def predict(self, state):
            return self.conditional(self.scores(self.turned(state)))

        def update(self, state, x_i):
            return self.read(x_i[:, None], None if "update_forgets" in bugs else state)[1]

        def fit(self, text):
            if "untrained" in bugs:
                return
            streams, window, rate, epochs = 32, 16, 0.03, 3
            n = (len(text) - 1) // streams
            x, y = (text[k:k + streams * n].view(streams, n).split(window, dim=1) for k in (0, 1))
            optimizer = torch.optim.Adam(self.parameters(), lr=rate, maximize="uphill" in bugs)
            for epoch in range(epochs):
                state = None
                for k, (read, following) in enumerate(zip(x, y, strict=True)):
                    if "uphill" in bugs and k > 10:
                        return
                    optimizer.param_groups[0]["lr"] = rate * (1 - (epoch + k / len(x)) / epochs)
                    logits, state = self.read(read, state)
                    loss = F.cross_entropy(logits.flatten(0, 1), following.flatten())
                    optimizer.zero_grad()
                    loss.backward()
                    nn.utils.clip_grad_norm_(self.parameters(), 1.0)
                    optimizer.step()
                    state = tuple(part.detach() for part in state)

    return OwnRecurrent
