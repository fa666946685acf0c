"""Cells against torch's and against their equations in loops, one number at a time."""
from __future__ import annotations

import numpy as np
import pytest
import torch
from scipy.special import expit
from torch import nn

from course_lib.recurrent import CELLS, GRUCell, LSTMCell, Recurrent, RNNCell
from course_lib.recurrent import cells as module
from course_lib.recurrent.layers import reorder_gates
from tests.recurrent import checks as check
from tests.support.random import normal, redrawn
from tests.support.tensors import same
from tests.support.types import untyped


def numbers(cell):
    return [p.detach().numpy() for p in cell.parameters()]


def test_the_rnn_is_its_equation():
    cell, x, h = redrawn(RNNCell(3, 4)), normal(2, 3), normal(2, 4, seed=1)
    (W_x, W_h, b), x, h = numbers(cell), x.numpy(), h.numpy()
    want = [[np.tanh(sum(W_x[k, j] * x[r, j] for j in range(3)) + sum(W_h[k, j] * h[r, j] for j in range(4)) + b[k])
             for k in range(4)] for r in range(2)]
    np.testing.assert_allclose(cell(torch.tensor(x), (torch.tensor(h),))[0].detach(), want, rtol=1e-12)


def test_the_lstm_is_its_equations():
    cell, x, h, c = redrawn(LSTMCell(3, 4)), normal(1, 3), normal(1, 4, seed=1), normal(1, 4, seed=2)
    W_x, W_h, b = numbers(cell)
    a = W_x @ x[0].numpy() + W_h @ h[0].numpy() + b
    for k in range(4):
        i, f, o, g = expit(a[k]), expit(a[4 + k]), expit(a[8 + k]), np.tanh(a[12 + k])
        new = f * c[0, k].item() + i * g
        got_h, got_c = cell(x, (h, c))
        np.testing.assert_allclose([got_h[0, k].item(), got_c[0, k].item()], [o * np.tanh(new), new], rtol=1e-12)


def test_the_gru_is_its_equations():
    cell, x, h = redrawn(GRUCell(3, 4)), normal(1, 3), normal(1, 4, seed=1)
    W_x, W_h, b, b_hn = numbers(cell)
    a, kept = W_x @ x[0].numpy() + b, W_h @ h[0].numpy()
    for k in range(4):
        r, z = expit(a[k] + kept[k]), expit(a[4 + k] + kept[4 + k])
        n = np.tanh(a[8 + k] + r * (kept[8 + k] + b_hn[k]))
        np.testing.assert_allclose(cell(x, (h,))[0][0, k].item(), (1 - z) * n + z * h[0, k].item(), rtol=1e-12)


@pytest.mark.parametrize("theirs", [nn.RNNCell(3, 4), nn.LSTMCell(3, 4), nn.GRUCell(3, 4)], ids=lambda m: type(m).__name__)
def test_a_step_is_torchs_cell(theirs):
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


def test_the_papers_gru_is_another_function():
    """Reset before the product, not after: the docstring says that the two differ."""
    cell, x, h = redrawn(GRUCell(3, 4)), normal(1, 3), normal(1, 4, seed=1)
    a = cell.ahead(x)
    r, z = torch.sigmoid(a[:, :8] + h @ cell.W_h[:8].T).chunk(2, dim=1)
    n = torch.tanh(a[:, 8:] + (r * h) @ cell.W_h[8:].T + r * cell.b_hn)
    assert ((1 - z) * n + z * h - cell(x, (h,))[0]).abs().max() > 1e-3


def test_the_forget_bias():
    check.forgets_little_at_first(LSTMCell)


@pytest.mark.parametrize("cell", CELLS)
def test_a_cell_begins_with_zeros_and_small_weights(cell):
    one = CELLS[cell](3, 16)
    assert all((part == 0).all() and part.shape == (2, 16) for part in one.zeros(2))
    assert all((p.abs() <= 0.25).all() and p.std() > 0.1 for p in one.parameters())
    for a, b in zip(one(torch.ones(2, 3)), one(torch.ones(2, 3), one.zeros(2))):
        assert torch.equal(a, b)


@pytest.mark.parametrize("call, error, message", [
    (lambda: RNNCell(0, 3), ValueError, "inputs is 0; expected at least 1"),
    (lambda: GRUCell(3, -1), ValueError, "hidden is -1; expected at least 1"),
    (lambda: RNNCell(3, 4)(torch.zeros(2, 5)), ValueError, r"x has shape \(2, 5\); this cell reads \(B, 3\)"),
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


def test_print_says_the_size():
    assert "inputs=5, hidden=7, layers=2, directions=2" in repr(Recurrent("gru", 5, 7, 2, bidirectional=True))


def test_a_contraction_forgets_at_its_rate_at_least():
    """Two states, one text: their distance is at most lambda^t of that at the start, lambda the norm of W_h."""
    cell = redrawn(RNNCell(3, 8))
    with torch.no_grad():
        cell.W_h.copy_(0.9 * torch.linalg.qr(cell.W_h)[0])
    (h,), (other,) = start = (normal(2, 8),), (normal(2, 8, seed=1),)
    first = (start[0][0] - start[1][0]).norm(dim=1)
    for t in range(1, 40):
        x = 0.1 * normal(2, 3, seed=t)
        (h,), (other,) = cell(x, (h,)), cell(x, (other,))
        assert ((h - other).norm(dim=1) <= 0.9 ** t * first + 1e-15).all()
    assert ((h - other).norm(dim=1) > 0).all()
