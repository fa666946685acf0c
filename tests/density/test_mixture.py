"""A mixture: logsumexp of joint log-probabilities, and why averaged logits are no likelihood."""
from __future__ import annotations

import math

import pytest
import torch
from scipy.special import logsumexp

from course_lib.contract import check_all
from course_lib.density import FVSBN, Mixture, Tabular
from course_lib.density.tabular import all_states
from tests.support.random import drawn, rng


def three(seed=0):
    return drawn(Mixture([FVSBN(4), FVSBN(4, [2, 0, 3, 1]), FVSBN(4, [3, 2, 1, 0])]), seed)


def test_log_prob_is_logsumexp_minus_log_k():
    mixture, x = three(), all_states(4)
    each = torch.stack([m.log_prob(x) for m in mixture.models]).detach().numpy()
    torch.testing.assert_close(mixture.log_prob(x).detach(), torch.tensor(logsumexp(each, axis=0) - math.log(3)))
    torch.testing.assert_close(mixture.log_prob(x).exp(), torch.stack([m.log_prob(x).exp() for m in mixture.models])
                               .mean(0))
    assert mixture.log_prob(x).exp().sum().item() == pytest.approx(1, abs=1e-12)


def test_equal_components_change_nothing():
    model = drawn(FVSBN(4))
    torch.testing.assert_close(Mixture([model, model]).log_prob(all_states(4)), model.log_prob(all_states(4)))


def test_the_gradient_weighs_components_by_how_well_they_explain_x():
    mixture, x = three(), torch.tensor([[0, 1, 1, 0]])
    mixture.log_prob(x).backward()
    with torch.no_grad():
        share = torch.softmax(torch.stack([m.log_prob(x)[0] for m in mixture.models]), 0)
    for weight, m in zip(share, mixture.models):
        other = FVSBN(4, m.order).double()
        other.load_state_dict(m.state_dict())
        other.log_prob(x).backward()
        torch.testing.assert_close(m.bias.grad, weight * other.bias.grad)


def test_averaged_logits_beat_the_entropy_and_are_no_likelihood():
    """A known source over 3 bits: the mixture's cross-entropy is above its entropy, that of averaged logits below.

    Each component knows the source exactly, in an order of its own; the averaged factors lean on all variables.
    """
    n = 3
    p = torch.rand([2] * n, generator=rng(4), dtype=torch.float64) ** 4
    p = p / p.sum()
    x, weight = all_states(n), p.flatten()
    entropy = -(weight * weight.log()).sum()
    models = [Tabular.from_joint(p, order=o) for o in ([0, 1, 2], [2, 1, 0], [1, 2, 0])]
    mixture = Mixture(models)
    assert -(weight * mixture.log_prob(x)).sum().item() == pytest.approx(entropy.item(), abs=1e-10)
    logits = torch.stack([m.conditionals(x).logits for m in models]).mean(0)
    averaged = models[0].conditional(logits).log_prob(x.double()).sum(1)
    assert averaged.exp().sum() > 1.05
    assert -(weight * averaged).sum() < entropy - 0.05


def test_rows_come_from_all_components():
    mixture = Mixture([FVSBN(3), FVSBN(3), FVSBN(3)]).double()
    with torch.no_grad():
        for k, m in enumerate(mixture.models):                       # each component has one answer
            m.bias.copy_(60 * (torch.eye(3)[k] - 0.5))
    x = mixture.sample(3000, generator=rng())
    assert (x.sum(1) == 1).all()
    assert ((x.sum(0) - 1000).abs() < 150).all()
    order = x.argmax(1)
    assert ((order[1:] == order[:-1]).double().mean() - 1 / 3).abs() < 0.05   # and not in stretches


def test_given_is_kept_by_whichever_component_draws():
    mixture = three()
    given = torch.randint(2, (500, 4), generator=rng(1))
    known = torch.rand(500, 4, generator=rng(2)) < 0.5
    x = mixture.sample(500, given, known, generator=rng(3))
    assert (x == given)[known].all()
    assert torch.equal(mixture.sample(20, given[:20], known[:20], generator=rng(3)), x[:20])
    free = ~known.any(1)
    assert free.any() and x[free].double().mean() not in (0, 1)


def test_the_loss_is_one_components():
    mixture, x = three(), all_states(4)
    each = [-m.log_prob(x).mean().item() for m in mixture.models]
    seen = {round(mixture.loss(x, generator=rng(s)).item(), 9) for s in range(40)}
    assert seen == {round(v, 9) for v in each}
    assert mixture.loss(x, generator=rng(1)).requires_grad


def test_a_mixture_of_many():
    assert "7 components keep the contract, normalised (sum of p over 8 states = 1.000000)" in \
        str(check_all(Mixture([FVSBN(3, torch.randperm(3, generator=rng(s))) for s in range(7)])))
