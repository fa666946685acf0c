"""What a cell says of itself, and what it refuses. Its equations beside torch's: checks.py."""
from __future__ import annotations

import pytest
import torch

from course_lib.recurrent import GRUCell, LSTMCell, Recurrent, RNNCell
from course_lib.recurrent import cells as module
from tests.support.types import untyped


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
