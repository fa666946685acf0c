"""Wrong answers to the exercises on the chain rule."""
from __future__ import annotations

from tests.grading.stock import wrong

STOCK = [
    wrong("bernoulli_chain_loglik", "the mean over the variables instead of their sum", "open", """
import torch

def bernoulli_chain_loglik(x, p):
    log_p = x * torch.log(p) + (1 - x) * torch.log(1 - p)
    return log_p.mean(dim=1)
"""),
    wrong("bernoulli_chain_loglik", "variables that are 0 add nothing: the term with 1 - p is forgotten", "sealed", """
import torch

def bernoulli_chain_loglik(x, p):
    return (x * torch.log(p)).sum(dim=1)
"""),
    wrong("bernoulli_chain_loglik", "the product comes before the logarithm: -inf for many variables", "open", """
import torch

def bernoulli_chain_loglik(x, p):
    prob = torch.where(x == 1, p, 1 - p)
    return torch.log(torch.prod(prob, dim=1))
"""),
    wrong("bernoulli_chain_loglik", "p is a probability, not a logit: a sigmoid too many", "sealed", """
import torch
import torch.nn.functional as F

def bernoulli_chain_loglik(x, p):
    loss = F.binary_cross_entropy_with_logits(p, x.to(p.dtype), reduction="none")
    return -loss.sum(dim=-1)
"""),
    wrong("conditional_table", "the later variables are set to 0 instead of summed out", "open", """
import torch

def conditional_table(joint, i):
    n = joint.dim()
    t = joint
    for _ in range(n - i - 1):
        t = t[..., 0]
    return t[..., 1] / t.sum(dim=-1)
"""),
    wrong("conditional_table", "never divided by p(x_<i): a joint probability, no conditional", "sealed", """
import torch

def conditional_table(joint, i):
    later = tuple(range(i + 1, joint.dim()))
    t = joint.sum(dim=later) if later else joint
    return t[..., 1]
"""),
    wrong("conditional_table", "i counted from 1: the variable before it is answered", "open", """
import torch

def conditional_table(joint, i):
    while joint.dim() > max(i, 1):
        joint = joint.sum(dim=-1)
    return joint[..., 1] / joint.sum(dim=-1)
"""),
    wrong("conditional_table", "divided by p(x_i = 1) instead of p(x_<i): normalised over the wrong axes", "sealed", """
import torch

def conditional_table(joint, i):
    while joint.dim() > i + 1:
        joint = joint.sum(-1)
    one = joint[..., 1]
    return one / one.sum()
"""),
    wrong("dropped_parent_cost", "the parent is averaged out with equal weights, not its probabilities", "open", """
import torch

def dropped_parent_cost(joint, child, parent):
    t = joint
    while t.dim() > child + 1:
        t = t.sum(dim=-1)
    full = t / t.sum(dim=-1, keepdim=True)
    without = full.mean(dim=parent, keepdim=True)
    return (t * (full.log() - without.log())).sum()
"""),
    wrong("dropped_parent_cost", "compares p(x_c) with p(x_c | x_p): the child's other parents are lost", "sealed", """
import torch

def dropped_parent_cost(joint, child, parent):
    others = [a for a in range(joint.dim()) if a not in (child, parent)]
    pair = joint.sum(dim=others) if others else joint        # (parent, child)
    p_parent = pair.sum(1, keepdim=True)
    p_child = pair.sum(0, keepdim=True)
    return (pair * (pair / (p_parent * p_child)).log()).sum()
"""),
    wrong("dropped_parent_cost", "every state counts the same: the mean over states, not weighted by p(x)", "open", """
import torch

def dropped_parent_cost(joint, child, parent):
    t = joint
    while t.dim() > child + 1:
        t = t.sum(dim=-1)
    full = t / t.sum(dim=child, keepdim=True)
    s = t.sum(dim=parent, keepdim=True)
    less = s / s.sum(dim=child, keepdim=True)
    return (full.log() - less.log()).mean()
"""),
    wrong("dropped_parent_cost", "without minus with: the sign is turned", "sealed", """
import torch

def dropped_parent_cost(joint, child, parent):
    t = joint
    while t.dim() > child + 1:
        t = t.sum(dim=-1)
    full = t / t.sum(dim=child, keepdim=True)
    s = t.sum(dim=parent, keepdim=True)
    less = s / s.sum(dim=child, keepdim=True)
    return (t * (less.log() - full.log())).sum()
"""),
    wrong("bigram_bits", "natural logarithms: nats, not bits", "open", """
import torch

def bigram_bits(train, test, V, alpha):
    counts = torch.zeros(V, V)
    for a, b in zip(train[:-1], train[1:]):
        counts[a, b] += 1
    probs = (counts + alpha) / (counts + alpha).sum(1, keepdim=True)
    return -probs[test[:-1], test[1:]].log().mean()
"""),
    wrong("bigram_bits", "alpha is added once to the sum instead of V times: rows sum to more than 1", "sealed", """
import torch

def bigram_bits(train, test, V, alpha):
    counts = torch.zeros(V, V)
    for v, w in zip(train[:-1].tolist(), train[1:].tolist()):
        counts[v, w] += 1
    p = (counts + alpha) / (counts.sum(dim=1, keepdim=True) + alpha)
    return -torch.log2(p[test[:-1], test[1:]]).mean()
"""),
    wrong("bigram_bits", "the pair is turned: normalised over the previous symbol instead of the next", "open", """
import torch

def bigram_bits(train, test, V, alpha):
    idx = train[:-1] * V + train[1:]
    counts = torch.bincount(idx, minlength=V * V).view(V, V).double() + alpha
    p = counts / counts.sum(dim=0)
    return -torch.log2(p[test[:-1], test[1:]]).mean()
"""),
    wrong("bigram_bits", "divided by the number of symbols of test instead of its pairs, one fewer", "sealed", """
import math
import torch

def bigram_bits(train, test, V, alpha):
    counts = torch.full((V, V), float(alpha), dtype=torch.float64)
    for v, w in zip(train[:-1], train[1:]):
        counts[v, w] += 1
    p = counts / counts.sum(1, keepdim=True)
    total = 0.0
    for v, w in zip(test[:-1], test[1:]):
        total -= math.log2(p[v, w])
    return total / len(test)
"""),
]
