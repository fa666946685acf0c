"""Wrong answers to the exercises on the transformer."""
from __future__ import annotations

from tests.grading.stock import wrong

MERGE = """\
    merged = []
    for pieces, n in words:
        out, i = [], 0
        while i < len(pieces):
            if pieces[i:i + 2] == [left, right]:
                out.append(left + right)
                i += 2
            else:
                out.append(pieces[i])
                i += 1
        merged.append([out, n])
    return [[left, right], merged]
"""

STOCK = [
    wrong("layer_norm", "the variance is divided by d - 1: torch's default", "open", """
import torch

def layer_norm(x, gamma, beta, eps=1e-5):
    mu = x.mean(dim=-1, keepdim=True)
    var = x.var(dim=-1, keepdim=True)
    return gamma * (x - mu) / torch.sqrt(var + eps) + beta
"""),
    wrong("layer_norm", "eps is added to the deviation, outside the root", "sealed", """
import torch

def layer_norm(x, gamma, beta, eps=1e-5):
    mu = x.mean(-1, keepdim=True)
    sigma = ((x - mu) ** 2).mean(-1, keepdim=True).sqrt()
    return gamma * (x - mu) / (sigma + eps) + beta
"""),
    wrong("layer_norm", "divided by the variance: the root is forgotten", "open", """
import torch

def layer_norm(x, gamma, beta, eps=1e-5):
    centred = x - x.mean(-1, keepdim=True)
    var = centred.pow(2).mean(-1, keepdim=True)
    return gamma * centred / (var + eps) + beta
"""),
    wrong("layer_norm", "beta is inside the bracket: gamma scales it too", "sealed", """
import torch

def layer_norm(x, gamma, beta, eps=1e-5):
    mu = x.mean(-1, keepdim=True)
    var = x.var(-1, keepdim=True, unbiased=False)
    return gamma * ((x - mu) / (var + eps).sqrt() + beta)
"""),
    wrong("layer_norm", "mean and variance over all axes instead of the last", "open", """
import torch

def layer_norm(x, gamma, beta, eps=1e-5):
    var, mu = torch.var_mean(x, unbiased=False)
    return (x - mu) * torch.rsqrt(var + eps) * gamma + beta
"""),
    wrong("label_smoothing_loss", "eps is shared among the other K - 1 classes: not torch's form", "sealed", """
import torch
import torch.nn.functional as F

def label_smoothing_loss(logits, target, eps, pad):
    keep = target != pad
    logits, target = logits[keep], target[keep]
    K = logits.shape[1]
    q = torch.full_like(logits, eps / (K - 1))
    q[torch.arange(len(target)), target] = 1 - eps
    return -(q * F.log_softmax(logits, dim=1)).sum(dim=1).mean()
"""),
    wrong("label_smoothing_loss", "padding is not in the sum, but the mean still divides by all N rows", "open", """
import torch
import torch.nn.functional as F

def label_smoothing_loss(logits, target, eps, pad):
    K = logits.shape[-1]
    keep = target != pad
    q = (1 - eps) * F.one_hot(target.clamp(0, K - 1), K) + eps / K
    rows = -(q * logits.log_softmax(dim=-1)).sum(-1)
    return (rows * keep).mean()
"""),
    wrong("label_smoothing_loss", "the softmax comes before the logarithm: large logits give inf or nan", "sealed", """
import torch

def label_smoothing_loss(logits, target, eps, pad):
    keep = target != pad
    logits, target = logits[keep], target[keep]
    p = torch.exp(logits) / torch.exp(logits).sum(dim=1, keepdim=True)
    log_p = torch.log(p)
    nll = -log_p[torch.arange(len(target)), target]
    return ((1 - eps) * nll - eps * log_p.mean(dim=1)).mean()
"""),
    wrong("label_smoothing_loss", "the target takes no part in the sharing: it gets 1 - eps alone", "open", """
import torch
import torch.nn.functional as F

def label_smoothing_loss(logits, target, eps, pad):
    keep = target != pad
    log_p = F.log_softmax(logits[keep], dim=-1)
    K = log_p.shape[-1]
    q = torch.full_like(log_p, eps / K).scatter(1, target[keep][:, None], 1 - eps)
    return -(q * log_p).sum(dim=-1).mean()
"""),
    wrong("label_smoothing_loss", "the sum over the rows instead of the mean", "sealed", """
import torch
import torch.nn.functional as F

def label_smoothing_loss(logits, target, eps, pad):
    return F.cross_entropy(logits, target, ignore_index=pad, label_smoothing=eps, reduction="sum")
"""),
    wrong("noam_lr", "the maximum of the two terms instead of the minimum", "open", """
def noam_lr(step, d_model, warmup):
    return d_model ** -0.5 * max(step ** -0.5, step * warmup ** -1.5)
"""),
    wrong("noam_lr", "multiplied by the root of d_model instead of divided by it", "sealed", """
def noam_lr(step, d_model, warmup):
    return d_model ** 0.5 * min(step ** -0.5, step * warmup ** -1.5)
"""),
    wrong("noam_lr", "warmup has the exponent -1/2 instead of -3/2: the peak is not at step warmup", "open", """
def noam_lr(step, d_model, warmup):
    return min(step ** -0.5, step * warmup ** -0.5) / d_model ** 0.5
"""),
    wrong("noam_lr", "steps counted from 0: everything comes a step late", "sealed", """
def noam_lr(step, d_model, warmup):
    t = step + 1
    return d_model ** (-0.5) * min(t ** (-0.5), t * warmup ** (-1.5))
"""),
    wrong("find_placements", "the sample variance in the norm: no block fits any arrangement", "open", """
import torch

def find_placements(blocks, f, d):
    def ln(x):
        return (x - x.mean(-1, keepdim=True)) / torch.sqrt(x.var(-1, keepdim=True) + 1e-5)

    x = torch.randn(6, d)
    forms = {"post": ln(x + f(x)), "pre": x + f(ln(x)), "inner": x + ln(f(x))}
    names = []
    for block in blocks:
        y = block(x)
        names.append(next((name for name, z in forms.items() if torch.allclose(y, z, atol=1e-5)), "none"))
    return names
"""),
    wrong("find_placements", "the nearest of the three is always named: never \"none\"", "sealed", """
import torch
import torch.nn.functional as F

def find_placements(blocks, f, d):
    x = torch.randn(20, d)
    ln = lambda z: F.layer_norm(z, (d,))
    forms = {"post": ln(x + f(x)), "pre": x + f(ln(x)), "inner": x + ln(f(x))}
    return [min(forms, key=lambda name: (block(x) - forms[name]).abs().sum()) for block in blocks]
"""),
    wrong("find_placements", "tried on one row only: a norm over several rows looks sound", "open", """
import torch
import torch.nn.functional as F

def find_placements(blocks, f, d):
    x = torch.randn(1, d)
    norm = lambda z: F.layer_norm(z, (d,))
    answers = []
    for block in blocks:
        y = block(x)
        if torch.allclose(y, norm(x + f(x)), atol=1e-5):
            answers.append("post")
        elif torch.allclose(y, x + f(norm(x)), atol=1e-5):
            answers.append("pre")
        elif torch.allclose(y, x + norm(f(x)), atol=1e-5):
            answers.append("inner")
        else:
            answers.append("none")
    return answers
"""),
    wrong("find_placements", "told by the rows' means alone: a forgotten sum or a faulty norm passes", "sealed", """
import torch

def find_placements(blocks, f, d):
    x = torch.randn(8, d)
    out = []
    for block in blocks:
        y = block(x)
        if y.mean(-1).abs().max() < 1e-4:
            out.append("post")
        elif (y - x).mean(-1).abs().max() < 1e-4:
            out.append("inner")
        else:
            out.append("pre")
    return out
"""),
    wrong("slide_smoothing_loss", "torch's form: the target takes part in the sharing", "open", """
import torch.nn.functional as F

def slide_smoothing_loss(logits, target, eps, pad):
    return F.cross_entropy(logits, target, ignore_index=pad, label_smoothing=eps)
"""),
    wrong("slide_smoothing_loss", "padding is left out of the sum and stays in the number", "sealed", """
def slide_smoothing_loss(logits, target, eps, pad):
    log_p = logits.log_softmax(dim=1)
    rows = range(len(target))
    true = log_p[rows, target.clamp(min=0)]
    rest = log_p.sum(dim=1) - true
    loss = -(1 - eps) * true - eps / (logits.shape[1] - 1) * rest
    return (loss * (target != pad)).sum() / len(target)
"""),
    wrong("byte_pair_step", "a word counts once, however often the text has it", "open", """
from collections import Counter

def byte_pair_step(words):
    counts = Counter(pair for pieces, _ in words for pair in zip(pieces, pieces[1:]))
    left, right = min(counts, key=lambda pair: (-counts[pair], pair))
""" + MERGE),
    wrong("byte_pair_step", "of equally frequent pairs the first that was seen", "sealed", """
from collections import Counter

def byte_pair_step(words):
    counts = Counter()
    for pieces, n in words:
        for pair in zip(pieces, pieces[1:]):
            counts[pair] += n
    left, right = counts.most_common(1)[0][0]
""" + MERGE),
    wrong("clipped_ngrams", "matches are not cut: every n-gram that a reference has counts", "open", """
def clipped_ngrams(hypothesis, references, n):
    def grams(words):
        return [tuple(words[i:i + n]) for i in range(len(words) - n + 1)]

    mine = grams(hypothesis)
    theirs = {gram for reference in references for gram in grams(reference)}
    return sum(gram in theirs for gram in mine), len(mine)
"""),
    wrong("clipped_ngrams", "the counts of all references are added up", "sealed", """
from collections import Counter

def clipped_ngrams(hypothesis, references, n):
    def grams(words):
        return Counter(tuple(words[i:i + n]) for i in range(len(words) - n + 1))

    mine, theirs = grams(hypothesis), sum((grams(r) for r in references), Counter())
    return sum((mine & theirs).values()), sum(mine.values())
"""),
    wrong("clipped_step", "the parts are added as if each were a sum already", "open", """
def clipped_step(grads, counts, c):
    whole = [sum(parts) for parts in zip(*grads)]
    norm = sum(float((g ** 2).sum()) for g in whole) ** 0.5
    return [g * min(1.0, c / norm) for g in whole], norm
"""),
    wrong("clipped_step", "each parameter is cut to the length by itself", "sealed", """
def clipped_step(grads, counts, c):
    n = sum(counts)
    whole = [sum(k / n * g for k, g in zip(counts, parts)) for parts in zip(*grads)]
    norm = sum(float((g ** 2).sum()) for g in whole) ** 0.5
    return [g if g.norm() <= c else g * c / g.norm() for g in whole], norm
"""),
]
