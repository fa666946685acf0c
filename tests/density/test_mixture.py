"""A mixture: logsumexp of joint log-probabilities, and the weight of each component in the gradient."""
from __future__ import annotations

import math

import pytest
import torch
from scipy.special import logsumexp

from course_lib.density import FVSBN, Mixture
from course_lib.density.tabular import all_states
from tests.support.random import drawn


def three(seed=0):
    return drawn(Mixture([FVSBN(4), FVSBN(4, [2, 0, 3, 1]), FVSBN(4, [3, 2, 1, 0])]), seed)


def test_log_prob_equals_logsumexp():
    mixture, x = three(), all_states(4)
    each = torch.stack([m.log_prob(x) for m in mixture.models]).detach().numpy()
    torch.testing.assert_close(mixture.log_prob(x).detach(), torch.tensor(logsumexp(each, axis=0) - math.log(3)))
    torch.testing.assert_close(mixture.log_prob(x).exp(), torch.stack([m.log_prob(x).exp() for m in mixture.models])
                               .mean(0))
    assert mixture.log_prob(x).exp().sum().item() == pytest.approx(1, abs=1e-12)


def test_gradient_posterior_weights():
    mixture, x = three(), torch.tensor([[0, 1, 1, 0]])
    mixture.log_prob(x).backward()
    with torch.no_grad():
        share = torch.softmax(torch.stack([m.log_prob(x)[0] for m in mixture.models]), 0)
    for weight, m in zip(share, mixture.models):
        other = FVSBN(4, m.order).double()
        other.load_state_dict(m.state_dict())
        other.log_prob(x).backward()
        torch.testing.assert_close(m.bias.grad, weight * other.bias.grad)
