"""FVSBN against its equation in loops, against logistic regressions, and its fast sampler against the plain one."""
from __future__ import annotations

import numpy as np
import pytest
import torch
from sklearn.linear_model import LogisticRegression

from course_lib.autoregressive import AutoregressiveModel, uniforms
from course_lib.density import FVSBN
from course_lib.density import _block_solver as module
from tests.contract.models import CYCLE
from tests.support.loops import fvsbn_by_loops
from tests.support.random import drawn, rng

ORDERS = {"identity": None, "cycle": CYCLE, "reversed": [4, 3, 2, 1, 0]}


def bits(num, n, seed=0):
    return torch.randint(2, (num, n), generator=rng(seed))


@pytest.mark.parametrize("order", ORDERS)
def test_log_prob_equals_loops(order):
    model, x = drawn(FVSBN(5, ORDERS[order])), bits(40, 5)
    want = fvsbn_by_loops(x.numpy(), model.weight.detach().numpy(), model.bias.detach().numpy(), model.order.tolist())
    np.testing.assert_allclose(model.log_prob(x).detach().numpy(), want, rtol=1e-12)


@pytest.mark.parametrize("order", ORDERS)
def test_gradient_equals_equation(order):
    """d log p / d alpha_j^i = (x_i - p_i) x_j for the j drawn before i, d / d alpha_0^i = x_i - p_i, else zero."""
    model, x = drawn(FVSBN(5, ORDERS[order])), bits(40, 5).double()
    model.log_prob(x).sum().backward()
    error = x - model.conditionals(x).probs.detach()
    place = {i: k for k, i in enumerate(model.order.tolist())}
    for i in range(5):
        torch.testing.assert_close(model.bias.grad[i], error[:, i].sum())
        for j in range(5):
            want = (error[:, i] * x[:, j]).sum() if place[j] < place[i] else torch.tensor(0.0).double()
            torch.testing.assert_close(model.weight.grad[i, j], want)


def test_log_prob_equals_sklearn():
    """scikit-learn fits each variable on those before it; the model with these weights has the sum of their scores."""
    x = bits(300, 5, seed=3)
    x[:, 3] = x[:, 1] ^ (torch.rand(300, generator=rng()) < 0.2)
    model, total = FVSBN(5, CYCLE).double(), np.zeros(300)
    y = x.numpy()
    with torch.no_grad():
        for k, i in enumerate(CYCLE):
            if k == 0:
                model.bias[i] = np.log(y[:, i].mean() / (1 - y[:, i].mean()))
                total += np.where(y[:, i], np.log(y[:, i].mean()), np.log(1 - y[:, i].mean()))
                continue
            fit = LogisticRegression(C=1e6, tol=1e-10, max_iter=1000).fit(y[:, CYCLE[:k]], y[:, i])
            model.weight[i, CYCLE[:k]] = torch.tensor(fit.coef_[0])
            model.bias[i] = fit.intercept_[0]
            total += fit.predict_log_proba(y[:, CYCLE[:k]])[np.arange(300), y[:, i]]
    np.testing.assert_allclose(model.log_prob(x).detach().numpy(), total, rtol=1e-9)
    model.log_prob(x).mean().backward()                              # and there the likelihood is stationary
    assert model.weight.grad.abs().max() < 1e-4 and model.bias.grad.abs().max() < 1e-4


# --- the sampler that solves blocks ----------------------------------------------------------------------------------


def plain(model, num, seed, given=None, known=None):
    """The loop of predict, draw and update, with the uniforms that `sample` takes."""
    u = uniforms(num, model.n, 1, rng(seed), "cpu")
    given, known = model.check_given(num, model.n, given, known)
    with torch.no_grad():
        return AutoregressiveModel.draw_all(model, u, given, known, None)


@pytest.mark.parametrize("ordered", [False, True])
@pytest.mark.parametrize("n", [1, 2, 7, 8, 9, 16, 21])
def test_block_sampler_equals_loop(n, ordered, monkeypatch):
    """n below, equal to and above the block, and a multiple of it; with holes too."""
    monkeypatch.setattr(module, "BLOCK", 8)
    order = torch.randperm(n, generator=rng(n)) if ordered else None
    for scale in (1.0, 6.0):                                         # strong weights need many rounds
        model = drawn(FVSBN(n, order), seed=n)
        with torch.no_grad():
            model.weight.mul_(scale)
        assert torch.equal(model.sample(64, generator=rng(1)), plain(model, 64, 1))
        given, known = bits(64, n, 2), torch.rand(64, n, generator=rng(3)) < 0.4
        x = model.sample(64, given, known, generator=rng(1))
        assert torch.equal(x, plain(model, 64, 1, given, known)) and (x == given)[known].all()


def test_sample_refuses_nan():
    model = FVSBN(3)
    with torch.no_grad():
        model.weight[2, 0] = float("nan")
    with pytest.raises(ValueError, match="the model's probabilities are NaN; expected finite parameters"):
        model.sample(4)
