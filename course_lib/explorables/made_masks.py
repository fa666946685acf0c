r"""The masks of a MADE on three to five variables, for any order and degrees.

`course_lib.density.made.made_masks` computes them from the degrees m: unit j of a layer is connected to unit k of the
next hidden layer if $m_k \ge m_j$, to output i if $m_i > m_j$. Variables are counted from 0 here, from 1 in the figure.
Degrees of hidden units are 1 to n; a MADE samples 1 to n - 1, since a unit of degree n is not connected to any output.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
import traitlets
from jaxtyping import Bool
from torch import Tensor

from course_lib.density.made import made_masks
from course_lib.explorables.base import Explorable, script, style
from course_lib.explorables.draws import uniforms
from course_lib.show.masks import idle

SMALLEST, LARGEST, WIDEST = 3, 5, 6                                  # numbers of variables, units of a hidden layer


def masks_of(order: Sequence[int], degrees: Sequence[Sequence[int]], leak: bool = False) -> list[Bool[Tensor, "_ _"]]:
    r"""Return the mask of each layer of connections, from the inputs on; [k, j] is True if unit j feeds unit k.

    order    order[k] is the index of the k-th variable, both from 0
    degrees  degrees of the units of each hidden layer
    leak     use $m_i \ge m_j$ at the output, so that a factor depends on its own variable
    """
    position = torch.tensor(order).argsort() + 1
    masks = made_masks(position, *(torch.tensor(row) for row in degrees))
    return [*masks[:-1], position[:, None] >= torch.tensor(degrees[-1])] if leak else masks


def reach(masks: Sequence[Bool[Tensor, "_ _"]]) -> Bool[Tensor, "n n"]:
    """Return (n, n): [i, j] is True if a path of unmasked connections leads from input j to output i.

    masks  the mask of each layer of connections, from `masks_of`
    """
    paths = masks[0].double()
    for mask in masks[1:]:
        paths = mask.double() @ paths
    return paths > 0


def used(masks: Sequence[Bool[Tensor, "_ _"]], output: int) -> list[Bool[Tensor, "..."]]:
    """Return whether each unit has a path to output `output`: a tensor for the inputs, then one for each hidden layer.

    masks  the mask of each layer of connections, from `masks_of`
    """
    found = [masks[-1][output]]
    for mask in reversed(masks[:-1]):
        found.insert(0, mask[found[0]].any(dim=0))
    return found


def draw(seed: int, n: int, widths: Sequence[int]) -> list[list[int]]:
    """Sample the degrees of hidden layers with `widths` units, for n variables; return a list for each layer.

    The degrees of a layer are uniform from the minimum degree of the layer below to n - 1.
    """
    u, low, degrees = iter(uniforms(seed, sum(widths))), 1, []
    for width in widths:
        degrees.append([low + int(next(u) * (n - low)) for _ in range(width)])
        low = min(degrees[-1])
    return degrees


class MadeMasks(Explorable):
    """The unmasked connections and paths of a small MADE, for any order and degrees.

    order    order[k] is the k-th variable; three to five variables
    degrees  degrees of the hidden units, 1 to n: one or two lists, one for each layer, of one to six units
    output   index, from 0, of the output whose paths are shown; -1 for none
    seed     seed with which the figure last sampled degrees
    leak     also connect units of equal degree to the output, an error that `check_causal` finds

    Raises ValueError for invalid orders and degrees.

    >>> print(MadeMasks(order=[2, 0, 1]).text().splitlines()[-2])
    The factor of x2 reads x1, x3.
    """

    _esm = script("made_masks")
    _css = style("made_masks")
    alt = traitlets.Unicode("The masks of a small MADE").tag(sync=True)
    order = traitlets.List(traitlets.Int(), [1, 2, 0]).tag(sync=True)
    degrees = traitlets.List(traitlets.List(traitlets.Int()), [[1, 2, 2, 1], [1, 2, 1, 2]]).tag(sync=True)
    output = traitlets.Int(2).tag(sync=True)
    seed = traitlets.Int(1).tag(sync=True)
    leak = traitlets.Bool(False).tag(sync=True)

    @property
    def masks(self) -> list[Bool[Tensor, "_ _"]]:
        """The mask of each layer of connections, from the inputs on, as in `masks_of`."""
        return masks_of(self.order, self.degrees, self.leak)

    @property
    def reads(self) -> Bool[Tensor, "n n"]:
        """reads[i, j] is True if factor i depends on variable j."""
        return reach(self.masks)

    @property
    def dead(self) -> list[list[int]]:
        """For each hidden layer, the indices of the units without a path from an input or to an output."""
        return [row.nonzero().flatten().tolist() for row in idle(self.masks)]

    @property
    def verdict(self) -> str:
        """A sentence with the error of `check_causal`, or, if there is none, that the model is causal."""
        own = self.reads.diagonal().nonzero().flatten().tolist()
        return ("The contract, which counts from 0: "
                f"factor {own[0]} depends on x_{own[0]}, which is the variable that it predicts." if own
                else "No factor depends on itself: the contract finds nothing.")

    def text(self) -> str:
        lines = ["Interactive figure: the masks of a small MADE.",
                 "Order of drawing: " + ", ".join(f"x{i + 1}" for i in self.order) + "."]
        lines += [f"Degrees of hidden layer {j}: {', '.join(map(str, row))}." for j, row in enumerate(self.degrees, 1)]
        lines += [f"Layer {j} has dead units: {', '.join(str(k + 1) for k in row)}."
                  for j, row in enumerate(self.dead, 1) if row]
        for i, row in enumerate(self.reads.tolist()):
            names = ", ".join(f"x{j + 1}" for j, on in enumerate(row) if on)
            lines.append(f"The factor of x{i + 1} reads {names or 'nothing'}.")
        if self.leak:
            lines.append(f"The output takes equal degrees too. {self.verdict}")
        return "\n".join(lines)

    @traitlets.validate("order")
    def _valid_order(self, proposal):
        order = list(proposal["value"])
        if sorted(order) != list(range(len(order))) or not SMALLEST <= len(order) <= LARGEST:
            raise ValueError(f"order is {order}; expected a permutation of 0 to n - 1, with n from {SMALLEST} to {LARGEST}")
        self._check(order, self.degrees, self.output)
        return order

    @traitlets.validate("degrees")
    def _valid_degrees(self, proposal):
        self._check(self.order, proposal["value"], self.output)
        return proposal["value"]

    @traitlets.validate("output")
    def _valid_output(self, proposal):
        self._check(self.order, self.degrees, proposal["value"])
        return proposal["value"]

    @staticmethod
    def _check(order: Sequence[int], value: Sequence[Sequence[int]], output: int) -> None:
        n = len(order)
        if not -1 <= output < n:
            raise ValueError(f"output is {output}; expected 0 to {n - 1}, or -1 for none")
        if not 1 <= len(value) <= 2 or not all(1 <= len(row) <= WIDEST for row in value):
            raise ValueError(f"degrees is {value}; expected one or two layers, each a list of 1 to {WIDEST} degrees")
        wrong = [m for row in value for m in row if not 1 <= m <= n]
        if wrong:
            raise ValueError(f"degrees contains {wrong[0]}; expected degrees from 1 to {n}")
