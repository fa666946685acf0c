"""The base class: two views, samplers and orders."""
from __future__ import annotations

import copy

import pytest
import torch

from course_lib.autoregressive import check_order, evaluating, uniforms
from course_lib.density import FVSBN, Mixture
from tests.contract.models import CONDITIONED, MODELS
from tests.support.random import drawn, rng

FACTORED = {name: make for name, make in MODELS.items() if "mixture" not in name}
CONTEXT = torch.tensor([[0.3, -1.2, 0.7], [2.0, 0.1, -0.4], [0.0, 0.5, 1.5]], dtype=torch.float64)


def rows(model, num, seed=0, n=None):
    k, n = model.conditional.num_values, model.n or n
    if k is None:
        return torch.randn(num, n, generator=rng(seed), dtype=torch.float64)
    return torch.randint(k, (num, n), generator=rng(seed))


def same_draw(a, b):
    """Equal values; for continuous ones to rounding, since a matrix product rounds by the size of the batch."""
    return a.shape == b.shape and bool(((a - b).abs() <= 1e-12).all())


# --- log_prob --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("batch", [1, 2, 37])
def test_log_prob_any_batch(name, batch):
    model = drawn(MODELS[name]())
    x = rows(model, 37)
    assert model.log_prob(x[:batch]).shape == (batch,)
    torch.testing.assert_close(model.log_prob(x[:batch]), model.log_prob(x)[:batch], rtol=1e-12, atol=1e-12)


# --- the two views ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", FACTORED)
def test_predict_after_last_variable(name):
    model = drawn(FACTORED[name]())
    x, state = model.check_input(rows(model, 5)), model.start(5)
    for i in model.order.tolist():
        state = model.update(state, x[:, i])
    with pytest.raises(ValueError, match=f"all {model.n} variables are known; there is no next variable to predict"):
        model.predict(state)
    with pytest.raises(ValueError, match=f"all {model.n} variables are known; there is no next variable to predict"):
        model.update(state, x[:, 0])


@pytest.mark.parametrize("name", FACTORED)
def test_update_keeps_earlier_state(name):
    """A beam search returns to it."""
    model = drawn(FACTORED[name]())
    if model.n < 2:
        return
    x = model.check_input(rows(model, 3))
    order = model.order.tolist()
    state = model.update(model.start(3), x[:, order[0]])
    before = model.predict(state).log_prob(x[:, order[1]])
    for value in (x[:, order[1]], x[:, order[1]].flip(0)):
        model.update(state, value)
        torch.testing.assert_close(model.predict(state).log_prob(x[:, order[1]]), before, rtol=0, atol=0)


@pytest.mark.parametrize("name", [*FACTORED])
def test_select_rows_of_state(name):
    model = drawn(FACTORED[name]())
    x, pick = model.check_input(rows(model, 4)), torch.tensor([3, 1, 1, 0, 2, 3])
    order = model.order.tolist()
    state = model.start(4)
    for i in order[:-1]:
        state = model.update(state, x[:, i])
    want = model.predict(state).log_prob(x[:, order[-1]])[pick]
    torch.testing.assert_close(model.predict(model.select(state, pick)).log_prob(x[pick, order[-1]]), want)


@pytest.mark.parametrize("name", CONDITIONED)
def test_context_both_views(name):
    model = drawn(CONDITIONED[name]())
    x = model.check_input(rows(model, 3), CONTEXT)
    want = model.log_prob(x, CONTEXT)
    for row in range(3):
        torch.testing.assert_close(model.log_prob(x[row:row + 1], CONTEXT[row:row + 1]), want[row:row + 1])
    assert (model.log_prob(x, CONTEXT.flip(0)) - want).abs().max() > 0.01
    state, total = model.start(3, CONTEXT), 0
    for i in model.order.tolist():
        total = total + model.predict(state).log_prob(x[:, i])
        state = model.update(state, x[:, i])
    torch.testing.assert_close(total, want)
    drawn_rows = model.sample(3, context=CONTEXT, generator=rng())
    assert same_draw(model.sample(2, context=CONTEXT[:2], generator=rng()), drawn_rows[:2])


# --- sampling --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", MODELS)
def test_sample_first_rows(name):
    model = drawn(MODELS[name]())
    many = model.sample(40, generator=rng(5))
    for num in (1, 2, 17):
        assert same_draw(model.sample(num, generator=rng(5)), many[:num])
    assert not torch.equal(model.sample(40, generator=rng(6)), many)


@pytest.mark.parametrize("name", MODELS)
def test_sample_given_by_row(name):
    """Given values are kept, whatever fills the places that are not known, and the draw continues from them."""
    model = drawn(MODELS[name]())
    given = rows(model, 60, seed=1)
    known = torch.rand(60, model.n, generator=rng(2)) < 0.5
    known[0], known[1] = True, False
    x = model.sample(60, given, known, generator=rng(3))
    assert (x == given)[known].all()
    assert same_draw(x[1:2], model.sample(2, given[:2], known[:2], generator=rng(3))[1:])
    rubbish = torch.where(known, given, torch.full_like(given, 77))
    assert torch.equal(model.sample(60, rubbish, known, generator=rng(3)), x)
    if not isinstance(model, Mixture):                               # nothing known: the plain draw
        free = model.sample(60, given, torch.zeros_like(known), generator=rng(3))
        assert torch.equal(free, model.sample(60, generator=rng(3)))
        assert not known[2:].all() and not torch.equal(free[2:], x[2:])


def test_sample_restores_mode_after_error():
    class Broken(FVSBN):
        def draw_all(self, *args):
            assert not self.training
            raise RuntimeError("stop")

    model = Broken(3).train()
    with pytest.raises(RuntimeError):
        model.sample(2)
    assert model.training
    with evaluating(model):
        assert not model.training
    assert model.training


@pytest.mark.parametrize("name", MODELS)
def test_sample_generator(name):
    model = drawn(MODELS[name]())
    torch.manual_seed(1)
    before = torch.get_rng_state()
    model.sample(3, generator=rng())
    assert torch.equal(torch.get_rng_state(), before)
    a = model.sample(30)
    torch.manual_seed(1)
    assert torch.equal(model.sample(30), a)                          # without one: torch's own


def test_uniforms_by_row():
    u = uniforms(7, 5, 2, rng(), "cpu")
    assert u.shape == (7, 5, 2) and u.dtype == torch.float64 and (u >= 0).all() and (u < 1).all()
    for num, n, each in [(1000, 7, 1), (33, 784, 2), (5, 1, 1), (40, 16, 2)]:
        a, b = rng(3), rng(3)
        by_rows = torch.stack([torch.rand(n, each, generator=a, dtype=torch.float64) for _ in range(num)])
        assert torch.equal(uniforms(num, n, each, b, "cpu"), by_rows) and torch.equal(a.get_state(), b.get_state())
    assert torch.equal(uniforms(3, 5, 2, rng(), "cpu"), u[:3])
    assert u.unique().numel() == u.numel()


@pytest.mark.parametrize("name", ["categorical", "Gaussians, four variables", "discretised logistic", "linear"])
def test_sample_uniform_of_variable(name):
    """By hand: the k-th variable drawn is the inverse CDF of u[:, k] given those before it."""
    model = drawn(MODELS[name]())
    x = model.sample(6, generator=rng(2))
    u = uniforms(6, model.n, model.conditional.num_uniforms, rng(2), "cpu")
    with torch.no_grad():
        raw = model.raw(model.check_input(x))
    for k, i in enumerate(model.order.tolist()):
        assert torch.equal(model.conditional.draw(model.conditional(raw[:, i]), u[:, k]), x[:, i])


@pytest.mark.gpu
@pytest.mark.parametrize("name", MODELS)
def test_sample_on_gpu(name):
    model = drawn(MODELS[name]())
    want = model.sample(50, generator=rng())
    there = copy.deepcopy(model).cuda()
    got = there.sample(50, generator=rng())
    assert got.device.type == "cuda"
    torch.testing.assert_close(got.cpu(), want)
    torch.testing.assert_close(there.log_prob(got).cpu(), model.log_prob(want))
    own = torch.Generator("cuda").manual_seed(0)
    assert there.sample(5, generator=own).device.type == "cuda"
    there.randomize(torch.Generator().manual_seed(1))


# --- orders ----------------------------------------------------------------------------------------------------------


def test_orders():
    assert check_order(None, 3).tolist() == [0, 1, 2]
    for order in ([2, 0, 1], (2, 0, 1), torch.tensor([2, 0, 1]), torch.tensor([2, 0, 1], dtype=torch.int32),
                  iter([2, 0, 1])):
        kept = check_order(order, 3)
        assert kept.dtype == torch.long and kept.tolist() == [2, 0, 1]
    given = torch.tensor([2, 0, 1])
    model = FVSBN(3, given)
    given[0] = 1
    assert model.order.tolist() == [2, 0, 1]
