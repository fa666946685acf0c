"""Answers to the exercises of chapter 15."""
from __future__ import annotations

import math

import torch
import torch.nn.functional as F

from tests.grading.answers.register import right, wrong


@right("layer_norm: torch's own function")
def _(x, gamma, beta, eps=1e-5):
    return F.layer_norm(x, x.shape[-1:], gamma, beta, eps)


@right("layer_norm: mean of squares minus square of mean, in float64")
def _(x, gamma, beta, eps=1e-5):
    z = x.double()
    mean = z.mean(-1, keepdim=True)
    variance = (z * z).mean(-1, keepdim=True) - mean * mean
    return ((z - mean) * (variance + eps).rsqrt() * gamma + beta).to(x.dtype)


@wrong("layer_norm: root mean square")
def _(x, gamma, beta, eps=1e-5):
    return gamma * x / (x.square().mean(-1, keepdim=True) + eps).sqrt() + beta


@wrong("layer_norm: absolute deviation")
def _(x, gamma, beta, eps=1e-5):
    centred = x - x.mean(-1, keepdim=True)
    return gamma * centred / (centred.abs().mean(-1, keepdim=True) + eps) + beta


@wrong("layer_norm: one plus gamma")
def _(x, gamma, beta, eps=1e-5):
    return F.layer_norm(x, x.shape[-1:], 1 + gamma, beta, eps)


@right("label_smoothing_loss: torch's option")
def _(logits, target, eps, pad):
    return F.cross_entropy(logits, target, label_smoothing=eps, ignore_index=pad)


@right("label_smoothing_loss: two terms, row by row")
def _(logits, target, eps, pad):
    losses = []
    for z, t in zip(logits, target.tolist(), strict=True):
        if t != pad:
            log_p = z - z.logsumexp(0)
            losses.append(-(1 - eps) * log_p[t] - eps * log_p.mean())
    return torch.stack(losses).mean()


@wrong("label_smoothing_loss: logarithm of the smoothed probability")
def _(logits, target, eps, pad):
    p = (1 - eps) * logits.softmax(1) + eps / logits.shape[1]
    return F.nll_loss(p.log(), target, ignore_index=pad)


@wrong("label_smoothing_loss: softmax and then the logarithm, without a maximum")
def _(logits, target, eps, pad):
    p = logits.exp() / logits.exp().sum(1, keepdim=True)
    q = (1 - eps) * F.one_hot(target, logits.shape[1]) + eps / logits.shape[1]
    return -(q * p.log()).sum(1)[target != pad].mean()


@wrong("label_smoothing_loss: sign")
def _(logits, target, eps, pad):
    return -F.cross_entropy(logits, target, label_smoothing=eps, ignore_index=pad)


@right("noam_lr: by cases")
def _(step, d_model, warmup):
    peak = 1 / math.sqrt(d_model * warmup)
    return peak * step / warmup if step < warmup else peak * math.sqrt(warmup / step)


@right("noam_lr: the library's")
def _(step, d_model, warmup):
    from course_lib.training import noam_lr

    return noam_lr(step, d_model, warmup)


@wrong("noam_lr: square root of the width twice")
def _(step, d_model, warmup):
    return d_model ** -1 * min(step ** -0.5, step * warmup ** -1.5)


@wrong("noam_lr: falls as 1 / step")
def _(step, d_model, warmup):
    return d_model ** -0.5 * min(warmup ** 0.5 / step, step * warmup ** -1.5)


@wrong("noam_lr: the sum of the two terms")
def _(step, d_model, warmup):
    return d_model ** -0.5 * (step ** -0.5 + step * warmup ** -1.5)


@right("find_placements: name by name")
def _(blocks, f, d):
    x = torch.linspace(-5, 7, 4 * d, dtype=torch.float64).reshape(4, d).sin() * 4 + 2
    def ln(z):
        return F.layer_norm(z, (d,))

    names = []
    for block in blocks:
        out = block(x)
        if torch.allclose(out, ln(x + f(x)), atol=1e-5):
            names.append("post")
        elif torch.allclose(out, x + f(ln(x)), atol=1e-5):
            names.append("pre")
        else:
            names.append("inner" if torch.allclose(out, x + ln(f(x)), atol=1e-5) else "none")
    return names


@right("find_placements: by what is left over")
def _(blocks, f, d):
    x = 2 * torch.randn(5, d, generator=torch.Generator().manual_seed(4)).double() - 1
    left = {"post": F.layer_norm(x + f(x), (d,)), "pre": x + f(F.layer_norm(x, (d,))), "inner": x + F.layer_norm(f(x), (d,))}
    return [next((name for name, want in left.items() if (block(x) - want).norm() < 1e-4), "none") for block in blocks]


@wrong("find_placements: all post")
def _(blocks, f, d):
    return ["post" for _ in blocks]


@wrong("find_placements: a loose tolerance")
def _(blocks, f, d):
    x = 3 * torch.randn(6, d, generator=torch.Generator().manual_seed(4)).double() + 1
    left = {"post": F.layer_norm(x + f(x), (d,)), "pre": x + f(F.layer_norm(x, (d,))), "inner": x + F.layer_norm(f(x), (d,))}
    return [next((name for name, want in left.items() if (block(x) - want).abs().max() < 0.8), "none") for block in blocks]


@wrong("find_placements: other words")
def _(blocks, f, d):
    return ["after" for _ in blocks]
