"""MADE's weights in order of degree, so that what can be computed after k variables is a block of rows and columns."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor

if TYPE_CHECKING:
    from course_lib.density.made import MADE


class ByDegree:
    r"""The layers of a MADE with units sorted by degree, inputs and outputs in drawing order.

    The masks are staircases then: units of degree m are the rows `count[m - 1] : count[m]`, and what they read are the
    first columns, `: count[m]` of the layer below. A unit of degree m depends on the first m variables, so it is
    computed when the m-th is known, and never again: a whole sample costs the multiplications of one forward pass.
    """

    def __init__(self, model: MADE):
        n, conditional, order = model.n, model.conditional, model.order
        E, P = conditional.num_inputs, conditional.num_parameters
        every = torch.arange(n + 1)
        self.counts = [(E * every).tolist()]                         # counts[l][m]: units of layer l with degree <= m
        columns = _spread(order, E)
        self.weights, self.biases = [], []
        for layer, degrees in zip(model.layers, model.degrees[1:]):
            rows = degrees.argsort(stable=True)
            self.counts.append(torch.bincount(degrees, minlength=n + 1).cumsum(0).tolist())
            self._append(layer, rows, columns)
            columns = rows
        self.per_variable = P
        self._append(model.layers[-1], _spread(order, P), columns)
        self.widths = [weight.shape[1] for weight in self.weights]   # of the inputs and of each hidden layer

    def _append(self, layer, rows: Tensor, columns: Tensor) -> None:
        self.weights.append(layer.masked_weight[rows].index_select(1, columns))
        self.biases.append(layer.bias[rows])

    def last_with_the_same(self, k: int) -> int:
        """One past the last variable, in drawing order, that reads exactly the hidden units that the k-th reads."""
        count, stop = self.counts[-1], k + 1
        while stop < len(count) - 1 and count[stop] == count[k]:
            stop += 1
        return stop

    def outputs(self, h: Float[Tensor, "B H"], k: int, stop: int) -> Float[Tensor, "B mP"]:
        """Raw parameters of the variables drawn k-th to (stop - 1)-th, from the units of degree k and less."""
        rows, read = slice(k * self.per_variable, stop * self.per_variable), self.counts[-1][k]
        return F.linear(h[:, :read], self.weights[-1][rows, :read], self.biases[-1][rows])

    def units(self, j: int, below: Float[Tensor, "B H"], k: int, stop: int) -> Float[Tensor, "B units"]:
        """Hidden units of degree k + 1 to stop in hidden layer j, from the units of degree stop and less below."""
        rows, read = slice(self.counts[j + 1][k], self.counts[j + 1][stop]), self.counts[j][stop]
        return torch.relu(F.linear(below[:, :read], self.weights[j][rows, :read], self.biases[j][rows]))

    def fill(self, layers: list[Tensor], x: Float[Tensor, "B inputs"], k: int, stop: int) -> None:
        """Write the inputs k to stop - 1, and the units that are known then, where they belong. In place."""
        layers[0][:, self.counts[0][k]:self.counts[0][stop]] = x
        for j, count in enumerate(self.counts[1:]):
            if count[k] < count[stop]:
                layers[j + 1][:, count[k]:count[stop]] = self.units(j, layers[j], k, stop)


def _spread(order: Tensor, each: int) -> Tensor:
    """The places of variables in drawing order where each takes `each` neighbouring places."""
    return (order[:, None] * each + torch.arange(each, device=order.device)).flatten()
