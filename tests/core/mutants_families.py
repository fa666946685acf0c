"""Faults planted in the families of one conditional, and the checks that must catch them."""
from __future__ import annotations

import torch
import torch.nn.functional as F
from torch.distributions import Bernoulli as BernoulliDistribution
from torch.distributions import Categorical as CategoricalDistribution
from torch.distributions import MixtureSameFamily, Normal

from course_lib.conditional import (
    Bernoulli,
    Categorical,
    DiscretizedLogistic,
    DiscretizedLogisticMixture,
    MixtureOfGaussians,
)
from tests.core import mutant_checks as check
from tests.core.mutants import Mutant

FAMILIES: list[Mutant] = []


def mutant(trap, right, caught_by):
    def register(broken):
        FAMILIES.append(Mutant(broken.__name__.replace("_", " "), trap, broken, right, caught_by))
        return broken
    return register


def logistics():
    return DiscretizedLogisticMixture(2, 8)


def gaussians():
    return MixtureOfGaussians(3)


class Logistics(DiscretizedLogisticMixture):
    """The family with its one component replaced: a subclass sets `component`."""

    component = DiscretizedLogistic
    floor = -7.0

    def __call__(self, raw):
        logits, mean, log_scale = raw.unbind(dim=-2)
        one = self.component(mean, log_scale.clamp(min=self.floor).exp(), self.num_values)
        return MixtureSameFamily(CategoricalDistribution(logits=logits, validate_args=False), one, validate_args=False)


# --- Bernoulli and categorical ---------------------------------------------------------------------------------------


@mutant("probabilities clamped away from 0 and 1", Bernoulli, check.certain_values_cost_what_they_should)
def clamped_bernoulli():
    class Clamped(Bernoulli):
        def __call__(self, raw):
            return BernoulliDistribution(probs=torch.sigmoid(raw).clamp(1e-6, 1 - 1e-6), validate_args=False)
    return Clamped()


@mutant("a constant added to each probability: they no longer sum to one", lambda: Categorical(4),
        check.levels_sum_to_one)
def epsilon_added():
    class Distribution(CategoricalDistribution):
        def log_prob(self, x):
            return torch.log(super().log_prob(x).exp() + 1e-4)

    class Added(Categorical):
        def __call__(self, raw):
            return Distribution(logits=raw, validate_args=False)
    return Added(4)


@mutant("raw numbers passed as probabilities: normalised, but not the softmax", lambda: Categorical(4),
        lambda family: softmax_of_the_raw(family))
def no_softmax():
    class Raw(Categorical):
        def __call__(self, raw):
            return CategoricalDistribution(probs=raw.abs(), validate_args=False)
    return Raw(4)


def softmax_of_the_raw(family):
    raw = check.normal(6, 4)
    x = torch.arange(6) % 4
    torch.testing.assert_close(family(raw).log_prob(x), -F.cross_entropy(raw, x, reduction="none"))


@mutant("x = 1 drawn with probability 1 - p", Bernoulli, check.draws_its_probabilities)
def bernoulli_turned_round():
    class Turned(Bernoulli):
        def draw(self, distribution, u):
            return (u[..., 0] >= distribution.probs).to(distribution.probs.dtype)
    return Turned()


@mutant("an index of probability zero is drawn at u = 0", lambda: Categorical(4), check.never_draws_the_impossible)
def impossible_first():
    class First(Categorical):
        def draw(self, distribution, u):
            return (u > distribution.probs.cumsum(-1)[..., :-1]).sum(-1)
    return First(4)


@mutant("the cumulative sum ends below one: the index after the last is drawn", lambda: Categorical(4),
        check.never_draws_the_impossible)
def index_out_of_range():
    class Out(Categorical):
        def draw(self, distribution, u):
            return (u >= distribution.probs.float().cumsum(-1) * (1 - 1e-6)).sum(-1)
    return Out(4)


@mutant("the cumulative sum shifted by one: each value is drawn as often as its neighbour", lambda: Categorical(4),
        check.draws_its_probabilities)
def cdf_shifted():
    class Shifted(Categorical):
        def draw(self, distribution, u):
            return (super().draw(distribution, u) + 1) % self.num_values
    return Shifted(4)


@mutant("bytes compared with 256, which no byte can hold", lambda: Categorical(256), check.takes_bytes)
def bytes_refused():
    class Refuses(Categorical):
        def check(self, x, name="x", dtype=None):
            assert (x < self.num_values).all()
            return x.long()
    return Refuses(256)


# --- mixtures of Gaussians -------------------------------------------------------------------------------------------


class Gaussians(MixtureOfGaussians):
    def parts(self, raw):
        logits, mean, log_sigma = raw.unbind(dim=-2)
        return logits, mean, self.min_sigma + log_sigma.exp()

    def __call__(self, raw):
        logits, mean, sigma = self.parts(raw)
        return MixtureSameFamily(CategoricalDistribution(logits=logits, validate_args=False),
                                 Normal(mean, sigma, validate_args=False), validate_args=False)


@mutant("no floor for sigma: a component on a repeated value sends the likelihood to infinity", gaussians,
        check.likelihood_is_bounded)
def no_floor():
    class Floorless(Gaussians):
        def parts(self, raw):
            logits, mean, log_sigma = raw.unbind(dim=-2)
            return logits, mean, log_sigma.exp()
    return Floorless(3)


@mutant("parameters interleaved where they are declared in rows", gaussians, check.is_scipys)
def interleaved_parameters():
    class Interleaved(Gaussians):
        def parts(self, raw):
            return super().parts(raw.reshape(*raw.shape[:-2], self.k, 3).transpose(-1, -2))
    return Interleaved(3)


@mutant("means and log scales exchanged", gaussians, check.is_scipys)
def means_and_scales_exchanged():
    class Exchanged(Gaussians):
        def parts(self, raw):
            return super().parts(raw[..., [0, 2, 1], :])
    return Exchanged(3)


@mutant("the scale read as a variance", gaussians, check.is_scipys)
def variance_for_sigma():
    class Variance(Gaussians):
        def parts(self, raw):
            logits, mean, sigma = super().parts(raw)
            return logits, mean, sigma.sqrt()
    return Variance(3)


@mutant("weights without log_softmax: the mixture does not integrate to one", gaussians, check.is_scipys)
def unnormalised_weights():
    class Distribution(MixtureSameFamily):
        def log_prob(self, x):
            logits = self.raw_logits
            return torch.logsumexp(logits + self.component_distribution.log_prob(x[..., None]), -1)

    class Unnormalised(Gaussians):
        def __call__(self, raw):
            logits, mean, sigma = self.parts(raw)
            made = Distribution(CategoricalDistribution(logits=logits), Normal(mean, sigma), validate_args=False)
            made.raw_logits = logits
            return made
    return Unnormalised(3)


@mutant("always the heaviest component is drawn from", gaussians, check.draws_its_probabilities)
def heaviest_component():
    class Heaviest(MixtureOfGaussians):
        def draw(self, distribution, u):
            return super().draw(distribution, torch.stack([torch.full_like(u[..., 0], 0.5), u[..., 1]], -1))
    return Heaviest(3)


@mutant("one uniform chooses the component and the place in it", gaussians, check.draws_its_probabilities)
def one_uniform_for_two():
    class One(MixtureOfGaussians):
        def draw(self, distribution, u):
            return super().draw(distribution, u[..., :1].expand_as(u))
    return One(3)


@mutant("an inverse CDF at u = 0 is infinite", gaussians, check.draws_are_finite)
def infinite_draw():
    class Infinite(MixtureOfGaussians):
        def draw(self, distribution, u):
            z = 2 ** 0.5 * torch.erfinv(2 * u[..., 1] - 1)
            return distribution.component_distribution.loc[..., 0] + z
    return Infinite(3)


# --- discretised logistics -------------------------------------------------------------------------------------------


@mutant("the ends do not reach to infinity: what lies outside the levels is lost", logistics, check.levels_sum_to_one)
def open_ends():
    class Open(DiscretizedLogistic):
        def log_prob(self, x):
            half, centre = 1 / (self.levels - 1), 2 * x.to(self.loc.dtype) / (self.levels - 1) - 1
            upper, lower = (centre + half - self.loc) / self.scale, (centre - half - self.loc) / self.scale
            return F.logsigmoid(upper) + F.logsigmoid(-lower) + torch.log(-torch.expm1(lower - upper))
    return with_component(Open)


@mutant("bins of the width of `levels` where there are `levels` - 1 steps", logistics, check.levels_sum_to_one)
def wrong_bin_width():
    class Wrong(DiscretizedLogistic):
        def log_prob(self, x):
            half, centre = 1 / self.levels, 2 * x.to(self.loc.dtype) / (self.levels - 1) - 1
            upper, lower = (centre + half - self.loc) / self.scale, (centre - half - self.loc) / self.scale
            inside = F.logsigmoid(upper) + F.logsigmoid(-lower) + torch.log(-torch.expm1(lower - upper))
            return torch.where(x == 0, F.logsigmoid(upper), torch.where(x == self.levels - 1, F.logsigmoid(-lower),
                                                                        inside))
    return with_component(Wrong)


@mutant("infinities at the ends, inside the sigmoid: the gradient is NaN", logistics, check.gradients_are_finite)
def infinite_ends():
    class Infinite(DiscretizedLogistic):
        def log_prob(self, x):
            half, centre = 1 / (self.levels - 1), 2 * x.to(self.loc.dtype) / (self.levels - 1) - 1
            high = torch.where(x == self.levels - 1, torch.inf, centre + half)
            low = torch.where(x == 0, -torch.inf, centre - half)
            p = torch.sigmoid((high - self.loc) / self.scale) - torch.sigmoid((low - self.loc) / self.scale)
            return torch.log(p.clamp(min=1e-300))
    return with_component(Infinite)


@mutant("a difference of sigmoids, clamped before the logarithm", logistics, check.levels_sum_to_one)
def clamped_difference():
    class Clamped(DiscretizedLogistic):
        def log_prob(self, x):
            half, centre = 1 / (self.levels - 1), 2 * x.to(self.loc.dtype) / (self.levels - 1) - 1
            upper = torch.sigmoid((centre + half - self.loc) / self.scale)
            lower = torch.sigmoid((centre - half - self.loc) / self.scale)
            upper, lower = torch.where(x == self.levels - 1, 1.0, upper), torch.where(x == 0, 0.0, lower)
            return torch.log((upper - lower).clamp(min=1e-5))
    return with_component(Clamped)


@mutant("no floor for the log scale: a scale of zero, then NaN", logistics, check.gradients_are_finite)
def vanishing_scale():
    class Floorless(Logistics):
        floor = -1e9
        component = DiscretizedLogistic

        def __call__(self, raw):
            return super().__call__(torch.cat([raw[..., :2, :], 30 * raw[..., 2:, :]], dim=-2))
    return Floorless(2, 8)


@mutant("bin centres in float32 beside float64 parameters", lambda: DiscretizedLogisticMixture(2, 256),
        check.is_exact_in_float64)
def single_precision_centres():
    class Single(DiscretizedLogistic):
        def log_prob(self, x):
            centre = 2 / (self.levels - 1) * x - 1                   # float32 if x holds integers
            return super().log_prob((centre.to(self.loc.dtype) + 1) * (self.levels - 1) / 2)

    class Family(Logistics):
        component = Single
    return Family(2, 256)


@mutant("draws rounded down where bins are centred on the levels", logistics, check.draws_its_probabilities)
def rounded_down():
    class Down(DiscretizedLogisticMixture):
        def draw(self, distribution, u):
            level = (self.quantile(distribution, u) + 1) * (self.num_values - 1) / 2
            return level.floor().clamp(0, self.num_values - 1).long()

        def quantile(self, distribution, u):
            """The quantile on [-1, 1], of the component that the first uniform chooses."""
            j = Categorical(self.k).draw(distribution.mixture_distribution, u[..., :1])[..., None]
            one = distribution.component_distribution
            loc, scale = one.loc.gather(-1, j)[..., 0], one.scale.gather(-1, j)[..., 0]
            return loc + scale * torch.logit(u[..., 1])
    return Down(2, 8)


@mutant("draws left outside the levels", logistics, check.draws_are_finite)
def outside_the_levels():
    class Outside(DiscretizedLogisticMixture):
        def draw(self, distribution, u):
            one = distribution.component_distribution
            value = one.loc[..., 0] + one.scale[..., 0] * torch.logit(u[..., 1].clamp(1e-9, 1 - 1e-9))
            return ((value + 1) * (self.num_values - 1) / 2).round().long()
    return Outside(2, 8)


def with_component(kind):
    class Family(Logistics):
        component = kind
    return Family(2, 8)
