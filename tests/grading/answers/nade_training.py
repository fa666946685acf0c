"""Answers to the training exercise of chapter 04."""
from __future__ import annotations

import torch
import torch.nn.functional as F

from tests.grading.answers.register import right, wrong


@right("train_nade: the library's model and training")
def _(train):
    from course_lib.density import NADE
    from course_lib.training import fit

    torch.manual_seed(1)
    model = NADE(train.shape[1], 12).initialise(train)
    fit(model, train, epochs=12, batch_size=50, lr=0.05, progress=False)
    return model.W[:, 0].detach().T, model.V[:, 0].detach(), model.b.detach(), model.c.detach()


@right("train_nade: a loop over the variables, another start")
def _(train):
    N, D = train.shape
    generator, H = torch.Generator().manual_seed(5), 20
    W, V = (torch.randn(*shape, generator=generator).requires_grad_() for shape in ((H, D), (D, H)))
    b, c = (torch.zeros(size, requires_grad=True) for size in (D, H))
    optimizer = torch.optim.Adam([W, V, b, c], lr=0.1)
    for step in range(150):
        x = train[step % 4::4]
        a, z = c.expand(len(x), -1), []
        for i in range(D):
            z.append(torch.sigmoid(a) @ V[i] + b[i])
            a = a + x[:, i, None] * W[:, i]
        loss = F.binary_cross_entropy_with_logits(torch.stack(z, 1), x)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return W.detach(), V.detach(), b.detach(), c.detach()


@wrong("train_nade: five small steps")
def _(train):
    N, D = train.shape
    generator, H = torch.Generator().manual_seed(5), 8
    W, V = (torch.randn(*shape, generator=generator).requires_grad_() for shape in ((H, D), (D, H)))
    b, c = (torch.zeros(size, requires_grad=True) for size in (D, H))
    optimizer = torch.optim.SGD([W, V, b, c], lr=0.05)
    for _ in range(5):
        adds = train[:, :, None] * W.T
        z = (torch.sigmoid(c + adds.cumsum(1) - adds) * V).sum(-1) + b
        loss = F.binary_cross_entropy_with_logits(z, train)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return W.detach(), V.detach(), b.detach(), c.detach()


@wrong("train_nade: noise")
def _(train):
    D, generator = train.shape[1], torch.Generator().manual_seed(3)
    return tuple(torch.randn(shape, generator=generator) for shape in ((8, D), (D, 8), (D,), (8,)))


@wrong("train_nade: not a number")
def _(train):
    D = train.shape[1]
    return tuple(torch.full(shape, float("nan")) for shape in ((8, D), (D, 8), (D,), (8,)))


@wrong("train_nade: W and V exchanged")
def _(train):
    D = train.shape[1]
    return torch.ones(D, 8), torch.ones(8, D), torch.ones(D), torch.zeros(8)
