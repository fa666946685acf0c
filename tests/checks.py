"""What a right family of conditionals does. The mutants are caught by it."""
from __future__ import annotations

import math
import threading

import numpy as np
import torch
import torch.nn.functional as F

from tests.support.loops import gaussians_by_scipy, logistics_by_scipy
from tests.support.random import normal


def is_off_inside_alone(validation):
    """`unchecked`: within it, also after an inner one, after an error no more, and in this thread only."""
    mask, seen = torch.ones(2, dtype=torch.bool), []
    with validation.unchecked():
        with validation.unchecked():
            assert not validation.values_checked()
        assert not validation.values_checked()
        other = threading.Thread(target=lambda: seen.append(validation.values_checked()))
        other.start()
        other.join()
        assert validation.is_all_true(mask) and not validation.is_all_true(mask.to("meta"))         # of a device that would be waited for
    try:
        with validation.unchecked():
            raise KeyError
    except KeyError:
        pass
    assert validation.values_checked() and seen == [True] and validation.is_all_true(mask) and not validation.is_all_true(~mask)


def is_the_softmax(family):
    raw = normal(6, 4)
    x = torch.arange(6) % 4
    torch.testing.assert_close(family(raw).log_prob(x), -F.cross_entropy(raw, x, reduction="none"))


def starts_over_the_data(family):
    """`marginal` spreads the components over the column that it describes."""
    x = torch.linspace(200, 300, 101, dtype=torch.float64)[:, None]
    loc = family(family.marginal(x)).component_distribution.loc
    assert loc.min() < 230 and loc.max() > 270 and ((loc > 200) & (loc < 300)).all()


def levels_sum_to_one(family):
    raw = normal(40, *family.parameter_shape)
    if len(family.parameter_shape) == 2:
        raw[:, 1] *= 3
        raw[:, 2] = torch.linspace(-12, 4, 40)[:, None]
    kind = torch.float64 if family.num_values == 2 and not family.parameter_shape else torch.long
    total = sum(family(raw).log_prob(torch.tensor(v, dtype=kind)).exp() for v in range(family.num_values))
    torch.testing.assert_close(total, torch.ones(40, dtype=torch.float64), rtol=0, atol=1e-9)


def certain_values_cost_what_they_should(family):
    """At a logit of 60 the other value has log-probability -60: nothing is clamped."""
    value = family(torch.tensor(60.0, dtype=torch.float64)).log_prob(torch.tensor(0.0, dtype=torch.float64))
    assert abs(value.item() + 60) < 1e-6


def gradients_are_finite(family):
    signs = torch.cartesian_prod(*[torch.tensor([-1.0, 0.0, 1.0])] * 3)
    raw = (40 * signs[:, :, None].expand(-1, -1, family.k).double()).requires_grad_()
    for v in range(family.num_values) if family.num_values else (-100.0, 0.0, 40.0):
        log_p = family(raw).log_prob(torch.tensor(v, dtype=torch.long if family.num_values else torch.float64))
        assert torch.isfinite(log_p).all() and torch.isfinite(torch.autograd.grad(log_p.sum(), raw)[0]).all()


def likelihood_is_bounded(family):
    raw = torch.tensor([[0.0] * family.k, [0.7] * family.k, [-60.0] * family.k], dtype=torch.float64)
    most = -math.log(math.sqrt(2 * math.pi) * 1e-3)
    assert family(raw).log_prob(torch.tensor(0.7, dtype=torch.float64)) <= most + 1e-9


def is_scipys(family):
    raw = normal(30, 3, family.k)
    raw[:, 2] -= 1
    if family.num_values is None:
        x = 2 * normal(30, seed=1)
        np.testing.assert_allclose(family(raw).log_prob(x), gaussians_by_scipy(raw.numpy(), x.numpy(), 1e-3), rtol=1e-8)
    else:
        ours = torch.stack([family(raw).log_prob(torch.tensor(v)) for v in range(family.num_values)], -1)
        np.testing.assert_allclose(ours, logistics_by_scipy(raw.numpy(), family.num_values), rtol=1e-6, atol=1e-9)


def draws_its_probabilities(family):
    """A fine grid of uniforms falls on each value as often as its probability says."""
    raw = normal(*family.parameter_shape, seed=2)
    side = 20000 if family.num_uniforms == 1 else 300
    grid = (torch.arange(side, dtype=torch.float64) + 0.5) / side
    u = grid[:, None] if family.num_uniforms == 1 else torch.cartesian_prod(grid, grid)
    if family.num_values is None:
        x = family.draw(family(raw.expand(len(u), *raw.shape)), u)
        p = family(raw).cdf(torch.tensor([-2.0, -1.0, 0.0, 1.0, 2.0]).double())
        frequency = (x[:, None] <= torch.tensor([-2.0, -1.0, 0.0, 1.0, 2.0])).double().mean(0)
    else:
        x = family.draw(family(raw.expand(len(u), *raw.shape)), u).long()
        kind = torch.float64 if not family.parameter_shape else torch.long
        p = torch.stack([family(raw).log_prob(torch.tensor(v, dtype=kind)).exp() for v in range(family.num_values)])
        frequency = torch.bincount(x, minlength=family.num_values) / len(u)
    assert (frequency - p).abs().max() <= 3 / side


def never_draws_the_impossible(family):
    for p in [(0, 0.3, 0.7, 0), (0, 0, 1, 0), (1, 0, 0, 0), (0, 0, 0, 1), (0.25, 0, 0.75, 0)]:
        p = torch.tensor(p, dtype=torch.float64)
        for u in (0.0, 0.25, 0.3, 1 - 2.0 ** -53):
            x = family.draw(family(p.log()), torch.tensor([u], dtype=torch.float64))
            assert 0 <= x < 4 and p[x] > 0


def draws_are_finite(family):
    raw = normal(20, *family.parameter_shape)
    for u in (0.0, 1 - 2.0 ** -53):
        x = family.draw(family(raw), torch.full((20, family.num_uniforms), u, dtype=torch.float64))
        assert torch.isfinite(x.double()).all()
        if family.num_values:
            assert ((0 <= x) & (x < family.num_values)).all()


def takes_bytes(family):
    x = torch.tensor([[0, 255]], dtype=torch.uint8)
    assert family.check(x).tolist() == [[0, 255]]


def is_exact_in_float64(family):
    """Integers and floats give the same, whatever the dtype of the values."""
    raw = normal(20, 3, family.k)
    raw[:, 2] -= 6
    a, b = (family(raw).log_prob(torch.tensor(3, dtype=kind)) for kind in (torch.long, torch.float64))
    torch.testing.assert_close(a, b, rtol=1e-12, atol=1e-12)
