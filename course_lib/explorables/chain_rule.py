r"""The chain rule for three binary variables: $p(x) = p(x_a)\, p(x_b \mid x_a)\, p(x_c \mid x_a, x_b)$.

(a, b, c) is the order of factorization; variables are numbered from 0 here and from 1 in the figure. The seven
conditionals form one list:

    p(x_a = 1), p(x_b = 1 | x_a = 0), p(x_b = 1 | x_a = 1),
    p(x_c = 1 | x_a, x_b) for (x_a, x_b) = (0, 0), (0, 1), (1, 0), (1, 1)

A joint is a tensor (2, 2, 2) whose axis i is variable i, whatever the order of factorization.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Collection, Sequence
from functools import cache

import torch
import traitlets
from jaxtyping import Float, Int
from torch import Tensor

from course_lib.explorables.base import Explorable, Whole, script, style
from course_lib.explorables.draws import uniforms

ORDERS = list(itertools.permutations(range(3)))
MAX_DRAWN = 10_000


def joint_from_conditionals(conditionals: Float[Tensor, " 7"], order: Sequence[int] = (0, 1, 2)
                            ) -> Float[Tensor, "2 2 2"]:
    r"""Return the joint $p(x_a)\, p(x_b \mid x_a)\, p(x_c \mid x_a, x_b)$ of all eight x.

    conditionals  seven probabilities of the value 1, in the order of the list in the module's docstring
    order         the order of factorization (a, b, c), a permutation of 0, 1, 2
    """
    both = torch.stack([1 - conditionals, conditionals], dim=-1)     # (7, 2): p(0), p(1)
    a, b, c = both[0], both[1:3], both[3:].reshape(2, 2, 2)          # axes (a,), (a, b), (a, b, c)
    product = a[:, None, None] * b[:, :, None] * c
    return product.permute(_inverse(order))                          # axis i is variable i again


def conditionals_in_order(joint: Float[Tensor, "2 2 2"], order: Sequence[int] = (0, 1, 2)) -> Float[Tensor, " 7"]:
    r"""Return the seven conditionals of a joint, such as $p(x_b \mid x_a) = p(x_a, x_b) / p(x_a)$.

    `order` is (a, b, c). A conditional on a context of probability 0 is set to 1/2.
    """
    p = joint.permute(tuple(order))                                  # axes (a, b, c)
    a, ab = p.sum(dim=(1, 2)), p.sum(dim=2)
    return torch.cat([_share(a[:1], a[1:]), _share(ab[:, 0], ab[:, 1]), _share(p[..., 0], p[..., 1]).reshape(4)])


def project(conditionals: Float[Tensor, " 7"], order: Sequence[int], dropped: Collection[Sequence[int]]
            ) -> Float[Tensor, " 7"]:
    r"""Return the conditionals of the model q without the dropped edges that minimizes $KL(p \| q)$.

    conditionals, order  seven conditionals of p and the order (a, b, c), as in `joint_from_conditionals`
    dropped              pairs of variables, from 0, without an edge: the later does not depend on the earlier one

    The minimum is at $q(x_k \mid \text{remaining parents}) = p(x_k \mid \text{remaining parents})$.
    """
    pairs = {frozenset(pair) for pair in dropped}
    p = joint_from_conditionals(conditionals, order).permute(tuple(order))
    tables = [conditionals[:1], conditionals[1:3], conditionals[3:]]
    for k in (1, 2):
        gone = [j for j in range(k) if frozenset((order[j], order[k])) in pairs]
        if gone:
            marginal = p.sum(dim=gone + list(range(k + 1, 3)), keepdim=True)
            best = _share(marginal.select(k, 0), marginal.select(k, 1))
            tables[k] = best.reshape(best.shape[:k]).expand((2,) * k).reshape(-1)
    return torch.cat(tables)


def kl(p: Float[Tensor, "2 2 2"], q: Float[Tensor, "2 2 2"]) -> Float[Tensor, ""]:
    r"""Return $KL(p \| q) = \sum_x p(x) \log(p(x) / q(x))$ in nats; infinite if q is 0 where p is not."""
    return (torch.xlogy(p, p) - torch.xlogy(p, q)).sum()


def costs(conditionals: Float[Tensor, " 7"], order: Sequence[int], dropped: Collection[Sequence[int]]
          ) -> Float[Tensor, " 3"]:
    r"""Return the KL divergence due to the dropped parents of each factor, (3,), in nats, in the order (a, b, c).

    The sum is $KL(p \| q)$, and a term is the conditional mutual information
    $\sum_x p(x) \log \frac{p(x_k \mid x_{<k})}{q(x_k \mid \text{remaining parents})}$. The arguments are described in
    `project`.
    """
    p = joint_from_conditionals(conditionals, order).permute(tuple(order))
    q = project(conditionals, order, dropped)
    lost = []
    for k, rows in enumerate((slice(0, 1), slice(1, 3), slice(3, 7))):
        full, best = (torch.stack([1 - c[rows], c[rows]], dim=-1).reshape((2,) * (k + 1) + (1,) * (2 - k))
                      for c in (conditionals, q))
        lost.append((torch.xlogy(p, full) - torch.xlogy(p, best)).sum())
    return torch.stack(lost)


def sample(conditionals: Float[Tensor, " 7"], order: Sequence[int], num: int, seed: int = 1) -> Int[Tensor, "num 3"]:
    r"""Sample `num` rows by ancestral sampling and inverse CDF: $x_k = 0$ if $u < p(x_k = 0 \mid x_{<k})$, else 1.

    conditionals, order  seven probabilities of the value 1 and the order, as in `joint_from_conditionals`
    seed                 seed of the uniform numbers u

    Column i of the result is variable i.
    """
    table, u = conditionals.tolist(), iter(uniforms(seed, 3 * num))
    drawn = []
    for _ in range(num):
        a = int(next(u) >= 1 - table[0])
        b = int(next(u) >= 1 - table[1 + a])
        c = int(next(u) >= 1 - table[3 + 2 * a + b])
        drawn.append([a, b, c])
    return torch.tensor(drawn, dtype=torch.long).reshape(num, 3)[:, _inverse(order)]


def digits_joint() -> Float[Tensor, "2 2 2"]:
    """Return the empirical joint of three adjacent pixels in the 1797 digits of scikit-learn.

    The pixels are in row 3, columns 2 to 4, counted from 0. A pixel is 1 if its level is at least 8.
    """
    from sklearn.datasets import load_digits
    ink = torch.from_numpy(load_digits().images[:, 3, 2:5] >= 8).long()     # (1797, 3)
    counts = torch.bincount(ink @ torch.tensor([4, 2, 1]), minlength=8)
    return (counts.double() / counts.sum()).reshape(2, 2, 2)


@cache
def _presets() -> list[dict]:
    def of(*conditionals):
        return joint_from_conditionals(torch.tensor(conditionals, dtype=torch.float64))

    joints = {
        "three neighbouring pixels of a digit": digits_joint(),
        "independent": of(0.3, 0.6, 0.6, 0.5, 0.5, 0.5, 0.5),
        "exclusive or: x3 = x1 xor x2": of(0.5, 0.5, 0.5, 0.0, 1.0, 1.0, 0.0),
        "copy chain: each copies the one before, 9 times in 10": of(0.5, 0.1, 0.9, 0.1, 0.9, 0.1, 0.9),
    }
    return [{"label": label, "joint": joint.flatten().tolist()} for label, joint in joints.items()]


class ChainRule(Explorable):
    """Interactive figure of a joint distribution over three binary variables, factorized by the chain rule.

    joint         (2, 2, 2) or 8 probabilities, the last variable changing fastest; None for `digits_joint`
    order         the order (a, b, c) of factorization, a permutation of 0, 1, 2
    conditionals  seven probabilities of the value 1: p(a), p(b | a = 0), p(b | a = 1), and p(c | a, b) for a, b = 00,
                  01, 10, 11; computed from `joint` by default
    dropped       removed edges, pairs of variables numbered from 0: [[0, 2]] removes the edge between x1 and x3
    drawn, seed   number of samples, 0 to 10000, and their seed

    `reorder(order)` changes the order and keeps the joint distribution; assigning `order` keeps the seven conditional
    probabilities, so the joint distribution changes. Raises ValueError for invalid probabilities and orders.

    >>> print(ChainRule(joint=[0.125] * 8).text().splitlines()[-1])
    sum       1.000000
    """

    _esm = script("chain_rule")
    _css = style("chain_rule")
    conditionals = traitlets.List(traitlets.Float()).tag(sync=True)
    order = traitlets.List(traitlets.Int(), [0, 1, 2]).tag(sync=True)
    dropped = traitlets.List(traitlets.List(traitlets.Int())).tag(sync=True)
    drawn = Whole(0, 0, MAX_DRAWN).tag(sync=True)
    seed = traitlets.Int(1).tag(sync=True)
    presets = traitlets.List(traitlets.Dict()).tag(sync=True)

    def __init__(self, joint=None, **traits):
        presets = list(_presets())
        if joint is not None:
            table = _check_joint(joint)
            presets.insert(0, {"label": "the joint of this chapter", "joint": table.flatten().tolist()})
        table = torch.tensor(presets[0]["joint"], dtype=torch.float64).reshape(2, 2, 2)
        order = traits.get("order", [0, 1, 2])
        super().__init__(**{
            "conditionals": conditionals_in_order(table, _check_order(order)).tolist(),
            "presets": presets,
            "alt": "The chain rule on three binary variables",
            **traits,
        })

    @property
    def joint(self) -> Float[Tensor, "2 2 2"]:
        """Joint probabilities (2, 2, 2), float64; each is the product of three conditionals."""
        return joint_from_conditionals(self._table(), self.order)

    @property
    def model(self) -> Float[Tensor, "2 2 2"]:
        """Joint probabilities (2, 2, 2) of q, the model without the dropped edges that minimizes KL(p || q)."""
        return joint_from_conditionals(project(self._table(), self.order, self.dropped), self.order)

    @property
    def cost(self) -> float:
        """KL(p || q) in nats, from p, which is `joint`, to q, which is `model`."""
        return float(kl(self.joint, self.model))

    @property
    def samples(self) -> Int[Tensor, "drawn 3"]:
        """The first `drawn` samples of `model` for `seed`; column i is variable i."""
        return sample(project(self._table(), self.order, self.dropped), self.order, self.drawn, self.seed)

    def reorder(self, order: Sequence[int]) -> None:
        """Set `order`, and set `conditionals` so that the joint distribution stays the same."""
        conditionals = conditionals_in_order(self.joint, _check_order(order)).tolist()
        with self.hold_sync():
            self.order, self.conditionals = list(order), conditionals

    def text(self) -> str:
        p, q = self.joint.flatten().tolist(), self.model.flatten().tolist()
        lines = ["Interactive figure: the chain rule on three binary variables.", self._arrows(), "x1 x2 x3  probability"]
        lines += [f" {r >> 2}  {r >> 1 & 1}  {r & 1}  {q[r]:.6f}" for r in range(8)]
        lines.append(f"sum       {math.fsum(q):.6f}")
        if self.dropped:
            lines.append(f"KL to the joint without dropped parents, of sum {math.fsum(p):.6f}: {self.cost:.4f} nats")
        return "\n".join(lines)

    def _arrows(self) -> str:
        """List the edges of the graph, and whether they are dropped, in a sentence."""
        gone = {frozenset(pair) for pair in self.dropped}
        said = [f"x{j + 1} to x{k + 1}{' dropped' if {j, k} in gone else ''}"
                for j, k in itertools.combinations(self.order, 2)]
        return f"Arrows: {', '.join(said)}."

    def _table(self) -> Float[Tensor, " 7"]:
        return torch.tensor(self.conditionals, dtype=torch.float64)

    @traitlets.validate("conditionals")
    def _valid_conditionals(self, proposal):
        values = proposal["value"]
        if len(values) != 7:
            raise ValueError(f"conditionals has {len(values)} numbers; expected 7 probabilities")
        for v in values:
            if not 0 <= v <= 1:
                raise ValueError(f"conditionals contains {v}; expected probabilities from 0 to 1")
        return values

    @traitlets.validate("order")
    def _valid_order(self, proposal):
        return _check_order(proposal["value"])

    @traitlets.validate("dropped")
    def _valid_dropped(self, proposal):
        for pair in proposal["value"]:
            if len(pair) != 2 or pair[0] == pair[1] or not set(pair) <= {0, 1, 2}:
                raise ValueError(f"dropped contains {pair}; expected pairs of two different variables, numbered 0 to "
                                 "2, such as [0, 2]")
        return proposal["value"]


def _check_order(order: Sequence[int]) -> list[int]:
    if sorted(order) != [0, 1, 2]:
        raise ValueError(f"order is {list(order)}; expected a permutation of 0, 1, 2")
    return list(order)


def _check_joint(joint) -> Float[Tensor, "2 2 2"]:
    table = torch.as_tensor(joint, dtype=torch.float64).detach().cpu()
    if table.numel() != 8:
        raise ValueError(f"joint has shape {tuple(table.shape)}; expected (2, 2, 2) or (8,)")
    if not bool((table >= 0).all()):
        raise ValueError(f"joint contains {table.min().item()}; expected probabilities, which are not negative")
    if abs(table.sum().item() - 1) > 1e-6:
        raise ValueError(f"joint sums to {table.sum().item():.6f}; expected 1, as the values are probabilities")
    return table.reshape(2, 2, 2) / table.sum()


def _inverse(order: Sequence[int]) -> tuple[int, ...]:
    return tuple(list(order).index(i) for i in range(3))


def _share(zero: Tensor, one: Tensor) -> Tensor:
    """Return `one` / (`zero` + `one`), or 1/2 where both are 0."""
    whole = zero + one
    return torch.where(whole > 0, one / whole.clamp_min(torch.finfo(whole.dtype).tiny), 0.5)
