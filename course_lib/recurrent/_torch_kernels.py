"""Recurrent cells along a sequence by torch's own kernels (cuDNN on a GPU), equal to the step-by-step loop."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn

from course_lib.recurrent.cells import Cell, GRUCell, LSTMCell, RNNCell, State


def has_kernel(cell: nn.Module) -> bool:
    """Whether torch has a kernel for this cell: False for a subclass, which may compute something else."""
    return type(cell) in (RNNCell, LSTMCell, GRUCell)


def run_kernel(cell: Cell, x: Float[Tensor, "B T I"], state: State) -> tuple[Float[Tensor, "B T H"], State]:
    """Run torch's kernel with the weights of `cell` over the inputs x, starting from `state`.

    Returns the hidden states after every step, and the state after the last step. torch adds one bias to W_x x and
    another bias to W_h h. A cell has only the first bias, so the second is set to 0, except in the candidate of a GRU,
    where it is the parameter `b_hn`.
    """
    W_x, W_h, b = cell.W_x, cell.W_h, cell.b
    b_h = torch.zeros_like(b)
    if type(cell) is GRUCell:
        b_h = torch.cat([b_h[cell.hidden:], cell.b_hn])
    if type(cell) is LSTMCell:                                       # i, f, o, g here; i, f, g, o in torch
        W_x, W_h, b = (torch.cat([rows[:-2 * cell.hidden], *rows[-2 * cell.hidden:].chunk(2)[::-1]]) for rows in (W_x, W_h, b))
    parts = [part[None].contiguous() for part in state]              # (1, B, H): one layer, one direction
    options = ([W_x, W_h, b, b_h], True, 1, 0.0, cell.training, False, True)
    if type(cell) is LSTMCell:
        outputs, *last = torch.lstm(x, tuple(parts), *options)
    else:
        outputs, *last = (torch.gru if type(cell) is GRUCell else torch.rnn_tanh)(x, parts[0], *options)
    return outputs, tuple(part[0] for part in last)


def run_one_step(cell: Cell, x: Float[Tensor, "B I"], state: State) -> State:
    """State after `state` and the input x: `cell.step(cell.ahead(x), state)`, or torch's faster kernel for a GRU."""
    if type(cell) is GRUCell:
        b_h = F.pad(cell.b_hn, (2 * cell.hidden, 0))                 # (3H,)
        return torch.gru_cell(x, state[0], cell.W_x, cell.W_h, cell.b, b_h),
    return cell.step(cell.ahead(x), state)
