"""Wrong answers to the exercises on FVSBN."""
from __future__ import annotations

from tests.grading.stock import wrong

STOCK = [
    wrong("fvsbn_conditionals", "the mask keeps the diagonal: each variable reads itself", "open", """
import torch

def fvsbn_conditionals(x, W, c):
    return torch.sigmoid(x @ torch.tril(W).T + c)
"""),
    wrong("fvsbn_conditionals", "W is not transposed: a variable's weights are a row, not a column", "sealed", """
import torch

def fvsbn_conditionals(x, W, c):
    W = torch.tril(W, diagonal=-1)
    return torch.sigmoid(x @ W + c)
"""),
    wrong("fvsbn_conditionals", "W is changed in place", "open", """
import torch
import torch.nn.functional as F

def fvsbn_conditionals(x, W, c):
    D = W.shape[0]
    for i in range(D):
        W[i, i:] = 0
    return F.linear(x, W, c).sigmoid()
"""),
    wrong("fvsbn_conditionals", "the bias is added after the sigmoid", "sealed", """
import torch

def fvsbn_conditionals(x, W, c):
    return torch.sigmoid(x @ W.tril(-1).t()) + c
"""),
    wrong("fvsbn_sample", "every variable is drawn at once: the values before it never reach it", "open", """
import torch

def fvsbn_sample(u, W, c):
    x = torch.zeros_like(u)
    p = torch.sigmoid(x @ torch.tril(W, -1).T + c)
    return (u < p).float()
"""),
    wrong("fvsbn_sample", "1 where u is above p instead of below", "sealed", """
import torch

def fvsbn_sample(u, W, c):
    x = torch.zeros_like(u)
    for i in range(u.shape[1]):
        p = torch.sigmoid(x[:, :i] @ W[i, :i] + c[i])
        x[:, i] = (u[:, i] > p).float()
    return x
"""),
    wrong("fvsbn_sample", "the next variables read the probability of x_i instead of the value drawn", "open", """
import torch

def fvsbn_sample(u, W, c):
    B, D = u.shape
    p = torch.zeros(B, D, dtype=u.dtype)
    for i in range(D):
        p[:, i] = torch.sigmoid(p[:, :i] @ W[i, :i] + c[i])
    return (u < p).to(u.dtype)
"""),
    wrong("fvsbn_sample", "the weights are read from column i of W instead of row i", "sealed", """
import torch

def fvsbn_sample(u, W, c):
    x = torch.zeros_like(u)
    for i in range(u.shape[1]):
        logit = c[i] + (x[:, :i] * W[:i, i]).sum(dim=1)
        x[:, i] = (u[:, i] < torch.sigmoid(logit)).to(u.dtype)
    return x
"""),
    wrong("find_leaks", "flips at one input only, all zeros: leaks that open elsewhere stay hidden", "open", """
import torch

def find_leaks(conditionals, n):
    x = torch.zeros(1, n)
    base = conditionals(x)[0]
    leaks = []
    for j in range(n):
        y = x.clone()
        y[0, j] = 1
        changed = (conditionals(y)[0] - base).abs() > 1e-6
        leaks += [(i, j) for i in range(j + 1) if changed[i]]
    return sorted(leaks)
"""),
    wrong("find_leaks", "a factor that reads its own variable is not reported: j > i instead of j >= i", "sealed", """
import itertools
import torch

def find_leaks(conditionals, n):
    leaks = set()
    for bits in itertools.product([0.0, 1.0], repeat=n):
        x = torch.tensor([bits])
        for j in range(n):
            y = x.clone()
            y[0, j] = 1 - y[0, j]
            diff = (conditionals(x) - conditionals(y))[0].abs()
            for i in range(j):
                if diff[i] > 1e-6:
                    leaks.add((i, j))
    return sorted(leaks)
"""),
    wrong("find_leaks", "the pairs are turned: (j, i), the input first", "open", """
import itertools
import torch

def find_leaks(conditionals, n):
    X = torch.tensor(list(itertools.product([0.0, 1.0], repeat=n)))
    leaks = []
    for j in range(n):
        Y = X.clone()
        Y[:, j] = 1 - Y[:, j]
        change = (conditionals(X) - conditionals(Y)).abs().amax(dim=0)
        for i in range(j + 1):
            if change[i] > 1e-6:
                leaks.append((j, i))
    return sorted(leaks)
"""),
    wrong("find_leaks", "reports every dependence, the permitted ones on earlier variables too", "sealed", """
import itertools
import torch

def find_leaks(conditionals, n):
    X = torch.tensor(list(itertools.product([0.0, 1.0], repeat=n)))
    base = conditionals(X)
    found = []
    for i in range(n):
        for j in range(n):
            Y = X.clone()
            Y[:, j] = 1 - Y[:, j]
            if not torch.allclose(conditionals(Y)[:, i], base[:, i]):
                found.append((i, j))
    return sorted(found)
"""),
    wrong("train_fvsbn", "trained without the mask: each variable learns to copy itself", "open", """
import torch
import torch.nn.functional as F

def train_fvsbn(train):
    D = train.shape[1]
    train = train.float()
    W = torch.zeros(D, D, requires_grad=True)
    c = torch.zeros(D, requires_grad=True)
    opt = torch.optim.Adam([W, c], lr=0.05)
    for _ in range(300):
        opt.zero_grad()
        F.binary_cross_entropy_with_logits(train @ W.T + c, train).backward()
        opt.step()
    return W.detach(), c.detach()
"""),
    wrong("train_fvsbn", "stops long before it has converged: ten small steps", "sealed", """
import torch
import torch.nn.functional as F

def train_fvsbn(train):
    D = train.shape[1]
    train = train.float()
    W = torch.zeros(D, D, requires_grad=True)
    c = torch.zeros(D, requires_grad=True)
    opt = torch.optim.SGD([W, c], lr=0.01)
    for epoch in range(10):
        logits = train @ torch.tril(W, -1).T + c
        loss = F.binary_cross_entropy_with_logits(logits, train)
        opt.zero_grad()
        loss.backward()
        opt.step()
    return W.detach(), c.detach()
"""),
    wrong("train_fvsbn", "W is returned transposed: the weights of a variable stand in a column", "open", """
import torch
import torch.nn.functional as F

def train_fvsbn(train):
    D = train.shape[1]
    train = train.float()
    lin = torch.nn.Linear(D, D)
    mask = torch.triu(torch.ones(D, D), 1)
    opt = torch.optim.Adam(lin.parameters(), lr=0.05)
    for _ in range(400):
        opt.zero_grad()
        logits = train @ (lin.weight.T * mask) + lin.bias
        F.binary_cross_entropy_with_logits(logits, train).backward()
        opt.step()
    return (lin.weight.T * mask).detach(), lin.bias.detach()
"""),
    wrong("train_fvsbn", "only the frequencies are fitted: W stays zero, no variable reads another", "sealed", """
import torch

def train_fvsbn(train):
    N, D = train.shape
    p = train.float().mean(dim=0).clamp(1e-3, 1 - 1e-3)
    return torch.zeros(D, D), torch.log(p / (1 - p))
"""),
]
