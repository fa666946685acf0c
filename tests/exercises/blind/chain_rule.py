"""Wrong answers to the exercises of chapter chain-rule, written without knowing its checks."""
from __future__ import annotations

import torch

from tests.exercises.answers.register import blind


@blind("bernoulli_chain_loglik: probabilities are clamped to 1e-6 before the logarithm, though some are smaller")
def _(x, p):
    p = p.clamp(1e-6, 1)
    q = (1 - p).clamp(1e-6, 1)
    return torch.where(x == 1, p, q).log().sum(dim=1)


@blind("bernoulli_chain_loglik: only the places where x is 1 count; the factors 1 - p of the zeros are forgotten")
def _(x, p):
    factors = torch.where(x == 1, p, torch.ones_like(p))
    return factors.log().sum(dim=-1)


@blind("conditional_table: divides by the sum over the histories, p(x_i = 1), and not by p(x_<i) of each")
def _(joint, i):
    later = tuple(range(i + 1, joint.dim()))
    table = joint.sum(dim=later) if later else joint
    ones = table.select(i, 1)
    return ones / ones.sum()


@blind("conditional_table: gives the probability that x_i is 0, not 1")
def _(joint, i):
    flat = joint.reshape(2 ** i, 2, -1).sum(-1)
    return (flat[:, 0] / flat.sum(-1)).reshape((2,) * i)


@blind("dropped_parent_cost: takes the parent away by a plain mean of the conditionals over its two values, "
       "not weighted by its probability")
def _(joint, child, parent):
    p = joint.reshape(*joint.shape[:child + 1], -1).sum(-1)
    full = p / p.sum(child, keepdim=True)
    small = full.mean(parent, keepdim=True)
    return (p * (full.log() - small.log())).sum()


@blind("dropped_parent_cost: does not sum out the variables after the child: its table reads them too")
def _(joint, child, parent):
    def conditional(q):
        return q / q.sum(dim=child, keepdim=True)

    without = conditional(joint.sum(dim=parent, keepdim=True))
    return (joint * (conditional(joint) / without).log()).sum()
