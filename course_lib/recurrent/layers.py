"""Recurrent layers: a cell along a sequence, in one or both directions, in several layers, with rows of unequal length.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int, Integer, Shaped
from torch import Tensor, nn

from course_lib.autoregressive import AutoregressiveModel
from course_lib.recurrent._torch_kernels import has_kernel, run_kernel
from course_lib.recurrent.cells import CELLS, Cell, State
from course_lib.validation import check_sizes, is_validating

Memory = tuple[State, ...]                                           # a state for each layer and direction, first to last


def run(cell: Cell, x: Float[Tensor, "B T I"], state: State,
        lengths: Int[Tensor, "B"] | None = None) -> tuple[Float[Tensor, "B T H"], State]:
    """Run a cell along sequences: the hidden states after every step, and the state after the last step of each row.

    state    state before the first step
    lengths  (B,) number of steps of each row, after which its hidden states are 0; None: all rows have T steps
    """
    if lengths is not None:
        return run_packed(cell, x, state, lengths)
    if has_kernel(cell) and x.shape[1] > 1:
        return run_kernel(cell, x, state)
    return run_steps(cell, x, state)


def run_steps(cell: Cell, x: Float[Tensor, "B T I"], state: State) -> tuple[Float[Tensor, "B T H"], State]:
    """`run` for rows of equal length and any cell, as a loop over `cell.step`."""
    outputs = []
    for a in cell.ahead(x.transpose(0, 1)).unbind():                 # (T, B, G): one product for all steps
        state = cell.step(a, state)
        outputs.append(state[0])
    return torch.stack(outputs, dim=1), state


def run_packed(cell: Cell, x: Float[Tensor, "B T I"], state: State,
               lengths: Int[Tensor, "B"]) -> tuple[Float[Tensor, "B T H"], State]:
    """`run` for rows of unequal length.

    Rows are sorted by length, the longest first, so that step t computes only the rows with more than t steps.
    """
    order = lengths.argsort(descending=True, stable=True)
    B, T = x.shape[:2]
    going_on = (lengths[:, None] > torch.arange(T, device=x.device)).sum(dim=0)            # (T,) rows of each step
    state = tuple(part[order] for part in state)
    outputs, ended = [], []
    for a, rows in zip(cell.ahead(x.transpose(0, 1)[:, order]).unbind(), going_on.tolist()):
        if rows < len(state[0]):                                     # some rows end here
            ended.append(tuple(part[rows:] for part in state))
            state = tuple(part[:rows] for part in state)
        state = cell.step(a[:rows], state)
        outputs.append(F.pad(state[0], (0, 0, 0, B - rows)))         # (B, H)
    back = order.argsort()
    state = tuple(torch.cat(parts)[back] for parts in zip(state, *reversed(ended)))
    return torch.stack(outputs, dim=1)[back], state


def reverse(x: Shaped[Tensor, "B T *rest"], lengths: Int[Tensor, "B"] | None = None) -> Shaped[Tensor, "B T *rest"]:
    """Reverse the first `lengths[b]` steps of each row b; padding stays in place. The function is its own inverse."""
    if lengths is None:
        return x.flip(1)
    t = torch.arange(x.shape[1], device=x.device)                    # (T,)
    place = torch.where(t < lengths[:, None], lengths[:, None] - 1 - t, t)                 # (B, T)
    return x[torch.arange(len(x), device=x.device)[:, None], place]


class Recurrent(nn.Module):
    r"""Stacked recurrent layers: layer l has the outputs $h^{l-1}_1, \dots, h^{l-1}_T$ of the layer below as inputs.

    cell           "rnn", "lstm" or "gru"
    inputs         I, size of an input
    hidden         H, size of each layer and direction
    layers         number of layers
    bidirectional  whether a second cell in each layer runs backward; outputs are then [forward; backward]
    dropout        dropout probability between layers
    learned_start  whether h_0 is a parameter (the slide's $h_0 = b_0$), with an LSTM also c_0; otherwise they are 0
    forget_bias    initial b_f of an LSTM; None: random

    Values and gradients equal those of torch.nn.RNN, LSTM and GRU with the same weights (`from_torch`). A memory is a
    tuple of states, (h,) or (h, c), layer by layer, in each layer the forward before the backward direction.

    >>> lstm = Recurrent("lstm", inputs=5, hidden=8, layers=2, bidirectional=True)
    >>> outputs, memory = lstm(torch.randn(3, 6, 5), lengths=torch.tensor([6, 2, 4]))
    >>> outputs.shape, len(memory)
    (torch.Size([3, 6, 16]), 4)
    """

    def __init__(self, cell: str, inputs: int, hidden: int, layers: int = 1, bidirectional: bool = False,
                 dropout: float | int = 0.0, learned_start: bool = False, forget_bias: float | int | None = None):
        super().__init__()
        if cell not in CELLS:
            raise ValueError(f"cell is {cell!r}; expected one of {', '.join(map(repr, CELLS))}")
        check_sizes(layers=layers)
        if not 0 <= dropout < 1:
            raise ValueError(f"dropout is {dropout}; expected a probability, at least 0 and less than 1")
        if forget_bias is not None and cell != "lstm":
            raise ValueError(f"forget_bias is {forget_bias} and cell is {cell!r}; expected forget_bias None, because only an "
                             "LSTM has a forget gate")
        self.cell, self.inputs, self.hidden, self.layers = cell, inputs, hidden, layers
        self.directions, self.dropout = 1 + bidirectional, dropout
        extra = {} if forget_bias is None else {"forget_bias": forget_bias}
        widths = [inputs] + [self.directions * hidden] * (layers - 1)
        self.cells = nn.ModuleList(CELLS[cell](width, hidden, **extra) for width in widths for _ in range(self.directions))
        shape = len(self.cells), self.cells[0].parts, hidden
        self.first = nn.Parameter(torch.zeros(shape)) if learned_start else None           # b_0

    def forward(self, x: Float[Tensor, "B T I"], memory: Memory | None = None,
                lengths: Int[Tensor, "B"] | None = None) -> tuple[Float[Tensor, "B T O"], Memory]:
        """Outputs of the last layer, O = H, or 2H if bidirectional, and the memory after the last step of each row.

        memory   states before the first step; None: the initial states, `start(B)`
        lengths  (B,) number of steps of each row of x, 1 to T. Later steps are padding: they are ignored, and their
                 outputs are 0

        Raises ValueError if the shape of x, memory or lengths is wrong, or if a length is not in 1..T.
        """
        if x.dim() != 3 or x.shape[2] != self.inputs or 0 in x.shape:
            raise ValueError(f"x has shape {tuple(x.shape)}; expected (B, T, {self.inputs}) with B and T at least 1")
        memory = self.start(len(x)) if memory is None else self.check_memory(memory, len(x))
        if lengths is not None:
            lengths = check_lengths(lengths, x)
        states = []
        for layer in range(self.layers):
            if layer:
                x = F.dropout(x, self.dropout, self.training)
            outputs = []
            for k in range(layer * self.directions, (layer + 1) * self.directions):
                backward = k % self.directions == 1
                read = reverse(x, lengths) if backward else x
                h, state = run(self.cells[k], read, memory[k], lengths)                    # (B, T, H)
                outputs.append(reverse(h, lengths) if backward else h)
                states.append(state)
            x = torch.cat(outputs, dim=2) if self.directions == 2 else outputs[0]
        return x, tuple(states)

    def start(self, batch: int) -> Memory:
        """Initial memory of `batch` rows: a state for each layer and direction."""
        if self.first is None:
            return tuple(cell.zeros(batch) for cell in self.cells)
        return tuple(tuple(part.expand(batch, -1) for part in state.unbind()) for state in self.first.unbind())

    def check_memory(self, memory: Memory, batch: int) -> Memory:
        """Return the memory. Raises ValueError unless it has a state of `batch` rows for each layer and direction."""
        if not isinstance(memory, tuple) or len(memory) != len(self.cells):
            got = f"{len(memory)} states" if isinstance(memory, tuple) else f"a {type(memory).__name__}"
            raise ValueError(f"memory is {got}; expected a tuple of {len(self.cells)} states, one for each layer and "
                             "direction")
        return tuple(cell.check_state(state, batch, f"state {k} of memory")
                     for k, (cell, state) in enumerate(zip(self.cells, memory)))

    def extra_repr(self) -> str:
        return (f"{self.cell!r}, inputs={self.inputs}, hidden={self.hidden}, layers={self.layers}, "
                f"directions={self.directions}")

    @classmethod
    @torch.no_grad()
    def from_torch(cls, module: nn.RNN | nn.LSTM | nn.GRU) -> Recurrent:
        """Layers with the weights of a torch.nn.RNN, LSTM or GRU, in its dtype and on its device.

        The sum of torch's two biases is the bias b, except in the candidate of a GRU, which has both biases. Raises
        ValueError if the nonlinearity is not tanh, or if an LSTM has a projection.
        """
        if getattr(module, "nonlinearity", "tanh") != "tanh" or module.proj_size:
            raise ValueError(f"module is {module}; expected a module with nonlinearity 'tanh' and proj_size 0")
        ours = cls(module.mode.split("_")[0].lower(), module.input_size, module.hidden_size, module.num_layers,
                   module.bidirectional, module.dropout).to(module.weight_hh_l0)
        for k, cell in enumerate(ours.cells):
            end = f"l{k // ours.directions}" + "_reverse" * (k % ours.directions)
            W_x, W_h, b_x, b_h = (reorder_gates(cell, getattr(module, name, torch.zeros(len(cell.b))))
                                  for name in (f"weight_ih_{end}", f"weight_hh_{end}", f"bias_ih_{end}", f"bias_hh_{end}"))
            cell.W_x.copy_(W_x)
            cell.W_h.copy_(W_h)
            cell.b.copy_(b_x + b_h)
            if ours.cell == "gru":
                cell.b[-ours.hidden:] = b_x[-ours.hidden:]
                cell.b_hn.copy_(b_h[-ours.hidden:])
        return ours


def reorder_gates(cell: Cell, rows: Tensor) -> Tensor:
    """Reorder the rows of torch's weight or bias to the gates of `cell`: for an LSTM from i, f, g, o to i, f, o, g.

    The gates are input, forget, candidate and output, in torch's order. Other cells have the order of torch.
    """
    if cell.gates != 4:
        return rows
    i, f, g, o = rows.chunk(4)
    return torch.cat([i, f, o, g])


def check_next(model: AutoregressiveModel, x_i: Tensor, batch: int) -> Integer[Tensor, "B"]:
    """Return the tokens x_i of `model.update`, one for each of `batch` rows. Raises ValueError if they are invalid."""
    if is_validating(model):
        return x_i.long()
    if tuple(x_i.shape) != (batch,):
        raise ValueError(f"x_i has shape {tuple(x_i.shape)}; expected ({batch},), a token for each row of the state")
    return model.conditional.check(x_i, "x_i")


def check_lengths(lengths: Tensor, x: Tensor) -> Int[Tensor, "B"]:
    """Return the lengths on the device of x (B, T, I). Raises ValueError unless they are integers (B,) in 1..T."""
    if tuple(lengths.shape) != (len(x),) or lengths.is_floating_point():
        raise ValueError(f"lengths has shape {tuple(lengths.shape)} and dtype {lengths.dtype}; expected ({len(x)},), an "
                         "integer for each row")
    if lengths.min() < 1 or lengths.max() > x.shape[1]:
        raise ValueError(f"lengths goes from {int(lengths.min())} to {int(lengths.max())}; expected 1 to {x.shape[1]}, "
                         "the number of steps of x")
    return lengths.to(x.device)
