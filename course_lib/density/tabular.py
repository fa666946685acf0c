"""The chain rule with a separate module for every factor: a table, a logistic regression or a neural network."""

from __future__ import annotations

from typing import Iterable, Sequence

import torch
from jaxtyping import Float, Int, Shaped
from torch import Tensor, nn
from torch.distributions import Distribution

from course_lib.autoregressive import AutoregressiveModel
from course_lib.conditional import Bernoulli

MAX_PARENTS = 20                                                     # a table of 2^20 rows is 8 MB in double precision
CERTAIN = 100.0                                                      # a logit for p = 0 and p = 1: e^-100 = 4e-44


class Factor(nn.Module):
    """Base class of factors p(x | parents): a module from the values of m parents (B, m) to the logit of x = 1, (B,).

    >>> print(Logistic(3))
    Logistic(m=3)
    """

    def __init__(self, m: int):
        super().__init__()
        self.m = m

    @property
    def config(self) -> dict:
        """Arguments of the constructor."""
        return {"m": self.m}

    extra_repr = AutoregressiveModel.extra_repr                      # for print(factor)


class CPT(Factor):
    """Conditional probability table: one parameter for each of the 2^m values of the m
    parents.

    Row r of `logits` is the logit of p(x = 1 | parents), where r is the binary number whose
    digits are the values of the parents; the first parent is the highest bit.

    >>> table = CPT(2)
    >>> # of parents 00, 01, 10, 11
    >>> table.set_probabilities(torch.tensor([0.5, 0.5, 0.25, 0.75]))
    >>> table(torch.tensor([[1.0, 0.0]])).sigmoid()
    tensor([0.2500], grad_fn=<SigmoidBackward0>)
    """

    def __init__(self, m: int):
        super().__init__(m)
        if not 0 <= m <= MAX_PARENTS:
            raise ValueError(f"m is {m}; expected 0 to {MAX_PARENTS} parents, because a table "
                             "has 2^m rows")
        self.logits = nn.Parameter(torch.zeros(2 ** m))
        # 2^(m-1), ..., 2, 1
        self.register_buffer("place", 2 ** torch.arange(m - 1, -1, -1))

    def row(self, parents: Tensor) -> Int[Tensor, "B"]:
        """Index (B,) of the row of the table for the values `parents` (B, m) of the m parents."""
        return (parents.long() * self.place).sum(dim=1)

    def forward(self, parents: Float[Tensor, "B m"]) -> Float[Tensor, "B"]:
        return self.logits[self.row(parents)]

    @torch.no_grad()
    def set_probabilities(self, p: Tensor) -> None:
        """Set p(x = 1 | parents) of all rows to p (2^m,). Logits are clipped to -100..100: p = 0 becomes e^-100."""
        self.logits.copy_(torch.logit(p.double()).clamp(-CERTAIN, CERTAIN))


class Logistic(Factor):
    r"""Logistic regression, $\sigma(\alpha_0 + \sum_j \alpha_j x_j)$, with m + 1 parameters
    instead of the table's 2^m.

    >>> Logistic(3)(torch.tensor([[1.0, 0.0, 1.0]]))  # a logit; all weights start at 0
    tensor([0.], grad_fn=<AddBackward0>)
    """

    def __init__(self, m: int):
        super().__init__(m)
        self.weight = nn.Parameter(torch.zeros(m))                   # alpha
        self.bias = nn.Parameter(torch.zeros(()))                    # alpha_0

    def forward(self, parents: Float[Tensor, "B m"]) -> Float[Tensor, "B"]:
        return self.bias + parents @ self.weight


class Neural(Factor):
    r"""Network with one hidden layer, $\sigma(\alpha_0 + \alpha^\top h)$ with
    $h = \tanh(A x + b)$.

    It has (m + 2) hidden + 1 parameters for m parents. A and b are initialized at random
    with `generator`.

    >>> Neural(3, hidden=4)(torch.tensor([[1.0, 0.0, 1.0]])).shape
    torch.Size([1])
    """

    def __init__(self, m: int, hidden: int, generator: torch.Generator | None = None):
        super().__init__(m)
        if hidden < 1:
            raise ValueError(f"hidden is {hidden}; expected at least 1")
        self.A = nn.Parameter(torch.randn(hidden, m, generator=generator))
        self.b = nn.Parameter(torch.randn(hidden, generator=generator))
        self.weight = nn.Parameter(torch.zeros(hidden))              # alpha
        self.bias = nn.Parameter(torch.zeros(()))                    # alpha_0

    @property
    def config(self) -> dict:
        """Arguments of the constructor except the generator."""
        return {"m": self.m, "hidden": len(self.b)}

    def forward(self, parents: Float[Tensor, "B m"]) -> Float[Tensor, "B"]:
        h = torch.tanh(parents @ self.A.T + self.b)                  # (B, hidden)
        return self.bias + h @ self.weight


class Factorized(AutoregressiveModel):
    r"""Product of factors, $p(x) = \prod_i p_i(x_i \mid x_{\mathrm{pa}(i)})$ for binary x, each with its own module.

    factors  factors[i] maps the values of variable i's parents, (B, m), to the logit of x_i = 1, (B,)
    parents  parents[i] lists the parents of variable i, indices from 0, in the order of the columns of factors[i]'s
             input; by default all variables before i. A shorter list assumes a conditional independence
    order    order[k] is the variable that is sampled k-th; parents of a variable come before it

    Slides: "PGMs vs. deep neural networks": `Factorized([CPT(0), CPT(1), Neural(2, 4), Neural(3, 4)])` is the product
    p_CPT(x1) p_CPT(x2 | x1) p_Neural(x3 | x1, x2) p_Neural(x4 | x1, x2, x3).

    >>> Factorized([CPT(0), CPT(1), Neural(2, 4)]).log_prob(torch.tensor([[0, 1, 1]])).shape
    torch.Size([1])
    """

    def __init__(self, factors: Sequence[nn.Module], parents: Sequence[Sequence[int]] | None = None,
                 order: Iterable[int] | Tensor | None = None):
        super().__init__(len(factors), Bernoulli(), order)
        drawn = self.order.tolist()
        before = {i: drawn[:k] for k, i in enumerate(drawn)}
        self._parents = _check_parents(parents, before)
        for i, (factor, read) in enumerate(zip(factors, self._parents)):
            if getattr(factor, "m", len(read)) != len(read):
                raise ValueError(f"factors[{i}] takes {factor.m} parents; expected {len(read)}, "
                                 f"because the parents of variable {i} are {read}")
        self.factors = nn.ModuleList(factors)

    @property
    def config(self) -> dict:
        """Arguments of the constructor."""
        return {"factors": list(self.factors), "parents": self._parents, "order": self.order.tolist()}

    def conditionals(self, x: Shaped[Tensor, "B n"], context: Tensor | None = None) -> Distribution:
        logits = [factor(x[:, parents]) for factor, parents in zip(self.factors, self._parents)]
        return self.conditional(torch.stack(logits, dim=1))          # (B, n)

    def parents(self, i: int) -> list[int]:
        return self._parents[i]


class Tabular(Factorized):
    """Distribution of n binary variables with a table (`CPT`) for each factor.

    parents, order  as in `Factorized`

    With all parents, the default, it represents any distribution, with 2^n - 1 parameters. With fewer parents it is a
    Bayesian network, in which each omitted parent is a conditional independence: `Tabular(4, parents=[[], [0], [1],
    [0]])` is p(x1) p(x2 | x1) p(x3 | x2) p(x4 | x1).

    Slides: "PGMs vs. deep neural networks".

    >>> x = torch.tensor([[0, 1], [1, 1], [1, 0], [1, 1]])
    >>> # two rows of four
    >>> Tabular(2).fit_counts(x).log_prob(torch.tensor([[1, 1]])).exp()
    tensor([0.5000], grad_fn=<ExpBackward0>)
    """

    def __init__(self, n: int, parents: Sequence[Sequence[int]] | None = None,
                 order: Iterable[int] | Tensor | None = None):
        if parents is None and n > MAX_PARENTS + 1:
            raise ValueError(f"n is {n}; expected at most {MAX_PARENTS + 1} if parents is None, because the last table "
                             f"has 2^{n - 1} rows: give parents, at most {MAX_PARENTS} for each variable, or use FVSBN")
        full = AutoregressiveModel(n, order=order) if parents is None else None
        sizes = [len(full.parents(i)) if full else len(parents[i]) for i in range(n if full else len(parents))]
        super().__init__([CPT(m) for m in sizes], parents, order)
        if self.n != n:
            raise ValueError(f"parents has {len(parents)} lists; expected {n}, one for each variable")

    @property
    def config(self) -> dict:
        return {"n": self.n, "parents": self._parents, "order": self.order.tolist()}

    @classmethod
    def from_joint(cls, joint: Float[Tensor, "..."], parents: Sequence[Sequence[int]] | None = None,
                   order: Iterable[int] | Tensor | None = None) -> "Tabular":
        """Model of a given joint distribution: exact with all parents, otherwise the closest in KL divergence.

        joint           shape (2,) * n; joint[x_1, ..., x_n] is the probability of x
        parents, order  as in `Factorized`

        Each table is p(x_i | parents) of the joint, which minimizes KL(joint || model). Where the parents' values have
        probability 0, p(x_i | parents) is set to 1/2. Raises ValueError unless the joint is non-negative and sums to 1
        within 1e-6.
        """
        if set(joint.shape) != {2}:
            raise ValueError(f"joint has shape {tuple(joint.shape)}; expected (2, 2, ..., 2), one axis per variable")
        if not (joint.min() >= 0 and abs(joint.sum().item() - 1) <= 1e-6):           # also raises for NaN
            raise ValueError(f"joint sums to {joint.sum().item():.6g} with minimum {joint.min().item():.6g}; "
                             "expected probabilities of at least 0 that sum to 1")
        model = cls(joint.dim(), parents, order).to(joint.device, torch.float64)
        states = all_states(joint.dim(), device=joint.device)
        return model.fit_counts(states, weights=joint.double().flatten())

    @torch.no_grad()
    def fit_counts(self, x: Tensor, alpha: float = 0.0, weights: Float[Tensor, "B"] | None = None) -> "Tabular":
        """Maximum likelihood by counting the rows x (B, n): p(x_i = 1 | parents) = (ones + alpha) / (visits + 2 alpha).

        alpha    smoothing: alpha > 0 is add-alpha smoothing
        weights  weight of each row in the counts, 1 by default

        `visits` is the number of rows with these values of the parents, `ones` the number of these rows with x_i = 1.
        If visits + 2 alpha is 0, the probability is set to 1/2. Returns self.
        """
        if alpha < 0:
            raise ValueError(f"alpha is {alpha}; expected 0 or more")
        x = self.check_input(x)
        weights = torch.ones(len(x), device=x.device) if weights is None else weights
        if tuple(weights.shape) != (len(x),):
            raise ValueError(f"weights has shape {tuple(weights.shape)}; expected one for each row of x, ({len(x)},)")
        x, weights = x.double(), weights.double()                    # exact counts
        for i, (factor, parents) in enumerate(zip(self.factors, self._parents)):
            row = factor.row(x[:, parents])
            visits = weights.new_zeros(len(factor.logits)).index_add(0, row, weights) + 2 * alpha
            ones = weights.new_zeros(len(factor.logits)).index_add(0, row, weights * x[:, i]) + alpha
            factor.set_probabilities(torch.where(visits > 0, ones / visits.clamp(min=1e-300), 0.5).clamp(0, 1))
        return self


def all_states(n: int, num_values: int = 2, device=None) -> Int[Tensor, "N n"]:
    """All N = num_values^n states of n variables with values 0 to num_values - 1; the last variable varies fastest."""
    r = torch.arange(num_values ** n, device=device)
    place = num_values ** torch.arange(n - 1, -1, -1, device=device)
    return r[:, None] // place % num_values


def _check_parents(parents, before: dict[int, list[int]]) -> list[list[int]]:
    n = len(before)
    if parents is None:
        return [sorted(before[i]) for i in range(n)]
    if len(parents) != n:
        raise ValueError(f"parents has {len(parents)} lists; expected {n}, one for each variable")
    for i, listed in enumerate(parents):
        late = [j for j in listed if j not in before[i]]
        if late or len(set(listed)) != len(listed):
            raise ValueError(f"parents[{i}] is {list(listed)}; expected distinct variables from {sorted(before[i])}, "
                             f"which come before variable {i} in the order")
    return [list(listed) for listed in parents]
