"""Wrong answers to the exercises of chapter likelihood, written without knowing its checks."""
from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import nn

from tests.exercises.answers.register import blind


@blind("fgsm_levels: a gradient of 0 counts as positive: such pixels move up by eps, and do not stay")
def _(x, y, W, b, eps, levels):
    p = ((x / (levels - 1)) @ W.T + b).softmax(-1)
    gradient = (p - F.one_hot(y, len(b))) @ W
    up = torch.where(gradient >= 0, 1, -1)
    return (x + eps * up).clamp(0, levels - 1)


@blind("fgsm_levels: clips to 0..levels, one level too many at the top")
def _(x, y, W, b, eps, levels):
    z = x.to(W.dtype).requires_grad_()
    loss = F.cross_entropy(z / (levels - 1) @ W.T + b, y, reduction="sum")
    [g] = torch.autograd.grad(loss, z)
    return torch.clamp(x + eps * g.sign().long(), min=0, max=levels)


@blind("fgsm_levels: away from the logit of the true class alone: the gradient is -W[y] and not that of the "
       "cross-entropy, the other classes do not count")
def _(x, y, W, b, eps, levels):
    pixels = (x / (levels - 1)).to(W.dtype).requires_grad_()
    logits = pixels @ W.T + b
    loss = -logits[torch.arange(len(y)), y].sum()
    loss.backward()
    return (x + eps * pixels.grad.sign().long()).clamp(0, levels - 1)


@blind("fgsm_levels: the loss is taken at the class that the classifier predicts, not at y")
def _(x, y, W, b, eps, levels):
    logits = (x / (levels - 1)).to(W.dtype) @ W.T + b
    predicted = logits.argmax(dim=1)
    p = logits.softmax(dim=1) - F.one_hot(predicted, W.shape[0])
    grad = p @ W / (levels - 1)
    return torch.clamp(x + eps * torch.sign(grad).to(torch.int64), min=0, max=levels - 1)


@blind("rank_p_value: counts the calibration scores that are at least as large: the wrong side")
def _(scores, calibration):
    count = (calibration[None, :] >= scores[:, None]).sum(dim=1)
    return (count + 1) / (calibration.numel() + 1)


@blind("rank_p_value: a calibration score that equals the score is not counted: less than instead of at most")
def _(scores, calibration):
    ordered, _ = torch.sort(calibration)
    below = torch.searchsorted(ordered, scores)
    return (1 + below) / (len(calibration) + 1)


@blind("rank_p_value: the scores in question are ranked among themselves too, pooled with the calibration scores")
def _(scores, calibration):
    pool = torch.cat([calibration, scores])
    at_most = (pool[None, :] <= scores[:, None]).sum(dim=1)      # holds the score itself
    return at_most / len(pool)


@blind("rank_p_value: the 1 is added to the denominator only: a score below all others gets p = 0")
def _(scores, calibration):
    N = calibration.shape[0]
    counts = torch.stack([(calibration <= s).sum() for s in scores])
    return counts.double() / (N + 1)


@blind("greedy_repair: predicts from the values before in x, not from those in the new list")
def _(next_log_probs, x, eps):
    result = []
    for i, value in enumerate(x):
        log_p = next_log_probs(x[:i]).tolist()
        allowed = range(max(0, value - eps), min(len(log_p) - 1, value + eps) + 1)
        result.append(min(allowed, key=lambda v: (-log_p[v], abs(v - value), v)))
    return result


@blind("greedy_repair: of equally probable values takes the lowest, not the nearest to x[i]")
def _(next_log_probs, x, eps):
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


@blind("greedy_repair: nothing stops the candidates below 0: a negative value indexes the log-probabilities "
       "from the end, and may be chosen")
def _(next_log_probs, x, eps):
    result = []
    for value in x:
        log_p = next_log_probs(result).tolist()
        candidates = range(value - eps, min(value + eps, len(log_p) - 1) + 1)
        best = max(candidates, key=lambda v: (log_p[v], -abs(v - value), -v))
        result.append(best)
    return result


@blind("greedy_repair: the upper end of the window is left out: value + eps itself is never tried")
def _(next_log_probs, x, eps):
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


@blind("anomaly_scores: the log-density itself is returned: high for clean images and low for changed ones")
def _(train, x):
    t, z = train.double(), x.double()
    mean = t.mean(dim=0)
    covariance = torch.cov(t.T) + 0.5 * torch.eye(t.shape[1], dtype=torch.double)
    density = torch.distributions.MultivariateNormal(mean, covariance_matrix=covariance)
    return density.log_prob(z)


@blind("anomaly_scores: every pixel is judged by itself, by how often training has its level in this place: "
       "what its neighbours say does not come in")
def _(train, x):
    n = train.shape[1]
    counts = torch.ones(n, 17)                       # one of each, so that no level has 0
    for pixel in range(n):
        counts[pixel] += torch.bincount(train[:, pixel], minlength=17)
    log_p = (counts / counts.sum(dim=1, keepdim=True)).log()
    return -log_p[torch.arange(n), x].sum(dim=1)


@blind("anomaly_scores: learns to tell clean from changed on fakes of its own in which the background moves "
       "as well: on the real ones nothing shows there")
def _(train, x):
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
