"""The plain autoencoder: it reconstructs, and what looks like its likelihood is none."""
from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from scipy.special import expit

from course_lib.conditional import Bernoulli, Categorical, MixtureOfGaussians
from course_lib.density import MADE, Autoencoder
from course_lib.density.tabular import all_states
from course_lib.training import evaluate, fit
from tests.support.random import rng


def source(num=400):
    """Five bits, the last two copies of the first two: 3 ln 2 nats."""
    x = torch.randint(2, (num, 5), generator=rng())
    x[:, 3:] = x[:, :2]
    return x


def test_the_equation_by_numpy():
    model = Autoencoder(4, (3, 2)).double()
    x = torch.randint(2, (10, 4), generator=rng())
    h = x.numpy().astype(float)
    for depth, layer in enumerate(model.layers):
        W, b = layer.weight.detach().numpy(), layer.bias.detach().numpy()
        h = np.stack([[b[k] + sum(W[k, j] * row[j] for j in range(len(row))) for k in range(len(b))] for row in h])
        h = h if depth == 2 else np.maximum(h, 0)
    p = expit(h)
    np.testing.assert_allclose(model(x).probs.detach(), p, rtol=1e-12)
    want = np.where(x == 1, np.log(p), np.log(1 - p)).sum(1)
    np.testing.assert_allclose(model.reconstruction(x).detach(), want, rtol=1e-12)
    assert model.loss(x).item() == pytest.approx(-want.mean(), rel=1e-12)


@pytest.mark.thorough
def test_trained_it_reconstructs_and_its_likelihood_sums_to_more_than_one():
    """All 32 states: every one of them is reconstructed well, so that their "probabilities" sum to far more than 1."""
    torch.manual_seed(0)
    x = source()
    model = Autoencoder(5, (30,))
    fit(model, x, x[:100], epochs=60, batch_size=50, lr=0.02, progress=False)
    assert ((model(x).probs > 0.5) == x).all()
    assert model.loss(x) < 0.1 < 3 * math.log(2)                     # below the entropy of the source: no likelihood is
    assert model.reconstruction(all_states(5)).exp().sum() > 5
    made = MADE(5, (30,))
    fit(made, x, epochs=60, batch_size=50, lr=0.02, progress=False)
    assert -made.log_prob(x).mean() >= 3 * math.log(2) - 0.05        # its masked twin cannot
    assert made.log_prob(all_states(5)).exp().sum().item() == pytest.approx(1, abs=1e-5)


def test_a_narrow_one_that_is_untrained_sums_to_something_else_too():
    model = Autoencoder(5, (2,)).double()
    total = model.reconstruction(all_states(5)).exp().sum().item()
    assert abs(total - 1) > 1e-3


def test_every_output_reads_its_own_input():
    model = Autoencoder(4, (20,)).double()
    x = torch.rand(1, 4, generator=rng(), dtype=torch.float64)
    layers = list(model.layers)
    jacobian = torch.autograd.functional.jacobian(lambda x: layers[1](torch.relu(layers[0](x)))[0], x)[:, 0]
    assert (jacobian.diagonal().abs() > 1e-6).all()


def test_it_has_no_likelihood_and_no_sampler():
    model = Autoencoder(4)
    assert not hasattr(model, "log_prob") and not hasattr(model, "sample") and not hasattr(model, "conditionals")
    with pytest.raises(TypeError, match="Autoencoder has no log_prob; only a likelihood can be evaluated"):
        evaluate(model, torch.zeros(2, 4))


@pytest.mark.parametrize("family", [Bernoulli(), Categorical(4), MixtureOfGaussians(2)], ids=repr)
def test_families_and_config(family):
    model = Autoencoder(3, (6, 5), family)
    x = torch.randint(2, (7, 3), generator=rng())
    assert tuple(model(x).batch_shape) == (7, 3) and tuple(model.reconstruction(x).shape) == (7,)
    twin = Autoencoder(**model.config)
    twin.load_state_dict(model.state_dict())
    assert torch.equal(twin.reconstruction(x), model.reconstruction(x))


@pytest.mark.parametrize("call, message", [
    (lambda: Autoencoder(0), "n is 0; an autoencoder needs at least one variable"),
    (lambda: Autoencoder(3, 0), r"hidden is \(0,\); a hidden layer needs at least one unit"),
    (lambda: Autoencoder(3, (20, 0)), r"hidden is \(20, 0\); a hidden layer needs at least one unit"),
    (lambda: Autoencoder(64)(torch.zeros(2, 81)), r"x has 81 variables; this model has 64 \(an 8 x 8 image, flattened\)"),
    (lambda: Autoencoder(3).loss(torch.full((2, 3), 2)), r"x holds 2 at \[0, 0\]; a Bernoulli variable takes 0 or 1"),
])
def test_bad_input_is_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()
