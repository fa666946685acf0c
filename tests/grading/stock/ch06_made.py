"""Wrong answers to the exercises on MADE."""
from __future__ import annotations

from tests.grading.stock import wrong

STOCK = [
    wrong("made_masks", "into the output too a degree may be equal: a variable reads itself", "open", """
import torch

def made_masks(order, hidden):
    degrees = [order, *hidden, order]
    return [(above[:, None] >= below[None, :]).float() for below, above in zip(degrees, degrees[1:])]
"""),
    wrong("made_masks", "strictly greater in every layer: the hidden layers lose connections", "sealed", """
import torch

def made_masks(order, hidden):
    degrees = [order] + list(hidden) + [order]
    masks = []
    for k in range(len(degrees) - 1):
        masks.append((degrees[k + 1].unsqueeze(1) > degrees[k].unsqueeze(0)).float())
    return masks
"""),
    wrong("made_masks", "the masks are (in, out): transposed", "open", """
import torch

def made_masks(order, hidden):
    masks, below = [], order
    for m in hidden:
        masks.append((m[None, :] >= below[:, None]).float())
        below = m
    masks.append((order[None, :] > below[:, None]).float())
    return masks
"""),
    wrong("made_masks", "order is read as the list of variables, not as their positions: it is inverted", "sealed", """
import torch

def made_masks(order, hidden):
    pos = torch.empty_like(order)
    for k, variable in enumerate(order.tolist()):
        pos[variable - 1] = k + 1
    layers = [pos] + hidden
    masks = [(b[:, None] >= a).float() for a, b in zip(layers[:-1], layers[1:])]
    return masks + [(pos[:, None] > layers[-1]).float()]
"""),
    wrong("made_parents", "an input that reaches its own output is left out", "open", """
import torch

def made_parents(masks):
    paths = masks[0]
    for m in masks[1:]:
        paths = m @ paths
    D = len(paths)
    return [[j for j in range(D) if paths[i, j] > 0 and j != i] for i in range(D)]
"""),
    wrong("made_parents", "only a single path counts: an input with two or more paths is missed", "sealed", """
import torch

def made_parents(masks):
    total = masks[-1]
    for m in reversed(masks[:-1]):
        total = total @ m
    return [(row == 1).nonzero().flatten().tolist() for row in total]
"""),
    wrong("made_parents", "for each input the outputs it reaches: the table is transposed", "open", """
import torch

def made_parents(masks):
    total = torch.eye(masks[0].shape[1])
    for m in masks:
        total = m.float() @ total
    D = total.shape[0]
    return [[i for i in range(D) if total[i, j] > 0] for j in range(D)]
"""),
    wrong("made_parents", "an input is listed once for each path, so more than once", "sealed", """
import torch

def made_parents(masks):
    reads = [[j] for j in range(masks[0].shape[1])]
    for m in masks:
        reads = [sorted(j for below, on in enumerate(row.tolist()) if on for j in reads[below]) for row in m]
    return reads
"""),
    wrong("ensemble_loglik", "the mean of the logarithms instead of the logarithm of the mean", "open", """
import torch
import torch.nn.functional as F

def ensemble_loglik(logits, x):
    target = x.expand_as(logits)
    log_p = -F.binary_cross_entropy_with_logits(logits, target, reduction="none").sum(-1)
    return log_p.mean(dim=0)
"""),
    wrong("ensemble_loglik", "the factors are averaged variable by variable, before the product", "sealed", """
import torch

def ensemble_loglik(logits, x):
    p = torch.sigmoid(logits).mean(dim=0)
    return (x * p.log() + (1 - x) * (1 - p).log()).sum(dim=1)
"""),
    wrong("ensemble_loglik", "the factor 1 / K is forgotten: log K too much", "open", """
import torch
import torch.nn.functional as F

def ensemble_loglik(logits, x):
    log_p = torch.where(x.bool(), F.logsigmoid(logits), F.logsigmoid(-logits)).sum(dim=2)
    return torch.logsumexp(log_p, dim=0)
"""),
    wrong("ensemble_loglik", "the product comes before the logarithm: -inf for many variables", "sealed", """
import torch

def ensemble_loglik(logits, x):
    p = torch.sigmoid(logits)
    each = torch.where(x == 1, p, 1 - p).prod(dim=-1)
    return each.mean(dim=0).log()
"""),
    wrong("find_order", "returns the position of each variable instead of the variable at each position", "open", """
import itertools
import torch

def find_order(conditionals, n):
    X = torch.tensor(list(itertools.product([0.0, 1.0], repeat=n)))
    base = conditionals(X)
    reads = torch.zeros(n, n, dtype=torch.bool)
    for j in range(n):
        Y = X.clone()
        Y[:, j] = 1 - Y[:, j]
        reads[:, j] = ((conditionals(Y) - base).abs() > 1e-6).any(0)
    for order in itertools.permutations(range(n)):
        if not any(reads[order[a], order[b]] for a in range(n) for b in range(a, n)):
            return [order.index(i) for i in range(n)]
    return []
"""),
    wrong("find_order", "sorted by the number of direct parents: wrong where connections are missing", "sealed", """
import itertools
import torch

def find_order(conditionals, n):
    X = torch.tensor(list(itertools.product([0.0, 1.0], repeat=n)))
    base = conditionals(X)
    parents = [0] * n
    for j in range(n):
        Y = X.clone()
        Y[:, j] = 1 - Y[:, j]
        changed = ((conditionals(Y) - base).abs() > 1e-6).any(dim=0)
        if changed[j]:
            return []
        for i in range(n):
            parents[i] += int(changed[i])
    return sorted(range(n), key=lambda i: parents[i])
"""),
    wrong("find_order", "tries one input only: a dependence that shows elsewhere stays hidden", "open", """
import itertools
import torch

def find_order(conditionals, n):
    x = torch.zeros(1, n)
    flipped = torch.eye(n)
    reads = ((conditionals(flipped) - conditionals(x)).abs() > 1e-6).T      # (i, j)
    for order in itertools.permutations(range(n)):
        if all(not reads[order[a], order[b]] for a in range(n) for b in range(a, n)):
            return list(order)
    return []
"""),
    wrong("find_order", "a factor that reads its own variable is not noticed: such a model gets an order", "sealed", """
import itertools
import torch

def find_order(conditionals, n):
    X = torch.tensor(list(itertools.product([0.0, 1.0], repeat=n)))
    parents = {i: set() for i in range(n)}
    for j in range(n):
        lo, hi = X.clone(), X.clone()
        lo[:, j], hi[:, j] = 0, 1
        change = (conditionals(lo) - conditionals(hi)).abs().amax(0)
        for i in range(n):
            if i != j and change[i] > 1e-6:
                parents[i].add(j)
    order = []
    while len(order) < n:
        ready = [i for i in range(n) if i not in order and parents[i] <= set(order)]
        if not ready:
            return []
        order.append(ready[0])
    return order
"""),
]
