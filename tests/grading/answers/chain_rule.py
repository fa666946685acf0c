"""Answers to the exercises of chapter 01."""
from __future__ import annotations

import itertools
import math

import torch
import torch.nn.functional as F
from torch.distributions import Bernoulli

from tests.grading.answers.register import right, wrong


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
