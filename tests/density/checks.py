"""What a right FVSBN, table, NADE, MADE or mixture does. The mutants are caught by it."""
from __future__ import annotations

import numpy as np
import torch

from course_lib.autoregressive import AutoregressiveModel, uniforms
from course_lib.density.tabular import all_states
from tests.support.loops import fvsbn_by_loops
from tests.support.random import drawn, rng


def is_the_equation(model):
    """log_prob of an FVSBN is that of its equation in numpy loops, in nats, one number a row."""
    model = drawn(model)
    x = torch.randint(2, (20, model.n), generator=rng())
    order = model.order.tolist()
    want = fvsbn_by_loops(x.numpy(), model.weight.detach().numpy(), model.bias.detach().numpy(), order)
    np.testing.assert_allclose(model.log_prob(x).detach().numpy(), want, rtol=1e-9)


def is_the_joint(make):
    """A table made from a joint distribution is that distribution."""
    p = torch.rand([2] * 3, generator=rng(), dtype=torch.float64)
    p = p / p.sum()
    q = make(p, [2, 0, 1]).log_prob(all_states(3)).exp().reshape(2, 2, 2)
    torch.testing.assert_close(q, p)


def adds_to_both_counts(model):
    """Add-one smoothing: 2 ones of 3 become 3 of 5."""
    p = model.double().fit_counts(torch.tensor([[1], [1], [0]]), alpha=1.0).factors[0].logits.sigmoid()
    torch.testing.assert_close(p.detach(), torch.tensor([3 / 5], dtype=torch.float64))


def does_not_beat_the_entropy(fit):
    """Cross-entropy of what was fitted to a known source, under that source: at least its entropy."""
    p = torch.rand(8, generator=rng(4), dtype=torch.float64) ** 4
    p = p / p.sum()
    log_q = fit(p)(all_states(3)).detach()
    assert -(p * log_q).sum() >= -(p * p.log()).sum() - 1e-9


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
            plain = AutoregressiveModel.draw_all(model, u, g, k, None)
            assert torch.equal(model.sample(100, g, k, generator=rng(1)), plain)


def is_the_slide(model):
    """log_prob of a NADE is that of its formula, each hidden layer from nothing."""
    model = drawn(model)
    x = all_states(model.n)
    want = model.from_scratch(x).log_prob(x.double()).sum(1)
    torch.testing.assert_close(model.log_prob(x), want)


def has_the_slides_gradient(model):
    """Sums of very different size among them: what is rounded away in the forward pass is not there in the backward."""
    model = drawn(model)
    x = torch.ones(2, model.n).double()
    with torch.no_grad():
        model.W[::3] += 1e16
        model.W[1::3] -= 1e16
    ours, want = (torch.autograd.grad(form(x).log_prob(x).sum(), list(model.parameters()))
                  for form in (model.conditionals, model.one_by_one))
    for a, b in zip(ours, want):
        torch.testing.assert_close(a, b)


def every_unit_matters(model):
    """Each hidden unit is connected to something below and to something above."""
    for below, above in zip(model.layers, model.layers[1:]):
        assert (below.mask != 0).any(dim=1).all() and (above.mask != 0).any(dim=0).all()


def masks_travel(make):
    """The state dict carries the masks: another model takes them over."""
    model, other = drawn(make(3)), make(0).double()
    other.load_state_dict(model.state_dict())
    x = all_states(5)
    torch.testing.assert_close(other.log_prob(x), model.log_prob(x))


def shares_the_weights(mixture):
    assert sum(p.numel() for p in mixture.parameters()) == sum(p.numel() for p in mixture.models[0].parameters())


def trains_every_mask(mixture):
    """Forty batches: each loss is one component's, and each component's turn comes."""
    x = all_states(4)
    each = {round(-m.log_prob(x).mean().item(), 6) for m in mixture.models}
    torch.manual_seed(0)
    assert {round(mixture.loss(x).item(), 6) for _ in range(40)} == each and len(each) == len(mixture.models)


def draws_what_the_plain_loop_draws(model):
    """The fast sampler against predict, draw and update on the same uniforms, with holes too."""
    model = drawn(model)
    given = torch.randint(2, (200, model.n), generator=rng(1)).double()
    known = torch.rand(200, model.n, generator=rng(2)) < 0.4
    u = uniforms(200, model.n, 1, rng(3), "cpu")
    with torch.no_grad():
        for g, k in ((None, None), (given, known)):
            plain = AutoregressiveModel.draw_all(model, u, g, k, None)
            assert torch.equal(model.draw_all(u, g, k, None), plain)


def follows_its_weights(model):
    """Sampling after training uses the weights that were trained."""
    model = drawn(model)
    model.sample(2, generator=rng())
    with torch.no_grad():
        for p in model.parameters():
            p.zero_()
        (model.layers[-1].bias if hasattr(model, "layers") else model.b).fill_(60.0)
    assert model.sample(50, generator=rng()).min() == 1


def means_lie_over_the_data(model):
    x = torch.linspace(200, 300, 101, dtype=torch.float64)[:, None].expand(-1, model.n)
    loc = model.double().initialize(x).conditionals(x[:1]).component_distribution.loc
    assert loc.min() < 230 and loc.max() > 270 and ((loc > 200) & (loc < 300)).all()
