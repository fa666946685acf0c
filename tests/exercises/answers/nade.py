"""Answers to the exercises of chapter nade."""
from __future__ import annotations

import itertools
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import nn

from course_lib.autoregressive import AutoregressiveModel
from tests.exercises.answers.register import right, wrong


@right("nade_loglik: every hidden layer from nothing, in one product")
def _(x, W, V, b, c):
    earlier = torch.tril(torch.ones(len(x), len(x)), diagonal=-1)
    h = torch.sigmoid(c + (earlier * x) @ W.T)                                 # (D, H)
    return -F.binary_cross_entropy_with_logits((V * h).sum(1) + b, x, reduction="sum")


@right("nade_loglik: torch.distributions, exact")
def _(x, W, V, b, c):
    before = torch.cumsum(W * x, 1) - W * x
    z = (V * torch.sigmoid(c + before.T)).sum(1) + b
    return torch.distributions.Bernoulli(logits=z.double()).log_prob(x.double()).sum()


@wrong("nade_loglik: the product, its logarithm at the end", called="underflow")
def _(x, W, V, b, c):
    a, product = c, 1.0
    for i in range(len(x)):
        p = torch.sigmoid(b[i] + V[i] @ torch.sigmoid(a))
        product = product * (p if x[i] == 1 else 1 - p)
        a = a + W[:, i] * x[i]
    return product.log()


@wrong("nade_loglik: every hidden layer has read all of x", called="sees_all")
def _(x, W, V, b, c):
    p = torch.sigmoid(V @ torch.sigmoid(c + W @ x) + b)
    return torch.where(x == 1, p, 1 - p).log().sum()


@wrong("nade_loglik: the running sum stays at c", called="reads_nothing")
def _(x, W, V, b, c):
    p = torch.sigmoid(V @ torch.sigmoid(c) + b)
    return torch.where(x == 1, p, 1 - p).log().sum()


@wrong("nade_loglik: adds the probability", called="adds_probabilities")
def _(x, W, V, b, c):
    a, total = c, 0.0
    for i in range(len(x)):
        p = torch.sigmoid(b[i] + V[i] @ torch.sigmoid(a))
        total = total + torch.log(p if x[i] == 1 else 1 - p)
        a = a + W[:, i] * p
    return total


@wrong("nade_loglik: tanh in the hidden layer", called="tanh")
def _(x, W, V, b, c):
    a, total = c, 0.0
    for i in range(len(x)):
        z = b[i] + V[i] @ torch.tanh(a)
        total = total + F.logsigmoid(z if x[i] == 1 else -z)
        a = a + W[:, i] * x[i]
    return total


@wrong("nade_loglik: a zero subtracts its column")
def _(x, W, V, b, c):
    a, total = c, 0.0
    for i in range(len(x)):
        z = b[i] + V[i] @ torch.sigmoid(a)
        total = total + F.logsigmoid(z if x[i] == 1 else -z)
        a = a + W[:, i] * (2 * x[i] - 1)
    return total


@wrong("nade_loglik: the last variable left out", called=("last_left_out", None))
def _(x, W, V, b, c):
    a, total = c, torch.zeros(())
    for i in range(len(x) - 1):
        z = b[i] + V[i] @ torch.sigmoid(a)
        total = total + F.logsigmoid(z if x[i] == 1 else -z)
        a = a + W[:, i] * x[i]
    return total


@wrong("nade_loglik: no gradient to the running sum")
def _(x, W, V, b, c):
    a, total = c, 0.0
    for i in range(len(x)):
        z = b[i] + V[i] @ torch.sigmoid(a)
        total = total + F.logsigmoid(z if x[i] == 1 else -z)
        a = a + W[:, i].detach() * x[i]
    return total


@right("nade_sample: a full pass for each variable")
def _(u, W, V, b, c):
    x = torch.zeros_like(u)
    for i in range(u.shape[1]):
        h = torch.sigmoid(c + x[:, :i] @ W[:, :i].T)
        x[:, i] = (u[:, i] < torch.sigmoid(h @ V[i] + b[i])).float()
    return x


@right("nade_sample: row by row")
def _(u, W, V, b, c):
    rows = []
    for numbers in u:
        a, row = c.clone(), []
        for i, number in enumerate(numbers):
            row.append(float(number < torch.sigmoid(b[i] + V[i] @ torch.sigmoid(a))))
            a += W[:, i] * row[-1]
        rows.append(row)
    return torch.tensor(rows)


@wrong("nade_sample: randomness of its own", called="own_randomness")
def _(u, W, V, b, c):
    x, a = torch.zeros_like(u), c.repeat(len(u), 1)
    for i in range(u.shape[1]):
        x[:, i] = torch.bernoulli(torch.sigmoid(torch.sigmoid(a) @ V[i] + b[i]))
        a = a + x[:, i, None] * W[:, i]
    return x


@wrong("nade_sample: drawn from the last variable to the first")
def _(u, W, V, b, c):
    x, a = torch.zeros_like(u), c.repeat(len(u), 1)
    for i in reversed(range(u.shape[1])):
        x[:, i] = (u[:, i] < torch.sigmoid(torch.sigmoid(a) @ V[i] + b[i])).float()
        a = a + x[:, i, None] * W[:, i]
    return x


@wrong("nade_sample: booleans")
def _(u, W, V, b, c):
    x, a = torch.zeros_like(u), c.repeat(len(u), 1)
    for i in range(u.shape[1]):
        x[:, i] = (u[:, i] < torch.sigmoid(torch.sigmoid(a) @ V[i] + b[i])).float()
        a = a + x[:, i, None] * W[:, i]
    return x.bool()


@wrong("nade_sample: 1 also where u equals p")
def _(u, W, V, b, c):
    return sampled_rows(u, W, V, b, c, torch.ge)


@wrong("nade_sample: without the axes of length 1")
def _(u, W, V, b, c):
    return sampled_rows(u, W, V, b, c, torch.gt).squeeze()


def sampled_rows(u, W, V, b, c, above):
    x, a = [], c.expand(len(u), -1)
    for i in range(len(b)):
        x.append(above((a.sigmoid() @ V[i] + b[i]).sigmoid(), u[:, i]).float())
        a = a + x[-1][:, None] * W[:, i]
    return torch.stack(x, 1)


@right("find_impostors: state by state, in double precision")
def _(log_probs, n):
    found = []
    for k, log_prob in enumerate(log_probs):
        total = sum(log_prob(torch.tensor([state]))[0].double().exp() for state in itertools.product((0.0, 1.0), repeat=n))
        if abs(total - 1) > 1e-3:
            found.append(k)
    return found


@right("find_impostors: logsumexp")
def _(log_probs, n):
    states = torch.cartesian_prod(*[torch.tensor([0.0, 1.0])] * n)
    return [k for k, f in enumerate(log_probs) if f(states).logsumexp(0).abs() > 1e-3]


@right("find_impostors: sums beyond half a hundredth")
def _(log_probs, n):
    states = torch.cartesian_prod(*[torch.tensor([0.0, 1.0])] * n)
    return [k for k, f in enumerate(log_probs) if not 0.995 < f(states).exp().sum() < 1.005]


def sums_off(log_probs, n):
    states = torch.cartesian_prod(*[torch.tensor([0.0, 1.0])] * n)
    return [abs(f(states).exp().sum().item() - 1) for f in log_probs]


@wrong("find_impostors: sums beyond a twentieth", called="tolerant")
def _(log_probs, n):
    return [k for k, off in enumerate(sums_off(log_probs, n)) if off > 0.05]


@wrong("find_impostors: the mean over the states", called="mean_of_states")
def _(log_probs, n):
    states = torch.cartesian_prod(*[torch.tensor([0.0, 1.0])] * n)
    return [k for k, f in enumerate(log_probs) if abs(f(states).exp().mean().item() - 1) > 1e-3]


@wrong("find_impostors: the logarithms added", called=("all_of_them", None))
def _(log_probs, n):
    states = torch.cartesian_prod(*[torch.tensor([0.0, 1.0])] * n)
    return [k for k, f in enumerate(log_probs) if abs(f(states).sum().item() - 1) > 1e-3]


@wrong("find_impostors: the last one left out")
def _(log_probs, n):
    states = torch.cartesian_prod(*[torch.tensor([0.0, 1.0])] * n)
    return [k for k, f in enumerate(log_probs) if f(states).logsumexp(0).abs() > 1e-3][:-1]


@wrong("find_impostors: by how far they are off")
def _(log_probs, n):
    states = torch.cartesian_prod(*[torch.tensor([0.0, 1.0])] * n)
    off = [f(states).logsumexp(0).abs().item() for f in log_probs]
    return sorted((k for k in range(len(off)) if off[k] > 1e-3), key=lambda k: off[k])


@wrong("find_impostors: the numbers below 2^n - 1 in bits", called="no_ones")
def _(log_probs, n):
    states = torch.tensor([[number >> k & 1 for k in range(n)] for number in range(2 ** n - 1)]).float()
    return [k for k, f in enumerate(log_probs) if abs(f(states).double().exp().sum().item() - 1) > 1e-3]


@right("train_nade: a loop over the variables, another start")
def _(train):
    N, D = train.shape
    generator, H = torch.Generator().manual_seed(5), 20
    W, V = (torch.randn(*shape, generator=generator).requires_grad_() for shape in ((H, D), (D, H)))
    b, c = (torch.zeros(size, requires_grad=True) for size in (D, H))
    optimizer = torch.optim.Adam([W, V, b, c], lr=0.1)
    for step in range(150):
        x = train[step % 4::4]
        a, z = c.expand(len(x), -1), []
        for i in range(D):
            z.append(torch.sigmoid(a) @ V[i] + b[i])
            a = a + x[:, i, None] * W[:, i]
        loss = F.binary_cross_entropy_with_logits(torch.stack(z, 1), x)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return W.detach(), V.detach(), b.detach(), c.detach()


@wrong("train_nade: gradients never set to zero")
def _(train):
    N, D = train.shape
    generator, H = torch.Generator().manual_seed(5), 12
    W, V = (torch.randn(*shape, generator=generator).requires_grad_() for shape in ((H, D), (D, H)))
    b, c = (torch.zeros(size, requires_grad=True) for size in (D, H))
    optimizer = torch.optim.Adam([W, V, b, c], lr=0.1)
    for _ in range(100):
        adds = train[:, :, None] * W.T
        z = (torch.sigmoid(c + adds.cumsum(1) - adds) * V).sum(-1) + b
        F.binary_cross_entropy_with_logits(z, train).backward()
        optimizer.step()
    return W.detach(), V.detach(), b.detach(), c.detach()


@wrong("train_nade: five small steps")
def _(train):
    N, D = train.shape
    generator, H = torch.Generator().manual_seed(5), 8
    W, V = (torch.randn(*shape, generator=generator).requires_grad_() for shape in ((H, D), (D, H)))
    b, c = (torch.zeros(size, requires_grad=True) for size in (D, H))
    optimizer = torch.optim.SGD([W, V, b, c], lr=0.05)
    for _ in range(5):
        adds = train[:, :, None] * W.T
        z = (torch.sigmoid(c + adds.cumsum(1) - adds) * V).sum(-1) + b
        loss = F.binary_cross_entropy_with_logits(z, train)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return W.detach(), V.detach(), b.detach(), c.detach()


@wrong("train_nade: noise")
def _(train):
    D, generator = train.shape[1], torch.Generator().manual_seed(3)
    return tuple(torch.randn(shape, generator=generator) for shape in ((8, D), (D, 8), (D,), (8,)))


@wrong("train_nade: not a number")
def _(train):
    D = train.shape[1]
    return tuple(torch.full(shape, float("nan")) for shape in ((8, D), (D, 8), (D,), (8,)))


@wrong("train_nade: W and V exchanged")
def _(train):
    D = train.shape[1]
    return torch.ones(D, 8), torch.ones(8, D), torch.ones(D), torch.zeros(8)


class BothViews(AutoregressiveModel):
    """What the answers share that is right."""

    def __init__(self, n, hidden):
        super().__init__(n)
        self.c, self.b = nn.Parameter(torch.zeros(hidden)), nn.Parameter(torch.zeros(n))
        self.V, self.W = nn.Parameter(torch.randn(n, hidden) / 4), nn.Parameter(torch.randn(hidden, n))

    def logits(self, x):
        adds = x[:, :, None] * self.W.T                                        # (B, n, H)
        h = torch.sigmoid(self.c + adds.cumsum(1) - adds)
        return torch.einsum("bih, ih -> bi", h, self.V) + self.b

    def conditionals(self, x, context=None):
        return self.conditional(self.logits(x))

    def start(self, batch, context=None):
        return 0, self.c.repeat(batch, 1)

    def predict(self, state):
        return self.conditional((state[1].sigmoid() * self.V[state[0]]).sum(1) + self.b[state[0]])

    def update(self, state, x_i):
        return state[0] + 1, state[1] + torch.outer(x_i, self.W[:, state[0]])

    def fit(self, x):
        optimizer = torch.optim.Adam(self.parameters(), lr=0.1)
        for _ in range(150):
            loss = F.binary_cross_entropy_with_logits(self.logits(x), x)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()


class Known(NamedTuple):
    k: int
    a: torch.Tensor


@right("OwnNADE: a cumulative sum in one view, a NamedTuple in the other")
class Cumulative(BothViews):
    def start(self, batch, context=None):
        return Known(0, self.c.expand(batch, -1))

    def update(self, state, x_i):
        return Known(state.k + 1, torch.where(x_i[:, None] > 0, state.a + self.W[:, state.k], state.a))


@right("OwnNADE: every hidden layer from nothing, probabilities, batches of 200")
class FromScratch(BothViews):
    def logits(self, x):
        return torch.stack([torch.sigmoid(self.c + x[:, :i] @ self.W[:, :i].T) @ self.V[i] for i in range(self.n)], 1) + self.b

    def conditionals(self, x, context=None):
        return torch.distributions.Bernoulli(probs=self.logits(x).sigmoid())

    def fit(self, x):
        optimizer = torch.optim.Adam(self.parameters(), lr=0.03)
        for _ in range(40):
            for rows in torch.randperm(len(x)).split(200):
                loss = -self.log_prob(x[rows]).mean()
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()


@wrong("OwnNADE: tanh instead of the sigmoid")
class Tanh(BothViews):
    def logits(self, x):
        return torch.stack([(self.c + x[:, :i] @ self.W[:, :i].T).tanh() @ self.V[i] for i in range(self.n)], 1) + self.b


@wrong("OwnNADE: c is added to the sum a second time in predict")
class Twice(BothViews):
    def predict(self, state):
        return super().predict((state[0], state[1] + self.c))


@wrong("OwnNADE: the state keeps what was drawn, and not the sum")
class KeepsValues(BothViews):
    def start(self, batch, context=None):
        return 0, torch.zeros(batch, self.n)

    def update(self, state, x_i):
        x = state[1].clone()
        x[:, state[0]] = x_i
        return state[0] + 1, x


@wrong("OwnNADE: an update that writes into the sum it was given", called="writes")
class InPlace(BothViews):
    def update(self, state, x_i):
        state[1].add_(torch.outer(x_i, self.W[:, state[0]]).detach())
        return state[0] + 1, state[1]


@wrong("OwnNADE: W is not among what fit trains")
class Frozen(BothViews):
    def __init__(self, n, hidden):
        super().__init__(n, hidden)
        with torch.no_grad():
            self.W.mul_(0.01)

    def fit(self, x):
        self.W.requires_grad_(False)
        super().fit(x)
