"""A model with everything that stored weights may hold, and a card."""
from __future__ import annotations

import torch
from torch import nn

from course_lib import hub

CARD = hub.Card(model="A test model", data="letters", licence="CC0 1.0", citation="made up for the tests",
                training={"lr": 0.01, "epochs": 3}, results={"test nats": 1.25, "test nats, error": 0.01 / 3},
                notes="A note | with a bar.")


@hub.register
class Tied(nn.Module):
    """An embedding that is also the output, an integer buffer, one that is not stored, and a part of its own."""

    def __init__(self, size, conditional=None, offsets=None, parts=()):
        super().__init__()
        self.size, self.conditional, self.offsets = size, conditional, offsets
        self.embedding = nn.Embedding(size, 3)
        self.head = nn.Linear(3, size, bias=False)
        self.head.weight = self.embedding.weight
        self.gain = nn.Parameter(torch.ones(size))
        self.register_buffer("counts", torch.arange(size))
        self.register_buffer("mask", torch.ones(100, 100), persistent=False)
        self.parts = nn.ModuleList(parts)

    @property
    def config(self):
        return {"size": self.size, "conditional": self.conditional, "offsets": self.offsets, "parts": self.parts}


def make(**more):
    torch.manual_seed(4)
    model = Tied(5, **more)
    with torch.no_grad():
        model.gain.normal_()
        model.counts.add_(7)
    return model


def same(one, two):
    a, b = one.state_dict(), two.state_dict()
    return a.keys() == b.keys() and all(torch.equal(a[k], b[k]) and a[k].dtype == b[k].dtype for k in a)
