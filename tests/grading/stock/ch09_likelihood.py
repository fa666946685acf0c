"""Wrong answers to the exercises on likelihood as a detector."""
from __future__ import annotations

from tests.grading.stock import wrong

STOCK = [
    wrong("fgsm_levels", "the step goes down the loss", "open", """
import torch
import torch.nn.functional as F

def fgsm_levels(x, y, W, b, eps, levels):
    z = x.to(W.dtype).requires_grad_()
    F.cross_entropy(z / (levels - 1) @ W.T + b, y).backward()
    return (x - eps * z.grad.sign().long()).clamp(0, levels - 1)
"""),
    wrong("fgsm_levels", "the range is not kept", "sealed", """
import torch
import torch.nn.functional as F

def fgsm_levels(x, y, W, b, eps, levels):
    z = x.to(W.dtype).requires_grad_()
    F.cross_entropy(z / (levels - 1) @ W.T + b, y).backward()
    return x + eps * z.grad.sign().long()
"""),
    wrong("rank_p_value", "the direction is turned: likely images get a small p", "open", """
import torch

def rank_p_value(scores, calibration):
    count = (calibration[None, :] >= scores[:, None]).sum(dim=1)
    return (1 + count.to(scores.dtype)) / (len(calibration) + 1)
"""),
    wrong("rank_p_value", "the image itself is not counted", "sealed", """
import torch

def rank_p_value(scores, calibration):
    count = (calibration[None, :] <= scores[:, None]).sum(dim=1)
    return count.to(scores.dtype) / len(calibration)
"""),
    wrong("greedy_repair", "predicted from the values that came", "open", """
def greedy_repair(next_log_probs, x, eps):
    repaired = []
    for i, came in enumerate(x):
        log_p = next_log_probs(x[:i]).tolist()
        near = range(max(0, came - eps), min(len(log_p) - 1, came + eps) + 1)
        repaired.append(max(near, key=lambda v: (log_p[v], -abs(v - came))))
    return repaired
"""),
    wrong("greedy_repair", "the most probable of all values is moved into the box", "sealed", """
def greedy_repair(next_log_probs, x, eps):
    repaired = []
    for came in x:
        best = int(next_log_probs(list(repaired)).argmax())
        repaired.append(max(came - eps, min(came + eps, best)))
    return repaired
"""),
    wrong("anomaly_scores", "every pixel is judged alone", "open", """
import torch

def anomaly_scores(train, x):
    mean, variance = train.double().mean(dim=0), train.double().var(dim=0)
    return ((x - mean) ** 2 / (variance + 1)).sum(dim=1)
"""),
    wrong("anomaly_scores", "the direction is turned: clean images score high", "sealed", """
import torch

def anomaly_scores(train, x):
    mean = train.double().mean(dim=0)
    precision = torch.linalg.inv(torch.cov(train.double().T) + torch.eye(64).double())
    off = (x - mean) @ precision
    return -(off ** 2 / precision.diag()).sum(dim=1)
"""),
]
