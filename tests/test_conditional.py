"""The families of one conditional against torch.nn.functional and scipy: values, gradients, draws."""
from __future__ import annotations

import math

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from scipy import stats
from scipy.special import expit

from course_lib.conditional import (
    Bernoulli,
    Categorical,
    DiscretizedLogistic,
    DiscretizedLogisticMixture,
    MixtureOfGaussians,
    at,
)
from tests.support.loops import gaussians_by_scipy, logistics_by_scipy
from tests.support.random import normal, rng

LAST = 1 - 2.0 ** -53                                                # the largest uniform that torch draws in float64
FAMILIES = [Bernoulli(), Categorical(5), MixtureOfGaussians(3), DiscretizedLogisticMixture(3, 16)]
DISCRETE = [f for f in FAMILIES if f.num_values]


def values(family, *shape, seed=0):
    if family.num_values is None:
        return 3 * normal(*shape, seed=seed)
    x = torch.randint(family.num_values, shape, generator=rng(seed))
    return x.double() if isinstance(family, Bernoulli) else x


def value_and_gradient(function, raw):
    raw = raw.clone().requires_grad_()
    value = function(raw)
    return value.detach(), torch.autograd.grad(value.sum(), raw)[0]


def same(a, b, tolerance=1e-12):
    for ours, theirs in zip(a, b):
        torch.testing.assert_close(ours, theirs, rtol=tolerance, atol=tolerance)


# --- what every family says of itself --------------------------------------------------------------------------------


@pytest.mark.parametrize("family, shape, number, num_values, num_uniforms, shown", [
    (Bernoulli(), (), 1, 2, 1, "Bernoulli()"),
    (Categorical(5), (5,), 5, 5, 1, "Categorical(5)"),
    (MixtureOfGaussians(3), (3, 3), 9, None, 2, "MixtureOfGaussians(3)"),
    (DiscretizedLogisticMixture(2, 16), (3, 2), 6, 16, 2, "DiscretizedLogisticMixture(2, levels=16)"),
])
def test_family_sizes(family, shape, number, num_values, num_uniforms, shown):
    assert family.parameter_shape == shape and family.num_parameters == number
    assert family.num_values == num_values and family.num_uniforms == num_uniforms
    assert repr(family) == shown


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("family", FAMILIES, ids=repr)
def test_batch_shapes_and_dtypes(family, dtype):
    for batch in [(), (1,), (4, 3)]:
        raw = normal(*batch, *family.parameter_shape).to(dtype)
        distribution = family(raw)
        assert tuple(distribution.batch_shape) == batch
        x = family.check(values(family, *batch), dtype=dtype)
        log_p = distribution.log_prob(x)
        assert tuple(log_p.shape) == batch and log_p.dtype == dtype
        u = torch.rand(*batch, family.num_uniforms, dtype=torch.float64)
        drawn = family.draw(distribution, u)
        assert tuple(drawn.shape) == batch and drawn.dtype == x.dtype


# --- values and gradients --------------------------------------------------------------------------------------------


def test_bernoulli_equals_torch():
    raw, x = 4 * normal(200), values(Bernoulli(), 200)
    same(value_and_gradient(lambda a: Bernoulli()(a).log_prob(x), raw),
         value_and_gradient(lambda a: -F.binary_cross_entropy_with_logits(a, x, reduction="none"), raw))
    # d log p / da = x - sigma(a)
    gradient = value_and_gradient(lambda a: Bernoulli()(a).log_prob(x), raw)[1].numpy()
    np.testing.assert_allclose(gradient, x.numpy() - expit(raw.numpy()), atol=1e-12)


def test_categorical_equals_torch():
    raw, x = 3 * normal(200, 5), values(Categorical(5), 200)
    same(value_and_gradient(lambda a: Categorical(5)(a).log_prob(x), raw),
         value_and_gradient(lambda a: -F.cross_entropy(a, x, reduction="none"), raw))


@pytest.mark.parametrize("min_sigma", [1e-3, 0.5])
def test_mixture_of_gaussians_equals_scipy(min_sigma):
    family = MixtureOfGaussians(3, min_sigma)
    raw, x = normal(200, 3, 3), values(family, 200)
    np.testing.assert_allclose(family(raw).log_prob(x).numpy(), gaussians_by_scipy(raw.numpy(), x.numpy(), min_sigma),
                               rtol=1e-9)


def test_mixture_of_gaussians_gradient():
    family = MixtureOfGaussians(3)
    raw, x = normal(50, 3, 3), values(family, 50)

    def literal(raw):
        weight, sigma = F.log_softmax(raw[:, 0], -1), 1e-3 + raw[:, 2].exp()
        z = (x[:, None] - raw[:, 1]) / sigma
        return torch.logsumexp(weight - z ** 2 / 2 - sigma.log() - math.log(2 * math.pi) / 2, -1)

    same(value_and_gradient(lambda a: family(a).log_prob(x), raw), value_and_gradient(literal, raw), 1e-10)
    assert torch.autograd.gradcheck(lambda a: family(a).log_prob(x[:5]), raw[:5].clone().requires_grad_())


@pytest.mark.parametrize("levels", [2, 3, 16, 256])
def test_discretized_logistic_equals_scipy(levels):
    family = DiscretizedLogisticMixture(3, levels)
    raw = normal(40, 3, 3)
    raw[:, 2] -= 1.5
    ours = torch.stack([family(raw).log_prob(torch.tensor(v)) for v in range(levels)], -1).numpy()
    np.testing.assert_allclose(ours, logistics_by_scipy(raw.numpy(), levels), rtol=1e-6, atol=1e-9)


def test_discretized_logistic_gradient():
    family = DiscretizedLogisticMixture(2, 8)
    raw, x = normal(60, 3, 2), torch.arange(60) % 8

    def literal(raw):
        centre, half = x[:, None].double() / 3.5 - 1, 1 / 7
        scale = raw[:, 2].exp()
        upper = torch.where(x[:, None] == 7, 1.0, torch.sigmoid((centre + half - raw[:, 1]) / scale))
        lower = torch.where(x[:, None] == 0, 0.0, torch.sigmoid((centre - half - raw[:, 1]) / scale))
        return torch.log((F.softmax(raw[:, 0], -1) * (upper - lower)).sum(-1))

    same(value_and_gradient(lambda a: family(a).log_prob(x), raw), value_and_gradient(literal, raw), 1e-9)
    assert torch.autograd.gradcheck(lambda a: family(a).log_prob(x[:8]), raw[:8].clone().requires_grad_())


# --- probabilities sum to one ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["integers", "floats"])
@pytest.mark.parametrize("dtype, tolerance", [(torch.float64, 1e-11), (torch.float32, 2e-4)])
@pytest.mark.parametrize("levels", [2, 16, 256])
def test_levels_sum_to_one(levels, dtype, tolerance, kind):
    family = DiscretizedLogisticMixture(2, levels)
    means = torch.tensor([-50.0, -1.0, -0.2, 0.0, 1.0, 3.0])
    log_scales = torch.tensor([-30.0, -7.0, -4.0, 0.0, 5.0, 30.0])
    mean, log_scale = torch.cartesian_prod(means, log_scales).T
    raw = torch.stack([torch.tensor([0.3, -0.4]).expand(36, 2), torch.stack([mean, mean + 0.01], 1),
                       torch.stack([log_scale, log_scale - 0.5], 1)], dim=1).to(dtype)
    x = torch.arange(levels, dtype=torch.long if kind == "integers" else dtype)
    each = family(raw[:, None].expand(36, levels, 3, 2)).log_prob(x.expand(36, levels))
    assert each.dtype == dtype
    torch.testing.assert_close(each.double().exp().sum(1), torch.ones(36, dtype=torch.float64), rtol=0, atol=tolerance)


@pytest.mark.parametrize("family", DISCRETE, ids=repr)
def test_values_sum_to_one(family):
    raw = 5 * normal(300, *family.parameter_shape)
    kind = torch.float64 if isinstance(family, Bernoulli) else torch.long
    total = sum(family(raw).log_prob(torch.tensor(v, dtype=kind)).exp() for v in range(family.num_values))
    torch.testing.assert_close(total, torch.ones(300, dtype=torch.float64), rtol=0, atol=1e-11)


def test_no_probability_is_clamped():
    """At a logit of +-60 the improbable value keeps its log-probability of -60."""
    for a in (60.0, -60.0):
        for dtype in (torch.float32, torch.float64):
            x = torch.tensor(0.0 if a > 0 else 1.0, dtype=dtype)
            assert Bernoulli()(torch.tensor(a, dtype=dtype)).log_prob(x).item() == pytest.approx(-60, abs=1e-4)
            v = torch.tensor(0 if a > 0 else 1)
            raw = torch.tensor([0.0, a], dtype=dtype)
            assert Categorical(2)(raw).log_prob(v).item() == pytest.approx(-60, abs=1e-4)


# --- extremes --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("family", FAMILIES, ids=repr)
@pytest.mark.parametrize("size", [30.0, 80.0])
def test_gradients_are_finite_at_extremes(family, dtype, size):
    signs = torch.tensor(np.array(np.meshgrid(*[[-1, 0, 1]] * 3)).reshape(3, -1).T)   # (27, 3)
    if len(family.parameter_shape) == 2:
        raw = size * signs[:, :, None].expand(-1, -1, family.parameter_shape[1])
        raw = raw + normal(*raw.shape) * 0.1
    else:
        raw = size * normal(27, *family.parameter_shape).sign()
    points = range(family.num_values) if family.num_values else (-1e3, -1.0, 0.0, 1e-3, 7.0, 1e3)
    for v in points:
        x = torch.full((27,), v, dtype=torch.long if family.num_values and family.num_values > 2 else dtype)
        value, gradient = value_and_gradient(lambda a: family(a).log_prob(x), raw.to(dtype))
        assert torch.isfinite(value).all() and torch.isfinite(gradient).all(), (v, raw)


def test_min_sigma_bounds_likelihood():
    """A component on a repeated value: the log-density is at most -log(sqrt(2 pi) min_sigma)."""
    for floor in (1e-3, 0.1):
        family = MixtureOfGaussians(2, min_sigma=floor)
        x = torch.full((10,), 0.7, dtype=torch.float64)
        for s in (-5.0, -50.0, -1000.0):
            raw = torch.tensor([[0.0, 0.0], [0.7, 0.7], [s, s]], dtype=torch.float64).expand(10, 3, 2)
            value, gradient = value_and_gradient(lambda a: family(a).log_prob(x), raw)
            assert (value <= -math.log(math.sqrt(2 * math.pi) * floor) + 1e-12).all()
            assert torch.isfinite(gradient).all()


# --- drawing ---------------------------------------------------------------------------------------------------------


def grid(count):
    """The midpoints of `count` equal intervals: the fraction that falls on a value is its probability to 1 / count."""
    return ((torch.arange(count, dtype=torch.float64) + 0.5) / count)


@pytest.mark.parametrize("family", [Bernoulli(), Categorical(5), Categorical(2)], ids=repr)
def test_draw_grid_probabilities(family):
    for seed in range(5):
        raw = 2 * normal(*family.parameter_shape, seed=seed)
        distribution = family(raw.expand(20000, *family.parameter_shape))
        drawn = family.draw(distribution, grid(20000)[:, None]).long()
        kind = torch.float64 if isinstance(family, Bernoulli) else torch.long
        p = torch.stack([family(raw).log_prob(torch.tensor(v, dtype=kind)).exp() for v in range(family.num_values)])
        frequency = torch.bincount(drawn, minlength=family.num_values) / 20000
        assert (frequency - p).abs().max() <= 1.01 / 20000
        assert (drawn.diff() >= 0).all(), "an inverse CDF does not decrease"


@pytest.mark.parametrize("levels", [2, 7, 16])
def test_draw_grid_levels(levels):
    family = DiscretizedLogisticMixture(3, levels)
    raw = normal(3, 3, seed=levels)
    side = 300
    u = torch.cartesian_prod(grid(side), grid(side))                 # component, place within it
    drawn = family.draw(family(raw.expand(len(u), 3, 3)), u)
    p = torch.stack([family(raw).log_prob(torch.tensor(v)).exp() for v in range(levels)])
    frequency = torch.bincount(drawn, minlength=levels) / len(u)
    assert (frequency - p).abs().max() <= 3 / side
    assert drawn.min() >= 0 and drawn.max() < levels


def test_icdf_logistic():
    """The drawn level's CDF interval holds the uniform: F(x - 1) <= u <= F(x)."""
    levels = 12
    loc, scale = normal(400, seed=1), normal(400, seed=2).exp()
    one = DiscretizedLogistic(loc, scale, levels)
    u = torch.rand(400, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    x = one.icdf(u)
    upper = stats.logistic.cdf((x.numpy() + 0.5) * 2 / (levels - 1) - 1, loc.numpy(), scale.numpy())
    lower = stats.logistic.cdf((x.numpy() - 0.5) * 2 / (levels - 1) - 1, loc.numpy(), scale.numpy())
    assert (np.where(x == 0, 0, lower) <= u.numpy() + 1e-12).all()
    assert (np.where(x == levels - 1, 1, upper) >= u.numpy() - 1e-12).all()
    assert len(x.unique()) == levels


def test_draw_gaussians_inverse_cdf():
    family = MixtureOfGaussians(3)
    raw = normal(3, 3, seed=4)
    weight = F.softmax(raw[0], -1)
    for j in range(3):
        first = weight[:j].sum() + weight[j] / 2                     # a uniform inside component j's interval
        u = torch.stack([first.expand(999), torch.linspace(0.001, 0.999, 999, dtype=torch.float64)], dim=1)
        drawn = family.draw(family(raw.expand(999, 3, 3)), u)
        want = stats.norm.ppf(u[:, 1].numpy(), raw[1, j].item(), 1e-3 + math.exp(raw[2, j]))
        np.testing.assert_allclose(drawn.numpy(), want, rtol=1e-9, atol=1e-12)
    u = torch.rand(20000, 2, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    drawn = family.draw(family(raw.expand(20000, 3, 3)), u)
    assert stats.kstest(family(raw).cdf(drawn).numpy(), "uniform").pvalue > 1e-4


@pytest.mark.parametrize("u", [0.0, 2.0 ** -53, 0.25, 0.5, 0.75, 1 - 2.0 ** -24, LAST])
@pytest.mark.parametrize("p", [(0, 0.3, 0.7, 0), (0, 0, 1, 0), (1, 0, 0, 0), (0, 0, 0, 1), (0.25, 0, 0.75, 0),
                               (0.5, 0, 0, 0.5), (0, 1e-8, 0, 1)])
def test_draw_never_impossible(p, u):
    p = torch.tensor(p, dtype=torch.float64)
    for dtype in (torch.float32, torch.float64):
        distribution = Categorical(4)(p.log().to(dtype))
        drawn = Categorical(4).draw(distribution, torch.tensor([u], dtype=torch.float64))
        assert p[drawn] > 0
        before, upto = p[:drawn].sum() / p.sum(), p[:drawn + 1].sum() / p.sum()
        assert before - 1e-7 <= u <= upto + 1e-7


@pytest.mark.parametrize("u", [0.0, 2.0 ** -53, 0.5, LAST])
def test_draw_certain_bernoulli(u):
    for a, x in [(math.inf, 1), (-math.inf, 0), (800.0, 1), (-800.0, 0)]:
        for dtype in (torch.float32, torch.float64):
            drawn = Bernoulli().draw(Bernoulli()(torch.tensor(a, dtype=dtype)), torch.tensor([u], dtype=torch.float64))
            assert drawn == x and drawn.dtype == dtype


@pytest.mark.parametrize("u", [0.0, LAST])
@pytest.mark.parametrize("family", FAMILIES, ids=repr)
def test_draw_ends_of_uniforms(family, u):
    raw = 3 * normal(50, *family.parameter_shape)
    drawn = family.draw(family(raw), torch.full((50, family.num_uniforms), u, dtype=torch.float64))
    assert torch.isfinite(drawn.double()).all()
    family.check(drawn)


@pytest.mark.parametrize("family", FAMILIES, ids=repr)
def test_draw_refuses_nan(family):
    raw = torch.full((2, *family.parameter_shape), math.nan)
    with pytest.raises(ValueError, match="the model's probabilities are NaN; expected finite parameters"):
        family.draw(family(raw), torch.rand(2, family.num_uniforms, dtype=torch.float64))


# --- indexing a distribution -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("family", FAMILIES, ids=repr)
@pytest.mark.parametrize("touched", [False, True])
def test_at_indexing(family, touched):
    raw, x = normal(6, 4, *family.parameter_shape), values(family, 6, 4)
    whole = family(raw)
    if touched:                                                      # probabilities are cached beside the logits
        getattr(whole, "probs", None), getattr(getattr(whole, "mixture_distribution", None), "probs", None)
    for index in [(slice(None), 2), 3, torch.tensor([5, 5, 0]), (slice(1, 3),)]:
        part = at(whole, index)
        torch.testing.assert_close(part.log_prob(x[index]), whole.log_prob(x)[index], rtol=1e-13, atol=1e-13)
        assert part.batch_shape == x[index].shape
        u = torch.rand(*x[index].shape, family.num_uniforms, dtype=torch.float64)
        torch.testing.assert_close(family.draw(part, u), family.draw(family(raw[index]), u), rtol=0, atol=0)


# --- checking values -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [torch.bool, torch.uint8, torch.int32, torch.long, torch.float16, torch.float64])
def test_check_casts_dtypes(dtype):
    x = torch.tensor([[0, 1, 1]]).to(dtype)
    assert Bernoulli().check(x).dtype == torch.get_default_dtype()
    assert Bernoulli().check(x, dtype=torch.float64).tolist() == [[0.0, 1.0, 1.0]]
    for family in (Categorical(2), Categorical(256), DiscretizedLogisticMixture(1, 256)):
        assert family.check(x).dtype == torch.long and family.check(x).tolist() == [[0, 1, 1]]
    assert MixtureOfGaussians(1).check(x, dtype=torch.float32).dtype == torch.float32


def test_check_bytes():
    x = torch.arange(256, dtype=torch.uint8)[None]
    assert torch.equal(Categorical(256).check(x)[0], torch.arange(256))
    with pytest.raises(ValueError, match=r"x contains 255 at \[0, 255\]; a categorical variable with 255 values"):
        Categorical(255).check(x)


@pytest.mark.gpu
@pytest.mark.parametrize("family", FAMILIES, ids=repr)
def test_families_on_gpu(family):
    raw, x = normal(20, *family.parameter_shape), values(family, 20)
    u = torch.rand(20, family.num_uniforms, dtype=torch.float64)
    torch.testing.assert_close(family(raw.cuda()).log_prob(x.cuda()).cpu(), family(raw).log_prob(x))
    torch.testing.assert_close(family.draw(family(raw.cuda()), u.cuda()).cpu(), family.draw(family(raw), u))
