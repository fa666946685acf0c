"""What catches a mutant: the contract, and these checks. Each takes a model or a family and fails if it is broken."""
from __future__ import annotations

import copy
import io
import math

import numpy as np
import torch

from course_lib.autoregressive import AutoregressiveModel, uniforms
from course_lib.contract import check_causal, check_normalised, check_samples, check_views_agree
from course_lib.density.tabular import all_states
from tests.core.models import drawn
from tests.core.references import by_loops, gaussians_by_scipy, logistics_by_scipy

__all__ = ["check_causal", "check_normalised", "check_samples", "check_views_agree"]


def rng(seed=0):
    return torch.Generator().manual_seed(seed)


def normal(*shape, seed=0):
    return torch.randn(shape, generator=rng(seed), dtype=torch.float64)


# --- models ----------------------------------------------------------------------------------------------------------


def is_the_equation(model):
    """log_prob of an FVSBN is that of its equation in numpy loops, in nats, one number a row."""
    model = drawn(model)
    x = torch.randint(2, (20, model.n), generator=rng())
    order = model.order.tolist()
    want = by_loops(x.numpy(), model.weight.detach().numpy(), model.bias.detach().numpy(), order)
    np.testing.assert_allclose(model.log_prob(x).detach().numpy(), want, rtol=1e-9)


def is_the_joint(make):
    """A table made from a joint distribution is that distribution; smoothed counts are the formula."""
    p = torch.rand([2] * 3, generator=rng(), dtype=torch.float64)
    p = p / p.sum()
    q = make(p, [2, 0, 1]).log_prob(all_states(3)).exp().reshape(2, 2, 2)
    torch.testing.assert_close(q, p)


def adds_to_both_counts(model):
    p = model.double().fit_counts(torch.tensor([[1], [1], [0]]), alpha=1.0).factors[0].logits.sigmoid()
    torch.testing.assert_close(p.detach(), torch.tensor([3 / 5], dtype=torch.float64))


def follows_dtype_and_state_dict(model):
    """Everything that scoring needs is cast with the model and travels in its state dict."""
    other = copy.deepcopy(model)
    for buffer in other.buffers():
        if buffer.is_floating_point():
            buffer.zero_()
    model = drawn(model)
    assert all(t.dtype == torch.float64 for t in vars(model).values() if torch.is_tensor(t) and t.is_floating_point())
    x = torch.randint(2, (9, model.n), generator=rng())
    file = io.BytesIO()
    torch.save(model.state_dict(), file)
    file.seek(0)
    other = other.double()
    other.load_state_dict(torch.load(file, weights_only=True))
    torch.testing.assert_close(other.log_prob(x), model.log_prob(x), rtol=0, atol=0)


def leaves_weights_alone(model):
    model = drawn(model)
    before = [p.detach().clone() for p in model.parameters()]
    model.log_prob(torch.randint(2, (9, model.n), generator=rng()))
    model.sample(3, generator=rng())
    assert all(torch.equal(p, q) for p, q in zip(model.parameters(), before))


def scores_rows_one_by_one(model):
    """In training mode too, a row's log-probability is its own."""
    model = drawn(model).train()
    x = torch.randint(2, (16, model.n), generator=rng())
    torch.testing.assert_close(model.log_prob(x[:4]), model.log_prob(x)[:4], rtol=1e-12, atol=1e-12)


def does_not_beat_the_entropy(fit):
    """Cross-entropy of what was fitted to a known source, under that source: at least its entropy."""
    p = torch.rand(8, generator=rng(4), dtype=torch.float64) ** 4
    p = p / p.sum()
    log_q = fit(p)(all_states(3)).detach()
    assert -(p * log_q).sum() >= -(p * p.log()).sum() - 1e-9


def draws_the_same_first_rows(model):
    model = drawn(model)
    many = model.sample(30, generator=rng(5))
    for num in (1, 4):
        assert torch.equal(model.sample(num, generator=rng(5)), many[:num])
    assert torch.equal(model.sample(30, generator=rng(5)), many)


def restores_modes(model):
    model.train()
    next(model.children()).eval()
    modes = [m.training for m in model.modules()]
    model.sample(3, generator=rng())
    assert [m.training for m in model.modules()] == modes


def draws_in_eval_mode(model):
    model = drawn(model).eval()
    x = model.sample(50, generator=rng())
    assert torch.equal(model.train().sample(50, generator=rng()), x)


def keeps_what_is_given(model):
    model = drawn(model)
    given = torch.randint(2, (40, model.n), generator=rng(1))
    known = torch.rand(40, model.n, generator=rng(2)) < 0.5
    x = model.sample(40, given, known, generator=rng(3))
    assert (x == given)[known].all(), "a given value was overwritten"
    assert not (x == given).all(), "nothing was drawn"


def draws_what_the_loop_draws(model):
    """A fast sampler against predict, draw, update, on the same uniforms; strong weights and holes included."""
    model = drawn(model)
    with torch.no_grad():
        model.weight.mul_(5)
    u = uniforms(100, model.n, 1, rng(1), "cpu")
    given = torch.randint(2, (100, model.n), generator=rng(2)).double()
    known = torch.rand(100, model.n, generator=rng(3)) < 0.4
    with torch.no_grad():
        for g, k in [(None, None), (given, known)]:
            plain = AutoregressiveModel._ancestral(model, u, g, k, None)
            assert torch.equal(model.sample(100, g, k, generator=rng(1)), plain)


def needs_no_earlier_call(model):
    assert model.sample(3, generator=rng()).shape == (3, model.n)


def may_go_back(model):
    """A state still predicts the same after it was updated."""
    model = drawn(model)
    first = model.start(2)
    p = model.predict(first).log_prob(torch.ones(2).double()).detach().clone()
    model.update(first, torch.ones(2).double())
    torch.testing.assert_close(model.predict(first).log_prob(torch.ones(2).double()).detach(), p, rtol=0, atol=0)


# --- families --------------------------------------------------------------------------------------------------------


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
