"""Layers against torch.nn's: value and gradient, several, packed; torch's kernels against steps; bad input."""
from __future__ import annotations

import pytest
import torch
from torch import nn

from course_lib.recurrent import CELLS, Recurrent
from course_lib.recurrent.layers import run, run_steps
from tests.recurrent import checks as check
from tests.support.random import normal, redrawn
from tests.support.tensors import gradients, same
from tests.support.types import untyped


@pytest.mark.parametrize("lengths", [None, check.LENGTHS], ids=["whole", "packed"])
@pytest.mark.parametrize("layers, bidirectional", [(1, False), (3, False), (2, True)])
@pytest.mark.parametrize("cell", CELLS)
def test_layers_equal_torch(cell, layers, bidirectional, lengths):
    check.is_torchs(cell, Recurrent, lengths, layers, bidirectional)


@pytest.mark.parametrize("cell", CELLS)
def test_run_kernel_equals_run_steps(cell):
    cell = redrawn(CELLS[cell](3, 4))
    x, state = normal(2, 6, 3, grad=True), tuple(normal(2, 4, seed=1 + k, grad=True) for k in range(cell.parts))
    results = []
    for form in (run, run_steps):
        outputs, last = form(cell, x, state)
        together = torch.cat([outputs.flatten(), *(part.flatten() for part in last)])
        results.append([together, *gradients(together, [x, *state, *cell.parameters()])])
    for a, b in zip(*results):
        same(a, b, 1e-12)


def test_from_torch_without_bias():
    theirs = nn.GRU(3, 4, bias=False, batch_first=True)
    x = torch.randn(2, 5, 3)
    same(Recurrent.from_torch(theirs)(x)[0], theirs(x)[0], 1e-6)


@pytest.mark.parametrize("call, error, message", [
    (lambda: Recurrent("elman", 3, 4), ValueError, "cell is 'elman'; expected one of 'rnn', 'lstm', 'gru'"),
    (lambda: Recurrent("rnn", 3, 4, layers=0), ValueError, "layers is 0; expected at least 1"),
    (lambda: Recurrent("rnn", 3, 4, dropout=1.0), ValueError, "dropout is 1.0; expected a probability"),
    (lambda: Recurrent("gru", 3, 4, forget_bias=1.0), ValueError, "cell is 'gru'; expected forget_bias None, because only an LSTM has a forget gate"),
    (lambda: Recurrent("rnn", 3, 4)(torch.zeros(2, 5)), ValueError, r"x has shape \(2, 5\); expected \(B, T, 3\)"),
    (lambda: Recurrent("rnn", 3, 4)(torch.zeros(2, 5, 3), ()), ValueError,
     "memory is 0 states; expected a tuple of 1 states"),
    (lambda: Recurrent("rnn", 3, 4)(torch.zeros(2, 5, 3), Recurrent("rnn", 3, 4).start(3)), ValueError,
     r"state 0 of memory has the shapes \[\(3, 4\)\]; expected \[\(2, 4\)\]"),
    (lambda: Recurrent("rnn", 3, 4)(torch.zeros(2, 5, 3), lengths=torch.tensor([5])), ValueError,
     r"lengths has shape \(1,\) and dtype torch.int64; expected \(2,\)"),
    (lambda: Recurrent("rnn", 3, 4)(torch.zeros(2, 5, 3), lengths=torch.tensor([0, 6])), ValueError,
     "lengths goes from 0 to 6; expected 1 to 5"),
    (lambda: Recurrent.from_torch(nn.RNN(3, 4, nonlinearity="relu")), ValueError, "expected a module with nonlinearity 'tanh' and proj_size 0"),
])
def test_bad_input(call, error, message):
    with untyped(), pytest.raises(error, match=message):
        call()
