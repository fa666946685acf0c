"""Wrong answers to the exercises on likelihoods of pictures."""
from __future__ import annotations

from tests.grading.stock import wrong

STOCK = [
    wrong("fgsm_levels",
          "a gradient of 0 counts as positive: such pixels move up by eps, and do not stay",
          "third", """
import torch
import torch.nn.functional as F

def fgsm_levels(x, y, W, b, eps, levels):
    p = ((x / (levels - 1)) @ W.T + b).softmax(-1)
    gradient = (p - F.one_hot(y, len(b))) @ W
    up = torch.where(gradient >= 0, 1, -1)
    return (x + eps * up).clamp(0, levels - 1)
"""),
    wrong("fgsm_levels",
          "clips to 0..levels, one level too many at the top",
          "third", """
import torch
import torch.nn.functional as F

def fgsm_levels(x, y, W, b, eps, levels):
    z = x.to(W.dtype).requires_grad_()
    loss = F.cross_entropy(z / (levels - 1) @ W.T + b, y, reduction="sum")
    [g] = torch.autograd.grad(loss, z)
    return torch.clamp(x + eps * g.sign().long(), min=0, max=levels)
"""),
    wrong("rank_p_value",
          "counts the calibration scores that are smaller, without those that are equal",
          "third", """
import torch

def rank_p_value(scores, calibration):
    ordered = calibration.sort().values
    below = torch.searchsorted(ordered, scores)
    return (1 + below) / (len(calibration) + 1)
"""),
    wrong("rank_p_value",
          "counts the calibration scores that are at least as large: the wrong side",
          "third", """
import torch

def rank_p_value(scores, calibration):
    count = (calibration[None, :] >= scores[:, None]).sum(dim=1)
    return (count + 1) / (calibration.numel() + 1)
"""),
    wrong("greedy_repair",
          "predicts from the values before in x, not from those in the new list",
          "third", """
def greedy_repair(next_log_probs, x, eps):
    result = []
    for i, value in enumerate(x):
        log_p = next_log_probs(x[:i]).tolist()
        allowed = range(max(0, value - eps), min(len(log_p) - 1, value + eps) + 1)
        result.append(min(allowed, key=lambda v: (-log_p[v], abs(v - value), v)))
    return result
"""),
    wrong("greedy_repair",
          "of equally probable values takes the lowest, not the nearest to x[i]",
          "third", """
def greedy_repair(next_log_probs, x, eps):
    result = []
    for value in x:
        log_p = next_log_probs(list(result))
        low, high = max(0, value - eps), min(len(log_p) - 1, value + eps)
        best = low
        for v in range(low, high + 1):
            if log_p[v] > log_p[best]:
                best = v
        result.append(best)
    return result
"""),
]
