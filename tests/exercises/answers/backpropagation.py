"""Answers to the exercises of chapter backpropagation."""
from __future__ import annotations

import math

import torch
import torch.nn.functional as F

from tests.exercises.answers.register import right, wrong


def sort(inputs, program, result):
    """The rows that the result needs, each after its operands and renumbered; the last computes the result."""
    n, rows, steps = len(inputs), program.tolist(), []
    place = {k: k for k in range(n)}

    def visit(k):
        if k not in place:
            operation, i, j = rows[k - n]
            visit(i)
            visit(j if operation < 2 else i)
            place[k] = n + len(steps)
            steps.append((operation, place[i], place[j if operation < 2 else i]))

    visit(result)
    return torch.tensor(steps)


@right("activation_derivatives: tanh from the sigmoid, ReLU by where")
def _(z):
    def slope(v):
        return torch.sigmoid(v) * (1 - torch.sigmoid(v))

    return torch.stack([slope(z), 4 * slope(2 * z), torch.where(z > 0, torch.ones_like(z), torch.zeros_like(z))])


@wrong("activation_derivatives: one over the cosh, not squared")
def _(z):
    return torch.stack([torch.sigmoid(z) * torch.sigmoid(-z), 1 / torch.cosh(z), (z > 0).float()])


@right("value_gradients: forward, one input at a time")
def _(inputs, program, result):
    program = sort(inputs, program, result)
    n = len(inputs)
    values, slopes = inputs.tolist(), torch.eye(n).tolist()
    for operation, i, j in program.tolist():
        a, b, u, v = values[i], values[j], slopes[i], slopes[j]
        t = math.tanh(a)
        values.append([a + b, a * b, t, max(a, 0.0)][operation])
        slopes.append([[p + q for p, q in zip(u, v)], [p * b + q * a for p, q in zip(u, v)],
                       [p * (1 - t * t) for p in u], [p * (a > 0) for p in u]][operation])
    return torch.tensor([values[-1], *slopes[-1]])


@right("value_gradients: by counting the values still to come")
def _(inputs, program, result):
    n, rows = len(inputs), program.tolist()
    operands = {n + k: row[1:2 + (row[0] < 2)] for k, row in enumerate(rows)}
    values = dict(enumerate(inputs.tolist()))
    while len(values) < n + len(rows):                                         # forward, in rounds
        for k, (operation, i, j) in enumerate(rows):
            if n + k not in values and all(operand in values for operand in operands[n + k]):
                a, b = values[i], values.get(j, 0.0)
                values[n + k] = [a + b, a * b, math.tanh(a), max(a, 0.0)][operation]
    waiting = {k: sum(k in read for read in operands.values()) for k in values}
    grads = {k: float(k == result) for k in values}
    ready = [k for k in values if waiting[k] == 0]
    for k in ready:                                                            # backward, once all readers are done
        if k < n:
            continue
        operation, i, j = rows[k - n]
        a, b = values[i], values.get(j, 0.0)
        for operand, slope in zip(operands[k], ((1.0, 1.0), (b, a), (1 - values[k] ** 2,), (float(a > 0),))[operation]):
            grads[operand] += slope * grads[k]
        for operand in set(operands[k]):
            waiting[operand] -= 1
            ready += [operand] if waiting[operand] == 0 else []
    return torch.tensor([values[result], *(grads[k] for k in range(n))])


@wrong("value_gradients: differences, coarse")
def _(inputs, program, result):
    program = sort(inputs, program, result)
    def last(numbers):
        values = numbers.tolist()
        for operation, i, j in program.tolist():
            a, b = values[i], values[j]
            values.append([a + b, a * b, math.tanh(a), max(a, 0.0)][operation])
        return values[-1]

    h = 0.05
    slopes = [(last(inputs + h * e) - last(inputs - h * e)) / (2 * h) for e in torch.eye(len(inputs))]
    return torch.tensor([last(inputs), *slopes])


@wrong("value_gradients: the value alone, no gradient anywhere")
def _(inputs, program, result):
    program = sort(inputs, program, result)
    values = inputs.tolist()
    for operation, i, j in program.tolist():
        a, b = values[i], values[j]
        values.append([a + b, a * b, math.tanh(a), max(a, 0.0)][operation])
    return torch.tensor([values[-1], *[0.0] * len(inputs)])


@wrong("value_gradients: the slope of tanh from what went in", called="tanh_of_input")
def _(inputs, program, result):
    program = sort(inputs, program, result)
    values, steps = inputs.tolist(), program.tolist()
    for operation, i, j in steps:
        a, b = values[i], values[j]
        values.append((a + b, a * b, torch.tensor(a).tanh().item(), max(a, 0.0))[operation])
    grads = [0.0] * (len(values) - 1) + [1.0]
    for k, (operation, i, j) in reversed(list(enumerate(steps, start=len(inputs)))):
        a, b = values[i], values[j]
        grads[i] += grads[k] * (1.0, b, 1 - a ** 2, float(a > 0))[operation]
        grads[j] += grads[k] * (1.0, a, 0.0, 0.0)[operation]
    return torch.tensor([values[-1], *grads[:len(inputs)]])


@wrong("value_gradients: layer by layer from the last value, each value once", called="breadth_first")
def _(inputs, program, result):
    program = sort(inputs, program, result)
    values, read = inputs.tolist(), {}
    for operation, i, j in program.tolist():
        a, b = values[i], values[j]
        t = torch.tensor(a).tanh().item()
        read[len(values)] = ([(i, 1.0), (j, 1.0)], [(i, b), (j, a)], [(i, 1 - t * t)], [(i, float(a > 0))])[operation]
        values.append((a + b, a * b, t, max(a, 0.0))[operation])
    grads, layer, seen = {len(values) - 1: 1.0}, [len(values) - 1], set()
    while layer:
        seen |= set(layer)
        below = []
        for k in layer:
            for i, slope in read.get(k, []):
                grads[i] = grads.get(i, 0.0) + slope * grads[k]
                below += [i] if i not in seen and i not in below else []
        layer = below
    return torch.tensor([values[-1], *(grads.get(i, 0.0) for i in range(len(inputs)))])


def reverse(inputs, program, factor, slope):
    """The gradients, with this rule for a factor (of the product, itself, the other factor) and this slope of ReLU."""
    n, values = len(inputs), inputs.tolist()
    for operation, i, j in program.tolist():
        a, b = values[i], values[j]
        values.append([a + b, a * b, math.tanh(a), max(a, 0.0)][operation])
    grads = [0.0] * (len(values) - 1) + [1.0]
    for k in reversed(range(n, len(values))):
        operation, i, j = program[k - n].tolist()
        a, b, g = values[i], values[j], grads[k]
        if operation == 1:
            grads[i] += g * factor(values[k], a, b)
            grads[j] += g * factor(values[k], b, a)
        else:
            grads[i] += g * (1.0, 0.0, 1 - values[k] ** 2, slope(a))[operation]
            grads[j] += g * (operation == 0)
    return torch.tensor([values[-1], *grads[:n]])


@wrong("value_gradients: the slope of ReLU at 0 is 1")
def _(inputs, program, result):
    program = sort(inputs, program, result)
    return reverse(inputs, program, lambda product, own, other: other, lambda a: float(a >= 0))


@wrong("value_gradients: the product divided by the factor")
def _(inputs, program, result):
    program = sort(inputs, program, result)
    return reverse(inputs, program, lambda product, own, other: product / own if own else 0.0, lambda a: float(a > 0))


@right("mlp_backward: row by row")
def _(x, weights, biases, G):
    totals = [torch.zeros_like(part) for part in (*weights, *biases)]
    for row, g in zip(x, G):
        values = [row]
        for W, b in zip(weights, biases):
            values.append(torch.tanh(W @ values[-1] + b))
        for k in range(len(weights) - 1, -1, -1):
            if k < len(weights) - 1:
                g = g / torch.cosh(torch.atanh(values[k + 1].double())).to(g.dtype) ** 2
            totals[k] += torch.outer(g, values[k])
            totals[len(weights) + k] += g
            g = weights[k].T @ g
    return totals


@right("mlp_backward: recursive")
def _(x, weights, biases, G):
    def layers(h, k):
        """Gradients of layers k, k + 1, ... and with respect to h."""
        if k == len(weights) - 1:
            return [G.T @ h], [G.sum(0)], G @ weights[k]
        t = torch.tanh(h @ weights[k].T + biases[k])
        of_weights, of_biases, of_t = layers(t, k + 1)
        of_a = of_t - of_t * t * t
        return [of_a.T @ h, *of_weights], [of_a.sum(0), *of_biases], of_a @ weights[k]

    of_weights, of_biases, _ = layers(x, 0)
    return of_weights + of_biases


@wrong("mlp_backward: transposed where a matrix is square")
def _(x, weights, biases, G):
    values = [x]
    for W, b in zip(weights[:-1], biases[:-1]):
        values.append(torch.tanh(values[-1] @ W.T + b))
    of_weights, of_biases = [], []
    for k in range(len(weights) - 1, -1, -1):
        of_weights.insert(0, G.T @ values[k])
        of_biases.insert(0, G.sum(0))
        W = weights[k].T if weights[k].shape[0] == weights[k].shape[1] else weights[k]
        G = (G @ W) * (1 - values[k] ** 2)
    return of_weights + of_biases


@wrong("mlp_backward: without the last bias's sum over the rows")
def _(x, weights, biases, G):
    values = [x]
    for W, b in zip(weights[:-1], biases[:-1]):
        values.append(torch.tanh(values[-1] @ W.T + b))
    of_weights, of_biases = [], []
    for k in range(len(weights) - 1, -1, -1):
        of_weights.insert(0, G.T @ values[k])
        of_biases.insert(0, G[0])
        G = (G @ weights[k]) * (1 - values[k] ** 2)
    return of_weights + of_biases


@right("linear_backward: by einsum")
def _(x, W, b, G):
    return [torch.einsum("itj,jk->itk", G, W), torch.einsum("itj,itk->jk", G, x), torch.einsum("itj->j", G)]


@wrong("linear_backward: the mean over the batch")
def _(x, W, b, G):
    return G @ W, torch.einsum("itj,itk->jk", G, x) / len(x), G.sum(dim=(0, 1)) / len(x)


@wrong("linear_backward: the gradient of b is the mean over the positions", called="bias_position_mean")
def _(x, W, b, G):
    return G @ W, torch.einsum("itj,itk->jk", G, x), G.sum(dim=0).mean(dim=0)


@wrong("linear_backward: summed over the positions before the product", called="product_of_sums")
def _(x, W, b, G):
    return G @ W, torch.einsum("ij,ik->jk", G.sum(1), x.sum(1)), G.sum(dim=(0, 1))


@wrong("linear_backward: without the gradient of b")
def _(x, W, b, G):
    return G @ W, G.flatten(0, 1).T @ x.flatten(0, 1), torch.zeros_like(b)


@right("train_module: nn.Sequential, ReLU, mini-batches")
def _(x, y, new_x):
    torch.manual_seed(1)
    model = torch.nn.Sequential(torch.nn.Linear(2, 32), torch.nn.ReLU(), torch.nn.Linear(32, 1))
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
    for _ in range(30):
        for rows in torch.randperm(len(x)).split(20):
            optimizer.zero_grad()
            F.binary_cross_entropy_with_logits(model(x[rows]).squeeze(-1), y[rows]).backward()
            optimizer.step()
    with torch.no_grad():
        return model(new_x).squeeze(-1)


@right("train_module: a hidden layer of squares, by hand")
def _(x, y, new_x):
    def features(points):
        return torch.cat([torch.ones(len(points), 1), points, points ** 2], dim=1)

    weights = torch.zeros(5, requires_grad=True)
    optimizer = torch.optim.Adam([weights], lr=0.1)
    for _ in range(500):
        optimizer.zero_grad()
        F.binary_cross_entropy_with_logits(features(x) @ weights, y).backward()
        optimizer.step()
    return (features(new_x) @ weights).detach()


@wrong("train_module: not trained")
def _(x, y, new_x):
    torch.manual_seed(0)
    return torch.nn.Sequential(torch.nn.Linear(2, 16), torch.nn.Tanh(), torch.nn.Linear(16, 1))(new_x)[:, 0].detach()


@wrong("train_module: a logistic regression", called="linear")
def _(x, y, new_x):
    model = torch.nn.Linear(2, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
    for _ in range(300):
        optimizer.zero_grad()
        F.binary_cross_entropy_with_logits(model(x)[:, 0], y).backward()
        optimizer.step()
    return model(new_x)[:, 0].detach()


@right("collapse_layers: by the outputs for the unit vectors and for 0")
def _(weights, biases):
    def output(x):
        for W, b in zip(weights, biases):
            x = x @ W.T + b
        return x

    n = weights[0].shape[1]
    b = output(torch.zeros(n))
    return (output(torch.eye(n)) - b).T, b


@right("collapse_layers: from the last layer to the first")
def _(weights, biases):
    W, b = weights[-1], biases[-1]
    for before, bias in zip(weights[-2::-1], biases[-2::-1]):
        W, b = W @ before, b + W @ bias
    return [W, b]


@wrong("collapse_layers: the last bias left out of more than one layer")
def _(weights, biases):
    W, b = weights[0], biases[0]
    for k in range(1, len(weights)):
        W, b = weights[k] @ W, weights[k] @ b + (biases[k] if k < len(weights) - 1 else 0)
    return W, b


@wrong("collapse_layers: the transposed weight")
def _(weights, biases):
    W, b = weights[0], biases[0]
    for W_next, b_next in zip(weights[1:], biases[1:]):
        W, b = W_next @ W, W_next @ b + b_next
    return W.T, b


@right("relu_interpolation: by a system of equations")
def _(t, g):
    beyond = torch.stack([t.min() - 1, t.max() + 1])
    x = torch.cat([t, beyond[1:]]).double()
    design = torch.cat([torch.ones(len(x), 1), torch.relu(x[:, None] - t.double())], dim=1).double()
    return torch.linalg.solve(design, torch.cat([g, g[t.argmax()][None]]).double()).to(g.dtype)


@right("relu_interpolation: point by point, in a dictionary")
def _(t, g):
    points = sorted(zip(t.tolist(), g.tolist()))
    alpha, slope = {}, 0.0
    for k, (left, value) in enumerate(points):
        following = (points[k + 1][1] - value) / (points[k + 1][0] - left) if k + 1 < len(points) else 0.0
        alpha[left], slope = following - slope, following
    return torch.tensor([points[0][1], *(alpha[left] for left in t.tolist())])


@wrong("relu_interpolation: the last unit left at 0", called="not_constant")
def _(t, g):
    order = t.argsort()
    s = g[order].diff() / t[order].diff()
    alpha = torch.zeros_like(t)
    alpha[order[:-1]] = torch.cat([s[:1], s.diff()])
    return torch.cat([g[order[:1]], alpha])


@wrong("relu_interpolation: sorted by the values")
def _(t, g):
    order = g.argsort()
    s = g[order].diff() / t[order].diff()
    alpha = torch.zeros_like(t)
    alpha[order] = torch.cat([s[:1], s.diff(), -s[-1:]])
    return torch.cat([g[order[:1]], alpha])


@right("deep_initialization: leaky_relu, and the gain of torch")
def _(x, noise, slope):
    std = torch.nn.init.calculate_gain("leaky_relu", slope) / x.shape[1] ** 0.5
    h, sizes = x, [std ** 2, x.square().mean().item()]
    for W in noise:
        h = F.leaky_relu(F.linear(h, std * W), slope)
        sizes.append(h.square().mean().item())
    return torch.tensor(sizes)


@wrong("deep_initialization: the variance of ReLU for every slope", called="as_for_relu")
def _(x, noise, slope):
    std = torch.nn.init.calculate_gain("relu") / x.shape[1] ** 0.5
    h, sizes = x, [std ** 2, x.square().mean().item()]
    for W in noise:
        h = F.leaky_relu(F.linear(h, std * W), slope)
        sizes.append(h.square().mean().item())
    return torch.tensor(sizes)


@wrong("deep_initialization: the number of rows instead of the number of inputs")
def _(x, noise, slope):
    v = 2 / ((1 + slope ** 2) * len(x))
    h, sizes = x, [x.square().mean()]
    for W in noise:
        h = F.leaky_relu(h @ W.T * v ** 0.5, slope)
        sizes.append(h.square().mean())
    return torch.stack([torch.tensor(v), *sizes])


@wrong("deep_initialization: the mean square of x, then variances", called="variance_after_layers")
def _(x, noise, slope):
    v = 2 / ((1 + slope ** 2) * x.shape[1])
    h, sizes = x, [x.square().mean()]
    for W in noise:
        h = F.leaky_relu(h @ W.T * v ** 0.5, slope)
        sizes.append(h.square().mean() - h.mean() ** 2)
    return torch.stack([torch.tensor(v), *sizes])


@wrong("deep_initialization: the weights are not transposed")
def _(x, noise, slope):
    v = 2 / ((1 + slope ** 2) * x.shape[1])
    h, sizes = x, [x.square().mean()]
    for W in noise:
        h = F.leaky_relu(h @ W * v ** 0.5, slope)
        sizes.append(h.square().mean())
    return torch.stack([torch.tensor(v), *sizes])
