"""Sampling from MADE that computes each hidden unit once, in order of degree, as the forward pass computes it."""

from __future__ import annotations

import torch
from jaxtyping import Float, Shaped
from torch import Tensor, nn

from course_lib.density._fast_sampling import Sampler


class SortedWeights:
    """Layers of a MADE with hidden units sorted by degree, and inputs and outputs in sampling order.

    `counts[l][m]` is the number of units of layer l with degree at most m; layer 0 is the input, with E units per
    variable, and the output has P per variable. Sorted, the units of degree m of layer l are the rows
    `counts[l][m - 1] : counts[l][m]` of its weights, and their inputs are the first `counts[l - 1][m]` columns. A unit
    of degree m depends on the first m variables, so it is computed once, when the m-th variable is known. A sample
    therefore costs as many multiplications as one forward pass.
    """

    def __init__(self, model: nn.Module):
        self.model, order = model, model.order
        self.E, self.P = model.conditional.num_inputs, model.conditional.num_parameters
        self.counts = [[self.E * m for m in range(model.n + 1)]]     # counts[l][m]: units of layer l with degree <= m
        self.weights, self.biases = [], []                           # biases as columns
        columns = _spread(order, self.E)
        for j, (layer, degrees) in enumerate(zip(model.layers, model.degrees[1:])):
            rows = degrees.argsort(stable=True)
            self.counts.append(torch.bincount(degrees, minlength=model.n + 1).cumsum(0).tolist())
            # a step may compute several degrees of a layer, but only one of the last hidden layer: there the columns
            # that are used already exclude masked weights
            self._append(layer.masked_weight if j < len(model.hidden) - 1 else layer.weight, layer.bias, rows, columns)
            columns = rows
        self._append(model.layers[-1].weight, model.layers[-1].bias, _spread(order, self.P), columns)

    def _append(self, weight: Tensor, bias: Tensor, rows: Tensor, columns: Tensor) -> None:
        self.weights.append(_take(_take(weight, 0, rows), 1, columns))
        self.biases.append(bias[rows, None])

    # one variable at a time, batch first

    def output(self, h: Float[Tensor, "B H"], k: int) -> Float[Tensor, "B P"]:
        """Raw parameters of the variable at position k, from 0, given h, the last hidden units of degree 1 to k."""
        rows = slice(self.P * k, self.P * (k + 1))
        return torch.addmm(self.biases[-1][rows], self.weights[-1][rows, :self.counts[-1][k]], h.T).T

    def units(self, j: int, below: Float[Tensor, "B H"], k: int) -> Float[Tensor, "B units"]:
        """Units of degree k in hidden layer j, from 0, given `below`, the layer below's units of degree at most k."""
        rows = slice(self.counts[j + 1][k - 1], self.counts[j + 1][k])
        return torch.relu(torch.addmm(self.biases[j][rows], self.weights[j][rows, :self.counts[j][k]], below.T)).T

    # the whole sample, batch last: units are rows, which can be written in place

    def steps(self) -> list[int]:
        """Position of the first variable of each step, then n. Variables of a step depend on the same hidden units."""
        count = self.counts[-1]
        return [0, *(k for k in range(1, self.model.n) if count[k] > count[k - 1]), self.model.n]

    def sample(self, draw: Sampler, num: int, given: Tensor | None,
               known: Tensor | None) -> Shaped[Tensor, "num n"]:
        """Sample `num` rows, equal to the samples of `AutoregressiveModel.draw_all`.

        draw          sampler of the model's family, which contains the uniforms
        given, known  as in `AutoregressiveModel.draw_all`
        """
        model, steps = self.model, self.steps()
        layers = [weight.new_empty(weight.shape[1], num) for weight in self.weights]
        each = [k * self.P for k in range(model.n + 1)]
        cut = [[b - a for a, b in zip([count[k] for k in steps], [count[k] for k in steps[1:]])]
               for count in (*self.counts, each)]                    # rows of each step, layer by layer
        rows = [layer.split(c) for layer, c in zip(layers, cut)]     # views, so that the loop slices little
        weights = [weight.split(c) for weight, c in zip(self.weights, cut[1:])]
        biases = [bias.split(c) for bias, c in zip(self.biases, cut[1:])]
        drawn = []
        for s, (k, stop) in enumerate(zip(steps, steps[1:])):
            read = self.counts[-1][k]
            raw = torch.addmm(biases[-1][s], weights[-1][s].narrow(1, 0, read), layers[-1].narrow(0, 0, read))
            x = draw(raw.T.view(num, stop - k, *model.conditional.parameter_shape), k)             # (num, stop - k)
            if known is not None:
                i = model.order[k:stop]
                x = torch.where(known[:, i], given[:, i], x)
            drawn.append(x)
            rows[0][s].copy_(model.conditional.encode(x, raw.dtype).flatten(1).T)
            for j in range(len(layers) - 1):
                if cut[j + 1][s]:
                    read = self.counts[j][stop]
                    torch.addmm(biases[j][s], weights[j][s].narrow(1, 0, read), layers[j].narrow(0, 0, read),
                                out=rows[j + 1][s]).relu_()
        draw.check()
        return torch.cat(drawn, dim=1)[:, model.order.argsort()]     # column i is variable i again


def _spread(order: Tensor, each: int) -> Tensor:
    """Column indices in sampling order, (n each,), of a matrix in which each variable has `each` adjacent columns."""
    return (order[:, None] * each + torch.arange(each, device=order.device)).flatten()


def _take(t: Tensor, dim: int, index: Tensor) -> Tensor:
    """t[index] (dim 0) or t[:, index] (dim 1), or t itself, without a copy, if `index` is 0, 1, 2, ..."""
    return t.index_select(dim, index) if (index.diff() != 1).any() else t
