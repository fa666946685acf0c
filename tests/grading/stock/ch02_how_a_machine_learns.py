"""Wrong answers to the exercises on how a machine learns."""
from __future__ import annotations

from tests.grading.stock import wrong

STOCK = [
    wrong("activation_derivatives", "the derivative of ReLU is taken as 1 at 0", "open", """
import torch

def activation_derivatives(z):
    s = torch.sigmoid(z)
    return torch.stack([s * (1 - s), 1 - torch.tanh(z) ** 2, (z >= 0).float()])
"""),
    wrong("activation_derivatives", "the factor of the inner derivative is forgotten: tanh(z) = 2 sigma(2z) - 1", "sealed", """
import torch

def activation_derivatives(z):
    s, t = torch.sigmoid(z), torch.sigmoid(2 * z)
    return torch.stack([s * (1 - s), 2 * t * (1 - t), (z > 0).float()])
"""),
    wrong("activation_derivatives", "exp overflows for numbers far below 0", "open", """
import torch

def activation_derivatives(z):
    e = torch.exp(-z)
    return torch.stack([e / (1 + e) ** 2, 1 - torch.tanh(z) ** 2, (z > 0).float()])
"""),
    wrong("regression_step", "the ReLU of the slide is kept", "sealed", """
import torch
import torch.nn.functional as F

def regression_step(x, y, beta, rate):
    beta = beta.clone().requires_grad_()
    loss = F.mse_loss(torch.relu(x @ beta), y[:, None])
    loss.backward()
    return loss.detach(), (beta - rate * beta.grad).detach()
"""),
    wrong("regression_step", "y is not given a second axis: the difference is a square table", "open", """
import torch

def regression_step(x, y, beta, rate):
    beta = beta.clone().requires_grad_()
    loss = ((x @ beta - y) ** 2).mean()
    loss.backward()
    return loss.detach(), (beta - rate * beta.grad).detach()
"""),
    wrong("regression_step", "the sum of the squares and not their mean", "sealed", """
import torch

def regression_step(x, y, beta, rate):
    off = x @ beta - y[:, None]
    return (off ** 2).sum(), beta - rate * 2 * x.T @ off
"""),
    wrong("train_line", "the gradients are not set to zero", "open", """
import torch

def train_line(x, y, rate, epochs, batch):
    line = torch.zeros(2, requires_grad=True)
    for _ in range(epochs):
        for rows, targets in zip(x.split(batch), y.split(batch)):
            ((line[0] + line[1] * rows - targets) ** 2).mean().backward()
            with torch.no_grad():
                line -= rate * line.grad
    return line.detach()
"""),
    wrong("train_line", "the last, shorter batch is left out", "sealed", """
import torch

def train_line(x, y, rate, epochs, batch):
    line = torch.zeros(2, requires_grad=True)
    for _ in range(epochs):
        for k in range(len(x) // batch):
            rows, targets = x[k * batch:(k + 1) * batch], y[k * batch:(k + 1) * batch]
            line.grad = None
            ((line[0] + line[1] * rows - targets) ** 2).mean().backward()
            with torch.no_grad():
                line -= rate * line.grad
    return line.detach()
"""),
    wrong("train_line", "predictions (batch, 1) against targets (batch,)", "open", """
import torch

def train_line(x, y, rate, epochs, batch):
    line = torch.zeros(2, requires_grad=True)
    for _ in range(epochs):
        for rows, targets in zip(x[:, None].split(batch), y.split(batch)):
            line.grad = None
            ((line[0] + line[1] * rows - targets) ** 2).mean().backward()
            with torch.no_grad():
                line -= rate * line.grad
    return line.detach()
"""),
    wrong("value_gradients", "a second contribution replaces the first", "sealed", """
import math
import torch

def value_gradients(inputs, program):
    values, slopes = inputs.tolist(), []
    for operation, i, j in program.tolist():
        a, b = values[i], values[j]
        t = math.tanh(a)
        values.append([a + b, a * b, t, max(a, 0.0)][operation])
        slopes.append([[(i, 1.0), (j, 1.0)], [(i, b), (j, a)], [(i, 1 - t * t)], [(i, float(a > 0))]][operation])
    grads = [0.0] * len(values)
    grads[-1] = 1.0
    for k in range(len(program) - 1, -1, -1):
        for i, slope in slopes[k]:
            grads[i] = grads[k + len(inputs)] * slope
    return torch.tensor([values[-1], *grads[:len(inputs)]])
"""),
    wrong("value_gradients", "ReLU lets the gradient through where it is off", "open", """
import math
import torch

def value_gradients(inputs, program):
    values, slopes = inputs.tolist(), []
    for operation, i, j in program.tolist():
        a, b = values[i], values[j]
        t = math.tanh(a)
        values.append([a + b, a * b, t, max(a, 0.0)][operation])
        slopes.append([[(i, 1.0), (j, 1.0)], [(i, b), (j, a)], [(i, 1 - t * t)], [(i, 1.0)]][operation])
    grads = [0.0] * len(values)
    grads[-1] = 1.0
    for k in range(len(program) - 1, -1, -1):
        for i, slope in slopes[k]:
            grads[i] += grads[k + len(inputs)] * slope
    return torch.tensor([values[-1], *grads[:len(inputs)]])
"""),
    wrong("train_network", "all weights start equal, so that the hidden units stay equal", "sealed", """
import torch
import torch.nn.functional as F

def train_network(x, y):
    parts = [torch.full(shape, 0.5, requires_grad=True) for shape in ((8, 2), (8,), (8,), ())]
    optimizer = torch.optim.Adam(parts, lr=0.05)
    for _ in range(300):
        A, b, alpha, alpha0 = parts
        optimizer.zero_grad()
        F.binary_cross_entropy_with_logits(torch.tanh(x @ A.T + b) @ alpha + alpha0, y).backward()
        optimizer.step()
    return tuple(part.detach() for part in parts)
"""),
    wrong("train_network", "no tanh in the training loop", "open", """
import torch
import torch.nn.functional as F

def train_network(x, y):
    torch.manual_seed(0)
    parts = [torch.randn(shape).requires_grad_() for shape in ((16, 2), (16,), (16,), ())]
    optimizer = torch.optim.Adam(parts, lr=0.05)
    for _ in range(300):
        A, b, alpha, alpha0 = parts
        optimizer.zero_grad()
        F.binary_cross_entropy_with_logits((x @ A.T + b) @ alpha + alpha0, y).backward()
        optimizer.step()
    return tuple(part.detach() for part in parts)
"""),
    wrong("train_network", "the classes are exchanged", "sealed", """
import torch
import torch.nn.functional as F

def train_network(x, y):
    torch.manual_seed(0)
    parts = [torch.randn(shape).requires_grad_() for shape in ((16, 2), (16,), (16,), ())]
    optimizer = torch.optim.Adam(parts, lr=0.05)
    for _ in range(400):
        A, b, alpha, alpha0 = parts
        optimizer.zero_grad()
        F.binary_cross_entropy_with_logits(torch.tanh(x @ A.T + b) @ alpha + alpha0, 1 - y).backward()
        optimizer.step()
    return tuple(part.detach() for part in parts)
"""),
]
