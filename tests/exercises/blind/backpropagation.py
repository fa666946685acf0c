"""Wrong answers to the exercises of chapter backpropagation, written without knowing its checks."""
from __future__ import annotations

import math

import torch

from tests.exercises.answers.backpropagation import sort
from tests.exercises.answers.register import blind


@blind("activation_derivatives: the derivative of tanh by 2 sigma(2z) - 1 lacks the inner factor 2: half of it")
def _(z):
    s, t = torch.sigmoid(z), torch.sigmoid(2 * z)
    return torch.stack([s * (1 - s), 2 * t * (1 - t), (z > 0).to(z.dtype)])


@blind("activation_derivatives: the slope of the sigmoid as e^-z / (1 + e^-z)^2, which is nan for very negative z")
def _(z):
    e = torch.exp(-z)
    out = torch.zeros(3, len(z), dtype=z.dtype)
    out[0] = e / (1 + e) ** 2
    out[1] = 1 - torch.tanh(z) ** 2
    out[2] = torch.where(z > 0, 1.0, 0.0)
    return out


@blind("activation_derivatives: the sigmoid's derivative is z (1 - z): z itself is put in where sigmoid(z) belongs")
def _(z):
    sigmoid_prime = z * (1 - z)
    tanh_prime = 1 - torch.tanh(z) ** 2
    relu_prime = torch.where(z > 0, torch.ones_like(z), torch.zeros_like(z))
    return torch.stack([sigmoid_prime, tanh_prime, relu_prime], dim=0)


@blind("activation_derivatives: all three are measured by a central difference (z + h, z - h) and not "
       "derived: ReLU gets 1/2 at 0 and nearby")
def _(z):
    h = 1e-3
    def slope(f):
        return (f(z + h) - f(z - h)) / (2 * h)
    return torch.stack([slope(torch.sigmoid), slope(torch.tanh), slope(torch.relu)])


@blind("value_gradients: a product hands each factor its own value, not that of the other one")
def _(inputs, program, result):
    program = sort(inputs, program, result)
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


class Node:
    def __init__(self, value, parents=()):
        self.value, self.parents, self.grad = value, parents, 0.0


@blind("value_gradients: the slope of tanh takes the tanh of its result once more: 1 - tanh(tanh(v))^2")
def _(inputs, program, result):
    program = sort(inputs, program, result)
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


@blind("value_gradients: where both operands are the same value (i = j) only one share goes back: v * v has "
       "the slope v, v + v the slope 1")
def _(inputs, program, result):
    program = sort(inputs, program, result)
    values = list(inputs.unbind())
    n, rows = len(values), [[int(a) for a in row] for row in program]
    for op, i, j in rows:
        a, b = values[i], values[j]
        values.append([lambda: a + b, lambda: a * b, lambda: a.tanh(), lambda: a.relu()][op]())
    grads = [torch.zeros_like(values[0]) for _ in values]
    grads[-1] += 1
    for k in range(len(rows) - 1, -1, -1):
        op, i, j = rows[k]
        g, v = grads[n + k], values[n + k]
        back = {}
        if op == 0:
            back[i] = g
            back[j] = g
        elif op == 1:
            back[i] = g * values[j]
            back[j] = g * values[i]
        elif op == 2:
            back[i] = g * (1 - v ** 2)
        else:
            back[i] = g * (v > 0)
        for place, share in back.items():
            grads[place] = grads[place] + share
    return torch.stack([values[-1], *grads[:n]])
