"""Small models and runs for the tests of training."""
from __future__ import annotations

import os
import signal

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import nn

from course_lib.training import checkpoint, fit

SMALL = (torch.rand(23, 6, generator=torch.Generator().manual_seed(5)) < 0.4).to(torch.uint8)


class Logits(nn.Module):
    """A logistic regression per variable on the ones before it; casts what it is given."""

    def __init__(self, n=6, dtype=torch.float64):
        super().__init__()
        self.weight = nn.Parameter(0.3 * torch.randn(n, n, dtype=dtype, generator=torch.Generator().manual_seed(1)))
        self.bias = nn.Parameter(torch.linspace(-1, 1, n, dtype=dtype))

    def log_prob(self, x, context=None):
        x = x.to(self.weight.dtype)
        logits = F.linear(x, self.weight.tril(-1), self.bias)
        if context is not None:
            logits = logits + context
        return -F.binary_cross_entropy_with_logits(logits, x, reduction="none").sum(1)


class Climber(nn.Module):
    """Its loss pushes w up by lr a step; its log-likelihood is best at w = 0.55."""

    def __init__(self):
        super().__init__()
        self.w = nn.Parameter(torch.zeros(1, dtype=torch.float64))

    def loss(self, batch):
        return -self.w.sum()

    def log_prob(self, x):
        return -(self.w - 0.55) ** 2 * torch.ones(len(x), dtype=torch.float64)


class Recorder(Logits):
    """A linear layer whose output dtype and mode are noted."""

    def __init__(self):
        super().__init__(dtype=torch.float32)
        self.drop = nn.Dropout(0.5)
        self.seen, self.modes = [], []

    def log_prob(self, x, context=None):
        logits = F.linear(x.float(), self.weight.tril(-1), self.bias)
        self.seen.append(logits.dtype)
        self.modes.append((self.training, self.drop.training))
        return -F.binary_cross_entropy_with_logits(logits, x.float(), reduction="none").sum(1)


class Noisy(nn.Module):
    """Its loss draws from torch's and numpy's global generators; it keeps statistics, one outside its state dict."""

    def __init__(self, hidden=8, die_in_call=None):
        super().__init__()
        generator = torch.Generator().manual_seed(3)
        self.a = nn.Parameter(torch.randn(hidden, 6, generator=generator))
        self.b = nn.Parameter(torch.randn(6, hidden, generator=generator))
        self.bias = nn.Parameter(torch.zeros(6))
        self.drop = nn.Dropout(0.3)
        self.register_buffer("mean", torch.zeros(6))
        self.register_buffer("calls", torch.zeros((), dtype=torch.long), persistent=False)
        self.die_in_call = die_in_call

    def logits(self, x):
        seen = (x - self.mean) * (torch.arange(6) < 3)               # the rest is noise, to be learnt by heart
        return F.linear(self.drop(torch.tanh(F.linear(seen, self.a))), self.b, self.bias)

    def log_prob(self, x):
        x = x.float()
        return -F.binary_cross_entropy_with_logits(self.logits(x), x, reduction="none").sum(1)

    def loss(self, batch):
        self.calls += 1
        if self.die_in_call == int(self.calls):
            os.kill(os.getpid(), signal.SIGKILL)
        with torch.no_grad():
            self.mean.mul_(0.9).add_(batch.float().mean(0), alpha=0.1)
        jitter = 1 + 0.2 * float(np.random.rand())                   # Python's own is drawn from by the type checker
        return -self.log_prob(batch).mean() * jitter * (1 + self.calls % 3)


DATA = (torch.rand(47, 6, generator=torch.Generator().manual_seed(5)) < 0.4).to(torch.uint8)
SETTINGS = {"epochs": 12, "batch_size": 10, "lr": 0.2, "weight_decay": 0.1, "schedule": "cosine", "warmup": 3,
            "clip": 3.0, "patience": 2}
SPLIT = DATA[:37], DATA[37:]                                         # 4 batches an epoch


def seed_all():
    torch.manual_seed(1)
    np.random.seed(1)


def run(model, path=None, **settings):
    """Train and return what must be equal: history but for the time, tensors, generators."""
    seed_all()
    history = fit(model, *SPLIT, checkpoint=path, **SETTINGS | settings).to_dict()
    seconds = history.pop("seconds")
    assert len(seconds) == len(history["train"]) and min(seconds) > 0
    return history, checkpoint.tensors_of(model), (torch.get_rng_state(), float(np.random.rand()))


def assert_same(one, two):
    assert one[0] == two[0]
    assert all(torch.equal(one[1][name], two[1][name]) for name in one[1])
    assert torch.equal(one[2][0], two[2][0]) and one[2][1:] == two[2][1:]


class Killed(BaseException):
    """Stands for the signal where a test stays in its process."""


def killed(path, call, **settings):
    """A run that ends without warning in the loss of that step."""

    class Mortal(Noisy):
        def loss(self, batch):
            if int(self.calls) + 1 == call:
                raise Killed
            return super().loss(batch)

    Mortal.__name__ = "Noisy"
    with pytest.raises(Killed):
        run(Mortal(), path, **settings)
