"""Independent references: literal loops, a number at a time, and scipy's densities, written from the equations."""
from __future__ import annotations

import math

import numpy as np
import torch
from scipy import stats
from scipy.special import expit, logsumexp, softmax


def fvsbn_by_loops(x, weight, bias, order):
    """sum over k of log p(x_o | those drawn before): logistic regressions in numpy."""
    logs = np.zeros(len(x))
    for b, row in enumerate(x):
        for k, i in enumerate(order):
            a = bias[i]
            for j in order[:k]:
                a += weight[i, j] * row[j]
            p = expit(a)
            logs[b] += np.log(p if row[i] else 1 - p)
    return logs


def attention_by_loops(q, k, v, mask=None):
    """One query at a time, in plain loops over what it may attend to."""
    out = torch.zeros(*q.shape[:-1], v.shape[-1], dtype=q.dtype)
    for b in range(q.shape[0]):
        for h in range(q.shape[1]):
            for t in range(q.shape[2]):
                seen = [s for s in range(k.shape[2]) if mask is None or mask[b, h, t, s]]
                e = [math.exp(sum(q[b, h, t] * k[b, h, s]) / math.sqrt(q.shape[-1])) for s in seen]
                for weight, s in zip(e, seen):
                    out[b, h, t] += weight / sum(e) * v[b, h, s]
    return out


def gaussians_by_scipy(raw, x, min_sigma):
    weight, mean, sigma = softmax(raw[..., 0, :], -1), raw[..., 1, :], min_sigma + np.exp(raw[..., 2, :])
    return np.log((weight * stats.norm.pdf(x[..., None], mean, sigma)).sum(-1))


def logistics_by_scipy(raw, levels):
    """Log-probability of each level, the last axis: logistic CDF differences, by survival functions above the mean."""
    step = 2 / (levels - 1)
    edge = -1 + step * (np.arange(levels - 1) + 0.5)                 # between level v and v + 1
    mean, scale = raw[..., 1, :, None], np.exp(np.maximum(raw[..., 2, :, None], -7))
    cdf, sf = stats.logistic.cdf(edge, mean, scale), stats.logistic.sf(edge, mean, scale)
    zero, one = np.zeros_like(cdf[..., :1]), np.ones_like(cdf[..., :1])
    below = np.diff(np.concatenate([zero, cdf, one], -1), axis=-1)
    above = -np.diff(np.concatenate([one, sf, zero], -1), axis=-1)
    inside = np.where(np.arange(levels) * step - 1 < mean, below, above)
    with np.errstate(divide="ignore"):
        return logsumexp(np.log(inside) + np.log(softmax(raw[..., 0, :], -1))[..., None], axis=-2)
