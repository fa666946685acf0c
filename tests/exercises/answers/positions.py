"""Answers to the exercises of chapter positions."""
from __future__ import annotations

import math

import torch
import torch.nn.functional as F
from torch import nn

from tests.exercises.answers.register import right, wrong


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
    from tests.exercises.answers.plain import sinusoidal

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


@wrong("combined_position: one-hot of the batch row", called="by_sentence")
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


# An odd width, and pairs whose fault shows at certain offsets.


@wrong("positional_encoding: a table of zeros whose last column stays so when d is odd", called="odd_zero")
def _(T, d):
    table = torch.zeros(T, d)
    angle = torch.arange(T)[:, None] / 10000 ** (torch.arange(0, d - d % 2, 2) / d)
    table[:, 0:d - d % 2:2], table[:, 1::2] = angle.sin(), angle.cos()
    return table


@wrong("positional_encoding: the odd column out is a cosine", called="odd_cosine")
def _(T, d):
    angle = torch.arange(T)[:, None] / 10000 ** (torch.arange(0, d, 2) / d)
    table = torch.stack([angle.sin(), angle.cos()], dim=-1).flatten(1)
    return torch.cat([table[:, :d - 1], table[:, -1:]], dim=1) if d % 2 else table


def spread(encode, d, n, offsets):
    """The pairs whose inner products spread at one of the offsets."""
    p = encode(torch.arange(n)).double().reshape(n, d // 2, 2)
    products = [(p[:n - o] * p[o:]).sum(-1) for o in offsets]
    return [i for i in range(d // 2) if any(q[:, i].max() - q[:, i].min() > 1e-4 for q in products)]


@right("find_position_fault: offsets 0, 1 and 2 tell all")
def _(encode, d, n):
    return spread(encode, d, n, (0, 1, 2))


@wrong("find_position_fault: offsets 1, 2 and 3", called="no_lengths")
def _(encode, d, n):
    return spread(encode, d, n, (1, 2, 3))


@wrong("find_position_fault: offsets 0 and 1")
def _(encode, d, n):
    return spread(encode, d, n, (0, 1))


class Turning(nn.Module):
    """What the answers with rotary positions share: `turned` is right, with angles in float32."""

    def __init__(self, d_model, heads):
        super().__init__()
        self.H = heads
        self.qkv, self.out = nn.Linear(d_model, 3 * d_model), nn.Linear(d_model, d_model)

    def speeds(self, K):
        return 10000 ** -(torch.arange(K // 2) * 2 / K)

    def turned(self, x, at):
        turn = torch.polar(torch.ones(1), at[:, None] * self.speeds(x.shape[-1]))
        return torch.view_as_real(torch.view_as_complex(x.unflatten(-1, (-1, 2)).contiguous()) * turn).flatten(-2)

    def forward(self, x, positions=None, mask=None):
        at = torch.arange(x.shape[1]) if positions is None else positions
        q, k, v = (one.unflatten(-1, (self.H, -1)).transpose(1, 2) for one in self.qkv(x).chunk(3, -1))
        scores = self.turned(q, at) @ self.turned(k, at).mT / math.sqrt(q.shape[-1])
        if mask is not None:
            scores = scores.masked_fill(~mask, -math.inf)
        return self.out((scores.softmax(-1) @ v).transpose(1, 2).flatten(2))


@right("OwnRotaryAttention: complex numbers in float32")
class Complex(Turning):
    pass


@right("OwnRotaryAttention: all first of the pairs in front, in queries and keys alike")
class Apart(Turning):
    def turned(self, x, at):
        angle, (a, b) = at[:, None] * self.speeds(x.shape[-1]), (x[..., ::2], x[..., 1::2])
        return torch.cat([a * angle.cos() - b * angle.sin(), a * angle.sin() + b * angle.cos()], -1)


@right("OwnRotaryAttention: positions from one, matrices of rotations")
class Matrices(Turning):
    def turned(self, x, at):
        angle = (at + 1)[:, None] * self.speeds(x.shape[-1])
        R = torch.stack([torch.block_diag(*[torch.stack([c, -s, s, c]).reshape(2, 2) for c, s in zip(row.cos(), row.sin())])
                         for row in angle])                              # (T, K, K)
        return torch.einsum("tij,bhtj->bhti", R, x)


@wrong("OwnRotaryAttention: the base is 100", called="half_exponent")
class Slow(Turning):
    def speeds(self, K):
        return 100 ** -(torch.arange(K // 2) * 2 / K)


@wrong("OwnRotaryAttention: the slowest pair first")
class Slowest(Turning):
    def speeds(self, K):
        return super().speeds(K).flip(0)


@wrong("OwnRotaryAttention: no rotation, a sign forgotten")
class NoRotation(Turning):
    def turned(self, x, at):
        angle, (a, b) = at[:, None] * self.speeds(x.shape[-1]), (x[..., ::2], x[..., 1::2])
        return torch.stack([a * angle.cos() + b * angle.sin(), a * angle.sin() + b * angle.cos()], -1).flatten(-2)


@wrong("OwnRotaryAttention: degrees")
class Degrees(Turning):
    def speeds(self, K):
        return super().speeds(K) * math.pi / 180


@wrong("OwnRotaryAttention: the rotation has no gradient")
class NoGradient(Turning):
    def turned(self, x, at):
        return x + (super().turned(x, at) - x).detach()


def of_words_and_positions(x, W_x, W_e, W):
    return (x @ W_x + W_e[:x.shape[1]]).relu() @ W


@wrong("combined_position: W_x transposed where it is square")
def _(x, W_x, W_e, W):
    return of_words_and_positions(x, W_x.T if W_x.shape[0] == W_x.shape[1] else W_x, W_e, W)


@wrong("combined_position: positions along the batch where it is as large as a sentence")
def _(x, W_x, W_e, W):
    e = W_e[:x.shape[1]]
    return (x @ W_x + (e[:, None] if len(x) == len(e) else e)).relu() @ W


@wrong("combined_position: a batch of one loses its axis")
def _(x, W_x, W_e, W):
    return of_words_and_positions(x, W_x, W_e, W).squeeze(0)


@wrong("positional_encoding: transposed where the table is square")
def _(T, d):
    angle = torch.arange(T)[:, None] / 10000 ** (torch.arange(d) // 2 * 2 / d)
    table = torch.where(torch.arange(d) % 2 == 0, angle.sin(), angle.cos())
    return table.T if T == d else table


@wrong("shift_rotation: an offset of 0 counts as none given")
def _(o, d, n):
    angles = (o or 1) * n ** (-torch.arange(0, d, 2) / d)
    c, s = angles.cos(), angles.sin()
    return torch.block_diag(*torch.stack([c, s, -s, c], dim=1).reshape(-1, 2, 2))


@wrong("OwnRotaryAttention: a batch of one loses its axis")
class SqueezedTurning(Turning):
    def forward(self, x, positions=None, mask=None):
        return super().forward(x, positions, mask).squeeze(0)


@wrong("combined_position: the position added last", called="position_after")
def _(x, W_x, W_e, W):
    return F.relu(x @ W_x) @ W + W_e[:x.shape[1]] @ W


@wrong("shift_rotation: half of the exponent", called="half_exponent")
def _(o, d, n):
    w = torch.tensor([o / n ** (i / d) for i in range(d // 2)])
    R = torch.zeros(d, d)
    R[0::2, 0::2] = R[1::2, 1::2] = w.cos().diag()
    R[0::2, 1::2], R[1::2, 0::2] = w.sin().diag(), -w.sin().diag()
    return R
