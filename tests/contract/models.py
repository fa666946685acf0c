"""Small models that the tests hold against the contract: every family, a context, sequences of any length."""
from __future__ import annotations

import torch
from torch import nn

from course_lib.autoregressive import AutoregressiveModel
from course_lib.conditional import Bernoulli, Categorical, DiscretizedLogisticMixture, MixtureOfGaussians
from course_lib.density import CPT, FVSBN, MADE, NADE, Factorized, Logistic, Mixture, Neural, Tabular

CYCLE = [2, 0, 3, 4, 1]                                              # not its own inverse


class Linear(AutoregressiveModel):
    """Raw parameters of each factor, linear in the variables drawn before it and in a context (B, P)."""

    def __init__(self, n, conditional=None, order=None, context=0):
        super().__init__(n, conditional, order)
        size = self.conditional.num_parameters
        self.weight = nn.Parameter(torch.zeros(n, size, n))
        self.bias = nn.Parameter(torch.zeros(n, size))
        self.from_context = nn.Parameter(torch.zeros(n * size, context)) if context else None
        position = self.order.argsort()
        self.register_buffer("earlier", position[None, :] < position[:, None])

    def raw(self, x, context=None):
        x = x.to(self.bias.dtype) / (self.conditional.num_values or 1)
        raw = torch.einsum("ipj,bj->bip", self.weight * self.earlier[:, None, :], x) + self.bias
        if context is not None:
            raw = raw + (context.to(raw.dtype) @ self.from_context.T).reshape(raw.shape)
        return raw.reshape(len(x), self.n, *self.conditional.parameter_shape)

    def conditionals(self, x, context=None):
        return self.conditional(self.raw(self.check_input(x, context), context))

    def check_context(self, context, batch):
        if self.from_context is None:
            return super().check_context(context, batch)
        if tuple(context.shape) != (batch, self.from_context.shape[1]):
            raise ValueError(f"context has shape {tuple(context.shape)}; "
                             f"expected ({batch}, {self.from_context.shape[1]})")


class Dropped(Linear):
    """Dropout on the raw parameters: another model in training than in eval mode."""

    def __init__(self, n):
        super().__init__(n)
        self.dropout = nn.Dropout(0.5)

    def raw(self, x, context=None):
        return self.dropout(super().raw(x, context))


class AnyLength(AutoregressiveModel):
    """Sequences: the logit of element t is a + b sum_{s<t} x_s / (t - s)."""

    def __init__(self, conditional=None):
        super().__init__(None, conditional)
        shape = self.conditional.parameter_shape
        self.a, self.b = nn.Parameter(torch.zeros(shape)), nn.Parameter(torch.ones(shape))

    def conditionals(self, x, context=None):
        x = self.check_input(x, context).to(self.a.dtype)
        t = torch.arange(x.shape[1], device=x.device)
        lag = (t[:, None] - t[None, :]).to(x.dtype)
        weight = torch.where(lag > 0, 1 / lag.clamp(min=1), 0)       # (T, T)
        seen = (x @ weight.T).reshape(*x.shape, *[1] * self.a.dim())
        return self.conditional(self.a + self.b * seen)


def shared_masks(n, hidden, number):
    """One set of weights under several masks and orders."""
    made = MADE(n, hidden)
    return Mixture([made.remasked(seed) for seed in range(number)])


MODELS = {
    "FVSBN": lambda: FVSBN(5),
    "FVSBN, one variable": lambda: FVSBN(1),
    "FVSBN in an order": lambda: FVSBN(5, order=CYCLE),
    "table": lambda: Tabular(4),
    "table in an order": lambda: Tabular(5, order=CYCLE),
    "table, one variable": lambda: Tabular(1),
    "table with dropped parents": lambda: Tabular(4, parents=[[], [0], [1], [0]]),
    "table with dropped parents in an order": lambda: Tabular(4, parents=[[2, 3], [0, 2], [], [2]], order=[2, 3, 0, 1]),
    "independent variables": lambda: Tabular(4, parents=[[], [], [], []]),
    "table and networks": lambda: Factorized([CPT(0), CPT(1), Neural(2, 4), Neural(3, 4)]),
    "table, logistic, network": lambda: Factorized([Neural(0, 3), Logistic(1), CPT(2), Neural(3, 5)]),
    "table, logistic, network in an order": lambda: Factorized([Logistic(3), CPT(1), Neural(0, 2), Neural(2, 5)],
                                                               order=[2, 1, 3, 0]),
    "mixture of orders": lambda: Mixture([FVSBN(5), FVSBN(5, order=CYCLE), FVSBN(5, order=[4, 3, 2, 1, 0])]),
    "mixture of one": lambda: Mixture([FVSBN(3)]),
    "mixture of tables": lambda: Mixture([Tabular(3), Tabular(3, parents=[[], [0], [1]])]),
    "linear": lambda: Linear(4),
    "categorical": lambda: Linear(3, Categorical(5), order=[1, 2, 0]),
    "discretised logistic": lambda: Linear(2, DiscretizedLogisticMixture(3, 16), order=[1, 0]),
    "Gaussians, one variable": lambda: Linear(1, MixtureOfGaussians(3)),
    "Gaussians, two variables": lambda: Linear(2, MixtureOfGaussians(3), order=[1, 0]),
    "Gaussians, four variables": lambda: Linear(4, MixtureOfGaussians(2), order=[2, 0, 3, 1]),
    "mixture of Gaussian orders": lambda: Mixture([Linear(2, MixtureOfGaussians(2)),
                                                   Linear(2, MixtureOfGaussians(2), order=[1, 0])]),
    "NADE": lambda: NADE(5, 7),
    "NADE, one variable": lambda: NADE(1, 2),
    "NADE in an order": lambda: NADE(5, 7, order=CYCLE),
    "NADE of several blocks in an order": lambda: NADE(9, 4, order=[4, 2, 7, 0, 8, 1, 6, 3, 5]),
    "softmax NADE": lambda: NADE(4, 5, Categorical(4), order=[2, 0, 3, 1]),
    "NADE of levels": lambda: NADE(3, 5, DiscretizedLogisticMixture(2, 12), order=[1, 2, 0]),
    "RNADE, one variable": lambda: NADE(1, 3, MixtureOfGaussians(3)),
    "RNADE, two variables": lambda: NADE(2, 4, MixtureOfGaussians(2), order=[1, 0]),
    "RNADE with equal weights": lambda: NADE(1, 3, MixtureOfGaussians(3, equal_weights=True)),
    "RNADE, four variables": lambda: NADE(4, 6, MixtureOfGaussians(2), order=[2, 0, 3, 1]),
    "mixture of NADE orders": lambda: Mixture([NADE(4, 3), NADE(4, 3, order=[2, 0, 3, 1])]),
    "MADE": lambda: MADE(5, (24,)),
    "MADE, one variable": lambda: MADE(1, (3,)),
    "MADE in an order": lambda: MADE(5, (24,), order=CYCLE),
    "MADE, two layers in an order": lambda: MADE(5, (40, 30), order=CYCLE, seed=1),
    "MADE, three layers": lambda: MADE(4, (20, 20, 20)),
    "MADE with few units": lambda: MADE(8, (9,), order=[4, 2, 7, 0, 1, 6, 3, 5]),
    "MADE without hidden layers": lambda: MADE(5, (), order=CYCLE),
    "remasked MADE": lambda: MADE(5, (24, 24)).remasked(3),
    "softmax MADE": lambda: MADE(3, (30,), Categorical(4), order=[1, 2, 0]),
    "MADE of Gaussians, two variables": lambda: MADE(2, (12, 12), MixtureOfGaussians(2), order=[1, 0]),
    "MADE of Gaussians, four variables": lambda: MADE(4, (40,), MixtureOfGaussians(2), order=[2, 0, 3, 1]),
    "mixture of masks": lambda: shared_masks(5, (24, 24), 3),
}

CONDITIONED = {
    "Bernoulli": lambda: Linear(4, order=[2, 0, 3, 1], context=3),
    "categorical": lambda: Linear(3, Categorical(3), context=3),
    "Gaussians": lambda: Linear(2, MixtureOfGaussians(2), context=3),
}

SEQUENCES = {
    "Bernoulli": lambda: AnyLength(),
    "categorical": lambda: AnyLength(Categorical(3)),
    "mixture": lambda: Mixture([AnyLength(), AnyLength(Bernoulli())]),
    "Gaussians": lambda: AnyLength(MixtureOfGaussians(2)),
}
