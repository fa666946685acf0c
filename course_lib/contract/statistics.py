"""Goodness-of-fit tests for samples, and the trapezoid rule for densities."""

from __future__ import annotations

import math
from typing import Sequence

import torch
from jaxtyping import Float
from torch import Tensor

Test = tuple[float, int]                                             # a chi-square statistic, its degrees of freedom


def p_value(statistic: float, freedom: int) -> float:
    """Return the p-value of a chi-square test: P(X >= statistic) for a chi-square X of `freedom` degrees of freedom."""
    if freedom == 0 or math.isinf(statistic):                        # with a single cell there is nothing to test
        return float(freedom == 0)
    a, x = torch.tensor([freedom / 2, statistic / 2], dtype=torch.float64)
    return torch.special.gammaincc(a, x).item()


def chi_square(counts: Float[Tensor, "C"], expected: Float[Tensor, "C"], least: float = 5.0) -> Test:
    r"""Return Pearson's statistic $\sum (O - E)^2 / E$ of `counts` O and `expected` counts E, and degrees of freedom.

    Rare cells are pooled until each pool has an expected count of at least `least`. The statistic is infinite if a cell
    with an expected count below 1e-10 has an observation.
    """
    if (counts[expected < 1e-10] > 0).any():
        return math.inf, 1
    expected, rank = expected.sort()
    width = 2 * least                                                # such a pool expects at least `least`
    pool = ((expected.cumsum(0) - expected) / width).floor().clamp(max=max(0, int(expected.sum() / width) - 1))
    pool = pool.unique(return_inverse=True)[1]                       # numbered 0, 1, ...
    zeros = expected.new_zeros(int(pool.max()) + 1)
    counts, expected = zeros.index_add(0, pool, counts[rank]), zeros.index_add(0, pool, expected)
    return ((counts - expected) ** 2 / expected).sum().item(), len(zeros) - 1


def uniform_tests(u: Float[Tensor, "num n"], bins: int = 5) -> list[Test]:
    """Chi-square tests that the columns of u are uniform on [0, 1], and that pairs of columns are independent.

    u     (N, n), N observations of n variables
    bins  number of equal intervals into which [0, 1] is divided

    With uniform margins, Pearson's statistic of a pair of columns is a sum of three: one for each margin, and one with
    (bins - 1)^2 degrees of freedom for the interaction. Returns the sum over all margins and, if n > 1, the sum over
    all interactions.
    """
    num, n = u.shape
    cell = torch.nn.functional.one_hot((u * bins).long().clamp(0, bins - 1), bins).to(u.dtype)       # (num, n, bins)
    z = (math.sqrt(bins) * (cell - 1 / bins)).flatten(1)             # (num, n bins)
    tests = [(z.sum(0).square().sum().item() / num, n * (bins - 1))]
    if n > 1:
        common = (z.T @ z).square().reshape(n, bins, n, bins).sum(dim=(1, 3)).triu(1).sum().item() / num
        tests.append((common, n * (n - 1) // 2 * (bins - 1) ** 2))
    return tests


def cell_masses(p: Tensor, axes: Sequence[Tensor]) -> Tensor:
    """Return the probability of each cell of a grid by the trapezoid rule; an axis of m nodes has m - 1 cells.

    p     density at the nodes, (len(axes[0]), len(axes[1]), ...)
    axes  coordinates of the nodes along each axis
    """
    for d, axis in enumerate(axes):
        step = axis.diff().reshape([-1 if d == e else 1 for e in range(p.dim())])
        p = (p.narrow(d, 0, len(axis) - 1) + p.narrow(d, 1, len(axis) - 1)) / 2 * step
    return p
