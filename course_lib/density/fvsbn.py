"""The fully visible sigmoid belief network: one logistic regression per variable."""

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
    """What is known after k variables: the logits of all others so far."""

    k: int                                                           # variables known so far
    logits: Tensor                                                   # (B, n): bias plus what the known ones add


class FVSBN(AutoregressiveModel):
    r"""$p(x_i = 1 \mid x_{<i}) = \sigma\bigl(\alpha_0^i + \sum_{j<i} \alpha_j^i x_j\bigr)$.

    n (n + 1) / 2 parameters, against $2^n - 1$ for the table. With `order`, j < i reads "j is drawn before i".
    Weights start at zero: the loss is convex in them, and every factor begins as a fair coin.

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
        position = self.order.argsort()           # position[i]: when variable i is drawn
        self.register_buffer("earlier", (position[None, :] < position[:, None]).float())

    @property
    def config(self) -> dict:
        """The constructor's arguments."""
        return {"n": self.n, "order": self.order.tolist()}

    # every factor at once: training and scoring
    def conditionals(self, x: Shaped[Tensor, "B n"],
                     context: Tensor | None = None) -> Distribution:
        return self.conditional(F.linear(x, self.weight * self.earlier, self.bias))

    # one variable at a time: sampling
    def start(self, batch: int, context: Tensor | None = None) -> State:
        return State(0, self.bias.expand(batch, -1))  # nothing seen: each logit is its bias

    def predict(self, state: State) -> Distribution:
        return self.conditional(state.logits[:, self.variable_at(state.k)])

    def update(self, state: State, x_i: Shaped[Tensor, "B"]) -> State:
        """x_i is known now: add its column to the logits still to come. O(n) for each row,
        not O(n^2)."""
        i = self.variable_at(state.k)
        # (n,): what variable i adds to the later ones
        column = self.weight[:, i] * self.earlier[:, i]
        return State(state.k + 1, state.logits + x_i[:, None] * column)

    # what makes `sample` fast: the same draws, many variables at once
    def draw_all(self, u: Float[Tensor, "num n 1"], given: Tensor | None = None, known: Tensor | None = None,
                 context: Tensor | None = None) -> Float[Tensor, "num n"]:
        """As predict, draw and update, but a block of variables is solved together."""
        return solve(self.weight, self.bias, self.order, u[..., 0], given, known)
