"""What any right model does besides keeping the contract. The mutants are caught by it, and by the contract itself."""
from __future__ import annotations

import copy
import io

import torch

from tests.support.random import drawn, rng


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


def needs_no_earlier_call(model):
    assert model.sample(3, generator=rng()).shape == (3, model.n)


def may_go_back(model):
    """A state still predicts the same after it was updated."""
    model = drawn(model)
    first = model.start(2)
    p = model.predict(first).log_prob(torch.ones(2).double()).detach().clone()
    model.update(first, torch.ones(2).double())
    torch.testing.assert_close(model.predict(first).log_prob(torch.ones(2).double()).detach(), p, rtol=0, atol=0)


def gradient_is_finite(model):
    model = drawn(model)
    model.log_prob(torch.ones(3, 5)).sum().backward()
    assert all(torch.isfinite(p.grad).all() for p in model.parameters())
