"""What a right autodiff, regression, optimizer or network does: as torch and scikit-learn have it. The mutants are caught
by it."""
from __future__ import annotations

import math

import numpy as np
import torch
import torch.nn.functional as F
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression as Theirs
from sklearn.preprocessing import StandardScaler

from tests.support.random import normal, rng

# --- autodiff: each operation on numbers and on tensors ----------------------------------------------------------------

UNARY = {
    "exp": (lambda v: v.exp(), None),
    "log": (lambda v: v.log(), "positive"),
    "tanh": (lambda v: v.tanh(), None),
    "sigmoid": (lambda v: v.sigmoid(), None),
    "relu": (lambda v: v.relu(), None),
    "square": (lambda v: v ** 2, None),
    "cube": (lambda v: v ** 3, None),
    "to the power 0": (lambda v: v ** 0, None),
    "inverse": (lambda v: v ** -1, "not 0"),
    "square root": (lambda v: v ** 0.5, "positive"),
    "minus": (lambda v: -v, None),
    "2 -": (lambda v: 2 - v, None),
    "- 2": (lambda v: v - 2, None),
    "3 *": (lambda v: 3 * v, None),
    "* 3": (lambda v: v * 3, None),
    "1 +": (lambda v: 1 + v, None),
    "4 /": (lambda v: 4 / v, "not 0"),
    "/ 4": (lambda v: v / 4, None),
}
BINARY = {"+": lambda a, b: a + b, "*": lambda a, b: a * b, "-": lambda a, b: a - b, "/": lambda a, b: a / b}
EDGES = [-800.0, -2.5, -0.3, 0.0, 0.4, 1.0, 3.0, 700.0]


def every_operation_is_torchs(m):
    """Value and derivative of each operation, at ordinary numbers, at 0 and far out."""
    for name, (operation, domain) in UNARY.items():
        for number in EDGES:
            if domain == "positive" and number <= 0 or domain == "not 0" and number == 0:
                continue
            theirs, mine = torch.tensor(number, dtype=torch.float64, requires_grad=True), m.Value(number)
            want, got = operation(theirs), operation(mine)
            want.backward()
            got.backward()
            close(got.data, want.item(), f"{name} of {number}")
            close(mine.grad, theirs.grad.item(), f"derivative of {name} at {number}")
    for name, operation in BINARY.items():
        a, b = (torch.tensor(v, dtype=torch.float64, requires_grad=True) for v in (2.5, -0.75))
        x, y = m.Value(2.5), m.Value(-0.75)
        want, got = operation(a, b), operation(x, y)
        want.backward()
        got.backward()
        close(got.data, want.item(), name)
        close(x.grad, a.grad.item(), f"{name}, left")
        close(y.grad, b.grad.item(), f"{name}, right")


def random_graphs_are_torchs(m):
    """Forty graphs in which values are used several times: the result, and the derivative by every node."""
    for seed in range(40):
        mine, theirs = random_graph(m.Value, seed)
        mine[-1].backward()
        theirs[-1].backward()
        for i, (value, tensor) in enumerate(zip(mine, theirs)):
            close(value.data, tensor.item(), f"graph {seed}, value {i}")
            want = 0.0 if tensor.grad is None else tensor.grad.item()
            close(value.grad or 0.0, want, f"graph {seed}, derivative by value {i}")


def random_graph(kind, seed, leaves=4, operations=14):
    """The nodes of one graph, as values and as tensors. The last is a sum over all that nobody read."""
    generator = rng(seed)

    def pick(k):
        return int(torch.randint(k, (1,), generator=generator))

    numbers = torch.randn(leaves, generator=generator, dtype=torch.float64).tolist()
    mine = [kind(number) for number in numbers]
    theirs = [torch.tensor(number, dtype=torch.float64, requires_grad=True) for number in numbers]
    for _ in range(operations):
        i, j, which = pick(len(mine)), pick(len(mine)), pick(8)
        for nodes in (mine, theirs):
            a, b = nodes[i], nodes[j]
            nodes.append([lambda: a + b, lambda: a * b, lambda: a - b, lambda: a / (b * b + 1), lambda: a.tanh(),
                          lambda: (0.3 * a).sigmoid(), lambda: a.relu() * a, lambda: (a * a + 1).log() + a][which]())
    for nodes in (mine, theirs):
        total = nodes[leaves]
        for node in nodes[leaves + 1:]:
            total = total + node
        nodes.append(total)
    for tensor in theirs[leaves:]:
        tensor.retain_grad()
    return mine, theirs


def higher_derivatives_are_torchs(m):
    """First, second and third derivatives of a function with shared nodes, by repeating `gradients`."""
    def f(v):
        return (v * v).tanh() * v.exp() + v ** 4 / (1 + v * v) + (v + 2).log() * v.sigmoid() + v.relu() * v

    for number in (-0.8, 0.6, 1.1):
        x, t = m.Value(number), torch.tensor(number, dtype=torch.float64, requires_grad=True)
        mine, theirs = f(x), f(t)
        for order in (1, 2, 3):
            mine, = m.gradients(mine, [x])
            theirs, = torch.autograd.grad(theirs, t, create_graph=True)
            close(mine.data, theirs.item(), f"derivative {order} at {number}")


def the_slides_example(m):
    """L = (y - beta x)^2: dL/d beta = -2 x (y - beta x), dL/dx = -2 beta (y - beta x), dL/dy = 2 (y - beta x)."""
    x, y, beta = m.Value(2.0), m.Value(7.0), m.Value(3.0)
    L = (y - beta * x) ** 2
    L.backward()
    assert (L.data, beta.grad, x.grad, y.grad, L.grad) == (1.0, -4.0, -6.0, 2.0, 1.0)


def twice_backward_is_twice_the_gradient(m):
    """At every node, not at the leaves alone: nothing that was found the first time is sent on a second time."""
    x = m.Value(3.0)
    inner = x * x
    L = inner * x + inner
    L.backward()
    once = [v.grad for v in (x, inner, L)]
    L.backward()
    assert once == [33.0, 4.0, 1.0] and [v.grad for v in (x, inner, L)] == [66.0, 8.0, 2.0]


# --- regression --------------------------------------------------------------------------------------------------------


def regression_data(seed=0, rows=60, columns=4):
    X, noise = normal(rows, columns, seed=seed), normal(rows, seed=seed + 1)
    X[:, 1] *= 3
    X[:, 2] += X[:, 0]
    return X, X @ torch.tensor([1.0, -2.0, 0.5, 3.0], dtype=torch.float64)[:columns] + noise


def its_gradient_is_autograds(m):
    X, y = regression_data()
    beta = normal(4, seed=3, grad=True)
    want, = torch.autograd.grad(F.mse_loss(X @ beta, y), beta)
    torch.testing.assert_close(m.mean_squared_error(X, y, beta), F.mse_loss(X @ beta, y))
    torch.testing.assert_close(m.mean_squared_gradient(X, y, beta.detach()), want)


def its_solution_is_least_squares(m):
    X, y = regression_data()
    got = m.normal_equation(X, y)
    np.testing.assert_allclose(got.numpy(), np.linalg.lstsq(X.numpy(), y.numpy(), rcond=None)[0], rtol=1e-9)
    assert m.mean_squared_gradient(X, y, got).abs().max() < 1e-12


def descent_reaches_the_solution_at_the_rate_of_theory(m):
    """With the best rate each step leaves at most (k - 1) / (k + 1) of the distance; above 2 / largest it diverges."""
    X, y = regression_data()
    exact = torch.linalg.lstsq(X, y[:, None]).solution[:, 0]
    hessian = torch.autograd.functional.hessian(lambda beta: F.mse_loss(X @ beta, y), exact)
    bends = m.curvatures(X)
    torch.testing.assert_close(bends, torch.linalg.eigvalsh(hessian))
    k = float(bends[-1] / bends[0])
    path = m.gradient_descent(lambda beta: m.mean_squared_gradient(X, y, beta), torch.zeros(4, dtype=torch.float64),
                              lr=2 / float(bends[0] + bends[-1]), steps=400)
    far = (path - exact).norm(dim=1)
    assert path.shape == (401, 4) and (far[1:120] <= (k - 1) / (k + 1) * far[:119] * (1 + 1e-9)).all()
    torch.testing.assert_close(path[-1], exact)
    too_large = m.gradient_descent(lambda beta: m.mean_squared_gradient(X, y, beta), path[0], 2.05 / float(bends[-1]), 400)
    assert (too_large[-1] - exact).norm() > 1e3


def logistic_is_scikit_learns(m):
    """Weights, intercept and probabilities on real data, with and without much penalty."""
    data = load_breast_cancer()
    x = StandardScaler().fit_transform(data.data[:, :6])
    for C in (1.0, 0.01):
        theirs = Theirs(C=C, tol=1e-12, max_iter=10_000).fit(x, data.target)
        mine = m.LogisticRegression(6, penalty=1 / (C * len(x))).double()
        mine.fit(torch.tensor(x), torch.tensor(data.target))
        np.testing.assert_allclose(mine.weight.detach().numpy(), theirs.coef_[0], rtol=1e-3, atol=1e-5)
        np.testing.assert_allclose(mine.bias.item(), theirs.intercept_[0], rtol=1e-3)
        np.testing.assert_allclose(mine.probabilities(torch.tensor(x)).numpy(), theirs.predict_proba(x)[:, 1], atol=1e-5)


def logistic_gradient_is_autograds(m):
    model = m.LogisticRegression(3, penalty=0.4).double()
    with torch.no_grad():
        model.weight.copy_(normal(3, seed=1))
        model.bias.fill_(0.7)
    x, y = normal(50, 3), torch.randint(2, (50,), generator=rng(2))
    want = torch.autograd.grad(model.loss(x, y), [model.weight, model.bias])
    for mine, theirs in zip(model.gradient(x, y), want):
        torch.testing.assert_close(mine, theirs)
    p = model.probabilities(x).numpy()
    nats = -np.where(y.numpy() == 1, np.log(p), np.log(1 - p)).mean() + 0.2 * (model.weight.detach().numpy() ** 2).sum()
    np.testing.assert_allclose(model.loss(x, y).item(), nats)


# --- optimizers --------------------------------------------------------------------------------------------------------

RULES = {
    "SGD": (lambda m, p: m.SGD(p, lr=0.05), lambda p: torch.optim.SGD(p, lr=0.05)),
    "Momentum": (lambda m, p: m.Momentum(p, lr=0.01, mu=0.8), lambda p: torch.optim.SGD(p, lr=0.01, momentum=0.8)),
    "Adam": (lambda m, p: m.Adam(p, lr=0.1, betas=(0.8, 0.95), eps=1e-3),
             lambda p: torch.optim.Adam(p, lr=0.1, betas=(0.8, 0.95), eps=1e-3)),
    "AdamW": (lambda m, p: m.AdamW(p, lr=0.1, weight_decay=0.3), lambda p: torch.optim.AdamW(p, lr=0.1, weight_decay=0.3)),
    "AdamW as it comes": (lambda m, p: m.AdamW(p), lambda p: torch.optim.AdamW(p)),
    "Adam as it comes": (lambda m, p: m.Adam(p), lambda p: torch.optim.Adam(p)),
}


def steps_are_torchs(name):
    """A check: sixty steps with minibatch noise on a crooked valley, every step equal."""
    ours, theirs = RULES[name]

    def check(m):
        a, b = ([normal(3, 2, seed=4, grad=True), normal(2, seed=5, grad=True)] for _ in range(2))
        mine, other = ours(m, a), theirs(b)
        for t in range(60):
            for parameters, optimizer in ((a, mine), (b, other)):
                optimizer.zero_grad()
                W, c = parameters
                x = normal(8, 3, seed=10 + t)
                (torch.tanh(x @ W + c).square().sum() + 30 * W[0, 0] ** 2).backward()
                optimizer.step()
            for i, (p, q) in enumerate(zip(a, b)):
                torch.testing.assert_close(p.detach(), q.detach(), rtol=1e-9, atol=1e-12, msg=f"{name}: step {t}, {i}")
    return check


# --- networks ----------------------------------------------------------------------------------------------------------


def derivatives_are_autograds(m):
    for name, (function, derivative) in m.ACTIVATIONS.items():
        z = torch.linspace(-30, 30, 121, dtype=torch.float64, requires_grad=True)      # 0 is one of them
        want, = torch.autograd.grad(function(z).sum(), z)
        torch.testing.assert_close(derivative(z.detach()), want, msg=name, rtol=1e-7, atol=1e-14)
    z = torch.linspace(-5, 5, 41, dtype=torch.float64)
    slides = {"sigmoid": 1 / (1 + (-z).exp()), "tanh": ((2 * z).exp() - 1) / ((2 * z).exp() + 1), "relu": z.clamp(min=0)}
    for name, want in slides.items():
        torch.testing.assert_close(m.ACTIVATIONS[name].function(z), want, msg=name)
    torch.testing.assert_close(m.ACTIVATIONS["tanh"].function(z), 2 * m.ACTIVATIONS["sigmoid"].function(2 * z) - 1)


def network_is_torchs(m):
    """Value and gradients of torch.nn.Linear with the same weights, one hidden layer and two."""
    for activation, layer in (("sigmoid", torch.nn.Sigmoid), ("tanh", torch.nn.Tanh), ("relu", torch.nn.ReLU)):
        for widths in ([3, 2], [3, 5, 2], [3, 5, 4, 2]):
            mine = m.MLP(widths, activation, generator=rng(1)).double()
            parts = []
            for A, b in zip(mine.weights, mine.biases):
                b.data = normal(len(b), seed=2)
                linear = torch.nn.Linear(A.shape[1], A.shape[0]).double()
                linear.weight.data, linear.bias.data = A.detach().clone(), b.detach().clone()
                parts += [linear, layer()]
            theirs, x = torch.nn.Sequential(*parts[:-1]), normal(6, 3, seed=3)
            torch.testing.assert_close(mine(x), theirs(x))
            mine(x).square().sum().backward()
            theirs(x).square().sum().backward()
            mine_grads = [p.grad for pair in zip(mine.weights, mine.biases) for p in pair]
            for p, q in zip(mine_grads, [q.grad for q in theirs.parameters()]):
                torch.testing.assert_close(p, q)


def linear_layers_are_one(m):
    model, x = m.MLP([4, 6, 5, 3], "identity", generator=rng(0)).double(), normal(7, 4)
    for b in model.biases:
        b.data = normal(len(b), seed=len(b))
    W, c = model.collapsed()
    assert W.shape == (3, 4)
    torch.testing.assert_close(x @ W.T + c, model(x).detach())


def weights_start_with_the_variance_it_says(m):
    for activation, gain in (("tanh", 1.0), ("relu", 2.0)):
        model = m.MLP([400, 500, 1], activation, generator=rng(0))
        assert abs(model.weights[0].var().item() * 400 / gain - 1) < 0.02
        assert not any(b.any() for b in model.biases)


def close(got, want, what):
    """Equal within rounding; NaN and infinities are not."""
    assert isinstance(got, float) and math.isclose(got, want, rel_tol=1e-9, abs_tol=1e-12), f"{what}: {got}, not {want}"
