"""Faults of models that a reader may write, caught by the contract and by what it takes for granted.

They are built: no single line of the library comes close to them. Those of its lines are in the `mutants.py` of the
folder that tests the lines; see `tests.mutation`.
"""
from __future__ import annotations

import math

import torch
import torch.nn.functional as F
from torch import nn

from course_lib.autoregressive import AutoregressiveModel
from course_lib.conditional import MixtureOfGaussians
from course_lib.contract import check_causal, check_views_agree
from course_lib.density import FVSBN
from course_lib.density.fvsbn import State
from tests.contract import checks as check
from tests.contract.models import CYCLE, Linear
from tests.mutation import Mutant, built

MUTANTS: list[Mutant] = []


def plain():
    return FVSBN(5)


def ordered():
    return FVSBN(5, CYCLE)


class Loop(FVSBN):
    """An FVSBN that draws by the base class's plain loop of predict, draw and update."""

    draw_all = AutoregressiveModel.draw_all


# --- what a factor reads ---------------------------------------------------------------------------------------------


@built(MUTANTS, "a leak whose weights cancel where they start: a test at the initial weights sees nothing", plain,
       check_causal)
def cancelling_leak():
    class Cancels(FVSBN):
        def __init__(self, n):
            super().__init__(n)
            self.a, self.b = nn.Parameter(torch.ones(n)), nn.Parameter(torch.ones(n))

        def conditionals(self, x, context=None):
            logits = super().conditionals(x).logits
            leak = (self.a - self.b) * self.check_input(x).sum(1, keepdim=True)
            return self.conditional(logits + leak)
    return Cancels(5)


@built(MUTANTS, "normalisation over all variables: every factor reads all of x", lambda: Linear(5), check_causal)
def layer_norm_over_variables():
    class Normed(Linear):
        def raw(self, x, context=None):
            x = x.to(self.bias.dtype)
            return super().raw((x - x.mean(1, keepdim=True)) / (x.std(1, keepdim=True) + 1e-5))
    return Normed(5)


@built(MUTANTS, "the same leak with a continuous variable, where nothing can be flipped",
       lambda: Linear(3, MixtureOfGaussians(2)), check_causal)
def continuous_leak():
    model = Linear(3, MixtureOfGaussians(2))
    model.earlier[0, 2] = True
    return model


@built(MUTANTS, "batch normalisation in training: a row's log-probability depends on the other rows", plain,
       check.scores_rows_one_by_one)
def batch_norm():
    class Normed(FVSBN):
        def __init__(self, n):
            super().__init__(n)
            self.norm = nn.BatchNorm1d(n)

        def conditionals(self, x, context=None):
            return self.conditional(F.linear(self.norm(self.check_input(x)), self.weight * self.earlier, self.bias))
    return Normed(5)


@built(MUTANTS, "an infinity beside a sigmoid, masked outside: the gradient is NaN", plain, check.gradient_is_finite)
def infinite_logit():
    class Infinite(FVSBN):
        def conditionals(self, x, context=None):
            logits = super().conditionals(x).logits
            hidden = torch.where(torch.arange(5) == 0, math.inf, 0.0)
            p = torch.where(torch.arange(5) == 0, 0.5, torch.sigmoid(logits * (1 + hidden)))
            return self.conditional(torch.logit(p))
    return Infinite(5)


# --- one variable at a time ------------------------------------------------------------------------------------------


@built(MUTANTS, "a cache kept from one sequence to the next", ordered, check_views_agree)
def cache_kept():
    class Cached(Loop):
        cache = None

        def start(self, batch, context=None):
            self.cache = super().start(batch) if self.cache is None else self.cache
            return State(0, self.cache.logits)

        def update(self, state, x_i):
            self.cache = super().update(state, x_i)
            return self.cache

    class Used(Cached):
        """As a long-lived model is: it has drawn before."""
        def predict(self, state):
            if self.cache.k == 0:
                self.cache = State(0, self.cache.logits + 0.5)
                return super().predict(State(state.k, self.cache.logits))
            return super().predict(state)
    return Used(5, CYCLE)


@built(MUTANTS, "update writes into the state that it was given", ordered, check.may_go_back)
def state_changed_in_place():
    class InPlace(Loop):
        def update(self, state, x_i):
            state.logits.copy_(super().update(state, x_i).logits + 1)
            return State(state.k + 1, state.logits)

        def start(self, batch, context=None):
            return State(0, self.bias.detach().expand(batch, -1).clone())
    return InPlace(5, CYCLE)


@built(MUTANTS, "sampling needs what an earlier call of conditionals left behind", plain, check.needs_no_earlier_call,
       AttributeError)
def needs_an_earlier_call():
    class Needs(Loop):
        def conditionals(self, x, context=None):
            self.column = self.weight * self.earlier
            return super().conditionals(x)

        def update(self, state, x_i):
            return State(state.k + 1, state.logits + x_i[:, None] * self.column[:, self.variable_at(state.k)])
    return Needs(5)
