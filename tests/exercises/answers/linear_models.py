"""Answers to the exercises of chapter linear-models."""
from __future__ import annotations

import torch
import torch.nn.functional as F

from tests.exercises.answers.register import right, wrong


@right("regression_step: by the formula")
def _(x, y, beta, rate):
    off = x @ beta - y[:, None]
    return (off ** 2).mean(), beta - rate * 2 / len(x) * x.T @ off


@right("regression_step: by torch.optim")
def _(x, y, beta, rate):
    parameter = torch.nn.Parameter(beta.clone())
    optimizer = torch.optim.SGD([parameter], lr=rate)
    loss = torch.nn.MSELoss()((x @ parameter).squeeze(1), y)
    loss.backward()
    optimizer.step()
    return loss.detach(), parameter.detach()


@wrong("regression_step: the slide's lines, made to run")
def _(x, y, beta, rate):
    beta = beta.clone().requires_grad_()
    loss = ((F.relu(x @ beta) - y) ** 2).mean()
    loss.backward()
    return loss.detach(), (beta - rate * beta.grad).detach()


@wrong("regression_step: the loss after the step", called="loss_after")
def _(x, y, beta, rate):
    off = x @ beta - y[:, None]
    new = beta - rate * 2 / len(x) * x.T @ off
    return ((x @ new - y[:, None]) ** 2).mean(), new


@wrong("regression_step: beta without its axes of length 1")
def _(x, y, beta, rate):
    off = x @ beta.squeeze() - y
    return (off ** 2).mean(), beta - rate * 2 / len(x) * (x.T @ off)[:, None]


@right("train_line: by the formula")
def _(x, y, rate, epochs, batch):
    b, w = 0.0, 0.0
    for _ in range(epochs):
        for k in range(0, len(x), batch):
            off = b + w * x[k:k + batch] - y[k:k + batch]
            b, w = b - rate * 2 * off.mean(), w - rate * 2 * (off * x[k:k + batch]).mean()
    return torch.stack([b, w])


@wrong("train_line: the loop as it stands")
def _(x, y, rate, epochs, batch):
    b, w = torch.zeros(1, requires_grad=True), torch.zeros(1, requires_grad=True)
    for _ in range(epochs):
        for k in range(len(x) // batch):
            rows, targets = x[k * batch:(k + 1) * batch][:, None], y[k * batch:(k + 1) * batch]
            loss = ((b + w * rows - targets) ** 2).mean()
            loss.backward()
            with torch.no_grad():
                b -= rate * b.grad
                w -= rate * w.grad
    return torch.cat([b, w]).detach()


@wrong("train_line: rows shuffled")
def _(x, y, rate, epochs, batch):
    b, w = 0.0, 0.0
    for _ in range(epochs):
        for k in torch.randperm(len(x), generator=torch.Generator().manual_seed(1)).split(batch):
            off = b + w * x[k] - y[k]
            b, w = b - rate * 2 * off.mean(), w - rate * 2 * (off * x[k]).mean()
    return torch.stack([b, w])


@wrong("train_line: sums divided by batch, also where it is shorter", called="by_batch")
def _(x, y, rate, epochs, batch):
    line = torch.zeros(2, requires_grad=True)
    for start in [k for _ in range(epochs) for k in range(0, len(x), batch)]:
        off = line[0] + line[1] * x[start:start + batch] - y[start:start + batch]
        (off.square().sum() / batch).backward()
        with torch.no_grad():
            line -= rate * line.grad
        line.grad = None
    return line.detach()


@wrong("train_line: b is moved, then w", called="b_first")
def _(x, y, rate, epochs, batch):
    b, w = 0.0, 0.0
    for _ in range(epochs):
        for xs, ys in zip(x.split(batch), y.split(batch)):
            b = b - rate * 2 * (b + w * xs - ys).mean()
            w = w - rate * 2 * ((b + w * xs - ys) * xs).mean()
    return torch.stack([b, w])


@wrong("train_line: w is moved, then b", called="w_first")
def _(x, y, rate, epochs, batch):
    line = torch.zeros(2)
    for k in [k for _ in range(epochs) for k in range(0, len(x), batch)]:
        for i in (1, 0):
            line = line.requires_grad_()
            loss = (line[0] + line[1] * x[k:k + batch] - y[k:k + batch]).square().mean()
            line = line.detach() - rate * torch.autograd.grad(loss, line)[0] * torch.eye(2)[i]
    return line


@wrong("train_line: one batch more than the full ones")
def _(x, y, rate, epochs, batch):
    b, w = 0.0, 0.0
    for _ in range(epochs):
        for k in range(len(x) // batch + 1):
            rows = x[k * batch:(k + 1) * batch]
            off = b + w * rows - y[k * batch:(k + 1) * batch]
            b, w = b - rate * 2 * off.mean(), w - rate * 2 * (off * rows).mean()
    return torch.stack([b, w])


@wrong("train_line: full batches, and the last `len(x) % batch` rows")
def _(x, y, rate, epochs, batch):
    b, w = 0.0, 0.0
    for _ in range(epochs):
        rest = len(x) % batch
        for rows, targets in [*zip(x[:-rest].split(batch), y[:-rest].split(batch)), (x[-rest:], y[-rest:])]:
            off = b + w * rows - targets
            b, w = b - rate * 2 * off.mean(), w - rate * 2 * (off * rows).mean()
    return torch.stack([b, w])
