"""The families of one conditional against torch.nn.functional and scipy: values, gradients, draws."""
from __future__ import annotations

import math

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from scipy.special import expit

from course_lib.conditional import (
    Bernoulli,
    Categorical,
    DiscretizedLogisticMixture,
    MixtureOfGaussians,
    at,
)
from tests.support.loops import logistics_by_scipy
from tests.support.random import normal, rng

LAST = 1 - 2.0 ** -53                                                # the largest uniform that torch draws in float64
FAMILIES = [Bernoulli(), Categorical(5), MixtureOfGaussians(3), DiscretizedLogisticMixture(3, 16)]


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


# --- drawing ---------------------------------------------------------------------------------------------------------


def grid(count):
    """The midpoints of `count` equal intervals: the fraction that falls on a value is its probability to 1 / count."""
    return ((torch.arange(count, dtype=torch.float64) + 0.5) / count)


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


@pytest.mark.gpu
@pytest.mark.parametrize("family", FAMILIES, ids=repr)
def test_families_on_gpu(family):
    raw, x = normal(20, *family.parameter_shape), values(family, 20)
    u = torch.rand(20, family.num_uniforms, dtype=torch.float64)
    torch.testing.assert_close(family(raw.cuda()).log_prob(x.cuda()).cpu(), family(raw).log_prob(x))
    torch.testing.assert_close(family.draw(family(raw.cuda()), u.cuda()).cpu(), family.draw(family(raw), u))
