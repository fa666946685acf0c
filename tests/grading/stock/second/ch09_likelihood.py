"""Wrong answers to the exercises on likelihood."""
from __future__ import annotations

from tests.grading.stock import wrong

STOCK = [
    wrong("fgsm_levels", "away from the logit of the true class alone: the gradient is -W[y] and not that of the cross-entropy, the other classes do not count", "second", """
import torch

def fgsm_levels(x, y, W, b, eps, levels):
    pixels = (x / (levels - 1)).to(W.dtype).requires_grad_()
    logits = pixels @ W.T + b
    loss = -logits[torch.arange(len(y)), y].sum()
    loss.backward()
    return (x + eps * pixels.grad.sign().long()).clamp(0, levels - 1)
"""),
    wrong("fgsm_levels", "the loss is taken at the class that the classifier predicts, not at y", "second", """
import torch
import torch.nn.functional as F

def fgsm_levels(x, y, W, b, eps, levels):
    logits = (x / (levels - 1)).to(W.dtype) @ W.T + b
    predicted = logits.argmax(dim=1)
    p = logits.softmax(dim=1) - F.one_hot(predicted, W.shape[0])
    grad = p @ W / (levels - 1)
    return torch.clamp(x + eps * torch.sign(grad).to(torch.int64), min=0, max=levels - 1)
"""),
    wrong("fgsm_levels", "attacks the scaled pixels and turns them back to levels by .long(), which cuts off instead of rounding: some pixels land a level too low", "second", """
import torch
import torch.nn.functional as F

def fgsm_levels(x, y, W, b, eps, levels):
    pixels = (x.to(W.dtype) / (levels - 1)).requires_grad_(True)
    loss = F.cross_entropy(pixels @ W.T + b, y, reduction="sum")
    grad, = torch.autograd.grad(loss, pixels)
    attacked = pixels.detach() + eps / (levels - 1) * grad.sign()
    attacked = attacked.clamp(0, 1)
    return (attacked * (levels - 1)).long()
"""),
    wrong("rank_p_value", "a calibration score that equals the score is not counted: less than instead of at most", "second", """
import torch

def rank_p_value(scores, calibration):
    ordered, _ = torch.sort(calibration)
    below = torch.searchsorted(ordered, scores)
    return (1 + below) / (len(calibration) + 1)
"""),
    wrong("rank_p_value", "the scores in question are ranked among themselves too, pooled with the calibration scores", "second", """
import torch

def rank_p_value(scores, calibration):
    pool = torch.cat([calibration, scores])
    at_most = (pool[None, :] <= scores[:, None]).sum(dim=1)      # holds the score itself
    return at_most / len(pool)
"""),
    wrong("rank_p_value", "the 1 is added to the denominator only: a score below all others gets p = 0", "second", """
import torch

def rank_p_value(scores, calibration):
    N = calibration.shape[0]
    counts = torch.stack([(calibration <= s).sum() for s in scores])
    return counts.double() / (N + 1)
"""),
    wrong("greedy_repair", "nothing stops the candidates below 0: a negative value indexes the log-probabilities from the end, and may be chosen", "second", """
import torch

def greedy_repair(next_log_probs, x, eps):
    result = []
    for value in x:
        log_p = next_log_probs(result).tolist()
        candidates = range(value - eps, min(value + eps, len(log_p) - 1) + 1)
        best = max(candidates, key=lambda v: (log_p[v], -abs(v - value), -v))
        result.append(best)
    return result
"""),
    wrong("greedy_repair", "each value is judged after the values of x before it, not after those already repaired", "second", """
def greedy_repair(next_log_probs, x, eps):
    result = list(x)
    for i, value in enumerate(x):
        log_p = next_log_probs(x[:i])
        low, high = max(0, value - eps), min(len(log_p) - 1, value + eps)
        best = value
        for v in sorted(range(low, high + 1), key=lambda v: (abs(v - value), v)):
            if log_p[v] > log_p[best]:
                best = v
        result[i] = best
    return result
"""),
    wrong("greedy_repair", "the upper end of the window is left out: value + eps itself is never tried", "second", """
def greedy_repair(next_log_probs, x, eps):
    new = []
    for value in x:
        log_p = [float(p) for p in next_log_probs(list(new))]
        window = [v for v in range(len(log_p)) if value - eps <= v < value + eps]
        if not window:                       # eps = 0
            window = [value]
        top = max(log_p[v] for v in window)
        ties = [v for v in window if log_p[v] == top]
        new.append(min(ties, key=lambda v: (abs(v - value), v)))
    return new
"""),
    wrong("anomaly_scores", "the log-density itself is returned: high for clean images and low for changed ones", "second", """
import torch

def anomaly_scores(train, x):
    t, z = train.double(), x.double()
    mean = t.mean(dim=0)
    covariance = torch.cov(t.T) + 0.5 * torch.eye(t.shape[1], dtype=torch.double)
    density = torch.distributions.MultivariateNormal(mean, covariance_matrix=covariance)
    return density.log_prob(z)
"""),
    wrong("anomaly_scores", "every pixel is judged by itself, by how often training has its level in this place: what its neighbours say does not come in", "second", """
import torch

def anomaly_scores(train, x):
    n = train.shape[1]
    counts = torch.ones(n, 17)                       # one of each, so that no level has 0
    for pixel in range(n):
        counts[pixel] += torch.bincount(train[:, pixel], minlength=17)
    log_p = (counts / counts.sum(dim=1, keepdim=True)).log()
    return -log_p[torch.arange(n), x].sum(dim=1)
"""),
    wrong("anomaly_scores", "learns to tell clean from changed on fakes of its own in which the background moves as well: on the real ones nothing shows there", "second", """
import torch
from torch import nn
import torch.nn.functional as F

def anomaly_scores(train, x):
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 1))
    optimizer = torch.optim.Adam(net.parameters(), lr=3e-3)
    train = train.float()
    for step in range(400):
        clean = train[torch.randint(len(train), (128,))]
        coin = 2 * torch.randint(0, 2, clean.shape) - 1
        changed = (clean + 3 * coin).clamp(0, 16)
        logits = net(torch.cat([clean, changed]) / 16)[:, 0]
        labels = torch.cat([torch.zeros(128), torch.ones(128)])
        loss = F.binary_cross_entropy_with_logits(logits, labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    with torch.no_grad():
        return net(x.float() / 16)[:, 0]
"""),
]
