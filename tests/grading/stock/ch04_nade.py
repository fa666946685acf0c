"""Wrong answers to the exercises on NADE."""
from __future__ import annotations

from tests.grading.stock import wrong

STOCK = [
    wrong("nade_loglik", "x_i enters the running sum before its own probability is formed: a leak", "open", """
import torch

def nade_loglik(x, W, V, b, c):
    a = c
    total = 0.0
    for i in range(len(x)):
        a = a + W[:, i] * x[i]
        p = torch.sigmoid(b[i] + V[i] @ torch.sigmoid(a))
        total = total + x[i] * torch.log(p) + (1 - x[i]) * torch.log(1 - p)
    return total
"""),
    wrong("nade_loglik", "the sum is not carried: each step starts at c again, so only x_(i-1) is read", "sealed", """
import torch

def nade_loglik(x, W, V, b, c):
    a = c
    ll = torch.zeros((), dtype=c.dtype)
    for i in range(x.shape[0]):
        p = torch.sigmoid(b[i] + V[i] @ torch.sigmoid(a))
        ll = ll + torch.log(p if x[i] == 1 else 1 - p)
        a = c + W[:, i] * x[i]
    return ll
"""),
    wrong("nade_loglik", "the number leaves the graph by .item(): no gradient reaches the parameters", "open", """
import math
import torch

def nade_loglik(x, W, V, b, c):
    a = c.clone()
    ll = 0.0
    for i in range(len(x)):
        p = torch.sigmoid(b[i] + V[i] @ torch.sigmoid(a)).item()
        ll += math.log(p) if x[i] == 1 else math.log(1 - p)
        a = a + W[:, i] * x[i]
    return torch.tensor(ll)
"""),
    wrong("nade_loglik", "c is changed in place by a += ...", "sealed", """
import torch
import torch.nn.functional as F

def nade_loglik(x, W, V, b, c):
    a = c
    logits = []
    for i in range(len(x)):
        logits.append(b[i] + V[i] @ torch.sigmoid(a))
        a += W[:, i] * x[i]
    return -F.binary_cross_entropy_with_logits(torch.stack(logits), x, reduction="sum")
"""),
    wrong("nade_sample", "the running sum gets the probability of x_i instead of the value drawn", "open", """
import torch

def nade_sample(u, W, V, b, c):
    B, D = u.shape
    a = c.expand(B, -1)
    x = torch.zeros_like(u)
    for i in range(D):
        p = torch.sigmoid(b[i] + torch.sigmoid(a) @ V[i])
        x[:, i] = (u[:, i] < p).to(u.dtype)
        a = a + p[:, None] * W[:, i]
    return x
"""),
    wrong("nade_sample", "the hidden layer has lost its sigmoid", "sealed", """
import torch

def nade_sample(u, W, V, b, c):
    B, D = u.shape
    a = c.repeat(B, 1)
    out = []
    for i in range(D):
        p = torch.sigmoid(b[i] + a @ V[i])
        xi = (u[:, i] < p).float()
        out.append(xi)
        a = a + xi[:, None] * W[:, i]
    return torch.stack(out, dim=1)
"""),
    wrong("nade_sample", "the draw of the first row is used for the sum of every row of the batch", "open", """
import torch

def nade_sample(u, W, V, b, c):
    x = torch.zeros_like(u)
    a = c.clone()
    for i in range(u.shape[1]):
        p = torch.sigmoid(b[i] + V[i] @ torch.sigmoid(a))
        x[:, i] = (u[:, i] < p).float()
        a = a + W[:, i] * x[0, i]
    return x
"""),
    wrong("nade_sample", "draws with numbers of its own: u is not used", "sealed", """
import torch

def nade_sample(u, W, V, b, c):
    B, D = u.shape
    x = torch.zeros(B, D)
    a = c.unsqueeze(0).expand(B, c.shape[0])
    for i in range(D):
        p = torch.sigmoid(b[i] + torch.sigmoid(a) @ V[i])
        x[:, i] = torch.bernoulli(p)
        a = a + x[:, i:i + 1] * W[:, i]
    return x
"""),
    wrong("find_impostors", "too coarse: sums within 0.1 of one pass, an impostor may be nearer", "open", """
import itertools
import torch

def find_impostors(log_probs, n):
    X = torch.tensor(list(itertools.product([0.0, 1.0], repeat=n)))
    return [k for k, f in enumerate(log_probs) if abs(f(X).exp().sum().item() - 1) > 0.1]
"""),
    wrong("find_impostors", "only sums above one are reported, those below one pass", "sealed", """
import itertools
import torch

def find_impostors(log_probs, n):
    X = torch.tensor(list(itertools.product([0.0, 1.0], repeat=n)))
    bad = []
    for k, f in enumerate(log_probs):
        if f(X).exp().sum() > 1 + 1e-4:
            bad.append(k)
    return bad
"""),
    wrong("find_impostors", "asks for a sum of exactly one: rounding makes sound models impostors", "open", """
import itertools
import torch

def find_impostors(log_probs, n):
    X = torch.tensor(list(itertools.product([0.0, 1.0], repeat=n)))
    return [k for k in range(len(log_probs)) if log_probs[k](X).exp().sum() != 1.0]
"""),
    wrong("find_impostors", "asks only whether each log-probability is at most 0, never for the sum", "sealed", """
import itertools
import torch

def find_impostors(log_probs, n):
    X = torch.tensor(list(itertools.product([0.0, 1.0], repeat=n)))
    return [k for k, f in enumerate(log_probs) if (f(X) > 0).any()]
"""),
    wrong("train_nade", "all weights start at zero: the hidden units stay alike and learn nothing", "open", """
import torch
import torch.nn.functional as F

def train_nade(train):
    x = train.float()
    N, D = x.shape
    H = 32
    params = [torch.zeros(s, requires_grad=True) for s in [(H, D), (D, H), (D,), (H,)]]
    W, V, b, c = params
    opt = torch.optim.Adam(params, lr=0.02)
    for _ in range(300):
        a, loss = c.expand(N, H), 0.0
        for i in range(D):
            logit = b[i] + torch.sigmoid(a) @ V[i]
            loss = loss + F.binary_cross_entropy_with_logits(logit, x[:, i])
            a = a + x[:, i:i + 1] * W[:, i]
        opt.zero_grad()
        loss.backward()
        opt.step()
    return tuple(t.detach() for t in params)
"""),
    wrong("train_nade", "too few hidden units: one cannot hold the exclusive ors", "sealed", """
import torch
import torch.nn.functional as F

def train_nade(train, H=1):
    x = train.float()
    D = x.shape[1]
    torch.manual_seed(0)
    W, V = torch.randn(H, D).requires_grad_(), torch.randn(D, H).requires_grad_()
    b, c = torch.zeros(D, requires_grad=True), torch.zeros(H, requires_grad=True)
    opt = torch.optim.Adam([W, V, b, c], lr=0.05)
    for _ in range(400):
        before = torch.cumsum(x[:, None, :] * W, dim=2) - x[:, None, :] * W     # (N, H, D)
        h = torch.sigmoid(before + c[:, None])
        logits = b + torch.einsum("nhd,dh->nd", h, V)
        loss = F.binary_cross_entropy_with_logits(logits, x)
        opt.zero_grad()
        loss.backward()
        opt.step()
    return W.detach(), V.detach(), b.detach(), c.detach()
"""),
    wrong("train_nade", "trained with x_i already in the sum of its own factor: it learns to copy itself", "open", """
import torch
import torch.nn.functional as F

def train_nade(train):
    x = train.float()
    D, H = x.shape[1], 32
    W, V = torch.randn(H, D).requires_grad_(), (0.1 * torch.randn(D, H)).requires_grad_()
    b, c = torch.zeros(D, requires_grad=True), torch.zeros(H, requires_grad=True)
    opt = torch.optim.Adam([W, V, b, c], lr=0.02)
    for _ in range(150):
        h = torch.sigmoid(torch.cumsum(x[:, None, :] * W, dim=2) + c[:, None])
        logits = b + torch.einsum("nhd,dh->nd", h, V)
        loss = F.binary_cross_entropy_with_logits(logits, x, reduction="sum") / len(x)
        opt.zero_grad()
        loss.backward()
        opt.step()
    return W.detach(), V.detach(), b.detach(), c.detach()
"""),
    wrong("train_nade", "W is returned as (D, H) and V as (H, D): both are transposed", "sealed", """
import torch
import torch.nn.functional as F

def train_nade(train):
    x = train.float()
    N, D = x.shape
    H = 64
    W, V = torch.randn(D, H).requires_grad_(), (0.1 * torch.randn(H, D)).requires_grad_()
    b, c = torch.zeros(D, requires_grad=True), torch.zeros(H, requires_grad=True)
    opt = torch.optim.Adam([W, V, b, c], lr=0.02)
    for _ in range(200):
        a, loss = c.expand(N, H), 0.0
        for i in range(D):
            loss = loss + F.binary_cross_entropy_with_logits(b[i] + a.sigmoid() @ V[:, i], x[:, i])
            a = a + x[:, i:i + 1] * W[i]
        opt.zero_grad()
        loss.backward()
        opt.step()
    return W.detach(), V.detach(), b.detach(), c.detach()
"""),
]
