"""Dependences that hide do: from who flips variables of a few states, not from who tries them all."""
from __future__ import annotations

import pytest
import torch

from course_lib.grading.bank.hidden import conditionals_of, gate


def moved(conditionals, states):
    """Who noticed (row) that a variable (column) was flipped in one of these states."""
    columns = []
    for j in range(states.shape[1]):
        flipped = states.clone()
        flipped[:, j] = 1 - flipped[:, j]
        columns.append(((conditionals(flipped) - conditionals(states)).abs() > 1e-6).any(0))
    return torch.stack(columns, 1)


@pytest.mark.parametrize("n, at", [(5, [0, 1, 2, 4]), (7, [0, 1, 2, 3, 4, 6]), (6, list(range(6)))])
def test_a_gate_opens_in_few_states_and_near_no_corner(n, at):
    for seed in range(50):
        generator = torch.Generator().manual_seed(seed)
        model = conditionals_of(torch.zeros(n, n), torch.zeros(n), [gate(generator, 3, at)])
        corners = torch.stack([torch.zeros(n), torch.ones(n)])
        assert not moved(model, corners).any()
        every = torch.cartesian_prod(*[torch.tensor([0.0, 1.0])] * n)
        found = moved(model, every)
        assert found[3].nonzero().flatten().tolist() == at and not found[[i for i in range(n) if i != 3]].any()
        assert (model(every) != 0.5).any(1).sum() == 2 ** (n - len(at))           # of 2^n states


def test_without_a_gate_it_is_a_product():
    W, c, x = torch.randn(4, 4), torch.randn(4), torch.randint(0, 2, (6, 4)).float()
    torch.testing.assert_close(conditionals_of(W, c)(x), torch.sigmoid(x @ W.T + c))
