"""Answers to the exercises of chapter real-numbers."""
from __future__ import annotations

import math

import torch
from torch import nn

from course_lib.autoregressive import AutoregressiveModel
from course_lib.conditional import MixtureOfGaussians
from tests.exercises.answers.register import right, wrong


@right("mog_loglik: the largest term by hand, row by row")
def _(x, logits, mu, log_sigma):
    rows = []
    for b in range(len(x)):
        terms = logits[b] - torch.logsumexp(logits[b], 0) - log_sigma[b] - 0.5 * math.log(2 * math.pi) \
            - 0.5 * ((x[b] - mu[b]) * torch.exp(-log_sigma[b])) ** 2
        rows.append(terms.max() + (terms - terms.max()).exp().sum().log())
    return torch.stack(rows)


def log_normals(x, mu, sigma):
    return -((x[:, None] - mu) / sigma) ** 2 / 2 - sigma.log() - math.log(2 * math.pi) / 2


@wrong("mog_loglik: the weights, not their logarithms", called="probabilities")
def _(x, logits, mu, log_sigma):
    return torch.logsumexp(logits.softmax(1) + log_normals(x, mu, log_sigma.exp()), 1)


@wrong("mog_loglik: plus log sigma", called="plus_sigma")
def _(x, logits, mu, log_sigma):
    logs = -((x[:, None] - mu) / log_sigma.exp()) ** 2 / 2 + log_sigma - math.log(2 * math.pi) / 2
    return torch.logsumexp(logits.log_softmax(1) + logs, 1)


@wrong("mog_loglik: the density, not its logarithm")
def _(x, logits, mu, log_sigma):
    return (logits.softmax(1) * log_normals(x, mu, log_sigma.exp()).exp()).sum(1)


@wrong("mog_loglik: a floor under the density")
def _(x, logits, mu, log_sigma):
    return ((logits.softmax(1) * log_normals(x, mu, log_sigma.exp()).exp()).sum(1) + 1e-10).log()


@wrong("mog_loglik: log_sigma used as the deviation")
def _(x, logits, mu, log_sigma):
    return torch.logsumexp(logits.log_softmax(1) + log_normals(x, mu, log_sigma.abs()), 1)


@wrong("mog_loglik: gradient to the means alone")
def _(x, logits, mu, log_sigma):
    return torch.logsumexp(logits.detach().log_softmax(1) + log_normals(x, mu, log_sigma.detach().exp()), 1)


@wrong("mog_loglik: the logarithm of 0 replaced afterwards")
def _(x, logits, mu, log_sigma):
    logs = logits.log_softmax(1) + torch.distributions.Normal(mu, log_sigma.exp()).log_prob(x[:, None])
    plain = logs.exp().sum(1).log()
    return torch.where(plain.isfinite(), plain, logs.logsumexp(1))


@wrong("mog_loglik: means without their axes of length 1")
def _(x, logits, mu, log_sigma):
    z = (x[:, None] - mu.squeeze()) / log_sigma.exp()
    return (logits.log_softmax(1) - z ** 2 / 2 - log_sigma - math.log(2 * math.pi) / 2).logsumexp(1)


@right("find_improper: Riemann sums by midpoints")
def _(log_densities, low, high):
    count = 20000
    width = (high - low) / count
    x = low + width * (torch.arange(count) + 0.5)
    return [k for k, f in enumerate(log_densities) if abs(f(x).exp().sum().item() * width - 1) > 0.02]


@right("find_improper: piece by piece, in single precision")
def _(log_densities, low, high):
    found = []
    for k, f in enumerate(log_densities):
        area = 0.0
        for begin in torch.linspace(low, high, 25)[:-1].tolist():
            x = torch.linspace(begin, begin + (high - low) / 24, 1001)
            area += torch.trapezoid(f(x).exp().float(), x).item()
        if not 0.98 < area < 1.02:
            found.append(k)
    return found


@right("find_improper: Gauss's points on each tenth, within the 0.05 that is stated")
def _(log_densities, low, high):
    import numpy as np

    points, weights = map(torch.from_numpy, np.polynomial.legendre.leggauss(12))
    begin = torch.arange(low, high, 0.1, dtype=torch.float64)
    x = begin[:, None] + 0.05 * (points + 1)
    areas = [(f(x.flatten()).exp().reshape(x.shape) @ weights).sum() * 0.05 for f in log_densities]
    return [k for k, area in enumerate(areas) if abs(area - 1) > 0.05]


def areas(log_densities, low, high):
    x = torch.linspace(low, high, 20001, dtype=torch.float64)
    return [torch.trapezoid(f(x).exp(), x).item() for f in log_densities]


@wrong("find_improper: areas off by more than 0.08", called="tolerant")
def _(log_densities, low, high):
    return [k for k, area in enumerate(areas(log_densities, low, high)) if abs(area - 1) > 0.08]


@wrong("find_improper: nothing is improper")
def _(log_densities, low, high):
    return []


@wrong("find_improper: the areas themselves")
def _(log_densities, low, high):
    return areas(log_densities, low, high)


@wrong("find_improper: the low ones, by the height of their peak")
def _(log_densities, low, high):
    x = torch.linspace(low, high, 8001)
    return [k for k, f in enumerate(log_densities) if f(x).exp().max().item() < 1]


@wrong("find_improper: every other one")
def _(log_densities, low, high):
    return list(range(0, len(log_densities), 2))


@right("train_mog: expectation maximisation")
def _(x, K):
    x = x.double()
    mu = torch.linspace(x.min().item(), x.max().item(), K + 2, dtype=torch.float64)[1:-1]
    sigma, weights = torch.full_like(mu, x.std().item() / K), torch.full_like(mu, 1 / K)
    for _ in range(200):
        logs = weights.log() - sigma.log() - ((x[:, None] - mu) / sigma) ** 2 / 2
        r = logs.softmax(1)                                                    # (N, K): who is responsible for x
        count = r.sum(0)
        weights, mu = count / len(x), (r * x[:, None]).sum(0) / count
        sigma = ((r * (x[:, None] - mu) ** 2).sum(0) / count).sqrt()
    return weights.log(), mu, sigma.log()


@right("train_mog: clusters first, then torch.distributions and Adam, in the units of x")
def _(x, K):
    from torch.distributions import Categorical, MixtureSameFamily, Normal

    mu = torch.linspace(float(x.min()), float(x.max()), K + 2)[1:-1]
    for _ in range(20):
        nearest = (x[:, None] - mu).abs().argmin(1)
        mu = torch.stack([x[nearest == k].mean() for k in range(K)])
    logits = torch.bincount(nearest, minlength=K).float().log().requires_grad_()
    log_sigma = torch.stack([x[nearest == k].std() for k in range(K)]).log().requires_grad_()
    mu.requires_grad_()
    optimizer = torch.optim.Adam([logits, mu, log_sigma], lr=0.03)
    for _ in range(150):
        loss = -MixtureSameFamily(Categorical(logits=logits), Normal(mu, log_sigma.exp())).log_prob(x).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return logits.detach(), mu.detach(), log_sigma.detach()


def adam(x, mu, steps=150, lr=0.1):
    """A mixture fitted to standardised values, from these means, and its loss at the end."""
    logits, mu = torch.zeros(len(mu), requires_grad=True), mu.clone().requires_grad_()
    log_sigma = torch.full((len(mu),), -1.0, requires_grad=True)
    optimizer = torch.optim.Adam([logits, mu, log_sigma], lr=lr)
    for _ in range(steps):
        logs = logits.log_softmax(0) - log_sigma - ((x[:, None] - mu) / log_sigma.exp()) ** 2 / 2
        loss = -torch.logsumexp(logs, 1).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return loss.item(), (logits.detach(), mu.detach(), log_sigma.detach())


@right("train_mog: ten random starts, the best of them kept")
def _(x, K):
    m, s = x.mean(), x.std()
    z, generator = (x - m) / s, torch.Generator().manual_seed(0)
    starts = [z[torch.randperm(len(z), generator=generator)[:K]] for _ in range(10)]
    _, (logits, mu, log_sigma) = min((adam(z, start) for start in starts), key=lambda run: run[0])
    return logits, m + s * mu, log_sigma + s.log()


@wrong("train_mog: two means on the first peak", called=("shared_peak", None))
def _(x, K):
    m, s = x.mean(), x.std()
    z = (x - m) / s
    low = z.sort().values[: len(z) // 20].mean()
    _, (logits, mu, log_sigma) = adam(z, torch.stack([low, low, z.max() - 1]))
    return logits, m + s * mu, log_sigma + s.log()


@wrong("train_mog: one Gaussian for all, the others without weight")
def _(x, K):
    logits = torch.full((K,), -30.0)
    logits[0] = 0
    return logits, x.mean() + torch.arange(K).float(), x.std().log().expand(K)


@wrong("train_mog: means at the quantiles, nothing else fitted")
def _(x, K):
    mu = x.sort().values[[len(x) * (2 * k + 1) // (2 * K) for k in range(K)]]
    return torch.zeros(K), mu, torch.full((K,), math.log(6.0))


@wrong("train_mog: not a number")
def _(x, K):
    return torch.zeros(K), torch.full((K,), float("nan")), torch.zeros(K)


class InUnits(AutoregressiveModel):
    """What the answers share that is right."""

    def __init__(self, hidden, k, shift, scale):
        super().__init__(2, MixtureOfGaussians(k, min_sigma=1e-9))
        self.register_buffer("shift", torch.tensor(shift))
        self.register_buffer("scale", torch.tensor(scale))
        spread = torch.stack([torch.zeros(k), torch.linspace(-1.5, 1.5, k), torch.zeros(k)])
        self.first, self.b = nn.Parameter(spread.clone()), nn.Parameter(spread.clone())
        self.W, self.c = nn.Parameter(torch.randn(hidden)), nn.Parameter(torch.randn(hidden))
        self.V = nn.Parameter(0.1 * torch.randn(3, k, hidden))

    def raw(self, x):
        """Of the standardised values, (B, 2, 3, k)."""
        h = torch.sigmoid(self.c + (x[:, :1] - self.shift[0]) / self.scale[0] * self.W)
        second = self.b + (self.V @ h.T).permute(2, 0, 1)
        return torch.stack([self.first.expand_as(second), second], 1)

    def conditionals(self, x, context=None):
        raw = self.raw(x)
        zero, scale = torch.zeros_like(self.scale), self.scale
        times = torch.stack([1 + zero, scale, 1 + zero], -1)[..., None]
        plus = torch.stack([zero, self.shift, scale.log()], -1)[..., None]
        return self.conditional(times * raw + plus)

    def standardized_log_prob(self, z):
        return self.log_prob(self.shift + self.scale * z) + self.scale.log().sum()

    def fit(self, x, rate=0.05, steps=120):
        optimizer = torch.optim.Adam(self.parameters(), lr=rate)
        for _ in range(steps):
            loss = -self.log_prob(x).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()


def mixed(z, raw):
    """Log-density of z (..., ) under mixtures with raw numbers (..., 3, k)."""
    logits, mu, log_sigma = raw.unbind(-2)
    log_normal = -0.5 * ((z[..., None] - mu) / log_sigma.exp()) ** 2 - log_sigma - 0.5 * math.log(2 * math.pi)
    return (logits.log_softmax(-1) + log_normal).logsumexp(-1)


@right("OwnDensity: the density of z by hand, the Jacobian taken off in log_prob")
class ByHand(InUnits):
    def log_prob(self, x, context=None):
        return self.standardized_log_prob((x - self.shift) / self.scale) - self.scale.log().sum()

    def standardized_log_prob(self, z):
        return mixed(z, self.raw(self.shift + self.scale * z)).sum(1)


@right("OwnDensity: a distribution of its own making, batches, weight decay")
class OfTorch(InUnits):
    def conditionals(self, x, context=None):
        logits, mu, log_sigma = self.raw(x).unbind(2)
        D, shift, scale = torch.distributions, self.shift[:, None], self.scale[:, None]
        return D.MixtureSameFamily(D.Categorical(logits=logits), D.Normal(shift + scale * mu, scale * log_sigma.exp()))

    def standardized_log_prob(self, z):
        return self.log_prob(z * self.scale + self.shift) + torch.log(self.scale[0] * self.scale[1])

    def fit(self, x):
        optimizer = torch.optim.AdamW(self.parameters(), lr=0.02)
        for _ in range(15):
            for rows in torch.randperm(len(x)).split(100):
                loss = -self.log_prob(x[rows]).mean()
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()


@wrong("OwnDensity: log_prob without the Jacobian", called="density_of_z")
class NoJacobian(ByHand):
    def log_prob(self, x, context=None):
        return self.standardized_log_prob((x - self.shift) / self.scale)


@wrong("OwnDensity: a mixture for z, asked at x", called="of_z")
class OfZ(InUnits):
    def conditionals(self, x, context=None):
        return self.conditional(self.raw(x))


@wrong("OwnDensity: the hidden layer reads x_1 without its shift")
class Unshifted(InUnits):
    def raw(self, x):
        return super().raw(x + self.shift)


@wrong("OwnDensity: the hidden layer of conditionals reads x_1 as it is", called="raw_in_conditionals")
class RawFactors(ByHand):
    def conditionals(self, x, context=None):
        return super().conditionals(self.shift + self.scale * x)

    def log_prob(self, x, context=None):
        return self.conditionals(x).log_prob(x).sum(1)


@wrong("OwnDensity: right in log_prob, the factors in other units")
class FactorsOfZ(ByHand):
    def conditionals(self, x, context=None):
        return self.conditional(self.raw(x))


@wrong("OwnDensity: the Jacobian of the mean scale, twice")
class Halved(InUnits):
    def standardized_log_prob(self, z):
        return self.log_prob(self.shift + self.scale * z) + self.scale.mean().log() * 2


@wrong("OwnDensity: fit takes five steps")
class FiveSteps(InUnits):
    def fit(self, x):
        super().fit(x, steps=5)


@wrong("find_improper: a sum without the width of a step", called="every_one")
def _(log_densities, low, high):
    x = torch.linspace(low, high, 50001, dtype=torch.float64)
    return [k for k, f in enumerate(log_densities) if abs(f(x).exp().sum().item() - 1) > 0.02]


@wrong("find_improper: a grid with a step of 0.1", called=("coarse", None))       # by how much depends on where the peaks are
def _(log_densities, low, high):
    x = torch.arange(low, high, 0.1, dtype=torch.float64)
    return [k for k, f in enumerate(log_densities) if abs(f(x).exp().sum().item() * 0.1 - 1) > 0.02]
