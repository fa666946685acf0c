"""Fully visible sigmoid belief network: a logistic regression for each variable."""

from __future__ import annotations

from typing import Iterable, NamedTuple

import torch
import torch.nn.functional as F
from jaxtyping import Float, Shaped
from torch import Tensor, nn
from torch.distributions import Distribution

from course_lib.autoregressive import AutoregressiveModel
from course_lib.conditional import Bernoulli
from course_lib.density._block_solver import solve


class State(NamedTuple):
    """State after the first k variables of the order: the logits of the remaining variables, given the first k."""

    k: int                                                           # number of known variables
    logits: Tensor                                                   # (B, n): bias plus terms of the known variables


class FVSBN(AutoregressiveModel):
    r"""Fully visible sigmoid belief network:
    $p(x_i = 1 \mid x_{<i}) = \sigma\bigl(\alpha_0^i + \sum_{j<i} \alpha_j^i x_j\bigr)$.

    n      number of variables
    order  order[k] is the variable that is sampled k-th; j < i means that j comes before i in the order

    It has n (n + 1) / 2 parameters, whereas a table of p(x) has 2^n - 1. All parameters are initialized to 0; the loss
    is convex in them.

    Slides: "Fully Visible Sigmoid Belief Network". Papers: Neal 1992; Frey, Hinton and Dayan 1996.

    >>> model = FVSBN(784)
    >>> print(model)
    FVSBN(n=784)
    >>> model.log_prob(torch.zeros(2, 784)).shape, model.sample(3).shape
    (torch.Size([2]), torch.Size([3, 784]))
    """

    def __init__(self, n: int, order: Iterable[int] | Tensor | None = None):
        super().__init__(n, Bernoulli(), order)
        # row i holds alpha^i; only earlier j are used
        self.weight = nn.Parameter(torch.zeros(n, n))
        self.bias = nn.Parameter(torch.zeros(n))  # alpha_0
        position = self.order.argsort()           # position[i] of variable i
        self.register_buffer("earlier", (position[None, :] < position[:, None]).float())

    @property
    def config(self) -> dict:
        """Arguments of the constructor."""
        return {"n": self.n, "order": self.order.tolist()}

    # every factor at once: training and scoring
    def conditionals(self, x: Shaped[Tensor, "B n"],
                     context: Tensor | None = None) -> Distribution:
        return self.conditional(F.linear(x, self.weight * self.earlier, self.bias))

    # one variable at a time: sampling
    def start(self, batch: int, context: Tensor | None = None) -> State:
        return State(0, self.bias.expand(batch, -1))  # no variable is known: the biases

    def predict(self, state: State) -> Distribution:
        return self.conditional(state.logits[:, self.variable_at(state.k)])

    def update(self, state: State, x_i: Shaped[Tensor, "B"]) -> State:
        """Return the state after the next variable has taken the value x_i: add its term to the later logits, O(n)."""
        i = self.variable_at(state.k)
        # (n,): weights of x_i in the later logits
        column = self.weight[:, i] * self.earlier[:, i]
        return State(state.k + 1, state.logits + x_i[:, None] * column)

    # faster sampling: the same values, many variables at once
    def draw_all(self, u: Float[Tensor, "num n 1"], given: Tensor | None = None, known: Tensor | None = None,
                 context: Tensor | None = None) -> Float[Tensor, "num n"]:
        """Same samples and arguments as `AutoregressiveModel.draw_all`, computed in blocks of variables by `solve`."""
        return solve(self.weight, self.bias, self.order, u[..., 0], given, known)
