"""Faults planted in the ground floor: the base class of all models, and the families of one conditional."""
from __future__ import annotations

import torch
from torch.distributions import Categorical as CategoricalDistribution
from torch.distributions import MixtureSameFamily

from course_lib import autoregressive, conditional, validation
from course_lib.conditional import Categorical, MixtureOfGaussians
from course_lib.contract import check_causal, check_normalized, check_samples, check_views_agree
from course_lib.density import fvsbn
from tests import checks as family
from tests.contract import checks as model
from tests.contract import models
from tests.contract.models import CYCLE
from tests.mutation import Mutant, built, faults

A, C = autoregressive, conditional
SCORE, DRAW = ".log_prob(x).sum(dim=1)", "return self.draw_all(u, given, known, context)"
PASTED = "x = self.draw_all(u, None, None, context)\n" \
         "            return x if known is None else torch.where(known, given, x)"
RESTORE = "for m, mode in modes:\n            m.training = mode"


def plain(m):
    return m.FVSBN(5)


def ordered(m):
    return m.FVSBN(5, CYCLE)


def by_the_base(m):
    """A model whose sequential view is the base class's, in an order that is not its own inverse."""
    return m.Linear(5, order=CYCLE)


def loop(m):
    """A model that draws by the base class's loop."""
    return m.Linear(5)


def gaussians(m):
    return m.Linear(3, MixtureOfGaussians(2))


def dropped(m):
    return m.Dropped(5)


def coin(m):
    return m.Bernoulli()


def softmax(m):
    return m.Categorical(4)


def mixture(m):
    return m.MixtureOfGaussians(3)


def logistics(m):
    return m.DiscretizedLogisticMixture(2, 8)


MUTANTS: list[Mutant] = [
    # values that are not looked at
    *faults(validation, None, family.is_off_inside_alone,
        ("the checks are back after an inner context", "        _state.values = before", "        _state.values = True"),
        ("the checks are off for all threads", "class _ThreadState(threading.local):", "class _ThreadState:"),
        ("a GPU is waited for", '(_state.values or tensor.device.type == "cpu")', "True",
         RuntimeError, NotImplementedError)),

    # an order against its inverse
    *faults(A, by_the_base, check_views_agree,
            ("sampling walks through the inverse order", "int(self.order[k])", "int(self.order.argsort()[k])"),
            seen_from=models),
    *faults(A, ordered, check_causal,
            ("parents declared by the inverse order", "order = self.order.tolist()",
             "order = self.order.argsort().tolist()"),
            seen_from=fvsbn),

    # likelihood
    *faults(A, plain, check_normalized,
            ("the mean over variables, where the sum belongs", SCORE, SCORE.replace("sum", "mean")),
            seen_from=fvsbn),
    *faults(A, plain, check_views_agree,
            ("bits where nats are meant", SCORE, SCORE + " / 0.6931471805599453"),
            ("log_prob is not the sum of the conditionals: the last variable is left out", SCORE,
             ".log_prob(x)[:, :-1].sum(dim=1)"),
            seen_from=fvsbn),
    *faults(A, lambda m: m.FVSBN(3), check_normalized,
            ("probabilities clamped inside log_prob: the model is another one, and no longer sums to one", SCORE,
             ".log_prob(x).exp().clamp(0.4, 1).log().sum(dim=1)"),
            seen_from=fvsbn),

    # one variable at a time
    *faults(A, ordered, check_views_agree,
            ("select ignores the rows: a beam continues from another beam's state",
             "return select_rows(state, rows)", "return state"),
            seen_from=fvsbn),
    *faults(A, by_the_base, check_views_agree,
            ("select moves the counter and not the tensors", "return select_rows(state, rows)",
             "return Prefix(state.k, state.x[rows[:1]].expand(len(rows), -1), state.context)"),
            ("predict runs the pass on what is not yet drawn", "x, i = state.x, self.variable_at(state.k)",
             "x, i = state.x, self.variable_at((state.k + 1) % self.n)"),
            seen_from=models),

    # sampling
    *faults(A, loop, check_samples,
            ("one uniform for all variables: each is right, together they are not", "self.predict(state), u_k)", "self.predict(state), u[:, 0])"),
            seen_from=models),
    *faults(A, gaussians, check_samples,
            ("the same for continuous variables", "self.predict(state), u_k)", "self.predict(state), u[:, 0])"),
            seen_from=models),
    *faults(A, loop, model.draws_the_same_first_rows,
            ("uniforms drawn step by step: the rows change with the size of the batch",
             "torch.rand(num, n, per_variable, generator=generator, dtype=dtype)",
             "torch.rand(n, num, per_variable, generator=generator, dtype=dtype).transpose(0, 1)"),
            seen_from=models),
    *faults(A, plain, model.draws_the_same_first_rows,
            ("the passed generator is not used", "self.conditional.num_uniforms, generator,",
             "self.conditional.num_uniforms, None,"),
            seen_from=fvsbn),
    *faults(A, plain, model.keeps_what_is_given,
            ("given values overwritten by the draw", DRAW, "return self.draw_all(u, None, None, context)"),
            ("the first row's holes used for every row", DRAW,
             "return self.draw_all(u, given, None if known is None else known[:1].expand_as(known), context)"),
            seen_from=fvsbn),
    *faults(A, plain, check_samples,
            ("given values pasted over a free draw: what follows does not know them", DRAW, PASTED),
            seen_from=fvsbn),
    *faults(A, gaussians, check_samples,
            ("the same for continuous variables: given values pasted over a free draw", DRAW, PASTED),
            seen_from=models),
    *faults(A, dropped, model.restores_modes,
            ("sampling leaves the model in eval mode", RESTORE, "pass"),
            ("sampling turns every part to training when it is done", RESTORE, "model.train(modes[0][1])"),
            seen_from=models),
    *faults(A, dropped, model.draws_in_eval_mode,
            ("sampling in training mode: dropout is part of the draw", "with evaluating(self), validating(self):", "if True:"),
            seen_from=models),

    # Bernoulli and categorical
    *faults(C, coin, family.certain_values_cost_what_they_should,
            ("probabilities clamped away from 0 and 1", "BernoulliDistribution(logits=raw,",
             "BernoulliDistribution(probs=torch.sigmoid(raw).clamp(1e-6, 1 - 1e-6),")),
    *faults(C, coin, family.draws_its_probabilities,
            ("x = 1 drawn with probability 1 - p", "(u[..., 0] >= 1 - p.double())", "(u[..., 0] >= p.double())")),
    *faults(C, softmax, family.is_the_softmax,
            ("raw numbers passed as probabilities: normalised, but not the softmax",
             "CategoricalDistribution(logits=raw,", "CategoricalDistribution(probs=raw.abs(),")),
    *faults(C, softmax, family.never_draws_the_impossible,
            ("an index of probability zero is drawn at u = 0", ">= cdf[..., :-1])", "> cdf[..., :-1])"),
            ("the cumulative sum ends below one: the index after the last is drawn",
             "(u[..., None] * cdf[..., -1:] >= cdf[..., :-1])", "(u[..., None] >= cdf.float() * (1 - 1e-6))")),
    *faults(C, softmax, family.draws_its_probabilities,
            ("the cumulative sum shifted by one: each value is drawn as often as its neighbour",
             "return _draw_index(distribution.logits.exp(), u[..., 0])",
             "return (_draw_index(distribution.logits.exp(), u[..., 0]) + 1) % self.num_values")),
    *faults(C, lambda m: m.Categorical(256), family.takes_bytes,
            ("bytes compared with 256, which no byte can hold", "value = x.long()", "value = x", ValueError)),

    # mixtures of Gaussians
    *faults(C, mixture, family.likelihood_is_bounded,
            ("no floor for sigma: a component on a repeated value sends the likelihood to infinity",
             "self.min_sigma + log_sigma.exp()", "log_sigma.exp()")),
    *faults(C, mixture, family.is_scipys,
            ("parameters interleaved where they are declared in rows", "log_sigma = raw.unbind(dim=-2)",
             "log_sigma = raw.reshape(*raw.shape[:-2], self.k, 3).unbind(dim=-1)"),
            ("means and log scales exchanged", "*logits, mean, log_sigma = raw", "*logits, log_sigma, mean = raw"),
            ("the scale read as a variance", "self.min_sigma + log_sigma.exp()",
             "(self.min_sigma + log_sigma.exp()).sqrt()")),
    *faults(C, mixture, family.draws_its_probabilities,
            ("always the heaviest component is drawn from", "_component(distribution, u[..., 0])\n        z =",
             "_component(distribution, 0 * u[..., 0] + 0.5)\n        z ="),
            ("one uniform chooses the component and the place in it", "2 * _open(u[..., 1]) - 1",
             "2 * _open(u[..., 0]) - 1")),
    *faults(C, mixture, family.draws_are_finite,
            ("an inverse CDF at u = 0 is infinite", "2 * _open(u[..., 1]) - 1", "2 * u[..., 1] - 1")),

    # discretized logistics
    *faults(C, logistics, family.levels_sum_to_one,
            ("the ends do not reach to infinity: what lies outside the levels is lost",
             "return torch.where(x == 0, ", "return inside if True else torch.where(x == 0, "),
            ("bins of the width of `levels` where there are `levels` - 1 steps", "center = 2 * half * x",
             "half, center = 1 / self.levels, 2 * half * x"),
            ("a difference of sigmoids, clamped before the logarithm",
             "F.logsigmoid(upper) + F.logsigmoid(-lower) + torch.log(-torch.expm1(-2 * half / self.scale))",
             "torch.log((torch.sigmoid(upper) - torch.sigmoid(lower)).clamp(min=1e-5))")),
    *faults(C, logistics, family.gradients_are_finite,
            ("infinities at the ends, inside the sigmoid: the gradient is NaN", "upper = (center + half - self.loc)",
             "upper = (torch.where(x == self.levels - 1, torch.inf, center + half) - self.loc)"),
            ("no floor for the log scale: a scale of zero, then NaN", "log_scale.clamp(min=-7).exp()",
             "(30 * log_scale).exp()")),
    *faults(C, lambda m: m.DiscretizedLogisticMixture(2, 256), family.is_exact_in_float64,
            ("bin centers in float32 beside float64 parameters", "x.to(self.loc.dtype) - 1 ", "x - 1 ")),
    *faults(C, logistics, family.draws_its_probabilities,
            ("draws rounded down where bins are centred on the levels", ".round().clamp(0,", ".floor().clamp(0,")),
    *faults(C, logistics, family.draws_are_finite,
            ("draws left outside the levels", ".round().clamp(0, self.levels - 1)", ".round()")),
    *faults(C, lambda m: m.MixtureOfGaussians(5), family.starts_over_the_data,
            ("means that all start on the mean of the column", "mean = x.sort(dim=0).values[place].T",
             "mean = x.mean(dim=0)[:, None].expand(-1, k)")),
]


@built(MUTANTS, "a constant added to each probability: they no longer sum to one", lambda: Categorical(4),
       family.levels_sum_to_one)
def epsilon_added():
    class Distribution(CategoricalDistribution):
        def log_prob(self, x):
            return torch.log(super().log_prob(x).exp() + 1e-4)

    class Added(Categorical):
        def __call__(self, raw):
            return Distribution(logits=raw, validate_args=False)
    return Added(4)


@built(MUTANTS, "weights without log_softmax: the mixture does not integrate to one", lambda: MixtureOfGaussians(3),
       family.is_scipys)
def unnormalized_weights():
    class Distribution(MixtureSameFamily):
        def log_prob(self, x):
            return torch.logsumexp(self.raw_logits + self.component_distribution.log_prob(x[..., None]), -1)

    class Unnormalized(MixtureOfGaussians):
        def __call__(self, raw):
            right = super().__call__(raw)
            made = Distribution(right.mixture_distribution, right.component_distribution, validate_args=False)
            made.raw_logits = raw[..., 0, :]
            return made
    return Unnormalized(3)
