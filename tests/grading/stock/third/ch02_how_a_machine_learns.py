"""Wrong answers to the exercises on how a machine learns."""
from __future__ import annotations

from tests.grading.stock import wrong

STOCK = [
    wrong("activation_derivatives",
          "the derivative of tanh by 2 sigma(2z) - 1 lacks the inner factor 2: half of it",
          "third", """
import torch

def activation_derivatives(z):
    s, t = torch.sigmoid(z), torch.sigmoid(2 * z)
    return torch.stack([s * (1 - s), 2 * t * (1 - t), (z > 0).to(z.dtype)])
"""),
    wrong("activation_derivatives",
          "the slope of the sigmoid as e^-z / (1 + e^-z)^2, which is nan for very negative z",
          "third", """
import torch

def activation_derivatives(z):
    e = torch.exp(-z)
    out = torch.zeros(3, len(z), dtype=z.dtype)
    out[0] = e / (1 + e) ** 2
    out[1] = 1 - torch.tanh(z) ** 2
    out[2] = torch.where(z > 0, 1.0, 0.0)
    return out
"""),
    wrong("regression_step",
          "returns the loss at the new beta, after the step, not at the given one",
          "third", """
import torch
import torch.nn.functional as F

def regression_step(x, y, beta, rate):
    target = y.unsqueeze(1)
    slope = 2 * x.T @ (x @ beta - target) / len(x)
    beta = beta - rate * slope
    return F.mse_loss(x @ beta, target), beta
"""),
    wrong("regression_step",
          "the step goes along the gradient of the sum of squares, not of their mean",
          "third", """
import torch

def regression_step(x, y, beta, rate):
    residual = (x @ beta).squeeze(1) - y
    loss = (residual ** 2).mean()
    gradient = 2 * (residual[:, None] * x).sum(0)
    return loss, beta - rate * gradient[:, None]
"""),
    wrong("train_line",
          "the last, shorter batch has its squares divided by `batch`, not by its own length",
          "third", """
import torch

def train_line(x, y, rate, epochs, batch):
    b = torch.zeros(1, requires_grad=True)
    w = torch.zeros(1, requires_grad=True)
    for _ in range(epochs):
        for k in range(0, len(x), batch):
            miss = b + w * x[k:k + batch] - y[k:k + batch]
            loss = (miss ** 2).sum() / batch
            loss.backward()
            with torch.no_grad():
                b -= rate * b.grad
                w -= rate * w.grad
            b.grad, w.grad = None, None
    return torch.cat([b, w]).detach()
"""),
    wrong("train_line",
          "b is moved first, and the gradient of w is taken at the new b",
          "third", """
import torch

def train_line(x, y, rate, epochs, batch):
    b, w = torch.tensor(0.0), torch.tensor(0.0)
    for _ in range(epochs):
        for rows, targets in zip(x.split(batch), y.split(batch)):
            b = b - rate * 2 * (b + w * rows - targets).mean()
            w = w - rate * 2 * ((b + w * rows - targets) * rows).mean()
    return torch.stack([b, w])
"""),
    wrong("value_gradients",
          "a product hands each factor its own value, not that of the other one",
          "third", """
import torch

def value_gradients(inputs, program):
    values = [float(v) for v in inputs]
    rows = [[int(k) for k in row] for row in program]
    for op, i, j in rows:
        values.append([lambda: values[i] + values[j], lambda: values[i] * values[j],
                       lambda: float(torch.tanh(torch.tensor(values[i], dtype=torch.double))),
                       lambda: max(0.0, values[i])][op]())
    n, slopes = len(inputs), [0.0] * len(values)
    slopes[-1] = 1.0
    for k in range(len(rows) - 1, -1, -1):
        op, i, j = rows[k]
        g, v = slopes[n + k], values[n + k]
        if op == 0:
            slopes[i] += g
            slopes[j] += g
        elif op == 1:
            slopes[i] += g * values[i]
            slopes[j] += g * values[j]
        elif op == 2:
            slopes[i] += g * (1 - v * v)
        else:
            slopes[i] += g * (values[i] > 0)
    return torch.tensor([values[-1]] + slopes[:n])
"""),
    wrong("value_gradients",
          "the slope of tanh takes the tanh of its result once more: 1 - tanh(tanh(v))^2",
          "third", """
import math

import torch

class Node:
    def __init__(self, value, parents=()):
        self.value, self.parents, self.grad = value, parents, 0.0

def value_gradients(inputs, program):
    nodes = [Node(float(v)) for v in inputs]
    for op, i, j in program.tolist():
        op, a, b = int(op), nodes[int(i)], nodes[int(j)] if op < 2 else None
        if op == 0:
            node = Node(a.value + b.value, [(a, 1.0), (b, 1.0)])
        elif op == 1:
            node = Node(a.value * b.value, [(a, b.value), (b, a.value)])
        elif op == 2:
            t = math.tanh(a.value)
            node = Node(t, [(a, 1 - math.tanh(t) ** 2)])
        else:
            node = Node(max(a.value, 0.0), [(a, 1.0 if a.value > 0 else 0.0)])
        nodes.append(node)
    nodes[-1].grad = 1.0
    for node in reversed(nodes):
        for parent, slope in node.parents:
            parent.grad += node.grad * slope
    return torch.tensor([nodes[-1].value] + [node.grad for node in nodes[:len(inputs)]])
"""),
]
