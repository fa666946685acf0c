r"""Ancestral sampling from an FVSBN as a system of equations, solved by blocks: the draws of the plain loop, faster.

Given its uniform, a draw is a threshold: $x_i = [\mathrm{logit}_i(x_{<i}) \ge \mathrm{logit}(1 - u_i)]$. Guess a block
of variables, recompute it from the guess, repeat until nothing changes. Round r settles at least the r-th variable, so
the fixed point is the sequential draw itself, usually after a few rounds.

Source: Song, Meng, Liao and Ermon 2021, "Accelerating feedforward computation via parallel nonlinear equation solving".
"""

from __future__ import annotations

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

BLOCK = 112                                                          # variables solved together


def solve(weight: Float[Tensor, "n n"], bias: Float[Tensor, "n"], order: Int[Tensor, "n"], u: Float[Tensor, "num n"],
          given: Float[Tensor, "num n"] | None = None,
          known: Bool[Tensor, "num n"] | None = None) -> Float[Tensor, "num n"]:
    """Rows of an FVSBN, its variable order[k] drawn k-th by the uniforms u[:, k]; `given` is kept where it is `known`.

    Of `weight`, row i for variable i, only the columns of those drawn before are read. Raises ValueError for a NaN.
    """
    if (order.diff() != 1).any():                                    # drawing order; a copy, spared the natural one
        weight, bias = weight[order][:, order], bias[order]
    if known is not None:
        given, known = given.T[order], known.T[order]
    threshold = torch.logit(1 - u.T).to(bias.dtype)                  # (n, num); infinite at u = 0
    x = bias.new_zeros(threshold.shape)                              # (n, num), in drawing order
    for begin in range(0, len(x), BLOCK):
        block = slice(begin, min(begin + BLOCK, len(x)))             # the variables solved together
        logits = bias[block, None] + weight[block, :begin] @ x[:begin] - threshold[block]
        within = weight[block, block].tril(-1)                       # what the block's variables add to each other
        drawn = x[block]                                             # the first guess: all zero
        for _ in range(len(logits) + 1):
            margin = torch.addmm(logits, within, drawn)              # logit minus threshold
            guess, drawn = drawn, (margin >= 0).to(x.dtype)
            if known is not None:
                drawn = torch.where(known[block], given[block], drawn)
            if torch.equal(drawn, guess):
                break
        if torch.isnan(margin).any():
            raise ValueError("the model's probabilities are NaN: its parameters have diverged")
        x[block] = drawn
    return x[order.argsort()].T.contiguous()                         # column i is variable i again
