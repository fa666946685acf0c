"""A cell run along a sequence: in one direction or both, layer upon layer, rows of unequal length packed."""

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
    """h after every step, and the state after the last one.

    lengths  (B,) steps that each row has; its state is then that after its own last step, and h is 0 where it has none
    """
    if lengths is not None:
        return run_packed(cell, x, state, lengths)
    if has_kernel(cell) and x.shape[1] > 1:
        return run_kernel(cell, x, state)
    return run_steps(cell, x, state)


def run_steps(cell: Cell, x: Float[Tensor, "B T I"], state: State) -> tuple[Float[Tensor, "B T H"], State]:
    """`run` for rows of equal length, one `cell.step` after another."""
    outputs = []
    for a in cell.ahead(x.transpose(0, 1)).unbind():                 # (T, B, G): one product for all steps
        state = cell.step(a, state)
        outputs.append(state[0])
    return torch.stack(outputs, dim=1), state


def run_packed(cell: Cell, x: Float[Tensor, "B T I"], state: State,
               lengths: Int[Tensor, "B"]) -> tuple[Float[Tensor, "B T H"], State]:
    """`run` with rows of unequal length. Longest first, the rows that go on are always the first ones: step t computes
    those alone, and what is padding is never read."""
    order = lengths.argsort(descending=True, stable=True)
    B, T = x.shape[:2]
    going_on = (lengths[:, None] > torch.arange(T, device=x.device)).sum(dim=0)            # (T,) rows of each step
    state = tuple(part[order] for part in state)
    outputs, ended = [], []
    for a, rows in zip(cell.ahead(x.transpose(0, 1)[:, order]).unbind(), going_on.tolist()):
        if rows < len(state[0]):                                     # the last of them end here
            ended.append(tuple(part[rows:] for part in state))
            state = tuple(part[:rows] for part in state)
        state = cell.step(a[:rows], state)
        outputs.append(F.pad(state[0], (0, 0, 0, B - rows)))         # (B, H)
    back = order.argsort()
    state = tuple(torch.cat(parts)[back] for parts in zip(state, *reversed(ended)))
    return torch.stack(outputs, dim=1)[back], state


def reverse(x: Shaped[Tensor, "B T *rest"], lengths: Int[Tensor, "B"] | None = None) -> Shaped[Tensor, "B T *rest"]:
    """Each row read from its own end to its beginning; what is padding stays where it is. Its own inverse."""
    if lengths is None:
        return x.flip(1)
    t = torch.arange(x.shape[1], device=x.device)                    # (T,)
    place = torch.where(t < lengths[:, None], lengths[:, None] - 1 - t, t)                 # (B, T)
    return x[torch.arange(len(x), device=x.device)[:, None], place]


class Recurrent(nn.Module):
    r"""Layers of cells: layer l reads $h^{l-1}_1, \dots, h^{l-1}_T$, the outputs of the layer below.

    cell           "rnn", "lstm" or "gru"
    inputs         I, numbers read at a step
    hidden         H, of each layer and direction
    bidirectional  a second cell in each layer reads from the end to the beginning; outputs are [forward; backward]
    dropout        probability of dropping, for what goes from a layer to the next
    learned_start  h_0 is a parameter (the slide's $h_0 = b_0$), for an LSTM c_0 too; zeros otherwise
    forget_bias    b_f of an LSTM at the start; None: at random

    The same numbers as torch.nn.RNN, LSTM and GRU on the same weights (`from_torch`), in value and in gradient. A
    memory is a tuple of states, layer by layer, forward before backward.

    >>> lstm = Recurrent("lstm", 5, 8, layers=2, bidirectional=True)
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
            raise ValueError(f"dropout is {dropout}; expected a probability of dropping, from 0 to below 1")
        if forget_bias is not None and cell != "lstm":
            raise ValueError(f"forget_bias is {forget_bias}; only an LSTM has a forget gate, and cell is {cell!r}")
        self.cell, self.inputs, self.hidden, self.layers = cell, inputs, hidden, layers
        self.directions, self.dropout = 1 + bidirectional, dropout
        extra = {} if forget_bias is None else {"forget_bias": forget_bias}
        widths = [inputs] + [self.directions * hidden] * (layers - 1)
        self.cells = nn.ModuleList(CELLS[cell](width, hidden, **extra) for width in widths for _ in range(self.directions))
        shape = len(self.cells), self.cells[0].parts, hidden
        self.first = nn.Parameter(torch.zeros(shape)) if learned_start else None           # b_0

    def forward(self, x: Float[Tensor, "B T I"], memory: Memory | None = None,
                lengths: Int[Tensor, "B"] | None = None) -> tuple[Float[Tensor, "B T O"], Memory]:
        """The last layer's h at every step, (B, T, H), or (B, T, 2H) in both directions, and the memory after the end.

        memory   of what was read before x; `start` if None
        lengths  (B,) steps that each row of x has, from 1 to T; the rest is padding: not read, and 0 in the outputs

        Raises ValueError for an x, a memory or lengths that do not fit.
        """
        if x.dim() != 3 or x.shape[2] != self.inputs or 0 in x.shape:
            raise ValueError(f"x has shape {tuple(x.shape)}; expected (B, T, {self.inputs}), neither B nor T 0")
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
        """The memory before anything is read."""
        if self.first is None:
            return tuple(cell.zeros(batch) for cell in self.cells)
        return tuple(tuple(part.expand(batch, -1) for part in state.unbind()) for state in self.first.unbind())

    def check_memory(self, memory: Memory, batch: int) -> Memory:
        """The memory, or an error that says what does not fit."""
        if not isinstance(memory, tuple) or len(memory) != len(self.cells):
            got = f"{len(memory)} states" if isinstance(memory, tuple) else f"a {type(memory).__name__}"
            raise ValueError(f"memory is {got}; expected a tuple of {len(self.cells)} states, one a layer and direction")
        return tuple(cell.check_state(state, batch, f"state {k} of memory")
                     for k, (cell, state) in enumerate(zip(self.cells, memory)))

    def extra_repr(self) -> str:
        return (f"{self.cell!r}, inputs={self.inputs}, hidden={self.hidden}, layers={self.layers}, "
                f"directions={self.directions}")

    @classmethod
    @torch.no_grad()
    def from_torch(cls, module: nn.RNN | nn.LSTM | nn.GRU) -> Recurrent:
        """The layers with the weights of a torch.nn.RNN, LSTM or GRU, in its dtype.

        torch has two biases where the equations have one: their sum is taken, but for the candidate of a GRU, where
        they are two. Raises ValueError for a nonlinearity other than tanh and for an LSTM with a projection.
        """
        if getattr(module, "nonlinearity", "tanh") != "tanh" or module.proj_size:
            raise ValueError(f"module is {module}; expected tanh, and no projection")
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
    """Rows of torch's weights in the order of the cell's gates: those of an LSTM are i, f, g, o there, i, f, o, g here."""
    if cell.gates != 4:
        return rows
    i, f, g, o = rows.chunk(4)
    return torch.cat([i, f, o, g])


def check_next(model: AutoregressiveModel, x_i: Tensor, batch: int) -> Integer[Tensor, "B"]:
    """The tokens that `update` is told, one for each row of the state, or a ValueError. What `sample` drew is trusted."""
    if is_validating(model):
        return x_i.long()
    if tuple(x_i.shape) != (batch,):
        raise ValueError(f"x_i has shape {tuple(x_i.shape)}; expected ({batch},), a token for each row of the state")
    return model.conditional.check(x_i, "x_i")


def check_lengths(lengths: Tensor, x: Tensor) -> Int[Tensor, "B"]:
    """The lengths on the device of x, or a ValueError."""
    if tuple(lengths.shape) != (len(x),) or lengths.is_floating_point():
        raise ValueError(f"lengths has shape {tuple(lengths.shape)} and dtype {lengths.dtype}; expected ({len(x)},), a "
                         "whole number for each row")
    if lengths.min() < 1 or lengths.max() > x.shape[1]:
        raise ValueError(f"lengths goes from {int(lengths.min())} to {int(lengths.max())}; expected 1 to {x.shape[1]}")
    return lengths.to(x.device)
