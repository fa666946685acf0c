"""Tables and other factors: exact for every order, the price of a dropped parent, maximum likelihood by counting."""
from __future__ import annotations

import itertools

import numpy as np
import pytest
import torch
from scipy.special import expit

from course_lib.density import CPT, Factorized, Logistic, Neural, Tabular
from course_lib.density.tabular import all_states
from tests.support.random import drawn, rng


def joint(n, seed=0, power=1.5):
    p = torch.rand([2] * n, generator=rng(seed), dtype=torch.float64) ** power
    return p / p.sum()


def entropy(p, keep):
    """Of the marginal over the axes in `keep`, in nats."""
    drop = tuple(d for d in range(p.dim()) if d not in keep)
    m = (p.sum(dim=drop) if drop else p).flatten()
    return -(m[m > 0] * m[m > 0].log()).sum().item()


def information(p, i, j, given):
    """I(x_i; x_j | given), by brute force: H(i, g) + H(j, g) - H(i, j, g) - H(g)."""
    g = set(given)
    return entropy(p, g | {i}) + entropy(p, g | {j}) - entropy(p, g | {i, j}) - entropy(p, g)


def divergence(p, model):
    q = model.log_prob(all_states(p.dim()))
    return (p.flatten() * (p.flatten().log() - q)).sum().item()


# --- the table is the joint ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("order", list(itertools.permutations(range(4))))
def test_from_joint_every_order(order):
    p = joint(4)
    model = Tabular.from_joint(p, order=order)
    torch.testing.assert_close(model.log_prob(all_states(4)).exp().reshape(2, 2, 2, 2), p, rtol=1e-12, atol=1e-15)
    assert model.order.tolist() == list(order)
    assert sum(f.logits.numel() for f in model.factors) == 2 ** 4 - 1


@pytest.mark.parametrize("order", [[0, 1, 2, 3], [2, 0, 3, 1], [3, 2, 1, 0]])
def test_from_joint_impossible_states(order):
    p = joint(4)
    p[0, 1], p[1, 0, 1, 1] = 0, 0
    p = p / p.sum()
    model = Tabular.from_joint(p, order=order)
    log_q = model.log_prob(all_states(4)).reshape(2, 2, 2, 2)
    torch.testing.assert_close(log_q.exp(), p, rtol=1e-12, atol=1e-40)
    assert (log_q[p == 0] < -90).all() and torch.isfinite(log_q).all()
    x = model.sample(3000, generator=rng()).long()
    assert (p[tuple(x.T)] > 0).all()


# --- what a dropped parent costs -------------------------------------------------------------------------------------


@pytest.mark.parametrize("order", [[0, 1, 2, 3], [2, 0, 3, 1]])
@pytest.mark.parametrize("seed", range(3))
def test_dropped_parent_mutual_information(order, seed):
    p = joint(4, seed)
    for k, i in enumerate(order):
        for j in order[:k]:
            parents = {v: order[:m] for m, v in enumerate(order)}
            parents[i] = [v for v in order[:k] if v != j]
            model = Tabular.from_joint(p, [parents[v] for v in range(4)], order)
            assert divergence(p, model) == pytest.approx(information(p, i, j, parents[i]), abs=1e-12)
            assert model.log_prob(all_states(4)).exp().sum().item() == pytest.approx(1)


# --- counting --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("order", [None, [2, 0, 3, 1]])
def test_fit_counts_maximum_likelihood(order):
    x = (torch.rand(500, 4, generator=rng(1)) < torch.tensor([0.2, 0.5, 0.7, 0.4])).long()
    x[:, 3] = x[:, 0] ^ x[:, 3]
    model = Tabular(4, order=order).double()
    assert model.fit_counts(x) is model
    counts = torch.bincount((x * torch.tensor([8, 4, 2, 1])).sum(1), minlength=16) / 500
    torch.testing.assert_close(model.log_prob(all_states(4)).exp(), counts.double())
    model.log_prob(x).mean().backward()
    assert all(f.logits.grad.abs().max() < 1e-9 for f in model.factors)


def test_fit_counts_weights():
    x, w = torch.tensor([[0, 1], [1, 1], [1, 0]]), torch.tensor([2.0, 1.0, 3.0])
    repeated = Tabular(2).double().fit_counts(x.repeat_interleave(w.long(), 0))
    for dtype in (torch.float32, torch.float64):
        weighted = Tabular(2).double().fit_counts(x, weights=w.to(dtype))
        torch.testing.assert_close(dict(weighted.named_parameters()), dict(repeated.named_parameters()))


# --- other factors ---------------------------------------------------------------------------------------------------


def test_factors_equal_numpy():
    model = drawn(Factorized([CPT(0), Logistic(1), CPT(2), Neural(3, 5)], order=[3, 2, 1, 0][::-1]))
    t, f, c, h = ({k: v.detach().numpy() for k, v in m.named_parameters()} for m in model.factors)
    x = all_states(4).numpy().astype(float)
    a = np.stack([
        np.full(16, t["logits"][0]),
        f["bias"] + f["weight"][0] * x[:, 0],
        c["logits"][(2 * x[:, 0] + x[:, 1]).astype(int)],
        h["bias"] + np.tanh(x[:, :3] @ h["A"].T + h["b"]) @ h["weight"],
    ], axis=1)
    np.testing.assert_allclose(model.conditionals(all_states(4)).logits.detach().numpy(), a, rtol=1e-12)
    want = np.where(x, np.log(expit(a)), np.log(expit(-a))).sum(1)
    np.testing.assert_allclose(model.log_prob(all_states(4)).detach().numpy(), want, rtol=1e-12)
