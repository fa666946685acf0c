"""MADE: the slide's masks, the equation in loops, its sampler against full passes, shared weights."""
from __future__ import annotations

import copy
import itertools
import math

import numpy as np
import pytest
import torch
from scipy.special import expit

from course_lib.autoregressive import AutoregressiveModel
from course_lib.conditional import Bernoulli, Categorical, DiscretizedLogisticMixture, MixtureOfGaussians
from course_lib.density import MADE
from course_lib.density.made import draw_degrees, made_masks
from tests.contract.models import CYCLE
from tests.support.random import drawn, rng, rows

FAMILIES = {"binary": Bernoulli(), "softmax": Categorical(4), "levels": DiscretizedLogisticMixture(2, 6),
            "Gaussians": MixtureOfGaussians(2)}
NINE = [4, 2, 7, 0, 8, 1, 6, 3, 5]                                   # not its own inverse
SHAPES = [(), (1,), (12,), (60,), (30, 20), (9, 40, 12)]


# --- masks -----------------------------------------------------------------------------------------------------------


def test_made_masks_inequalities():
    """Entry by entry; and what can be reached through them is what comes before, never more."""
    for seed in range(5):
        degrees = draw_degrees(6, (7, 5), rng(seed))
        position = torch.randperm(6, generator=rng(seed)) + 1
        first, second, last = made_masks(position, *degrees)
        for k, j in itertools.product(range(7), range(6)):
            assert first[k, j] == (degrees[0][k] >= position[j])
        for k, j in itertools.product(range(5), range(7)):
            assert second[k, j] == (degrees[1][k] >= degrees[0][j])
        for k, j in itertools.product(range(6), range(5)):
            assert last[k, j] == (position[k] > degrees[1][j])
        paths = last.long() @ second.long() @ first.long()
        assert not paths[position[:, None] <= position[None, :]].any()


@pytest.mark.parametrize("hidden", SHAPES)
@pytest.mark.parametrize("order", [None, NINE])
def test_parents_equal_paths(hidden, order):
    for seed in range(4):
        model = MADE(9, hidden, order=order, seed=seed)
        reach = torch.eye(9)
        for layer in model.layers:
            reach = ((layer.mask.float() @ reach) > 0).float()
        for i in range(9):
            assert sorted(model.parents(i)) == reach[i].nonzero().flatten().tolist()


# --- the equation ----------------------------------------------------------------------------------------------------


def by_numpy(model, x):
    """Logits (B, n), a unit at a time, each summing over what its degree allows."""
    position = {i: k + 1 for k, i in enumerate(model.order.tolist())}
    degrees = [[position[i] for i in range(model.n)], *(d.tolist() for d in model.degrees[1:])]
    out = np.zeros((len(x), model.n))
    for r, row in enumerate(x):
        h = list(row)
        for depth, layer in enumerate(model.layers):
            last, W, b = depth == len(model.layers) - 1, layer.weight.detach().numpy(), layer.bias.detach().numpy()
            upper = degrees[0] if last else degrees[depth + 1]
            new = []
            for k, m in enumerate(upper):
                a = b[k] + sum(W[k, j] * h[j] for j in range(len(h))
                               if (m > degrees[depth][j] if last else m >= degrees[depth][j]))
                new.append(a if last else max(a, 0.0))
            h = new
        out[r] = h
    return out


@pytest.mark.parametrize("order", [None, CYCLE])
@pytest.mark.parametrize("hidden", [(), (7,), (9, 6)])
def test_log_prob_equals_loops(hidden, order):
    model, x = drawn(MADE(5, hidden, order=order, seed=2)), rows(Bernoulli(), 20, 5)
    p = expit(by_numpy(model, x.numpy()))
    want = np.where(x.numpy() == 1, np.log(p), np.log(1 - p)).sum(1)
    np.testing.assert_allclose(model.log_prob(x).detach().numpy(), want, rtol=1e-12)


def test_gradient_equals_differences():
    model, x = drawn(MADE(4, (6,), order=[2, 0, 3, 1])), rows(Bernoulli(), 10, 4)
    model.log_prob(x).sum().backward()
    for p in model.parameters():
        flat, grad = p.data.view(-1), p.grad.view(-1)
        for j in range(0, len(flat), 3):
            old = flat[j].item()
            totals = []
            for step in (1e-6, -1e-6):
                flat[j] = old + step
                q = expit(by_numpy(model, x.numpy()))
                totals.append(np.where(x.numpy() == 1, np.log(q), np.log(1 - q)).sum())
            flat[j] = old
            assert grad[j].item() == pytest.approx((totals[0] - totals[1]) / 2e-6, abs=1e-6)


# --- sampling: each unit once, when its degree is reached ------------------------------------------------------------


def as_rerun(model):
    class Rerun(MADE):
        start, predict, update = AutoregressiveModel.start, AutoregressiveModel.predict, AutoregressiveModel.update
        draw_all = AutoregressiveModel.draw_all
    twin = copy.copy(model)
    twin.__class__ = Rerun
    return twin


def as_loop(model):
    class Loop(MADE):
        draw_all = AutoregressiveModel.draw_all
    twin = copy.copy(model)
    twin.__class__ = Loop
    return twin


@pytest.mark.parametrize("order", [None, NINE])
@pytest.mark.parametrize("hidden", SHAPES)
@pytest.mark.parametrize("name", FAMILIES)
def test_sample_equals_full_passes(name, hidden, order):
    family = FAMILIES[name]
    model = drawn(MADE(9, hidden, family, order, seed=1))
    given = model.check_input(rows(family, 60, 9, seed=1))
    known = torch.rand(60, 9, generator=rng(2)) < 0.4
    for g, k in ((None, None), (given, known)):
        full = as_rerun(model).sample(60, g, k, generator=rng(3))
        for other in (model, as_loop(model)):
            torch.testing.assert_close(other.sample(60, g, k, generator=rng(3)), full, rtol=1e-9, atol=1e-9)


def test_sample_refuses_nan():
    model = MADE(3, (9,))
    with torch.no_grad():
        model.layers[-1].bias[1] = math.nan
    with pytest.raises(ValueError, match="the model's probabilities are NaN; expected finite parameters"):
        model.sample(4)


# --- one set of weights, many masks ----------------------------------------------------------------------------------


def test_remasked_shares_weights():
    made = MADE(6, (40, 30), order=[3, 0, 5, 1, 4, 2]).double()
    other = made.remasked(5)
    assert all(p is q for p, q in zip(made.parameters(), other.parameters())) and len(list(other.parameters())) == 6
    assert not torch.equal(made.order, other.order)
    assert all(not torch.equal(a, b) for a, b in zip(made.degrees, other.degrees))
    assert all(a.data_ptr() != b.data_ptr() for a, b in zip(made.buffers(), other.buffers()))
    again = made.remasked(5)
    assert all(torch.equal(a, b) for a, b in zip(again.buffers(), other.buffers()))
    assert not torch.equal(made.remasked(6).order, other.order)
    with torch.no_grad():
        made.layers[0].weight.add_(1)
    assert torch.equal(other.layers[0].weight, made.layers[0].weight)
    twin = MADE(**other.config).double()                             # its config says which masks these are
    assert all(torch.equal(a, b) for a, b in zip(twin.buffers(), other.buffers()))
    assert made.remasked(5, order=[0, 1, 2, 3, 4, 5]).order.tolist() == [0, 1, 2, 3, 4, 5]
    with pytest.raises(ValueError, match="order is"):
        made.remasked(5, order=[0, 1])


# --- the rest --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", FAMILIES)
def test_initialize_from_columns(name):
    family = FAMILIES[name]
    x = rows(family, 500, 4, seed=1)
    x = 30 + 5 * x if family.num_values is None else x.clamp(max=1)
    model = MADE(4, (12,), family, [2, 0, 3, 1]).double()
    before = model.log_prob(x).mean()
    assert model.initialize(x) is model and model.log_prob(x).mean() > before
    want = family.marginal(model.check_input(x)).flatten()
    torch.testing.assert_close(model.layers[-1].bias.detach(), want.to(torch.float64), rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("call, message", [
    (lambda: MADE(3, 0), r"hidden is \(0,\); expected at least 1 in each layer"),
    (lambda: MADE(0), "n is 0; expected at least 1"),
])
def test_bad_input(call, message):
    with pytest.raises(ValueError, match=message):
        call()


@pytest.mark.gpu
@pytest.mark.parametrize("name", FAMILIES)
def test_on_a_gpu(name):
    model = drawn(MADE(9, (20, 20), FAMILIES[name], NINE))
    x = rows(FAMILIES[name], 12, 9)
    want = model.log_prob(x).detach()
    model = model.cuda()
    torch.testing.assert_close(model.log_prob(x.cuda()).cpu().detach(), want, rtol=1e-9, atol=1e-9)
    assert model.remasked(1).sample(5).device.type == "cuda"
