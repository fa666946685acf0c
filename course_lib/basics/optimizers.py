"""Optimizers: SGD, momentum, Adam and AdamW, written as their equations; their steps equal those of `torch.optim`.

A parameter is an object with `data` and `grad`: a torch Parameter, or a `Value` of `autodiff`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import torch

Number = int | float                                                 # jaxtyping does not accept an int as a float


class Optimizer:
    """Base class of optimizers, which stores the parameters and a state for each parameter.

    parameters  objects with `data` and `grad`, such as `model.parameters()`
    lr          learning rate

    A subclass defines `new(p, g, state)`, which returns the new value of a parameter from its value p, its gradient g
    and its state, a dict that is kept between steps. `state["t"]` is the number of the step, from 1.

    >>> class Sign(Optimizer):
    ...     def new(self, p, g, state):
    ...         return p - self.lr * torch.sign(g)
    >>> w = torch.nn.Parameter(torch.tensor([1.0, 2.0]))
    >>> optimizer = Sign([w], lr=0.5)
    >>> (w ** 2).sum().backward()
    >>> optimizer.step()
    >>> w.data
    tensor([0.5000, 1.5000])
    """

    def __init__(self, parameters: Iterable[Any], lr: Number):
        self.parameters = list(parameters)
        if not self.parameters:
            raise ValueError("parameters is empty; expected at least one parameter")
        self.lr = _positive("lr", lr)
        self.states: list[dict] = [{"t": 0} for _ in self.parameters]

    @torch.no_grad()
    def step(self) -> None:
        """Replace the value of every parameter that has a gradient by the result of `new`."""
        for parameter, state in zip(self.parameters, self.states):
            if parameter.grad is not None:
                state["t"] += 1
                parameter.data = self.new(parameter.data, parameter.grad, state)

    def zero_grad(self) -> None:
        """Set all gradients to None. Otherwise the next `backward` adds to them."""
        for parameter in self.parameters:
            parameter.grad = None

    def new(self, p: Any, g: Any, state: dict) -> Any:
        """Value of a parameter after one step, from its value p, its gradient g and its state (see the class)."""
        raise NotImplementedError(f"{type(self).__name__} does not define new(p, g, state); expected a method that "
                                  "returns the new value of a parameter")


class SGD(Optimizer):
    r"""Stochastic gradient descent, $\theta \leftarrow \theta - a\, g$, where $a$ is the learning rate `lr`.

    Slide: beta_new = beta_old - a grad.

    >>> beta = torch.nn.Parameter(torch.tensor(8.0))
    >>> (beta ** 2).backward()
    >>> SGD([beta], lr=0.25).step()
    >>> beta.item()
    4.0
    """

    def new(self, p: Any, g: Any, state: dict) -> Any:
        return p - self.lr * g


class Momentum(Optimizer):
    r"""SGD with momentum: $v \leftarrow \mu v + g$ and $\theta \leftarrow \theta - a\, v$, where v is 0 at first.

    `parameters` and `lr`, which is $a$, are as in `Optimizer`; `mu` is the momentum coefficient $\mu$. Past gradients
    decay by the factor $\mu$ per step, so a constant gradient is multiplied by $1 / (1 - \mu)$ in the limit. The steps
    equal the steps of torch's SGD with momentum=mu. Source: Polyak 1964.

    >>> beta = torch.nn.Parameter(torch.tensor(8.0))
    >>> optimizer = Momentum([beta], lr=0.25, mu=0.5)
    >>> for _ in range(2):
    ...     optimizer.zero_grad()
    ...     (beta ** 2).backward()
    ...     optimizer.step()
    >>> beta.item()                          # 8, 4, then 4 - 0.25 (0.5 * 16 + 8)
    0.0
    """

    def __init__(self, parameters: Iterable[Any], lr: Number, mu: Number = 0.9):
        super().__init__(parameters, lr)
        self.mu = _fraction("mu", mu)

    def new(self, p: Any, g: Any, state: dict) -> Any:
        state["v"] = self.mu * state.get("v", 0.0) + g
        return p - self.lr * state["v"]


class Adam(Optimizer):
    r"""Adam: steps of about the learning rate in every coordinate, whatever the scale of its gradient.

    $m \leftarrow \beta_1 m + (1 - \beta_1)\, g$ and $s \leftarrow \beta_2 s + (1 - \beta_2)\, g^2$ are moving averages
    that start at 0, $\hat m = m / (1 - \beta_1^t)$ and $\hat s = s / (1 - \beta_2^t)$ correct their bias toward 0, and
    $\theta \leftarrow \theta - a\, \hat m / (\sqrt{\hat s} + \epsilon)$. `lr` is $a$, `betas` is $(\beta_1, \beta_2)$,
    `eps` is $\epsilon$, and t is the number of the step, from 1. Source: Kingma and Ba 2015, algorithm 1.

    >>> beta = torch.nn.Parameter(torch.tensor(8.0))
    >>> (beta ** 2).backward()
    >>> Adam([beta], lr=0.25).step()
    >>> beta.item()                          # the first step has the size of the learning rate
    7.75
    """

    def __init__(self, parameters: Iterable[Any], lr: Number = 1e-3, betas: tuple[Number, Number] = (0.9, 0.999),
                 eps: Number = 1e-8):
        super().__init__(parameters, lr)
        self.betas = _fraction("betas[0]", betas[0]), _fraction("betas[1]", betas[1])
        self.eps = _positive("eps", eps)

    def new(self, p: Any, g: Any, state: dict) -> Any:
        b1, b2 = self.betas
        state["m"] = b1 * state.get("m", 0.0) + (1 - b1) * g
        state["s"] = b2 * state.get("s", 0.0) + (1 - b2) * g * g
        m_hat = state["m"] / (1 - b1 ** state["t"])
        s_hat = state["s"] / (1 - b2 ** state["t"])
        return p - self.lr * m_hat / (s_hat ** 0.5 + self.eps)


class AdamW(Adam):
    r"""Adam with decoupled weight decay: $\theta \leftarrow (1 - a \lambda)\, \theta$ before each step of `Adam`.

    $a$ is `lr`, and $\lambda$ is `weight_decay`; `betas` and `eps` are as in `Adam`. If the decay were part of the
    gradient, Adam would divide it by $\sqrt{\hat s}$. Source: Loshchilov and Hutter 2019.

    >>> beta = torch.nn.Parameter(torch.tensor(8.0))
    >>> (beta ** 2).backward()
    >>> AdamW([beta], lr=0.25, weight_decay=0.5).step()
    >>> beta.item()                          # 8 (1 - 0.25 * 0.5) - 0.25
    6.75
    """

    def __init__(self, parameters: Iterable[Any], lr: Number = 1e-3, betas: tuple[Number, Number] = (0.9, 0.999),
                 eps: Number = 1e-8, weight_decay: Number = 1e-2):
        super().__init__(parameters, lr, betas, eps)
        if not weight_decay >= 0:
            raise ValueError(f"weight_decay is {weight_decay}; expected 0 or more")
        self.weight_decay = weight_decay

    def new(self, p: Any, g: Any, state: dict) -> Any:
        return super().new(p * (1 - self.lr * self.weight_decay), g, state)


def _positive(name: str, value: Number) -> Number:
    if not (value > 0 and math.isfinite(value)):
        raise ValueError(f"{name} is {value}; expected a finite positive number")
    return value


def _fraction(name: str, value: Number) -> Number:
    if not 0 <= value < 1:
        raise ValueError(f"{name} is {value}; expected at least 0 and less than 1")
    return value
