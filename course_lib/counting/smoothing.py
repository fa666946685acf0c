r"""Smoothing of n-gram models: probabilities of symbols that were not seen after a history.

Every scheme is a recursion over histories h of k = 0, 1, ..., m symbols, where h' is h without its oldest symbol:

    p_k(w | h) = share(w, h) + rest(h) p_{k-1}(w | h'),        p_{-1}(w) = 1 / V,

where c(h, w) is the count of symbol w after h, and V the number of symbols. The shares of a history and its rest sum to
one, and the rest of an unseen history is 1. A scheme defines share and rest from c(h, w), c(h) = sum_w c(h, w) and
N_{1+}(h), the number of w with c(h, w) > 0. The arguments k, c, total and types are tensors of k, c(h, w), c(h) and
N_{1+}(h), with shapes that broadcast.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from course_lib.validation import check_sizes


class MaximumLikelihood(nn.Module):
    r"""Maximum likelihood, $p(w \mid h) = c(h, w) / c(h)$; an unseen history is replaced by its longest seen suffix."""

    continuation = False                                             # shorter histories keep their counts

    def share(self, k: Tensor, c: Tensor, total: Tensor, types: Tensor) -> Tensor:
        """share(w, h) of the recursion, for a history h of k symbols: c = c(h, w), total = c(h), types = N_{1+}(h)."""
        return c / total

    def rest(self, k: Tensor, total: Tensor, types: Tensor) -> Tensor:
        """rest(h) of the recursion, the weight of p_{k-1}, for a history h of k symbols; arguments as in `share`."""
        return torch.zeros_like(total)

    def fit(self, k: Tensor, count: Tensor) -> None:
        """Estimate the scheme's parameters, such as discounts, if it has any, from the counts of all n-grams.

        count  (M,), the counts of M distinct n-grams
        k      (M,), the numbers of symbols of their histories
        """

    def randomize(self, generator: torch.Generator | None) -> None:
        """Set random parameters of the scheme, if it has any."""


class AddAlpha(MaximumLikelihood):
    r"""Add-alpha smoothing, $p(w \mid h) = (c(h, w) + \alpha) / (c(h) + \alpha V)$.

    order        m, number of symbols of a history
    alpha        positive; 1 is Laplace's rule, other values are Lidstone's
    num_symbols  V, number of symbols that may follow

    Shorter histories are not used; after an unseen history p = 1 / V.
    """

    def __init__(self, order: int, alpha: float, num_symbols: int):
        super().__init__()
        if not 0 < alpha < float("inf"):
            raise ValueError(f"alpha is {alpha}; expected a finite number above 0")
        self.order, self.added = order, alpha * num_symbols

    def share(self, k: Tensor, c: Tensor, total: Tensor, types: Tensor) -> Tensor:
        return torch.where(k == self.order, c / (total + self.added), 0)

    def rest(self, k: Tensor, total: Tensor, types: Tensor) -> Tensor:
        return torch.where(k == self.order, self.added / (total + self.added), 1)


class Interpolated(MaximumLikelihood):
    r"""Interpolation, $p_k(w \mid h) = \lambda_k\, c(h, w) / c(h) + (1 - \lambda_k)\, p_{k-1}(w \mid h')$.

    There is one weight $\lambda_k$ for each history length k from 0 to `order`. With `buckets` > 1 each k has a weight
    for each range of c(h): 1, 2-3, 4-7, ...; the last range has no upper limit. `NGram.fit_weights` fits the weights on
    held-out text. Paper: Jelinek and Mercer 1980.
    """

    def __init__(self, order: int, buckets: int):
        super().__init__()
        check_sizes(buckets=buckets)
        self.register_buffer("weights", torch.full((order + 1, buckets), 0.5))       # lambda

    def bucket(self, total: Tensor) -> Tensor:
        """Bucket of each history with count `total` = c(h): floor(log2 c(h)), at most buckets - 1; 0 if c(h) = 0."""
        # frexp is exact, unlike a rounded logarithm
        return (torch.frexp(total.clamp(min=1).double()).exponent.long() - 1).clamp(max=self.weights.shape[1] - 1)

    def share(self, k: Tensor, c: Tensor, total: Tensor, types: Tensor) -> Tensor:
        return self.weights[k, self.bucket(total)] * (c / total)

    def rest(self, k: Tensor, total: Tensor, types: Tensor) -> Tensor:
        return 1 - self.weights[k, self.bucket(total)]

    def em(self, ml: Tensor, bucket: Tensor, seen: Tensor, base: Tensor, steps: int) -> list[float]:
        """Fit the weights by EM on N held-out symbols w; return the mean log-likelihood before each step, in nats.

        ml, bucket, seen  (N, order + 1), column k for the history h of k symbols before w: c(h, w) / c(h), the bucket
                          of h, whether h was seen
        base              (N,), p_{-1}(w)
        steps             number of EM steps
        """
        curve, levels = [], range(ml.shape[1])
        for _ in range(steps):
            each = torch.arange(len(levels), device=base.device)
            weight = torch.where(seen, self.weights[each, bucket].double(), 0)      # (N, L)
            p = [base]                                               # p[k] is p_{k-1}
            for k in levels:
                p.append(weight[:, k] * ml[:, k] + (1 - weight[:, k]) * p[-1])
            curve.append(p[-1].log().mean().item())
            reached = torch.ones_like(base)                          # posterior probability of reaching level k
            for k in reversed(levels):
                stopped = reached * weight[:, k] * ml[:, k] / p[k + 1]
                zero = torch.zeros_like(self.weights[k], dtype=torch.float64)
                stops = zero.index_add(0, bucket[:, k], torch.where(seen[:, k], stopped, 0))
                visits = zero.index_add(0, bucket[:, k], torch.where(seen[:, k], reached, 0))
                fitted = (stops / visits.clamp(min=1e-300)).clamp(max=1 - 1e-6)      # leaves probability to new symbols
                self.weights[k] = torch.where(visits > 0, fitted, self.weights[k])
                reached = reached - stopped
        return curve

    def randomize(self, generator: torch.Generator | None) -> None:
        self.weights.copy_(0.2 + 0.6 * torch.rand(self.weights.shape, generator=generator, dtype=torch.float64))


class KneserNey(MaximumLikelihood):
    r"""Interpolated Kneser-Ney smoothing with an absolute discount $D_k$,
    $p_k(w \mid h) = \frac{\max(c(h, w) - D_k, 0)}{c(h)} + \frac{D_k N_{1+}(h)}{c(h)}\, p_{k-1}(w \mid h')$.

    For histories of fewer than `order` symbols c(h, w) is the number of distinct symbols before h w. A frequent word
    that follows only one word, such as Francisco, therefore has a low probability after other words. The discount is
    $D_k = n_1 / (n_1 + 2 n_2)$, where $n_r$ is the number of n-grams with a history of k symbols and the count r; it is
    0.5 if $n_1$ or $n_2$ is 0. Papers: Kneser and Ney 1995; Ney, Essen and Kneser 1994; Chen and Goodman 1998.
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
            self.discounts[level] = ones / (ones + 2 * twos) if ones and twos else 0.5       # D = 0 or 1 is degenerate

    def randomize(self, generator: torch.Generator | None) -> None:
        self.discounts.copy_(0.2 + 0.6 * torch.rand(self.discounts.shape, generator=generator, dtype=torch.float64))


SCHEMES = ("none", "add", "interpolated", "kneser-ney")


def scheme(name: str, order: int, num_symbols: int, alpha: float, buckets: int) -> MaximumLikelihood:
    """Create the smoothing scheme called `name`, one of SCHEMES, for histories of `order` symbols.

    `num_symbols` and `alpha` are arguments of `AddAlpha`, and `buckets` is an argument of `Interpolated`. Raises
    ValueError if the name is unknown.
    """
    if name == "none":
        return MaximumLikelihood()
    if name == "add":
        return AddAlpha(order, alpha, num_symbols)
    if name == "interpolated":
        return Interpolated(order, buckets)
    if name == "kneser-ney":
        return KneserNey(order)
    raise ValueError(f"smoothing is {name!r}; expected one of {', '.join(map(repr, SCHEMES))}")
