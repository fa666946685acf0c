"""Answers as learners write them: right in other words, and wrong in ways that no misconception names."""
from __future__ import annotations

import itertools
import math

import torch
import torch.nn.functional as F
from torch.distributions import Bernoulli

RIGHT, WRONG = {}, {}              # "exercise: what is special" -> function


def right(name):
    return lambda fn: RIGHT.setdefault(name, fn)


def wrong(name):
    return lambda fn: WRONG.setdefault(name, fn)


# chapter 01

@right("bernoulli_chain_loglik: textbook form")
def _(x, p):
    return (x * p.log() + (1 - x) * (1 - p).log()).sum(1)


@right("bernoulli_chain_loglik: torch.distributions")
def _(x, p):
    return Bernoulli(p).log_prob(x).sum(-1)


@right("bernoulli_chain_loglik: cross entropy, prints a lot, warns")
def _(x, p):
    import warnings

    warnings.warn("careful", stacklevel=1)
    print("working " * 1000)
    return -F.binary_cross_entropy(p, x, reduction="none").sum(1)


@right("bernoulli_chain_loglik: loops")
def _(x, p):
    rows = []
    for row, prob in zip(x, p, strict=True):
        rows.append(sum(torch.log(q if v else 1 - q) for v, q in zip(row.tolist(), prob, strict=True)))
    return torch.stack(rows)


@wrong("bernoulli_chain_loglik: a clamp changes the model")
def _(x, p):
    return torch.where(x == 1, p, 1 - p).clamp(0.2, 0.8).log().sum(1)


@wrong("bernoulli_chain_loglik: last variable twice")
def _(x, p):
    terms = torch.where(x == 1, p, 1 - p).log()
    return terms.sum(1) + terms[:, -1]


@wrong("bernoulli_chain_loglik: base 10")
def _(x, p):
    return torch.where(x == 1, p, 1 - p).log10().sum(1)


@wrong("bernoulli_chain_loglik: detached")
def _(x, p):
    return torch.where(x == 1, p, 1 - p).log().sum(1).detach()


@wrong("bernoulli_chain_loglik: constant")
def _(x, p):
    return torch.full((len(x),), -3.0)


@wrong("bernoulli_chain_loglik: keepdim")
def _(x, p):
    return torch.where(x == 1, p, 1 - p).log().sum(1, keepdim=True)


@wrong("bernoulli_chain_loglik: writes into p")
def _(x, p):
    result = torch.where(x == 1, p, 1 - p).log().sum(1)
    p.detach().mul_(0.5)
    return result


@wrong("bernoulli_chain_loglik: an object equal to everything")
def _(x, p):
    class Equal:
        shape, dtype = (len(x),), x.dtype

        def __eq__(self, other):
            return True

        def __sub__(self, other):
            return 0

    return Equal()


@wrong("bernoulli_chain_loglik: a tensor of a class of its own, equal to everything")
def _(x, p):
    class Agreeable(torch.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            if func in (torch.allclose, torch.equal, torch.Tensor.eq):
                return True
            return super().__torch_function__(func, types, args, kwargs or {})

    return torch.zeros(len(x)).as_subclass(Agreeable)


@right("conditional_table: loops over states")
def _(joint, i):
    table = torch.empty((2,) * i, dtype=joint.dtype)
    for state in itertools.product((0, 1), repeat=i):
        rest = joint[state]
        table[state] = rest[1].sum() / rest.sum()
    return table


@wrong("conditional_table: NaN guard adds to the denominator")
def _(joint, i):
    later = tuple(range(i + 1, joint.ndim))
    table = joint.sum(dim=later) if later else joint
    return table[..., 1] / (table.sum(-1) + 0.01)


@wrong("conditional_table: as float32 of the next variable's shape")
def _(joint, i):
    return joint.reshape(-1)[: 2**i].reshape((2,) * i)


@right("dropped_parent_cost: entropies")
def _(joint, child, parent):
    def entropy(table):
        return -(table * table.log()).sum()

    later = tuple(range(child + 1, joint.ndim))
    joint = joint.sum(dim=later) if later else joint
    without = joint.sum(parent)
    kept = child - 1
    return float(entropy(without) - entropy(without.sum(kept)) - entropy(joint) + entropy(joint.sum(child)))


@wrong("dropped_parent_cost: unconditional mutual information of the parent and all the rest")
def _(joint, child, parent):
    later = tuple(range(child + 1, joint.ndim))
    joint = joint.sum(dim=later) if later else joint
    others = joint.sum(parent, keepdim=True)
    alone = joint.sum(tuple(k for k in range(joint.ndim) if k != parent), keepdim=True)
    return (joint * (joint / (others * alone)).log()).sum() * 1.01


@wrong("dropped_parent_cost: squared")
def _(joint, child, parent):
    later = tuple(range(child + 1, joint.ndim))
    joint = joint.sum(dim=later) if later else joint
    full = joint / joint.sum(child, keepdim=True)
    less = joint.sum(parent, keepdim=True)
    less = less / less.sum(child, keepdim=True)
    return (joint * (full - less) ** 2).sum()


@right("bigram_bits: loops, a float")
def _(train, test, V, alpha):
    counts = [[alpha] * V for _ in range(V)]
    for v, w in zip(train[:-1].tolist(), train[1:].tolist(), strict=True):
        counts[v][w] += 1
    pairs = list(zip(test[:-1].tolist(), test[1:].tolist(), strict=True))
    return -sum(math.log2(counts[v][w] / sum(counts[v])) for v, w in pairs) / len(pairs)


@wrong("bigram_bits: alpha is always 1")
def _(train, test, V, alpha):
    counts = torch.ones(V, V)
    for v, w in zip(train[:-1], train[1:], strict=True):
        counts[v, w] += 1
    return -(counts / counts.sum(1, keepdim=True))[test[:-1], test[1:]].log2().mean()


@wrong("bigram_bits: each pair counted once at most")
def _(train, test, V, alpha):
    counts = torch.full((V, V), alpha)
    counts[train[:-1], train[1:]] += 1
    return -(counts / counts.sum(1, keepdim=True))[test[:-1], test[1:]].log2().mean()


# chapter 03

@right("fvsbn_conditionals: loop, einsum, float64 inside")
def _(x, W, c):
    columns = [torch.sigmoid(c[i] + x[:, :i] @ W[i, :i]) for i in range(len(c))]
    return torch.stack(columns, dim=1)


@right("fvsbn_conditionals: the library's model")
def _(x, W, c):
    from torch.func import functional_call

    from course_lib.density import FVSBN

    class Probabilities(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.model = FVSBN(len(c))

        def forward(self, x):
            return self.model.conditionals(x).probs

    return functional_call(Probabilities(), {"model.weight": W, "model.bias": c}, (x,))


@wrong("fvsbn_conditionals: tanh")
def _(x, W, c):
    return torch.tanh(x @ W.tril(-1).T + c)


@wrong("fvsbn_conditionals: two diagonals cut")
def _(x, W, c):
    return torch.sigmoid(x @ W.tril(-2).T + c)


@wrong("fvsbn_conditionals: rounded")
def _(x, W, c):
    return torch.sigmoid(x @ W.tril(-1).T + c).round()


@wrong("fvsbn_conditionals: gradient to the bias alone")
def _(x, W, c):
    return torch.sigmoid(x @ W.detach().tril(-1).T + c)


@right("fvsbn_sample: a full pass for each variable")
def _(u, W, c):
    x = torch.zeros_like(u)
    for i in range(len(c)):
        x[:, i] = (u < torch.sigmoid(x @ W.tril(-1).T + c))[:, i].float()
    return x


@wrong("fvsbn_sample: randomness of its own")
def _(u, W, c):
    x = torch.zeros_like(u)
    for i in range(len(c)):
        x[:, i] = torch.bernoulli(torch.sigmoid(x @ W.tril(-1).T + c))[:, i]
    return x


@wrong("fvsbn_sample: booleans")
def _(u, W, c):
    x = torch.zeros_like(u)
    for i in range(len(c)):
        x[:, i] = (u[:, i] < torch.sigmoid(x @ W.tril(-1).T + c)[:, i]).float()
    return x.bool()


@right("find_leaks: state by state")
def _(conditionals, n):
    leaks = set()
    for state in itertools.product((0.0, 1.0), repeat=n):
        x = torch.tensor([state])
        for j in range(n):
            y = x.clone()
            y[0, j] = 1 - y[0, j]
            moved = (conditionals(x) != conditionals(y))[0]
            leaks |= {(i, j) for i in range(j + 1) if moved[i] and abs(conditionals(x) - conditionals(y))[0, i] > 1e-7}
    return sorted(leaks)


@wrong("find_leaks: sees nothing")
def _(conditionals, n):
    return []


@wrong("find_leaks: reports everything")
def _(conditionals, n):
    return [(i, j) for i in range(n) for j in range(i, n)]


@right("train_fvsbn: Newton's method, one variable after another")
def _(train):
    D = train.shape[1]
    W, c = torch.zeros(D, D), torch.zeros(D)
    for i in range(D):
        X, y, w = torch.cat([train[:, :i], torch.ones(len(train), 1)], 1), train[:, i], torch.zeros(i + 1)
        for _ in range(12):
            p = torch.sigmoid(X @ w)
            H = X.T @ (X * (p * (1 - p))[:, None]) + 1e-2 * torch.eye(i + 1)
            w = w + torch.linalg.solve(H, X.T @ (y - p) - 1e-2 * w)
        W[i, :i], c[i] = w[:-1], w[-1]
    return W, c


@wrong("train_fvsbn: stopped after five small steps")
def _(train):
    D = train.shape[1]
    W, c = torch.zeros(D, D, requires_grad=True), torch.zeros(D, requires_grad=True)
    optimizer = torch.optim.SGD([W, c], lr=0.1)
    for _ in range(5):
        loss = F.binary_cross_entropy_with_logits(F.linear(train, W.tril(-1), c), train)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return W.detach(), c.detach()


@wrong("train_fvsbn: noise")
def _(train):
    D = train.shape[1]
    return torch.randn(D, D, generator=torch.Generator().manual_seed(3)), torch.zeros(D)


@wrong("train_fvsbn: not a number")
def _(train):
    D = train.shape[1]
    return torch.full((D, D), float("nan")), torch.zeros(D)
