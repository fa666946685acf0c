r"""Smoothing: what an n-gram says about symbols that never followed a history.

Every scheme here is one recursion over histories h of k = 0, 1, ..., m symbols, h' being h without its oldest:

    p_k(w | h) = share(w, h) + rest(h) p_{k-1}(w | h'),        p_{-1}(w) = 1 / V,

where the shares of a history and its rest sum to one. A history never seen leaves all to the shorter one. A scheme says
what share and rest are, from c(h, w), c(h) = sum_w c(h, w) and N_{1+}(h), the number of w with c(h, w) > 0. All take
tensors, elementwise: k, c and total, types for c(h), N_{1+}(h).
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from course_lib.validation import check_sizes


class MaximumLikelihood(nn.Module):
    r"""$p(w \mid h) = c(h, w) / c(h)$. After a history never seen: that of its longest end that was."""

    continuation = False                                             # shorter histories keep their true counts

    def share(self, k: Tensor, c: Tensor, total: Tensor, types: Tensor) -> Tensor:
        """What level k itself gives to a symbol counted `c` times.

        total, types  of its history: how often it was counted, and before how many different symbols
        """
        return c / total

    def rest(self, k: Tensor, total: Tensor, types: Tensor) -> Tensor:
        """What level k leaves to the level below it."""
        return torch.zeros_like(total)

    def fit(self, k: Tensor, count: Tensor) -> None:
        """Set numbers of the scheme's own, if it has such, from all counts and the levels they are of."""

    def randomize(self, generator: torch.Generator | None) -> None:
        """Redraw numbers of the scheme's own, if it has such."""


class AddAlpha(MaximumLikelihood):
    r"""$p(w \mid h) = (c(h, w) + \alpha) / (c(h) + \alpha V)$: as if each symbol had been seen $\alpha$ times more.

    Shorter histories play no part: a history never seen gives 1 / V. Alpha = 1 is Laplace's rule, others Lidstone's.
    """

    def __init__(self, order: int, alpha: float, num_symbols: int):
        super().__init__()
        if not 0 < alpha < float("inf"):
            raise ValueError(f"alpha is {alpha}; a smoothing count is a positive number")
        self.order, self.added = order, alpha * num_symbols

    def share(self, k: Tensor, c: Tensor, total: Tensor, types: Tensor) -> Tensor:
        return torch.where(k == self.order, c / (total + self.added), 0)

    def rest(self, k: Tensor, total: Tensor, types: Tensor) -> Tensor:
        return torch.where(k == self.order, self.added / (total + self.added), 1)


class Interpolated(MaximumLikelihood):
    r"""$p_k(w \mid h) = \lambda_k\, c(h, w) / c(h) + (1 - \lambda_k)\, p_{k-1}(w \mid h')$.

    One weight a level, or with `buckets` > 1 one for each range of c(h): 1, 2-3, 4-7, ..., the last one open. They are
    fitted on text that was not counted, by `NGram.fit_weights`. Source: Jelinek and Mercer 1980.
    """

    def __init__(self, order: int, buckets: int):
        super().__init__()
        check_sizes(buckets=buckets)
        self.register_buffer("weights", torch.full((order + 1, buckets), 0.5))       # lambda

    def bucket(self, total: Tensor) -> Tensor:
        """floor(log2 c(h)), the last bucket at most. frexp is exact where a rounded logarithm is not."""
        return (torch.frexp(total.clamp(min=1).double()).exponent.long() - 1).clamp(max=self.weights.shape[1] - 1)

    def share(self, k: Tensor, c: Tensor, total: Tensor, types: Tensor) -> Tensor:
        return self.weights[k, self.bucket(total)] * (c / total)

    def rest(self, k: Tensor, total: Tensor, types: Tensor) -> Tensor:
        return 1 - self.weights[k, self.bucket(total)]

    def em(self, ml: Tensor, bucket: Tensor, seen: Tensor, base: Tensor, steps: int) -> list[float]:
        """EM on N held-out symbols: c(h, w) / c(h), the bucket of h, whether h was seen, each (N, L), a level a column.

        base (N,) is p_{-1}(w). Sets the weights; returns the mean log-likelihood before each step.
        """
        curve, levels = [], range(ml.shape[1])
        for _ in range(steps):
            each = torch.arange(len(levels), device=base.device)
            weight = torch.where(seen, self.weights[each, bucket].double(), 0)      # (N, L)
            p = [base]                                               # p[k] is p_{k-1}
            for k in levels:
                p.append(weight[:, k] * ml[:, k] + (1 - weight[:, k]) * p[-1])
            curve.append(p[-1].log().mean().item())
            reached = torch.ones_like(base)                          # posterior probability of coming down to level k
            for k in reversed(levels):
                stopped = reached * weight[:, k] * ml[:, k] / p[k + 1]
                zero = torch.zeros_like(self.weights[k], dtype=torch.float64)
                stops = zero.index_add(0, bucket[:, k], torch.where(seen[:, k], stopped, 0))
                visits = zero.index_add(0, bucket[:, k], torch.where(seen[:, k], reached, 0))
                fitted = (stops / visits.clamp(min=1e-300)).clamp(max=1 - 1e-6)      # a new symbol stays possible
                self.weights[k] = torch.where(visits > 0, fitted, self.weights[k])
                reached = reached - stopped
        return curve

    def randomize(self, generator: torch.Generator | None) -> None:
        self.weights.copy_(0.2 + 0.6 * torch.rand(self.weights.shape, generator=generator, dtype=torch.float64))


class KneserNey(MaximumLikelihood):
    r"""$p_k(w \mid h) = \frac{\max(c(h, w) - D_k, 0)}{c(h)} + \frac{D_k N_{1+}(h)}{c(h)}\, p_{k-1}(w \mid h')$.

    Absolute discounting, interpolated. Below the longest histories c(h, w) counts before how many symbols h w occurs,
    not how often: the word Francisco is frequent and yet unlikely elsewhere, for it follows San alone. One discount a
    level, $D = n_1 / (n_1 + 2 n_2)$ with $n_r$ the number of pairs counted r times (Ney, Essen and Kneser 1994).
    Source: Kneser and Ney 1995; interpolated as in Chen and Goodman 1998.
    """

    continuation = True

    def __init__(self, order: int):
        super().__init__()
        self.register_buffer("discounts", torch.full((order + 1,), 0.5))

    def share(self, k: Tensor, c: Tensor, total: Tensor, types: Tensor) -> Tensor:
        return (c - self.discounts[k]).clamp(min=0) / total

    def rest(self, k: Tensor, total: Tensor, types: Tensor) -> Tensor:
        return self.discounts[k] * types / total

    def fit(self, k: Tensor, count: Tensor) -> None:
        for level in range(len(self.discounts)):
            ones, twos = (int(((k == level) & (count == r)).sum()) for r in (1, 2))
            self.discounts[level] = ones / (ones + 2 * twos) if ones and twos else 0.5       # else it would be 0 or 1

    def randomize(self, generator: torch.Generator | None) -> None:
        self.discounts.copy_(0.2 + 0.6 * torch.rand(self.discounts.shape, generator=generator, dtype=torch.float64))


SCHEMES = ("none", "add", "interpolated", "kneser-ney")


def scheme(name: str, order: int, num_symbols: int, alpha: float, buckets: int) -> MaximumLikelihood:
    """The scheme of that name. Raises ValueError for another."""
    if name == "none":
        return MaximumLikelihood()
    if name == "add":
        return AddAlpha(order, alpha, num_symbols)
    if name == "interpolated":
        return Interpolated(order, buckets)
    if name == "kneser-ney":
        return KneserNey(order)
    raise ValueError(f"smoothing is {name!r}; there are {', '.join(SCHEMES)}")
