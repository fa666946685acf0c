"""The plain autoencoder: it reconstructs, and what looks like its likelihood is none."""
from __future__ import annotations

import numpy as np
import pytest
import torch
from scipy.special import expit

from course_lib.density import Autoencoder
from course_lib.training import evaluate
from tests.support.random import rng


def test_reconstruction_equals_numpy():
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


def test_no_likelihood():
    model = Autoencoder(4)
    assert not hasattr(model, "log_prob") and not hasattr(model, "sample") and not hasattr(model, "conditionals")
    with pytest.raises(TypeError, match="Autoencoder has no log_prob; expected a model with a likelihood"):
        evaluate(model, torch.zeros(2, 4))


@pytest.mark.parametrize("call, message", [
    (lambda: Autoencoder(0), "n is 0; expected at least 1"),
    (lambda: Autoencoder(3, 0), r"hidden is \(0,\); expected at least 1 in each layer"),
])
def test_bad_input(call, message):
    with pytest.raises(ValueError, match=message):
        call()
