"""What the checks of the contract ask of a model: its states, and a copy that may be changed."""
from __future__ import annotations

import copy

import pytest
import torch

from course_lib.conditional import Categorical
from course_lib.contract import probes
from course_lib.density import FVSBN
from tests.contract.models import Linear
from tests.support.random import drawn, rng


def test_enumerate_states_order():
    states, log_p = probes.enumerate_states(drawn(Linear(2, Categorical(3))), 2, None)
    assert states.tolist() == [[a, b] for a in range(3) for b in range(3)]
    assert log_p.exp().sum().item() == pytest.approx(1)


def test_copy_of_float64_eval():
    model = FVSBN(3).train()
    net = probes.copy_of(model, rng())
    assert net.bias.dtype == torch.float64 and not net.training and model.training
    assert (net.bias != 0).all() and (copy.deepcopy(model).bias == 0).all()
