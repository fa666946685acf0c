"""Answers to the exercises of chapter 06."""
from __future__ import annotations

import itertools
import math

import torch
import torch.nn.functional as F

from tests.grading.answers.register import right, wrong


@right("made_masks: entry by entry")
def _(order, hidden):
    rows = [order.tolist(), *[m.tolist() for m in hidden], order.tolist()]
    masks = []
    for depth in range(len(rows) - 1):
        last = depth == len(rows) - 2
        masks.append(torch.tensor([[1.0 if a > b or a == b and not last else 0.0 for b in rows[depth]]
                                   for a in rows[depth + 1]]))
    return masks


@right("made_masks: the library's, in float64")
def _(order, hidden):
    from course_lib.density.made import made_masks

    return [mask.double() for mask in made_masks(order, *hidden)]


@wrong("made_masks: ones everywhere")
def _(order, hidden):
    widths = [len(order), *[len(m) for m in hidden], len(order)]
    return [torch.ones(b, a) for a, b in zip(widths, widths[1:])]


@wrong("made_masks: differences of degrees")
def _(order, hidden):
    rows = [order, *hidden]
    masks = [(b[:, None] - a).clamp(min=0).float() for a, b in zip(rows, rows[1:])]
    return [*masks, (order[:, None] - rows[-1]).clamp(min=0).float()]


@wrong("made_masks: the first hidden layer only")
def _(order, hidden):
    masks = [torch.ones(len(b), len(a)) for a, b in zip(hidden, hidden[1:])]
    return [(hidden[0][:, None] >= order).float(), *masks, (order[:, None] > hidden[-1]).float()]


@right("made_parents: walking down")
def _(masks):
    found = []
    for i in range(len(masks[-1])):
        units = {i}
        for mask in reversed(masks):
            units = {j for k in units for j in range(mask.shape[1]) if mask[k, j] > 0}
        found.append(sorted(units))
    return found


@right("made_parents: gradients of a linear network")
def _(masks):
    x = torch.ones(masks[0].shape[1], requires_grad=True)
    h = x
    for mask in masks:
        h = mask @ h
    rows = [torch.autograd.grad(h[i], x, retain_graph=True)[0] for i in range(len(h))]
    return [row.nonzero().flatten().tolist() for row in rows]


@wrong("made_parents: empty lists")
def _(masks):
    return [[] for _ in range(len(masks[-1]))]


@wrong("made_parents: what is not read")
def _(masks):
    paths = masks[0]
    for mask in masks[1:]:
        paths = mask @ paths
    return [(row == 0).nonzero().flatten().tolist() for row in paths]


@wrong("made_parents: the most frequent input only")
def _(masks):
    paths = masks[0]
    for mask in masks[1:]:
        paths = mask @ paths
    return [[int(row.argmax())] for row in paths]


@right("ensemble_loglik: binary cross-entropy, one order at a time")
def _(logits, x):
    each = [-F.binary_cross_entropy_with_logits(z, x, reduction="none").sum(1) for z in logits]
    return torch.logsumexp(torch.stack(each) - math.log(len(each)), 0)


@right("ensemble_loglik: the largest term taken out by hand")
def _(logits, x):
    each = torch.distributions.Bernoulli(logits=logits).log_prob(x.expand_as(logits)).sum(-1)
    top = each.max(0).values.detach()
    return top + (each - top).exp().mean(0).log()


@wrong("ensemble_loglik: the worst order")
def _(logits, x):
    return F.logsigmoid(torch.where(x == 1, logits, -logits)).sum(-1).amin(0)


@wrong("ensemble_loglik: zeros and ones exchanged")
def _(logits, x):
    return F.logsigmoid(torch.where(x == 0, logits, -logits)).sum(-1).logsumexp(0) - math.log(len(logits))


@wrong("ensemble_loglik: in bits")
def _(logits, x):
    each = F.logsigmoid(torch.where(x == 1, logits, -logits)).sum(-1)
    return (each.logsumexp(0) - math.log(len(logits))) / math.log(2)


@wrong("ensemble_loglik: no gradient to the first order")
def _(logits, x):
    logits = torch.cat([logits[:1].detach(), logits[1:]])
    each = F.logsigmoid(torch.where(x == 1, logits, -logits)).sum(-1)
    return each.logsumexp(0) - math.log(len(logits))


def reads(conditionals, n):
    states = torch.tensor(list(itertools.product((0.0, 1.0), repeat=n)))
    table = torch.zeros(n, n, dtype=torch.bool)
    for j in range(n):
        other = states.clone()
        other[:, j] = 1 - other[:, j]
        table[:, j] = ((conditionals(other) - conditionals(states)).abs() > 1e-6).any(0)
    return table


@right("find_order: every permutation tried")
def _(conditionals, n):
    table = reads(conditionals, n)
    for order in itertools.permutations(range(n)):
        if not any(table[i, j] for k, i in enumerate(order) for j in order[k:]):
            return list(order)
    return []


@right("find_order: the longest chain below each variable")
def _(conditionals, n):
    table = reads(conditionals, n)
    step, total = table.double(), table.double()
    for _ in range(n):
        total = ((total + total @ step) > 0).double()
    if total.diagonal().any():
        return []
    return sorted(range(n), key=lambda i: int(total[i].sum()))


@wrong("find_order: the natural order")
def _(conditionals, n):
    return list(range(n))


@wrong("find_order: always empty")
def _(conditionals, n):
    return []


@wrong("find_order: whatever reads the first variable comes first")
def _(conditionals, n):
    table = reads(conditionals, n)
    return sorted(range(n), key=lambda i: (not table[i, 0], i))
