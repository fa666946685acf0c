"""The faults that the tests must catch, planted: models first, families in a list of their own.

Each is a name, the trap in words, the broken thing, its right counterpart and the check that must tell them apart.
"""
from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Callable

import torch
import torch.nn.functional as F
from torch import nn

from course_lib.autoregressive import AutoregressiveModel, Prefix
from course_lib.conditional import Bernoulli, MixtureOfGaussians, at
from course_lib.density import FVSBN, Factorised, Mixture, Tabular
from course_lib.density import fvsbn as fvsbn_module
from course_lib.density.fvsbn import State
from tests.core import mutant_checks as check
from tests.core.models import CYCLE, Linear


@dataclass
class Mutant:
    name: str
    trap: str
    broken: Callable[[], Any]
    right: Callable[[], Any]
    caught_by: Callable[[Any], Any]
    error: type[Exception] = AssertionError


MODELS: list[Mutant] = []


def mutant(trap, right, caught_by, error=AssertionError):
    """Put a broken model's builder on the list, under its own name in words."""
    def register(broken):
        MODELS.append(Mutant(broken.__name__.replace("_", " "), trap, broken, right, caught_by, error))
        return broken
    return register


def plain():
    return FVSBN(5)


def ordered():
    return FVSBN(5, CYCLE)


class Loop(FVSBN):
    """An FVSBN that draws by the base class's plain loop of predict, draw and update."""

    _ancestral = AutoregressiveModel._ancestral


class Rerun(Loop):
    """An FVSBN whose sequential view is the base class's: `conditionals` run again."""

    start, predict, update = (AutoregressiveModel.start, AutoregressiveModel.predict, AutoregressiveModel.update)


# --- masks -----------------------------------------------------------------------------------------------------------


@mutant("a mask that keeps its diagonal: variable i helps to predict itself", plain, check.check_causal)
def diagonal():
    model = plain()
    model.earlier += torch.eye(5)
    return model


@mutant("a strict mask applied twice: the variable just before is lost, and only the loss is worse", plain,
        check.check_causal)
def strict_twice():
    model = plain()
    model.earlier = torch.ones(5, 5).tril(-2)
    return model


@mutant("a mask turned round: the factors read what comes later", plain, check.check_causal)
def transposed_mask():
    model = plain()
    model.earlier = model.earlier.T.contiguous()
    return model


@mutant("one parent of many is missing", ordered, check.check_causal)
def one_missing_parent():
    model = ordered()
    model.earlier[4, 2] = 0
    return model


@mutant("a leak whose weights cancel where they start: a test at the initial weights sees nothing", plain,
        check.check_causal)
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


@mutant("a leak in some states only: variable 1 looks ahead where variable 0 is set", plain, check.check_causal)
def conditional_leak():
    class Sometimes(FVSBN):
        def conditionals(self, x, context=None):
            x = self.check_input(x)
            logits = super().conditionals(x).logits
            return self.conditional(torch.cat([logits[:, :1], logits[:, 1:2] + 1e-3 * x[:, :1] * x[:, 4:],
                                               logits[:, 2:]], 1))
    return Sometimes(5)


@mutant("normalisation over all variables: every factor reads all of x", lambda: Linear(5), check.check_causal)
def layer_norm_over_variables():
    class Normed(Linear):
        def raw(self, x, context=None):
            x = x.to(self.bias.dtype)
            return super().raw((x - x.mean(1, keepdim=True)) / (x.std(1, keepdim=True) + 1e-5))
    return Normed(5)


@mutant("the same leak with a continuous variable, where nothing can be flipped",
        lambda: Linear(3, MixtureOfGaussians(2)), check.check_causal)
def continuous_leak():
    model = Linear(3, MixtureOfGaussians(2))
    model.earlier[0, 2] = True
    return model


@mutant("batch normalisation in training: a row's log-probability depends on the other rows", plain,
        check.scores_rows_one_by_one)
def batch_norm():
    class Normed(FVSBN):
        def __init__(self, n):
            super().__init__(n)
            self.norm = nn.BatchNorm1d(n)

        def conditionals(self, x, context=None):
            return self.conditional(F.linear(self.norm(self.check_input(x)), self.weight * self.earlier, self.bias))
    return Normed(5)


@mutant("the mask multiplied into the weight in place", plain, check.leaves_weights_alone)
def mask_in_place():
    class InPlace(FVSBN):
        def conditionals(self, x, context=None):
            self.weight.data.mul_(self.earlier)
            return self.conditional(F.linear(self.check_input(x), self.weight, self.bias))
    return InPlace(5)


@mutant("a mask that is no buffer: it keeps its dtype and device when the model is cast", ordered,
        check.follows_dtype_and_state_dict)
def mask_is_an_attribute():
    class Loose(FVSBN):
        def __init__(self, n, order=None):
            super().__init__(n, order)
            mask = self.earlier
            del self.earlier
            self.earlier = mask

        def conditionals(self, x, context=None):
            return self.conditional(F.linear(self.check_input(x), self.weight * self.earlier.to(self.weight),
                                             self.bias))
    return Loose(5, CYCLE)


@mutant("a mask that is left out of the state dict", ordered, check.follows_dtype_and_state_dict)
def mask_is_not_saved():
    class Forgets(FVSBN):
        def __init__(self, n, order=None):
            super().__init__(n, order)
            self.register_buffer("earlier", self.earlier, persistent=False)
    return Forgets(5, CYCLE)


# --- an order against its inverse ------------------------------------------------------------------------------------


@mutant("the mask made from the order where its inverse belongs", ordered, check.check_causal)
def inverse_order_in_the_mask():
    model = ordered()
    model.earlier = (model.order[None, :] < model.order[:, None]).float()
    return model


@mutant("sampling walks through the inverse order", ordered, check.check_views_agree)
def inverse_order_in_predict():
    class Inverse(Rerun):
        def _variable(self, k):
            return int(self.order.argsort()[k])
    return Inverse(5, CYCLE)


@mutant("predict takes column k, where variable order[k] is drawn k-th", ordered, check.check_views_agree)
def predict_ignores_the_order():
    class Ignores(Loop):
        def predict(self, state):
            return self.conditional(state.logits[:, state.k])
    return Ignores(5, CYCLE)


@mutant("samples left in drawing order: column k is not variable k", ordered, check.check_samples)
def samples_in_drawing_order():
    class Drawn(FVSBN):
        def _ancestral(self, u, given, known, context):
            return super()._ancestral(u, given, known, context)[:, self.order]
    return Drawn(5, CYCLE)


@mutant("samples sorted back by the order, where its inverse belongs", ordered, check.check_samples)
def samples_sorted_back_twice():
    class Twice(FVSBN):
        def _ancestral(self, u, given, known, context):
            return super()._ancestral(u, given, known, context)[:, self.order][:, self.order]
    return Twice(5, CYCLE)


@mutant("parents declared by the inverse order", ordered, check.check_causal)
def inverse_order_in_parents():
    class Inverse(FVSBN):
        def parents(self, i):
            order = self.order.argsort().tolist()
            return order[:order.index(i)]
    return Inverse(5, CYCLE)


# --- likelihood ------------------------------------------------------------------------------------------------------


@mutant("the sigmoid applied twice: probabilities passed on as logits", plain, check.is_the_equation)
def double_sigmoid():
    class Twice(FVSBN):
        def conditionals(self, x, context=None):
            return self.conditional(super().conditionals(x).probs)
    return Twice(5)


@mutant("the mean over variables, where the sum belongs", plain, check.check_normalised)
def mean_over_variables():
    class Mean(FVSBN):
        def log_prob(self, x, context=None):
            return super().log_prob(x) / self.n
    return Mean(5)


@mutant("bits where nats are meant", plain, check.check_views_agree)
def logarithm_to_base_two():
    class Bits(FVSBN):
        def log_prob(self, x, context=None):
            return super().log_prob(x) / math.log(2)
    return Bits(5)


@mutant("log_prob is not the sum of the conditionals: the last variable is left out", plain, check.check_views_agree)
def last_variable_left_out():
    class Short(FVSBN):
        def log_prob(self, x, context=None):
            x = self.check_input(x)
            return self.conditionals(x).log_prob(x)[:, :-1].sum(1)
    return Short(5)


@mutant("probabilities clamped inside log_prob: the model is another one, and no longer sums to one",
        lambda: FVSBN(3), check.check_normalised)
def clamped_probabilities():
    class Clamped(FVSBN):
        def log_prob(self, x, context=None):
            x = self.check_input(x)
            p = super().conditionals(x).probs
            return torch.where(x == 1, p, 1 - p).clamp(0.4, 1).log().sum(1)
    return Clamped(3)


class AveragedLogits(Mixture):
    def log_prob(self, x, context=None):
        logits = torch.stack([m.conditionals(x).logits for m in self.models]).mean(0)
        return Bernoulli()(logits).log_prob(self.models[0].check_input(x)).sum(1)


ORDERS = ([0, 1, 2], [2, 1, 0], [1, 2, 0])


def mixture():
    return Mixture([FVSBN(3, o) for o in ORDERS])


@mutant("orders combined by their logits: no distribution at all", mixture, check.check_normalised)
def averaged_logits():
    return AveragedLogits([FVSBN(3, o) for o in ORDERS])


def exact_orders(kind):
    """Fits tables of three orders to a source exactly, and returns the log_prob of the whole."""
    return lambda p: kind([Tabular.from_joint(p.reshape(2, 2, 2), order=o) for o in ORDERS]).log_prob


@mutant("averaged logits fall below the entropy of a known source: a leak, not a record", lambda: exact_orders(Mixture),
        check.does_not_beat_the_entropy)
def averaged_logits_beat_the_entropy():
    return exact_orders(AveragedLogits)


@mutant("a leak trained on a known source falls below its entropy", lambda: trained(FVSBN(3)),
        check.does_not_beat_the_entropy)
def trained_leak():
    model = FVSBN(3)
    model.earlier += torch.eye(3)
    return trained(model)


def trained(model):
    def fit(p):
        net, x = model.double(), check.all_states(3)
        optimiser = torch.optim.LBFGS(net.parameters(), max_iter=50)

        def loss():
            optimiser.zero_grad()
            value = -(p * net.log_prob(x)).sum()
            value.backward()
            return value
        optimiser.step(loss)
        return net.log_prob
    return fit


@mutant("log-probabilities of the components averaged, without logsumexp", mixture, check.check_normalised)
def averaged_log_probabilities():
    class Averaged(Mixture):
        def log_prob(self, x, context=None):
            return torch.stack([m.log_prob(x) for m in self.models]).mean(0)
    return Averaged([FVSBN(3, o) for o in ORDERS])


@mutant("log K is not subtracted", mixture, check.check_normalised)
def without_log_k():
    class Heavy(Mixture):
        def log_prob(self, x, context=None):
            return torch.stack([m.log_prob(x) for m in self.models]).logsumexp(0)
    return Heavy([FVSBN(3, o) for o in ORDERS])


@mutant("an infinity beside a sigmoid, masked outside: the gradient is NaN", plain,
        lambda model: gradient_is_finite(model))
def infinite_logit():
    class Infinite(FVSBN):
        def conditionals(self, x, context=None):
            logits = super().conditionals(x).logits
            hidden = torch.where(torch.arange(5) == 0, math.inf, 0.0)
            p = torch.where(torch.arange(5) == 0, 0.5, torch.sigmoid(logits * (1 + hidden)))
            return self.conditional(torch.logit(p))
    return Infinite(5)


def gradient_is_finite(model):
    model = check.drawn(model)
    model.log_prob(torch.ones(3, 5)).sum().backward()
    assert all(torch.isfinite(p.grad).all() for p in model.parameters())


@mutant("a table whose rows are read by the wrong variable: the parents of the joint are mixed up",
        lambda: lambda p, o: Tabular.from_joint(p, order=o), check.is_the_joint)
def joint_axes_in_drawing_order():
    return lambda p, o: Tabular.from_joint(p.permute(o), order=o)


@mutant("smoothing adds to the ones and not to the visits", lambda: Tabular(1), check.adds_to_both_counts)
def smoothing_half_done():
    class Half(Tabular):
        def fit_counts(self, x, alpha=0.0, weights=None):
            ones, visits = x.sum() + alpha, len(x) + alpha
            self.factors[0].set_probabilities((ones / visits)[None])
            return self
    return Half(1)


@mutant("a factor fed all variables: the table reads a parent that it does not declare",
        lambda: Tabular(4, [[], [0], [1], [0]]), check.check_causal)
def table_reads_another_parent():
    class Other(Factorised):
        def parents(self, i):
            return [0] if i == 2 else super().parents(i)
    return Other(list(Tabular(4, [[], [0], [1], [0]]).factors), [[], [0], [1], [0]])


# --- one variable at a time ------------------------------------------------------------------------------------------


@mutant("the state is not updated", ordered, check.check_views_agree)
def state_not_updated():
    class Stale(Loop):
        def update(self, state, x_i):
            return State(state.k + 1, state.logits)
    return Stale(5, CYCLE)


@mutant("update adds the column of the variable before", ordered, check.check_views_agree)
def stale_column():
    class Stale(Loop):
        def update(self, state, x_i):
            i = self._variable(max(0, state.k - 1))
            return State(state.k + 1, state.logits + x_i[:, None] * self.weight[:, i] * self.earlier[:, i])
    return Stale(5, CYCLE)


@mutant("a cache kept from one sequence to the next", ordered, check.check_views_agree)
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


@mutant("update writes into the state that it was given", ordered, check.may_go_back)
def state_changed_in_place():
    class InPlace(Loop):
        def update(self, state, x_i):
            state.logits.copy_(super().update(state, x_i).logits + 1)
            return State(state.k + 1, state.logits)

        def start(self, batch, context=None):
            return State(0, self.bias.detach().expand(batch, -1).clone())
    return InPlace(5, CYCLE)


@mutant("select ignores the rows: a beam continues from another beam's state", ordered, check.check_views_agree)
def select_ignores_rows():
    class Ignores(Loop):
        def select(self, state, rows):
            return state
    return Ignores(5, CYCLE)


@mutant("select moves the counter and not the tensors", lambda: Rerun(5, CYCLE), check.check_views_agree)
def select_half_done():
    class Half(Rerun):
        def select(self, state, rows):
            return Prefix(state.k, state.x[rows[:1]].expand(len(rows), -1), state.context)
    return Half(5, CYCLE)


@mutant("predict runs the pass on what is not yet drawn", lambda: Rerun(5, CYCLE), check.check_views_agree)
def predict_reads_the_wrong_column():
    class Late(Rerun):
        def predict(self, state):
            i = self._variable((state.k + 1) % self.n)
            return at(self.conditionals(state.x), (slice(None), i))
    return Late(5, CYCLE)


# --- sampling --------------------------------------------------------------------------------------------------------


@mutant("a draw that takes 1 where it should take 0", plain, check.check_samples)
def comparison_turned_round():
    class Turned(Loop):
        def _ancestral(self, u, given, known, context):
            return 1 - super()._ancestral(u, given, known, context)
    return Turned(5)


@mutant("a fixed number of rounds: the block is not solved", lambda: FVSBN(12), check.draws_what_the_loop_draws)
def too_few_rounds():
    class Two(FVSBN):
        def _ancestral(self, u, given, known, context):
            threshold = torch.logit(1 - u[..., 0])
            x = torch.zeros_like(threshold)
            for _ in range(2):
                x = (self.conditionals(x).logits >= threshold).to(x.dtype)
                x = x if known is None else torch.where(known, given, x)
            return x
    return Two(12)


@mutant("a block forgets the blocks before it", lambda: short_blocks(FVSBN), check.draws_what_the_loop_draws)
def blocks_forget():
    class Forgets(FVSBN):
        def _ancestral(self, u, given, known, context):
            keep = self.weight.data.clone()
            self.weight.data[4:, :4] = 0
            try:
                return super()._ancestral(u, given, known, context)
            finally:
                self.weight.data.copy_(keep)
    return short_blocks(Forgets)


def short_blocks(kind):
    class Short(kind):
        def _ancestral(self, *args):
            usual, fvsbn_module.BLOCK = fvsbn_module.BLOCK, 4
            try:
                return super()._ancestral(*args)
            finally:
                fvsbn_module.BLOCK = usual
    return Short(12)


@mutant("uniforms taken by variable, where they are drawn by step", ordered, check.draws_what_the_loop_draws)
def uniforms_in_another_order():
    class Other(FVSBN):
        def _ancestral(self, u, given, known, context):
            return super()._ancestral(u[:, self.order], given, known, context)
    return Other(5, CYCLE)


@mutant("one uniform for all variables: each is right, together they are not", lambda: Loop(5), check.check_samples)
def one_uniform_for_all():
    class One(Loop):
        def _ancestral(self, u, given, known, context):
            return super()._ancestral(u[:, :1].expand_as(u), given, known, context)
    return One(5)


@mutant("the same for continuous variables", lambda: Linear(3, MixtureOfGaussians(2)), check.check_samples)
def one_uniform_for_all_gaussians():
    class One(Linear):
        def _ancestral(self, u, given, known, context):
            return super()._ancestral(u[:, :1].expand_as(u), given, known, context)
    return One(3, MixtureOfGaussians(2))


@mutant("uniforms drawn step by step: the rows change with the size of the batch", lambda: Loop(5),
        check.draws_the_same_first_rows)
def batch_size_matters():
    class Steps(Loop):
        def sample(self, num, given=None, known=None, context=None, generator=None, length=None):
            u = torch.rand(self.n, num, 1, generator=generator, dtype=torch.float64).transpose(0, 1)
            with torch.no_grad():
                return self._ancestral(u, None, None, None)
    return Steps(5)


@mutant("a mixture whose components share one generator: the rows change with the size of the batch", mixture,
        check.draws_the_same_first_rows)
def mixture_batch_size_matters():
    class Shared(Mixture):
        def sample(self, num, given=None, known=None, context=None, generator=None, length=None):
            which = torch.randint(len(self.models), (num,), generator=generator)
            each = [m.sample(num, generator=generator) for m in self.models]
            return torch.stack(each)[which, torch.arange(num)]
    return Shared([FVSBN(3, o) for o in ORDERS])


@mutant("a mixture that always draws from its first component", mixture, check.check_samples)
def mixture_of_the_first():
    class First(Mixture):
        def sample(self, *args, **kwargs):
            return self.models[0].sample(*args, **kwargs)
    return First([FVSBN(3, o) for o in ORDERS])


@mutant("the passed generator is not used", plain, check.draws_the_same_first_rows)
def generator_ignored():
    class Own(FVSBN):
        def sample(self, num, given=None, known=None, context=None, generator=None, length=None):
            return super().sample(num, given, known, context, None, length)
    return Own(5)


@mutant("given values overwritten by the draw", plain, check.keeps_what_is_given)
def given_overwritten():
    class Overwrites(FVSBN):
        def _ancestral(self, u, given, known, context):
            return super()._ancestral(u, None, None, context)
    return Overwrites(5)


@mutant("the first row's holes used for every row", plain, check.keeps_what_is_given)
def holes_of_the_first_row():
    class First(FVSBN):
        def _ancestral(self, u, given, known, context):
            known = None if known is None else known[:1].expand_as(known)
            return super()._ancestral(u, given, known, context)
    return First(5)


@mutant("given values pasted over a free draw: what follows does not know them", plain, check.check_samples)
def given_pasted_afterwards():
    class Pasted(FVSBN):
        def _ancestral(self, u, given, known, context):
            x = super()._ancestral(u, None, None, context)
            return x if known is None else torch.where(known, given, x)
    return Pasted(5)


@mutant("the same for continuous variables: given values pasted over a free draw",
        lambda: Linear(3, MixtureOfGaussians(2)), check.check_samples)
def given_pasted_over_gaussians():
    class Pasted(Linear):
        def _ancestral(self, u, given, known, context):
            x = super()._ancestral(u, None, None, context)
            return x if known is None else torch.where(known, given, x)
    return Pasted(3, MixtureOfGaussians(2))


@mutant("sampling leaves the model in eval mode", lambda: Dropped(5), check.restores_modes)
def left_in_eval_mode():
    class Left(Dropped):
        def sample(self, *args, **kwargs):
            x = super().sample(*args, **kwargs)
            self.eval()
            return x
    return Left(5)


@mutant("sampling turns every part to training when it is done", lambda: Dropped(5), check.restores_modes)
def parts_turned_to_training():
    class Turned(Dropped):
        def sample(self, *args, **kwargs):
            was = self.training
            x = super().sample(*args, **kwargs)
            self.train(was)
            return x
    return Turned(5)


class Dropped(Rerun):
    """Dropout on the logits."""

    def __init__(self, n):
        super().__init__(n)
        self.dropout = nn.Dropout(0.5)

    def conditionals(self, x, context=None):
        return self.conditional(self.dropout(super().conditionals(x).logits))


@mutant("sampling in training mode: dropout is part of the draw", lambda: Dropped(5), check.draws_in_eval_mode)
def sampled_in_training_mode():
    class Training(Dropped):
        def sample(self, num, given=None, known=None, context=None, generator=None, length=None):
            u = torch.rand(num, self.n, 1, generator=generator, dtype=torch.float64)
            torch.manual_seed(0)
            with torch.no_grad():
                return self._ancestral(u, None, None, None)
    return Training(5)


@mutant("sampling needs what an earlier call of conditionals left behind", plain, check.needs_no_earlier_call,
        AttributeError)
def needs_an_earlier_call():
    class Needs(Loop):
        def conditionals(self, x, context=None):
            self.column = self.weight * self.earlier
            return super().conditionals(x)

        def update(self, state, x_i):
            return State(state.k + 1, state.logits + x_i[:, None] * self.column[:, self._variable(state.k)])
    return Needs(5)
