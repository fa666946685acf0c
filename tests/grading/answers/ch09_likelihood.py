"""Answers to the exercises of chapter 09."""
from __future__ import annotations

import torch
import torch.nn.functional as F

from tests.grading.answers.register import right, wrong


@right("fgsm_levels: the gradient by hand")
def _(x, y, W, b, eps, levels):
    p = (x.to(W.dtype) / (levels - 1) @ W.T + b).softmax(dim=1)
    g = (p - F.one_hot(y, len(b))) @ W
    return torch.clamp(x + (eps * torch.sign(g)).long(), min=0, max=levels - 1)


@right("fgsm_levels: an image at a time, by backward")
def _(x, y, W, b, eps, levels):
    found = []
    for image, label in zip(x, y):
        z = image.double().requires_grad_()
        F.cross_entropy((W.double() @ z / (levels - 1) + b.double())[None], label[None]).backward()
        found.append([min(levels - 1, max(0, int(v) + eps * int(s))) for v, s in zip(image, z.grad.sign())])
    return torch.tensor(found)


@wrong("fgsm_levels: floats", called=None)
def _(x, y, W, b, eps, levels):
    p = (x.to(W.dtype) / (levels - 1) @ W.T + b).softmax(dim=1)
    return (x + eps * ((p - F.one_hot(y, len(b))) @ W).sign()).clamp(0, levels - 1)


@wrong("fgsm_levels: the image itself")
def _(x, y, W, b, eps, levels):
    return x.clone()


@wrong("fgsm_levels: towards the next class")
def _(x, y, W, b, eps, levels):
    other = (y + 1) % len(b)
    return (x + eps * (W[other] - W[y]).sign().long()).clamp(0, levels - 1)


@right("rank_p_value: by search in the sorted scores")
def _(scores, calibration):
    place = torch.searchsorted(calibration.sort().values, scores, right=True)
    return (place.double() + 1) / (len(calibration) + 1)


@right("rank_p_value: one by one")
def _(scores, calibration):
    return torch.tensor([(1 + sum(float(c) <= float(s) for c in calibration)) / (len(calibration) + 1) for s in scores],
                        dtype=torch.float64)


@wrong("rank_p_value: the smallest p for all")
def _(scores, calibration):
    return torch.full_like(scores, 1 / (len(calibration) + 1))


@wrong("rank_p_value: a Gaussian in the place of ranks")
def _(scores, calibration):
    if len(calibration) < 2:
        return torch.full_like(scores, 0.5)
    return torch.distributions.Normal(calibration.mean(), calibration.std()).cdf(scores)


@right("greedy_repair: a mask over all values")
def _(next_log_probs, x, eps):
    done = []
    for came in x:
        log_p = next_log_probs(list(done))
        v = torch.arange(len(log_p))
        scores = log_p.double() - 1e-9 * (v - came).abs()                      # the nearer of equals
        done.append(int(scores.masked_fill((v - came).abs() > eps, -torch.inf).argmax()))
    return done


@right("greedy_repair: from the middle of the box outward")
def _(next_log_probs, x, eps):
    done = []
    for came in x:
        log_p, best = next_log_probs(list(done)), came
        for distance in range(1, eps + 1):
            for v in (came - distance, came + distance):
                if 0 <= v < len(log_p) and log_p[v] > log_p[best]:
                    best = v
        done.append(best)
    return done


@wrong("greedy_repair: nothing is changed")
def _(next_log_probs, x, eps):
    return list(x)


@wrong("greedy_repair: the code as it was found", called="clipped_after")
def _(next_log_probs, x, eps):
    for i in range(len(x)):
        best = int(next_log_probs(x[:i]).argmax())
        x[i] = max(x[i] - eps, min(x[i] + eps, best))
    return x


@right("anomaly_scores: a regression of each pixel on all others")
def _(train, x):
    clean, new, n = train.double(), x.double(), train.shape[1]
    mean = clean.mean(dim=0)
    clean, new, total = clean - mean, new - mean, torch.zeros(len(x), dtype=torch.float64)
    gram = clean.T @ clean + len(train) * torch.eye(n, dtype=torch.float64)
    for i in range(n):
        rest = [j for j in range(n) if j != i]
        w = torch.linalg.solve(gram[rest][:, rest], gram[rest, i])
        error = (clean[:, i] - clean[:, rest] @ w).square().mean() + 1
        total += (new[:, i] - new[:, rest] @ w).square() / error
    return total


@right("anomaly_scores: the Mahalanobis distance")
def _(train, x):
    mean = train.double().mean(dim=0)
    factor = torch.linalg.cholesky(torch.cov(train.double().T) + 0.3 * torch.eye(64, dtype=torch.float64))
    return torch.linalg.solve_triangular(factor, (x - mean).T, upper=False).square().sum(dim=0)


@wrong("anomaly_scores: how much ink")
def _(train, x):
    return x.double().sum(dim=1)


@wrong("anomaly_scores: random numbers")
def _(train, x):
    return torch.rand(len(x), generator=torch.Generator().manual_seed(len(train)))
