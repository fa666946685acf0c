"""Answers to the exercises of chapter likelihood."""
from __future__ import annotations

import math
import zlib

import torch
import torch.nn.functional as F
from torch import nn

from tests.exercises.answers.register import right, wrong


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


@wrong("fgsm_levels: levels by cutting off", called="cut_off")
def _(x, y, W, b, eps, levels):
    pixels = (x.to(W.dtype) / (levels - 1)).requires_grad_()
    g, = torch.autograd.grad(F.cross_entropy(pixels @ W.T + b, y, reduction="sum"), pixels)
    return ((pixels.detach() + eps / (levels - 1) * g.sign()).clamp(0, 1) * (levels - 1)).long()


@wrong("fgsm_levels: the image itself")
def _(x, y, W, b, eps, levels):
    return x.clone()


@wrong("fgsm_levels: towards the next class")
def _(x, y, W, b, eps, levels):
    other = (y + 1) % len(b)
    return (x + eps * (W[other] - W[y]).sign().long()).clamp(0, levels - 1)


@wrong("fgsm_levels: without the axes of length 1")
def _(x, y, W, b, eps, levels):
    p = (x.to(W.dtype) / (levels - 1) @ W.T + b).softmax(dim=1)
    g = (p - F.one_hot(y, len(b))).squeeze() @ W
    return (x.squeeze() + eps * g.sign().long()).clamp(0, levels - 1)


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


@wrong("greedy_repair: of two as near the higher one")
def _(next_log_probs, x, eps):
    done = []
    for came in x:
        log_p = next_log_probs(list(done))
        values = range(max(0, came - eps), min(len(log_p) - 1, came + eps) + 1)
        done.append(max(reversed(values), key=lambda v: (round(float(log_p[v]), 6), -abs(v - came))))
    return done


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


@right("OwnDetector: a chain of regressions, from the middle one on either side")
class Detector(nn.Module):
    """What the detectors share: a linear regression of each pixel on those before it, its errors Gaussian; p-values by search."""

    def __init__(self, levels):
        super().__init__()
        self.levels = levels

    def fit(self, train):
        x, n = train.double() / self.levels, train.shape[1]
        x = torch.cat([torch.ones(len(x), 1, dtype=x.dtype), x], 1)
        gram, self.weights, self.widths = x.T @ x + 0.3 * torch.eye(n + 1, dtype=x.dtype), [], []
        for i in range(1, n + 1):
            w = torch.linalg.solve(gram[:i, :i], gram[:i, i])
            self.weights.append(w)
            self.widths.append(((x[:, i] - x[:, :i] @ w).square().mean() + 0.003).sqrt())
        self.after(train)

    def after(self, train):
        self.known = self.log_prob(train).sort().values

    def log_prob(self, x):
        x = torch.cat([torch.ones(len(x), 1, dtype=torch.float64), x.double() / self.levels], 1)
        total = torch.zeros(len(x), dtype=torch.float64)
        for i, (w, width) in enumerate(zip(self.weights, self.widths), 1):
            total += torch.distributions.Normal(x[:, :i] @ w, width).log_prob(x[:, i]) - math.log(self.levels)
        return total

    def score(self, x):
        return (self.log_prob(x) - self.known[len(self.known) // 2]).abs()

    def calibrate(self, images):
        self.kept = self.score(images).sort().values

    def p_values(self, x):
        below = torch.searchsorted(self.kept, self.score(x))                   # strictly less strange
        return (len(self.kept) - below + 1).double() / (len(self.kept) + 1)


@right("OwnDetector: the more unusual of two surprises, with pixels alone and together")
class TwoSurprises(Detector):
    def surprises(self, x):
        return -torch.stack([self.log_prob(x), ((x - self.mean) / self.width).square().sum(1) * -0.5])

    def after(self, train):
        self.mean, self.width = train.double().mean(0), train.double().std(0) + 1
        self.center = self.surprises(train).mean(1, keepdim=True)
        self.scale = (self.surprises(train) - self.center).std(1, keepdim=True)

    def score(self, x):
        together, alone = (self.surprises(x) - self.center) / self.scale
        return torch.maximum(together, alone.abs()).maximum(-together)


@wrong("OwnDetector: minus log-likelihood, scaled", called="likelihood_alone")
class LikelihoodAlone(Detector):
    def score(self, x):
        return 5 - self.log_prob(x) / 64


@wrong("OwnDetector: ranks among the training images", called="on_training")
class OnTraining(Detector):
    def after(self, train):
        super().after(train)
        super().calibrate(train)

    def calibrate(self, images):
        pass


@wrong("OwnDetector: the share that is at least as strange, 0 for none", called="zero_possible")
class ZeroPossible(Detector):
    def p_values(self, x):
        return (self.kept >= self.score(x)[:, None]).double().mean(1)


@wrong("OwnDetector: equal scores are not counted", called="ties_left_out")
class Strict(Detector):
    def p_values(self, x):
        return (1 + (self.kept > self.score(x)[:, None]).sum(1)).double() / (len(self.kept) + 1)


@wrong("OwnDetector: a high score gets a high p", called="low_is_strange")
class HighPValue(Detector):
    def p_values(self, x):
        return (1 + (self.kept <= self.score(x)[:, None]).sum(1)).double() / (len(self.kept) + 1)


@wrong("OwnDetector: a Gaussian through the calibration scores, no ranks")
class NoRanks(Detector):
    def p_values(self, x):
        return 1 - torch.distributions.Normal(self.kept.mean(), self.kept.std()).cdf(self.score(x))


@wrong("OwnDetector: the score is standardised by the calibration images", called="refits")
class Standardized(Detector):
    def score(self, x):
        found = super().score(x)
        return (found - self.kept.mean()) / self.kept.std() if hasattr(self, "kept") else found


@wrong("OwnDetector: a table for every pixel, both sides", called=("pixels_alone", None))
class Tables(Detector):
    def fit(self, train):
        counts = F.one_hot(train, self.levels).double().sum(0) + 0.5           # (64, levels)
        self.table = (counts / counts.sum(1, keepdim=True)).log()
        self.after(train)

    def log_prob(self, x):
        return self.table[torch.arange(x.shape[1]), x].sum(1)


@wrong("OwnDetector: bytes of the compressed image")
class Compressed(Detector):
    def score(self, x):
        sizes = [float(len(zlib.compress(bytes(row)))) for row in x.tolist()]
        return torch.tensor(sizes) + 0.001 * x.double().mean(1)


@wrong("OwnDetector: how far from the mean of the batch", called="of_the_batch")
class OfTheBatch(Detector):
    def score(self, x):
        log_p = self.log_prob(x)
        return (log_p - log_p.mean()).abs()


@wrong("OwnDetector: no density, zeros")
class Zeros(Detector):
    def log_prob(self, x):
        return torch.zeros(len(x))


@wrong("OwnDetector: random scores")
class AtRandom(Detector):
    def score(self, x):
        return torch.rand(len(x))
