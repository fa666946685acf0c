"""Recurrent cells: RNN, LSTM and GRU.

A state is a tuple of tensors (B, H), h first: (h,) for the RNN and the GRU, (h, c) for the LSTM. `ahead` computes the
part of a step that depends on the input only, $W_x x_t + b$, in one product for the whole sequence.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn

from course_lib.validation import check_sizes

State = tuple[Tensor, ...]                                           # (h,) or (h, c), each (B, H)


class Cell(nn.Module):
    """Base class of recurrent cells: the parameters W_x (G, I), W_h (G, H) and b (G,) of all gates, G = gates * H.

    inputs  I, size of an input
    hidden  H, size of the hidden state

    Weights and biases are initialized uniformly in [-1/sqrt(H), 1/sqrt(H)], as in torch. A subclass defines `step`, and
    sets `gates`, the number of blocks of H rows in W_x, W_h and b, and `parts`, the number of tensors in a state (both
    1 by default).

    >>> class Sum(Cell):
    ...     def step(self, a, state):
    ...         return (state[0] + a,)
    >>> (h,) = Sum(inputs=4, hidden=3)(torch.ones(2, 4))
    >>> h.shape
    torch.Size([2, 3])
    """

    gates = 1                                                        # blocks of H rows in W_x, W_h and b
    parts = 1                                                        # tensors in a state

    def __init__(self, inputs: int, hidden: int):
        super().__init__()
        check_sizes(inputs=inputs, hidden=hidden)
        self.inputs, self.hidden = inputs, hidden
        self.W_x = nn.Parameter(torch.empty(self.gates * hidden, inputs))
        self.W_h = nn.Parameter(torch.empty(self.gates * hidden, hidden))
        self.b = nn.Parameter(torch.empty(self.gates * hidden))
        for p in self.parameters():
            nn.init.uniform_(p, -hidden ** -0.5, hidden ** -0.5)

    def ahead(self, x: Float[Tensor, "... I"]) -> Float[Tensor, "... G"]:
        """Part of a step that depends on the input only, W_x x + b, for any number of steps; G = `gates` * `hidden`."""
        return F.linear(x, self.W_x, self.b)

    def step(self, a: Float[Tensor, "B G"], state: State) -> State:
        """Return the new state, a tuple of `parts` tensors (B, H), from the previous state and a = W_x x + b."""
        raise NotImplementedError(f"{type(self).__name__} does not define step(a, state)")

    def forward(self, x: Float[Tensor, "B I"], state: State | None = None) -> State:
        """State after the input x, given the previous `state`; None: a state of zeros.

        Raises ValueError if x or the state has a wrong shape, and TypeError if the state is not a tuple of tensors.
        """
        if x.dim() != 2 or x.shape[1] != self.inputs:
            raise ValueError(f"x has shape {tuple(x.shape)}; expected (B, {self.inputs})")
        state = self.zeros(len(x)) if state is None else self.check_state(state, len(x))
        return self.step(self.ahead(x), state)

    def zeros(self, batch: int) -> State:
        """Zero initial state, a tuple of tensors (batch, H)."""
        return tuple(self.b.new_zeros(batch, self.hidden) for _ in range(self.parts))

    def check_state(self, state: State, batch: int, name: str = "state") -> State:
        """Return the state. Raises TypeError unless it is a tuple of tensors, ValueError unless all are (batch, H).

        name  name of the argument in error messages
        """
        if not isinstance(state, tuple) or not all(isinstance(part, Tensor) for part in state):
            raise TypeError(f"{name} is of type {type(state).__name__}; expected a tuple of {self.parts} tensors (B, H)")
        got, expected = [tuple(part.shape) for part in state], [(batch, self.hidden)] * self.parts
        if got != expected:
            raise ValueError(f"{name} has the shapes {got}; expected {expected}, (B, H) for each tensor")
        return state

    def extra_repr(self) -> str:
        return f"inputs={self.inputs}, hidden={self.hidden}"


class RNNCell(Cell):
    r"""Elman cell, $h_t = \tanh(W_h h_{t-1} + W_x x_t + b)$.

    Slides: "RNN: Recurrent neural nets", without the bias; "Recurrence in a Standard Elman
    RNN LM", with it. Paper: Elman 1990.

    >>> cell = RNNCell(4, 3)
    >>> (h,) = cell(torch.ones(2, 4))
    >>> h.shape
    torch.Size([2, 3])
    """

    def step(self, a: Float[Tensor, "B G"], state: State) -> State:
        h, = state
        return torch.tanh(torch.addmm(a, h, self.W_h.T)),            # (B, H)


class LSTMCell(Cell):
    r"""LSTM cell with input, forget and output gates,

    $$\begin{pmatrix} i_t \\ f_t \\ o_t \end{pmatrix}
        = \sigma \begin{pmatrix} W_i\,[x_t; h_{t-1}] + b_i \\ W_f\,[x_t; h_{t-1}] + b_f \\
                                 W_o\,[x_t; h_{t-1}] + b_o \end{pmatrix}, \qquad
      g_t = \tanh(W_g\,[x_t; h_{t-1}] + b_g),$$
    $$c_t = f_t \odot c_{t-1} + i_t \odot g_t, \qquad h_t = o_t \odot \tanh c_t.$$

    W_x, W_h and b contain the rows of i, f, o and g in this order, so that one sigmoid computes the three gates. The
    order in torch is i, f, g, o.

    forget_bias  initial b_f; None: random, like the other biases. With 1 an untrained cell mostly keeps its state

    Slides: "RNN/GRU/LSTM Architectures". Papers: Hochreiter and Schmidhuber 1997; Gers et al. 2000 for the forget gate;
    Jozefowicz et al. 2015 for its bias.

    >>> h, c = LSTMCell(inputs=4, hidden=3, forget_bias=1)(torch.ones(2, 4))
    >>> h.shape, c.shape
    (torch.Size([2, 3]), torch.Size([2, 3]))
    """

    gates, parts = 4, 2

    def __init__(self, inputs: int, hidden: int, forget_bias: float | int | None = None):
        super().__init__(inputs, hidden)
        self.forget_bias = forget_bias
        if forget_bias is not None:
            with torch.no_grad():
                self.b[hidden:2 * hidden] = forget_bias

    def step(self, a: Float[Tensor, "B G"], state: State) -> State:
        h, c = state
        H = self.hidden
        a = torch.addmm(a, h, self.W_h.T)  # (B, 4H): one product for all gates
        gates, candidate = a.split([3 * H, H], dim=1)
        i, f, o = torch.sigmoid(gates).chunk(3, dim=1)               # (B, H) each
        g = torch.tanh(candidate)
        c = f * c + i * g
        return o * torch.tanh(c), c


class GRUCell(Cell):
    r"""GRU cell with reset and update gates,

    $$r_t = \sigma(W_r\,[x_t; h_{t-1}] + b_r), \qquad z_t = \sigma(W_z\,[x_t; h_{t-1}] + b_z),$$
    $$n_t = \tanh\bigl(W_{xn} x_t + b_n + r_t \odot (W_{hn} h_{t-1} + b_{hn})\bigr), \qquad
      h_t = (1 - z_t) \odot n_t + z_t \odot h_{t-1}.$$

    $n_t$ is the candidate. In this form, which is torch's, the reset gate multiplies the product with W_hn. In the
    paper it multiplies the state, $W_{hn} (r_t \odot h_{t-1})$, which is another function. Some texts also exchange z
    and 1 - z. W_x, W_h and b contain the rows of r, z and n in this order, as in torch.

    Slides: "RNN/GRU/LSTM Architectures". Paper: Cho et al. 2014.

    >>> (h,) = GRUCell(inputs=4, hidden=3)(torch.ones(2, 4))
    >>> h.shape
    torch.Size([2, 3])
    """

    gates = 3

    def __init__(self, inputs: int, hidden: int):
        super().__init__(inputs, hidden)
        self.b_hn = nn.Parameter(torch.empty(hidden).uniform_(-hidden ** -0.5, hidden ** -0.5))

    def step(self, a: Float[Tensor, "B G"], state: State) -> State:
        h, = state
        H = self.hidden
        recurrent = h @ self.W_h.T                                        # (B, 3H): one product for all gates
        (gates, new), (recurrent, old) = (part.split([2 * H, H], dim=1) for part in (a, recurrent))
        r, z = torch.sigmoid(gates + recurrent).chunk(2, dim=1)           # (B, H) each
        n = torch.tanh(new + r * (old + self.b_hn))
        return torch.lerp(n, h, z),                                  # (1 - z) n + z h


CELLS: dict[str, type[Cell]] = {"rnn": RNNCell, "lstm": LSTMCell, "gru": GRUCell}
