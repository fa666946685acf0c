"""Cells against torch's and against their equations in loops, one number at a time."""
from __future__ import annotations

import pytest
import torch
from torch import nn

from course_lib.recurrent import CELLS, GRUCell, LSTMCell, Recurrent, RNNCell
from course_lib.recurrent import cells as module
from course_lib.recurrent.layers import reorder_gates
from tests.recurrent import checks as check
from tests.support.random import normal, redrawn
from tests.support.tensors import same
from tests.support.types import untyped


@pytest.mark.parametrize("theirs", [nn.RNNCell(3, 4), nn.LSTMCell(3, 4), nn.GRUCell(3, 4)], ids=lambda m: type(m).__name__)
def test_step_equals_torch(theirs):
    kind = type(theirs).__name__.removesuffix("Cell").lower()
    theirs, ours = redrawn(theirs), CELLS[kind](3, 4).double()
    with torch.no_grad():
        ours.W_x.copy_(reorder_gates(ours, theirs.weight_ih))
        ours.W_h.copy_(reorder_gates(ours, theirs.weight_hh))
        b_x, b_h = reorder_gates(ours, theirs.bias_ih), reorder_gates(ours, theirs.bias_hh)
        ours.b.copy_(b_x + b_h)
        if kind == "gru":
            ours.b[8:] = b_x[8:]
            ours.b_hn.copy_(b_h[8:])
    x, state = normal(2, 3), tuple(normal(2, 4, seed=k) for k in range(1, 1 + ours.parts))
    want = theirs(x, state if ours.parts == 2 else state[0])
    for a, b in zip(ours(x, state), want if ours.parts == 2 else (want,)):
        same(a, b)


def test_forget_bias():
    check.forgets_little_at_first(LSTMCell)


@pytest.mark.parametrize("cell", CELLS)
def test_initialization(cell):
    one = CELLS[cell](3, 64)
    assert all((part == 0).all() and part.shape == (2, 64) for part in one.zeros(2))
    assert all(0.8 * 64 ** -0.5 < p.abs().max() <= 64 ** -0.5 for p in one.parameters())
    for a, b in zip(one(torch.ones(2, 3)), one(torch.ones(2, 3), one.zeros(2))):
        assert torch.equal(a, b)


@pytest.mark.parametrize("call, error, message", [
    (lambda: RNNCell(0, 3), ValueError, "inputs is 0; expected at least 1"),
    (lambda: GRUCell(3, -1), ValueError, "hidden is -1; expected at least 1"),
    (lambda: RNNCell(3, 4)(torch.zeros(2, 5)), ValueError, r"x has shape \(2, 5\); expected \(B, 3\)"),
    (lambda: RNNCell(3, 4)(torch.zeros(2, 3), torch.zeros(2, 4)), TypeError,
     r"state is of type Tensor; expected a tuple of 1 tensors"),
    (lambda: RNNCell(3, 4)(torch.zeros(2, 3), (torch.zeros(3, 4),)), ValueError,
     r"state has the shapes \[\(3, 4\)\]; expected \[\(2, 4\)\]"),
    (lambda: LSTMCell(3, 4)(torch.zeros(2, 3), (torch.zeros(2, 4),)), ValueError,
     r"state has the shapes \[\(2, 4\)\]; expected \[\(2, 4\), \(2, 4\)\]"),
    (lambda: module.Cell(3, 4)(torch.zeros(2, 3)), NotImplementedError, r"Cell does not define step\(a, state\)"),
])
def test_bad_input(call, error, message):
    with untyped(), pytest.raises(error, match=message):
        call()


def test_repr():
    assert "inputs=5, hidden=7, layers=2, directions=2" in repr(Recurrent("gru", 5, 7, 2, bidirectional=True))
