"""Linear and logistic regression: losses, gradients, the normal equation, and gradient descent."""

from __future__ import annotations

import math
from typing import Callable

import torch
import torch.nn.functional as F
from jaxtyping import Float, Shaped
from torch import Tensor, nn

Number = int | float                                                 # jaxtyping does not accept an int as a float


def mean_squared_error(X: Float[Tensor, "B D"], y: Float[Tensor, "B"], beta: Float[Tensor, "D"]) -> Float[Tensor, ""]:
    r"""Mean squared error $\frac1B \sum_i (y_i - x_i^\top \beta)^2$ of coefficients `beta`.

    The arguments are inputs X (B, D), one example $x_i$ per row, targets y (B,) and beta (D,). The slide omits the
    factor 1/B, which does not change the minimizer.
    """
    return ((y - X @ beta) ** 2).mean()


def mean_squared_gradient(X: Float[Tensor, "B D"], y: Float[Tensor, "B"],
                          beta: Float[Tensor, "D"]) -> Float[Tensor, "D"]:
    r"""Gradient of `mean_squared_error` with respect to `beta`, (D,): $-\frac2B X^\top (y - X \beta)$."""
    return -2 / len(X) * X.T @ (y - X @ beta)


def normal_equation(X: Float[Tensor, "B D"], y: Float[Tensor, "B"]) -> Float[Tensor, "D"]:
    r"""Least-squares solution $\beta = (X^\top X)^{-1} X^\top y$ for inputs X and targets y.

    It is the zero of `mean_squared_gradient`, computed as the solution of a linear system,
    which is cheaper and more accurate than the inverse matrix. Slide: "Analytic gradient".
    Raises ValueError if the columns of X are linearly dependent, because the solution is
    then not unique.

    >>> X = torch.tensor([[1.0, 0.0], [1.0, 1.0], [1.0, 2.0]])
    >>> normal_equation(X, torch.tensor([1.0, 3.0, 5.0]))
    tensor([1., 2.])
    """
    rank = int(torch.linalg.matrix_rank(X))
    if rank < X.shape[1]:
        raise ValueError(f"X has {X.shape[1]} columns and rank {rank}; expected linearly "
                         "independent columns, so that the solution is unique. Remove "
                         "columns, or add rows")
    return torch.linalg.solve(X.T @ X, X.T @ y)


def curvatures(X: Float[Tensor, "B D"]) -> Float[Tensor, "D"]:
    r"""Eigenvalues (D,) of the Hessian of `mean_squared_error`, $\frac2B X^\top X$, in ascending order.

    Gradient descent converges for learning rates below 2 / (largest eigenvalue). The learning rate
    2 / (smallest + largest) is the best for the worst starting point: each step multiplies the distance to the minimum
    by at most (k - 1) / (k + 1), where k = largest / smallest is the condition number.
    """
    return torch.linalg.eigvalsh(2 / len(X) * X.T @ X)


def gradient_descent(gradient: Callable[[Tensor], Tensor], start: Float[Tensor, "D"],
                     lr: Number, steps: int) -> Float[Tensor, "steps_and_one D"]:
    r"""Gradient descent, $\beta_{\text{new}} = \beta_{\text{old}} - a \cdot \text{grad}$.

    `gradient` maps $\beta$ (D,) to grad (D,), and `lr` is $a$. Returns (`steps` + 1, D): `start`
    and the $\beta$ after each step, one per row. Slide: "Numerical gradient approach".

    >>> start = torch.tensor([8.0])
    >>> path = gradient_descent(lambda beta: 2 * beta, start, lr=0.25, steps=3)
    >>> path.flatten()
    tensor([8., 4., 2., 1.])
    """
    if not (lr > 0 and math.isfinite(lr)):
        raise ValueError(f"lr is {lr}; expected a finite positive number")
    if steps < 0:
        raise ValueError(f"steps is {steps}; expected 0 or more")
    path = [start]
    for _ in range(steps):
        path.append(path[-1] - lr * gradient(path[-1]))
    return torch.stack(path)


class LogisticRegression(nn.Module):
    r"""Logistic regression, $p(Y = 1 \mid x; \alpha) = \sigma(\alpha_0 + \sum_i \alpha_i x_i)$.

    n        number of inputs
    penalty  $\lambda$ of the loss $\mathcal{L} + \frac\lambda2 \sum_{i \ge 1} \alpha_i^2$; scikit-learn's C is
             $1 / (\lambda B)$. The bias $\alpha_0$ is not penalized

    `forward` returns the logits. Slide: "Deep neural networks for classification".

    >>> x, y = torch.tensor([[0.0], [1.0], [2.0], [3.0]]), torch.tensor([0, 1, 0, 1])
    >>> model = LogisticRegression(1, penalty=0.1).fit(x, y)
    >>> [round(p, 2) for p in model.probabilities(torch.tensor([[0.0], [1.5], [3.0]])).tolist()]
    [0.28, 0.5, 0.72]
    """

    def __init__(self, n: int, penalty: Number = 0.0):
        super().__init__()
        if n < 1:
            raise ValueError(f"n is {n}; expected at least one input")
        if penalty < 0:
            raise ValueError(f"penalty is {penalty}; expected 0 or more")
        self.penalty = penalty
        self.weight = nn.Parameter(torch.zeros(n))                   # alpha_1, ..., alpha_n
        self.bias = nn.Parameter(torch.zeros(()))                    # alpha_0

    @property
    def config(self) -> dict:
        """Arguments of the constructor."""
        return {"n": len(self.weight), "penalty": self.penalty}

    def forward(self, x: Float[Tensor, "B n"]) -> Float[Tensor, "B"]:
        """Logits (B,) of inputs x (B, n)."""
        if x.shape[1] != len(self.weight):
            raise ValueError(f"x has {x.shape[1]} columns; expected {len(self.weight)}, the number of inputs")
        return x @ self.weight + self.bias

    @torch.no_grad()
    def probabilities(self, x: Float[Tensor, "B n"]) -> Float[Tensor, "B"]:
        """p(Y = 1 | x) of each row of x."""
        return torch.sigmoid(self(x))

    def loss(self, x: Float[Tensor, "B n"], y: Shaped[Tensor, "B"]) -> Float[Tensor, ""]:
        """Mean negative log-likelihood of labels y, 0 or 1, in nats, plus the penalty."""
        if not ((y == 0) | (y == 1)).all():
            raise ValueError(f"y contains {sorted(set(y.tolist()) - {0, 1})[0]}; expected 0 and 1 only")
        nats = F.binary_cross_entropy_with_logits(self(x), y.to(x.dtype))
        return nats + self.penalty / 2 * self.weight.square().sum()

    @torch.no_grad()
    def gradient(self, x: Float[Tensor, "B n"], y: Shaped[Tensor, "B"]) -> tuple[Tensor, Tensor]:
        r"""Gradients of `loss` with respect to the weight, (n,), and the bias, a scalar.

        They are $\frac1B x^\top (p - y) + \lambda \alpha$ and the mean of $p - y$, where p are the `probabilities`.
        """
        off = self.probabilities(x) - y                              # (B,)
        return x.T @ off / len(x) + self.penalty * self.weight, off.mean()

    @torch.no_grad()
    def fit(self, x: Float[Tensor, "B n"], y: Shaped[Tensor, "B"], tol: Number | None = None,
            max_steps: int = 100_000) -> LogisticRegression:
        """Minimize `loss` by gradient descent until no entry of the gradient exceeds `tol` in size. Returns self.

        tol  None: 1e-4 in float32 and 1e-8 in float64

        The learning rate is 1 / c, where c is an upper bound of the curvature, so the loss never increases: c is a
        quarter of the largest eigenvalue of A^T A / B, plus the penalty, where A is x with a column of ones. Raises
        RuntimeError if `max_steps` steps are not enough; without a penalty the weights diverge if the classes are
        linearly separable.
        """
        self.loss(x, y)                                              # raises ValueError for shapes that do not fit
        if not len(x):
            raise ValueError("x has no rows; expected at least one")
        tol = tol if tol is not None else 1e-8 if x.dtype == torch.float64 else 1e-4
        ones = torch.cat([torch.ones_like(x[:, :1]), x], dim=1)
        lr = 1 / (torch.linalg.eigvalsh(ones.T @ ones / len(x))[-1] / 4 + self.penalty)
        for _ in range(max_steps):
            by_weight, by_bias = self.gradient(x, y)
            if max(by_weight.abs().max(), by_bias.abs()) <= tol:
                return self
            self.weight -= lr * by_weight
            self.bias -= lr * by_bias
        raise RuntimeError(f"after {max_steps} steps the gradient is {by_weight.abs().max():.1e}; expected at most "
                           f"tol = {tol:.0e}. Scale the columns of x to similar ranges, set a penalty if the classes "
                           "are separable, or raise max_steps")
