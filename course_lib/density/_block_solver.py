r"""Ancestral sampling from an FVSBN by fixed-point iteration on blocks of variables, equal to sequential sampling.

Given a uniform $u_i$, the sampled value is a threshold function, $x_i = [\mathrm{logit}_i(x_{<i}) \ge
\mathrm{logit}(1 - u_i)]$. Starting from a guess, all variables of a block are recomputed until nothing changes. After
iteration r at least the first r variables are final, so the fixed point is the sequential sample. Usually a few
iterations suffice.

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
    """Sample rows of an FVSBN: variable order[k] with the uniforms u[:, k], or its value in `given` where `known`.

    weight, bias  parameters of the FVSBN; weight[i, j] is used only if variable j comes before variable i in `order`

    Raises ValueError if a logit is NaN.
    """
    if (order.diff() != 1).any():                                    # sampling order; the natural order needs no copy
        weight, bias = weight[order][:, order], bias[order]
    if known is not None:
        given, known = given.T[order], known.T[order]
    threshold = torch.logit(1 - u.T).to(bias.dtype)                  # (n, num); infinite at u = 0
    x = bias.new_zeros(threshold.shape)                              # (n, num), in sampling order
    for begin in range(0, len(x), BLOCK):
        block = slice(begin, min(begin + BLOCK, len(x)))             # the variables solved together
        logits = bias[block, None] + weight[block, :begin] @ x[:begin] - threshold[block]
        within = weight[block, block].tril(-1)                       # interactions within the block
        drawn = x[block]                                             # the first guess: all zero
        for _ in range(len(logits) + 1):
            margin = torch.addmm(logits, within, drawn)              # logit - threshold
            guess, drawn = drawn, (margin >= 0).to(x.dtype)
            if known is not None:
                drawn = torch.where(known[block], given[block], drawn)
            if torch.equal(drawn, guess):
                break
        if torch.isnan(margin).any():
            raise ValueError("the model's probabilities are NaN; expected finite parameters and inputs (training may "
                             "have diverged: try a smaller lr)")
        x[block] = drawn
    return x[order.argsort()].T.contiguous()                         # column i is variable i again
