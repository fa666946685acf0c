"""Wrong answers to the exercises of chapter linear-models, written without knowing its checks."""
from __future__ import annotations

import torch

from tests.exercises.answers.register import blind


@blind("regression_step: the step goes along the gradient of the sum of squares, not of their mean")
def _(x, y, beta, rate):
    residual = (x @ beta).squeeze(1) - y
    loss = (residual ** 2).mean()
    gradient = 2 * (residual[:, None] * x).sum(0)
    return loss, beta - rate * gradient[:, None]


@blind("regression_step: the 2 that comes from the square is missing in the gradient: the step is half as long")
def _(x, y, beta, rate):
    error = x @ beta - y[:, None]                 # (B, 1)
    loss = (error ** 2).mean()
    gradient = x.T @ error / len(x)               # (D, 1)
    return loss, beta - rate * gradient


@blind("regression_step: the residual is y - z, but the step still goes minus rate times x'residual: it "
       "climbs instead of descending")
def _(x, y, beta, rate):
    z = torch.matmul(x, beta).flatten()
    residual = y - z
    loss = torch.mean(residual ** 2)
    grad = 2 * torch.matmul(x.T, residual) / y.shape[0]
    return loss, beta - rate * grad.unsqueeze(1)
