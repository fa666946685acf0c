"""Wrong answers to the exercises of chapter made, written without knowing its checks."""
from __future__ import annotations

import itertools
import math

import torch
import torch.nn.functional as F

from tests.exercises.answers.register import blind


@blind("made_masks: the mask into the output has >= where > is asked: an output may read its own variable")
def _(order, hidden):
    degrees = [torch.as_tensor(order), *hidden, torch.as_tensor(order)]
    return [(above[:, None] >= below[None, :]).float()
            for below, above in zip(degrees, degrees[1:])]


@blind("made_masks: reads `order` as the list of the variables in turn, and inverts it")
def _(order, hidden):
    position = torch.argsort(torch.as_tensor(order)) + 1
    masks, below = [], position
    for degree in hidden:
        masks.append((degree.unsqueeze(1) >= below.unsqueeze(0)).float())
        below = degree
    masks.append((position.unsqueeze(1) > below.unsqueeze(0)).float())
    return masks


@blind("made_parents: counts the paths and reports only the inputs with exactly one, not with one or more")
def _(masks):
    paths = masks[0].double()
    for mask in masks[1:]:
        paths = mask.double() @ paths
    return [[j for j, count in enumerate(row) if count == 1] for row in paths.tolist()]


@blind("made_parents: the result is turned around: entry i holds the outputs that input i reaches")
def _(masks):
    reach = torch.eye(masks[0].shape[1])
    for mask in masks:
        reach = ((mask.float() @ reach) > 0).float()
    return [reach[:, i].nonzero().flatten().tolist() for i in range(reach.shape[1])]


@blind("ensemble_loglik: mixes the K orders at each variable and multiplies these mixtures, instead of "
       "mixing the products")
def _(logits, x):
    K = logits.shape[0]
    terms = F.logsigmoid(torch.where(x == 1, logits, -logits))
    return (torch.logsumexp(terms, dim=0) - math.log(K)).sum(-1)


@blind("ensemble_loglik: the factor 1 / K is forgotten: the orders' probabilities are summed, not averaged")
def _(logits, x):
    target = x.to(logits.dtype).expand_as(logits)
    nll = F.binary_cross_entropy_with_logits(logits, target, reduction="none").sum(2)
    return (-nll).logsumexp(0)


@blind("find_order: does not ask whether a factor reads its own variable; such a model gets an order")
def _(conditionals, n):
    states = torch.tensor(list(itertools.product([0.0, 1.0], repeat=n)))
    p = conditionals(states)
    parents = [set() for _ in range(n)]
    for j in range(n):
        other = states.clone()
        other[:, j] = 1 - other[:, j]
        moved = (conditionals(other) - p).abs().amax(0) > 0.001
        for i in range(n):
            if moved[i] and i != j:
                parents[i].add(j)
    order = []
    while len(order) < n:
        ready = [i for i in range(n) if i not in order and parents[i] <= set(order)]
        if not ready:
            return []
        order.append(ready[0])
    return order


@blind("find_order: returns the position of each variable, the inverse of the order that is asked for")
def _(conditionals, n):
    states = torch.tensor(list(itertools.product([0.0, 1.0], repeat=n)))
    reads = torch.zeros(n, n, dtype=torch.bool)
    for j in range(n):
        low, high = states.clone(), states.clone()
        low[:, j], high[:, j] = 0, 1
        reads[:, j] = ((conditionals(high) - conditionals(low)).abs() > 0.001).any(0)
    position = [-1] * n
    for k in range(n):
        free = [i for i in range(n) if position[i] < 0
                and all(position[j] >= 0 for j in range(n) if reads[i, j])]
        if not free:
            return []
        position[free[0]] = k
    return position
