"""Wrong answers to the exercises on softmax NADE and mixtures."""
from __future__ import annotations

from tests.grading.stock import wrong

STOCK = [
    wrong("stable_log_softmax", "the formula as it stands: overflows for scores near 1000", "open", """
import torch

def stable_log_softmax(a):
    return a - torch.log(torch.exp(a).sum(dim=-1, keepdim=True))
"""),
    wrong("stable_log_softmax", "the maximum of the whole tensor is subtracted, not each row's own", "sealed", """
import torch

def stable_log_softmax(a):
    shifted = a - a.amax()
    return shifted - shifted.exp().sum(-1, keepdim=True).log()
"""),
    wrong("stable_log_softmax", "the maximum is taken off inside the sum only: the result is off by it", "open", """
import torch

def stable_log_softmax(a):
    m = a.amax(dim=-1, keepdim=True)
    return a - torch.log(torch.sum(torch.exp(a - m), dim=-1, keepdim=True))
"""),
    wrong("stable_log_softmax", "the softmax first, then its logarithm: unlikely values give -inf", "sealed", """
import torch

def stable_log_softmax(a):
    e = torch.exp(a - a.amax(dim=-1, keepdim=True))
    return torch.log(e / e.sum(dim=-1, keepdim=True))
"""),
    wrong("categorical_nade_loglik", "the level is used as a factor instead of choosing its weights", "open", """
import torch

def categorical_nade_loglik(x, W, V, b, c):
    a = c
    ll = 0.0
    for i in range(len(x)):
        logits = b[i] + V[i] @ torch.sigmoid(a)
        ll = ll + torch.log_softmax(logits, dim=0)[x[i]]
        a = a + W[i, 1] * x[i]
    return ll
"""),
    wrong("categorical_nade_loglik", "the score of the level is added, the softmax never normalises", "sealed", """
import torch

def categorical_nade_loglik(x, W, V, b, c):
    a, ll = c, 0.0
    for i, v in enumerate(x.tolist()):
        scores = b[i] + V[i] @ torch.sigmoid(a)
        ll = ll + scores[v]
        a = a + W[i, v]
    return ll
"""),
    wrong("categorical_nade_loglik", "a_i is c plus the last weights only: what came earlier is lost", "open", """
import torch
import torch.nn.functional as F

def categorical_nade_loglik(x, W, V, b, c):
    ll = torch.zeros(())
    for i in range(x.shape[0]):
        a = c if i == 0 else c + W[i - 1, x[i - 1]]
        ll = ll - F.cross_entropy((b[i] + V[i] @ a.sigmoid())[None], x[i:i + 1])
    return ll
"""),
    wrong("categorical_nade_loglik", "the mean over the variables: cross_entropy's default reduction", "sealed", """
import torch
import torch.nn.functional as F

def categorical_nade_loglik(x, W, V, b, c):
    D = x.shape[0]
    steps = W[torch.arange(D), x]
    a = c + torch.cumsum(steps, dim=0) - steps
    logits = b + torch.einsum("dkh,dh->dk", V, torch.sigmoid(a))
    return -F.cross_entropy(logits, x)
"""),
    wrong("mog_loglik", "the factor 1 / sigma of the density is forgotten", "open", """
import math
import torch

def mog_loglik(x, logits, mu, log_sigma):
    z = (x[:, None] - mu) / log_sigma.exp()
    log_n = -0.5 * z ** 2 - 0.5 * math.log(2 * math.pi)
    return torch.logsumexp(torch.log_softmax(logits, -1) + log_n, dim=-1)
"""),
    wrong("mog_loglik", "the logarithms are averaged with the weights instead of the densities", "sealed", """
import torch

def mog_loglik(x, logits, mu, log_sigma):
    pi = torch.softmax(logits, dim=1)
    comp = torch.distributions.Normal(mu, torch.exp(log_sigma))
    return (pi * comp.log_prob(x.unsqueeze(1))).sum(dim=1)
"""),
    wrong("mog_loglik", "exp(log_sigma) is taken for the variance: sigma is not squared", "open", """
import math
import torch

def mog_loglik(x, logits, mu, log_sigma):
    var = log_sigma.exp()
    log_n = -(x[:, None] - mu) ** 2 / (2 * var) - 0.5 * torch.log(2 * math.pi * var)
    return torch.logsumexp(logits.log_softmax(dim=-1) + log_n, dim=-1)
"""),
    wrong("mog_loglik", "the densities are summed before the logarithm: -inf far from every mean", "sealed", """
import torch

def mog_loglik(x, logits, mu, log_sigma):
    sigma = log_sigma.exp()
    z = (x.unsqueeze(-1) - mu) / sigma
    density = torch.exp(-z * z / 2) / (sigma * (2 * torch.pi) ** 0.5)
    return (logits.softmax(-1) * density).sum(-1).log()
"""),
    wrong("find_improper", "a grid too wide for a peak of width 0.02: fifty points", "open", """
import torch

def find_improper(log_densities, low, high):
    x = torch.linspace(low, high, 50)
    bad = []
    for k, f in enumerate(log_densities):
        area = torch.trapezoid(f(x).exp(), x)
        if abs(area - 1) > 0.025:
            bad.append(k)
    return bad
"""),
    wrong("find_improper", "areas above one only: those that are too small pass", "sealed", """
import torch

def find_improper(log_densities, low, high):
    x = torch.linspace(low, high, 200_001, dtype=torch.float64)
    dx = (high - low) / 200_000
    return [k for k, f in enumerate(log_densities) if (f(x).exp() * dx).sum() > 1.02]
"""),
    wrong("find_improper", "too coarse: off by 0.05 is permitted up to 0.25", "open", """
import torch

def find_improper(log_densities, low, high):
    x = torch.linspace(low, high, 100_000)
    return [k for k, f in enumerate(log_densities)
            if not 0.75 < torch.trapezoid(torch.exp(f(x)), x).item() < 1.25]
"""),
    wrong("find_improper", "the sum is not multiplied by the step of the grid", "sealed", """
import torch

def find_improper(log_densities, low, high):
    x = torch.linspace(low, high, 50_000)
    wrong = []
    for k, log_density in enumerate(log_densities):
        if abs(log_density(x).exp().sum().item() - 1) > 0.03:
            wrong.append(k)
    return wrong
"""),
    wrong("train_mog", "every component starts at the same place: they never become different", "open", """
import math
import torch

def train_mog(x, K):
    params = [torch.zeros(K, requires_grad=True) for _ in range(3)]
    logits, mu, log_sigma = params
    opt = torch.optim.Adam(params, lr=0.05)
    for _ in range(400):
        z = (x[:, None] - mu) / log_sigma.exp()
        log_n = -0.5 * z ** 2 - log_sigma - 0.5 * math.log(2 * math.pi)
        loss = -torch.logsumexp(logits.log_softmax(0) + log_n, dim=1).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
    return tuple(p.detach() for p in params)
"""),
    wrong("train_mog", "returns the weights and the deviations themselves, not logits and log sigma", "sealed", """
import torch

def train_mog(x, K):
    mu = torch.quantile(x, (torch.arange(K, dtype=x.dtype) + 0.5) / K)
    sigma = torch.full((K,), x.std().item() / K, dtype=x.dtype)
    pi = torch.full((K,), 1 / K, dtype=x.dtype)
    for _ in range(300):
        log_n = torch.distributions.Normal(mu, sigma).log_prob(x[:, None]) + pi.log()
        r = log_n.softmax(dim=1)
        n = r.sum(0) + 1e-6
        mu = (r * x[:, None]).sum(0) / n
        sigma = ((r * (x[:, None] - mu) ** 2).sum(0) / n).sqrt().clamp_min(1e-2)
        pi = n / n.sum()
    return pi, mu, sigma
"""),
    wrong("train_mog", "returns the logarithm of the variance instead of the deviation's", "open", """
import torch

def train_mog(x, K):
    mu = torch.quantile(x, torch.linspace(0.05, 0.95, K, dtype=x.dtype))
    var = torch.full((K,), float(x.var()) / K ** 2, dtype=x.dtype)
    logits = torch.zeros(K, dtype=x.dtype)
    for _ in range(300):
        log_n = -0.5 * (x[:, None] - mu) ** 2 / var - 0.5 * var.log()
        r = torch.softmax(logits + log_n, dim=1)
        n = r.sum(0) + 1e-6
        mu = (r * x[:, None]).sum(0) / n
        var = (r * (x[:, None] - mu) ** 2).sum(0) / n + 1e-4
        logits = torch.log(n)
    return logits, mu, var.log()
"""),
    wrong("train_mog", "one Gaussian K times: the mean and deviation of all of x", "sealed", """
import torch

def train_mog(x, K):
    mu = x.mean().repeat(K)
    log_sigma = x.std().log().repeat(K)
    return torch.zeros(K), mu, log_sigma
"""),
]
