"""Inverse-CDF sampling of several variables at a time from raw parameters."""

from __future__ import annotations

import torch
from jaxtyping import Float
from torch import Tensor

from course_lib.conditional import Bernoulli, Conditional


class Sampler:
    """Sample variables of a family by the inverse CDF; the k-th variable of the order uses the uniforms u[:, k]."""

    def __init__(self, family: Conditional, u: Float[Tensor, "num n U"]):
        self.family, self.u = family, u

    def __call__(self, raw: Tensor, k: int) -> Tensor:
        """Values (num, m) of the variables at positions k to k + m - 1, given `raw`, (num, m, *parameter_shape)."""
        return self.family.draw(self.family(raw), self.u.narrow(1, k, raw.shape[1]))

    def check(self) -> None:
        """Raise ValueError if a raw parameter was NaN. Does nothing in this class, because `family.draw` raises it."""


class Thresholds(Sampler):
    r"""Sampler of Bernoulli variables with logits a: $x = [u \ge 1 - \sigma(a)] = [a \ge \mathrm{logit}(1 - u)]$."""

    def __init__(self, family: Bernoulli, u: Float[Tensor, "num n U"]):
        self.thresholds = torch.log1p(-u[..., 0]) - torch.log(u[..., 0])       # (num, n); infinite at u = 0
        self.seen: list[Tensor] = []

    def __call__(self, raw: Tensor, k: int) -> Tensor:
        self.seen.append(raw)
        return (raw >= self.thresholds.narrow(1, k, raw.shape[1])).to(raw.dtype)

    def check(self) -> None:
        if torch.isnan(torch.cat(self.seen, dim=1)).any():
            raise ValueError("the model's probabilities are NaN; expected finite parameters and inputs (training may "
                             "have diverged: try a smaller lr)")


def make_sampler(family: Conditional, u: Float[Tensor, "num n U"]) -> Sampler:
    """Return the fastest sampler of the family, which samples the same values as `family.draw`."""
    return (Thresholds if type(family) is Bernoulli else Sampler)(family, u)
