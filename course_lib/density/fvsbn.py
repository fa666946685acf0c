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

BLOCK = 112                                                          # variables solved together in `sample`


class State(NamedTuple):
    k: int                                                           # variables known so far
    logits: Tensor                                                   # (B, n): bias plus what the known ones add


class FVSBN(AutoregressiveModel):
    r"""$p(x_i = 1 \mid x_{<i}) = \sigma\bigl(\alpha_0^i + \sum_{j<i} \alpha_j^i x_j\bigr)$.

    n (n + 1) / 2 parameters, against $2^n - 1$ for the table. With `order`, j < i reads "j is drawn before i".
    Weights start at zero: the loss is convex in them, and every factor begins as a fair coin.

    Slides: "Fully Visible Sigmoid Belief Network". Papers: Neal 1992; Frey, Hinton and Dayan 1996.
    """

    def __init__(self, n: int, order: Iterable[int] | Tensor | None = None):
        super().__init__(n, Bernoulli(), order)
        self.weight = nn.Parameter(torch.zeros(n, n))                # row i holds alpha^i; only earlier j are used
        self.bias = nn.Parameter(torch.zeros(n))                     # alpha_0
        position = self.order.argsort()                              # position[i]: when variable i is drawn
        self.register_buffer("earlier", (position[None, :] < position[:, None]).float())

    @property
    def config(self) -> dict:
        """The constructor's arguments."""
        return {"n": self.n, "order": self.order.tolist()}

    # every factor at once: training and scoring
    def conditionals(self, x: Shaped[Tensor, "B n"], context: Tensor | None = None) -> Distribution:
        x = self.check_input(x, context)
        return self.conditional(F.linear(x, self.weight * self.earlier, self.bias))        # logits (B, n)

    # one variable at a time: sampling
    def start(self, batch: int, context: Tensor | None = None) -> State:
        if context is not None:
            self.check_context(context, batch)
        return State(0, self.bias.expand(batch, -1))                 # nothing seen: each logit is its bias

    def predict(self, state: State) -> Distribution:
        return self.conditional(state.logits[:, self._variable(state.k)])

    def update(self, state: State, x_i: Shaped[Tensor, "B"]) -> State:
        """x_i is known now: add its column to the logits still to come. O(n) for each row, not O(n^2)."""
        i = self._variable(state.k)
        column = self.weight[:, i] * self.earlier[:, i]              # (n,): what variable i adds to the later ones
        return State(state.k + 1, state.logits + x_i[:, None] * column)

    # the same draws, many variables at once: what `sample` runs
    def _ancestral(self, u: Float[Tensor, "num n 1"], given: Tensor | None, known: Tensor | None,
                   context: Tensor | None) -> Float[Tensor, "num n"]:
        r"""Ancestral sampling as a system of equations, solved block by block.

        Given its uniform, a draw is a threshold: $x_i = [\mathrm{logit}_i(x_{<i}) \ge \mathrm{logit}(1 - u_i)]$. Guess
        a block, recompute it from the guess, repeat until nothing changes. Round r settles at least the r-th variable,
        so the fixed point is the sequential draw itself, usually after a few rounds.
        Source: Song, Meng, Liao and Ermon, "Accelerating feedforward computation via parallel nonlinear equation
        solving", 2021.
        """
        if context is not None:
            self.check_context(context, len(u))
        weight, bias = self.weight, self.bias
        if (self.order.diff() != 1).any():                           # drawing order; a copy, spared the natural one
            weight, bias = weight[self.order][:, self.order], bias[self.order]
        if known is not None:
            given, known = given.T[self.order], known.T[self.order]
        threshold = torch.logit(1 - u[..., 0].T).to(bias.dtype)      # (n, num); infinite at u = 0
        x = bias.new_zeros(self.n, len(u))                           # (n, num), in drawing order
        for begin in range(0, self.n, BLOCK):
            block = slice(begin, min(begin + BLOCK, self.n))         # the variables solved together
            logits = bias[block, None] + weight[block, :begin] @ x[:begin] - threshold[block]
            within = weight[block, block].tril(-1)                   # what the block's variables add to each other
            drawn = x[block]                                         # the first guess: all zero
            for _ in range(len(logits) + 1):
                margin = torch.addmm(logits, within, drawn)          # logit minus threshold
                guess, drawn = drawn, (margin >= 0).to(x.dtype)
                if known is not None:
                    drawn = torch.where(known[block], given[block], drawn)
                if torch.equal(drawn, guess):
                    break
            if torch.isnan(margin).any():
                raise ValueError("the model's probabilities are NaN: its parameters have diverged")
            x[block] = drawn
        return x[self.order.argsort()].T.contiguous()                # column i is variable i again
