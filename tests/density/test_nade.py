"""NADE against its equation in loops, its three forms against each other, its densities against scipy."""
from __future__ import annotations

import numpy as np
import pytest
import torch
from scipy.special import expit, log_softmax

from course_lib.autoregressive import AutoregressiveModel
from course_lib.conditional import Bernoulli, Categorical, DiscretizedLogisticMixture, MixtureOfGaussians
from course_lib.contract import check_all
from course_lib.density import NADE
from course_lib.density import _running_sum as module
from tests.contract.models import CYCLE
from tests.support.loops import gaussians_by_scipy
from tests.support.random import drawn, rng, rows

FAMILIES = {"binary": Bernoulli(), "softmax": Categorical(5), "levels": DiscretizedLogisticMixture(2, 6),
            "Gaussians": MixtureOfGaussians(2), "equal weights": MixtureOfGaussians(3, equal_weights=True)}
NINE = [4, 2, 7, 0, 8, 1, 6, 3, 5]                                   # not its own inverse


def numpy_raw(model, x):
    """Raw parameters (B, n, P) a number at a time, from the equation: each hidden layer from nothing."""
    W, c, V, b = (p.detach().numpy() for p in (model.W, model.c, model.V, model.b))
    order, P = model.order.tolist(), V.shape[1]
    out = np.zeros((len(x), model.n, P))
    for r, row in enumerate(x):
        for k, i in enumerate(order):
            a = c.copy()
            for j in order[:k]:
                if isinstance(model.conditional, Categorical):
                    a += W[j, int(row[j])]
                elif isinstance(model.conditional, DiscretizedLogisticMixture):
                    a += W[j, 0] * (2 * row[j] / (model.conditional.num_values - 1) - 1)
                else:
                    a += W[j, 0] * row[j]
            h = expit(a)
            for p in range(P):
                out[r, i, p] = b[i * P + p] + (V[i, p] * h).sum()
    return out


# --- the equation ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("order", [None, CYCLE])
def test_log_prob_equals_loops(order):
    model, x = drawn(NADE(5, 7, order=order)), rows(Bernoulli(), 30, 5)
    p = expit(numpy_raw(model, x.numpy())[..., 0])
    want = np.where(x.numpy() == 1, np.log(p), np.log(1 - p)).sum(1)
    np.testing.assert_allclose(model.log_prob(x).detach().numpy(), want, rtol=1e-12)


@pytest.mark.parametrize("order", [None, CYCLE])
def test_log_prob_softmax_equals_loops(order):
    model, x = drawn(NADE(5, 6, Categorical(4), order)), rows(Categorical(4), 30, 5)
    logs = log_softmax(numpy_raw(model, x.numpy()), axis=-1)
    want = np.take_along_axis(logs, x.numpy()[..., None], -1)[..., 0].sum(1)
    np.testing.assert_allclose(model.log_prob(x).detach().numpy(), want, rtol=1e-12)


@pytest.mark.parametrize("equal", [False, True])
def test_log_prob_rnade_equals_scipy(equal):
    family = MixtureOfGaussians(3, equal_weights=equal)
    model, x = drawn(NADE(5, 6, family, CYCLE)), rows(family, 30, 5)
    raw = numpy_raw(model, x.numpy()).reshape(30, 5, -1, 3)
    if equal:                                                        # the slide: 1/K each
        raw = np.concatenate([np.zeros_like(raw[:, :, :1]), raw], axis=2)
    want = gaussians_by_scipy(raw, x.numpy(), 1e-3).sum(1)
    np.testing.assert_allclose(model.log_prob(x).detach().numpy(), want, rtol=1e-9)


def test_log_prob_levels_equals_loops():
    family = DiscretizedLogisticMixture(2, 6)
    model, x = drawn(NADE(4, 3, family, [2, 0, 3, 1])), rows(family, 20, 4)
    raw = torch.tensor(numpy_raw(model, x.numpy())).reshape(20, 4, 3, 2)
    torch.testing.assert_close(model.log_prob(x), family(raw).log_prob(x).sum(1), rtol=1e-10, atol=1e-10)


# --- three forms, one model ------------------------------------------------------------------------------------------


def value_and_gradients(model, form, x):
    distribution = form(x)
    value = distribution.log_prob(model.check_input(x)).sum()
    return [value.detach(), *torch.autograd.grad(value, list(model.parameters()))]


@pytest.fixture(params=["in place", "by blocks"])
def way(request, monkeypatch):
    """`conditionals` on a processor, and as it is on a GPU."""
    if request.param == "by blocks":
        monkeypatch.setattr(module, "in_place", module.by_blocks)
    return request.param


@pytest.mark.parametrize("order", [None, NINE])
@pytest.mark.parametrize("name", FAMILIES)
@pytest.mark.parametrize("block", [1, 4, 9, 16])
def test_three_forms_value_and_gradient(name, order, block, way, monkeypatch):
    """n below, equal to, above the block, and a multiple of it or not."""
    monkeypatch.setattr(module, "BLOCK", block)
    model = drawn(NADE(9, 5, FAMILIES[name], order))
    x = rows(FAMILIES[name], 12, 9)
    want = value_and_gradients(model, model.from_scratch, x)
    for form in (model.one_by_one, model.conditionals):
        for a, b in zip(value_and_gradients(model, form, x), want):
            torch.testing.assert_close(a, b, rtol=1e-10, atol=1e-12)


def test_contract_several_blocks(way):
    assert str(check_all(NADE(18, 3))).startswith("causal, ")


# --- where to start --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", FAMILIES)
def test_initialize_from_columns(name):
    family = FAMILIES[name]
    x = rows(family, 500, 4, seed=1)
    x = 30 + 5 * x if family.num_values is None else x.clamp(max=1)
    model = NADE(4, 6, family).double()
    before = model.log_prob(x).mean()
    assert model.initialize(x) is model and model.log_prob(x).mean() > before
    want = family.marginal(model.check_input(x)).flatten()
    torch.testing.assert_close(model.b.detach(), want.to(torch.float64), rtol=1e-6, atol=1e-6)


def test_marginal_smoothed_frequency():
    x = torch.tensor([[0, 1], [2, 1], [2, 1]])
    torch.testing.assert_close(Categorical(3).marginal(x).exp(), torch.tensor([[2, 1, 3], [1, 4, 1]]) / 6)
    torch.testing.assert_close(Bernoulli().marginal(torch.tensor([[0.0, 1], [1, 1]])).sigmoid(),
                               torch.tensor([0.5, 0.75]))


# --- sampling --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", FAMILIES)
def test_sample_equals_full_passes(name):
    """The base class re-runs `conditionals` for every variable; the same uniforms give the same rows, holes too."""
    family = FAMILIES[name]
    model = drawn(NADE(5, 6, family, CYCLE))

    class Rerun(NADE):
        start, predict, update = AutoregressiveModel.start, AutoregressiveModel.predict, AutoregressiveModel.update

    slow = Rerun(5, 6, family, CYCLE).double()
    slow.load_state_dict(model.state_dict())
    given = model.check_input(rows(family, 40, 5, seed=1))
    known = torch.rand(40, 5, generator=rng(2)) < 0.4
    for g, k in ((None, None), (given, known)):
        torch.testing.assert_close(model.sample(40, g, k, generator=rng(3)), slow.sample(40, g, k, generator=rng(3)))


# --- the rest --------------------------------------------------------------------------------------------------------


def test_bad_input():
    with pytest.raises(ValueError, match="hidden is 0; expected at least 1"):
        NADE(3, 0)
    with pytest.raises(ValueError, match="n is 0; expected at least 1"):
        NADE(0, 3)
    with pytest.raises(ValueError, match=r"order is \[0, 0, 1\]; expected a permutation of 0 to 2"):
        NADE(3, 2, order=[0, 0, 1])
    with pytest.raises(ValueError, match=r"x has 3 variables; this model has 4"):
        NADE(4, 2).initialize(torch.zeros(2, 3))
    with pytest.raises(ValueError, match="x contains 2 at"):
        NADE(3, 2).from_scratch(torch.full((2, 3), 2))
    with pytest.raises(ValueError, match="context is given; expected None, because NADE is unconditional"):
        NADE(3, 2).log_prob(torch.zeros(2, 3), torch.zeros(2, 1))


@pytest.mark.gpu
@pytest.mark.parametrize("name", FAMILIES)
def test_blocks_on_a_gpu(name):
    model, x = drawn(NADE(40, 5, FAMILIES[name])), rows(FAMILIES[name], 12, 40)
    want = model.log_prob(x).detach()
    torch.testing.assert_close(model.cuda().log_prob(x.cuda()).cpu().detach(), want, rtol=1e-9, atol=1e-9)
