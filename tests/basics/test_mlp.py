"""Activations and networks against torch's; what a hidden layer buys, and linear layers that are one."""
from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F

from course_lib.basics import MLP, Adam, LogisticRegression, mlp
from tests.basics import checks as check
from tests.support.random import rng

XOR = torch.tensor([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
DIFFER = torch.tensor([0, 1, 1, 0])


@pytest.mark.parametrize("right", [check.derivatives_are_autograds, check.network_is_torchs, check.linear_layers_are_one,
                                   check.weights_start_with_the_variance_it_says], ids=lambda f: f.__name__)
def test_it_is_right(right):
    right(mlp)


def fitted(widths, activation, seed):
    model = MLP(widths, activation, generator=rng(seed))
    optimizer = Adam(model.parameters(), lr=0.05)
    for _ in range(300):
        optimizer.zero_grad()
        F.binary_cross_entropy_with_logits(model(XOR)[:, 0], DIFFER.float()).backward()
        optimizer.step()
    return ((model(XOR)[:, 0] > 0).long() == DIFFER).float().mean().item()


def test_a_hidden_layer_fits_the_exclusive_or():
    assert [fitted([2, 8, 1], "tanh", seed) for seed in range(3)] == [1.0] * 3


@pytest.mark.thorough
def test_no_line_and_no_stack_of_linear_layers_does():
    assert max(fitted([2, 8, 8, 1], "identity", seed) for seed in range(3)) <= 0.75
    model = LogisticRegression(2).double().fit(XOR.double(), DIFFER)
    torch.testing.assert_close(model.probabilities(XOR.double()), torch.full((4,), 0.5, dtype=torch.float64))


@pytest.mark.parametrize("wrong, sentence", [
    (lambda: MLP([3]), r"widths is \[3\]; expected at least an input and an output"),
    (lambda: MLP([3, 0, 1]), r"widths is \[3, 0, 1\]; expected"),
    (lambda: MLP([3, 1], "swish"), "activation is 'swish'; expected one of sigmoid, tanh, relu, identity"),
    (lambda: MLP([3, 1])(torch.zeros(2, 4)), "x has 4 columns; this network has 3 inputs"),
    (lambda: MLP([3, 2, 1]).collapsed(), "activation is 'tanh'; only a network with 'identity' is one layer"),
])
def test_bad_input_is_named(wrong, sentence):
    with pytest.raises(ValueError, match=sentence):
        wrong()
