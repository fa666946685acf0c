"""The neural autoregressive distribution estimator: a hidden layer for every variable, one set of weights for all."""

from __future__ import annotations

from typing import Iterable, NamedTuple

import torch
from jaxtyping import Float, Shaped
from torch import Tensor, nn
from torch.distributions import Distribution

from course_lib.autoregressive import AutoregressiveModel
from course_lib.conditional import Conditional
from course_lib.density._fast_sampling import make_sampler
from course_lib.density._running_sum import running_sum
from course_lib.validation import checked


class State(NamedTuple):
    """What is known after k variables: the running sum."""

    k: int                                                           # variables known so far
    a: Tensor                                                        # (B, H): c plus what the known ones add


class NADE(AutoregressiveModel):
    r"""$h_i = \sigma(W_{\cdot, <i}\, x_{<i} + c)$ and $p(x_i \mid x_{<i})$ from the raw numbers $V_i h_i + b_i$.

    n            number of variables
    hidden       H, width of each of the n hidden layers
    conditional  family of the factors. `Bernoulli()`, the default, is NADE: $\sigma(V_i h_i + b_i)$. `Categorical(256)`
                 is the softmax NADE, `MixtureOfGaussians(k)` RNADE
    order        order[k] is the variable drawn k-th; j < i reads "j is drawn before i"

    The layers share W and c, so that the pre-activations $a_i = c + \sum_{j<i} W_{\cdot, j}\, x_j$ are one running sum,
    $a_{i+1} = a_i + W_{\cdot, i}\, x_i$: O(n H) operations for a likelihood and for a sample, O(n H) parameters.
    `from_scratch` is the slide's formula as it stands, `one_by_one` the running sum, `conditionals` the running sum
    without keeping its n layers for the backward pass. The three agree in value and in gradient.

    Slides: "NADE", "General discrete distributions", "RNADE". Papers: Larochelle and Murray 2011; Uria, Murray and
    Larochelle 2013.

    >>> from course_lib.conditional import Categorical, MixtureOfGaussians
    >>> print(NADE(784, 500))
    NADE(n=784, hidden=500, conditional=Bernoulli())
    >>> NADE(64, 50, Categorical(17)).sample(2).shape  # the softmax NADE
    torch.Size([2, 64])
    >>> # RNADE, in the units of x
    >>> NADE(11, 50, MixtureOfGaussians(10)).log_prob(torch.zeros(3, 11)).shape
    torch.Size([3])
    """

    def __init__(self, n: int, hidden: int, conditional: Conditional | None = None,
                 order: Iterable[int] | Tensor | None = None):
        super().__init__(n, conditional, order)
        if hidden < 1:
            raise ValueError(f"hidden is {hidden}; expected at least one hidden unit")
        self.hidden = hidden
        E, P = self.conditional.num_inputs, self.conditional.num_parameters
        # W[i]: the slide's column w_i if E = 1
        self.W = nn.Parameter(torch.randn(n, E, hidden) * n ** -0.5)
        self.c = nn.Parameter(torch.zeros(hidden))
        # V[i]: the slide's alpha_i; A_i with a softmax
        self.V = nn.Parameter(torch.randn(n, P, hidden) * hidden ** -0.5)
        self.b = nn.Parameter(torch.zeros(n * P))  # of variable i: b[i P : (i + 1) P]

    @property
    def config(self) -> dict:
        """The constructor's arguments."""
        return {"n": self.n, "hidden": self.hidden, "conditional": self.conditional, "order": self.order.tolist()}

    # the equation: the slide's, and as the running sum of the paper
    @checked
    def from_scratch(self, x: Shaped[Tensor, "B n"]) -> Distribution:
        r"""The slide: $h_i = \sigma(W_{\cdot, <i}\, x_{<i} + c)$, each from nothing.
        O(n^2 H)."""
        raw = [None] * self.n
        for k, i in enumerate(self.order.tolist()):
            earlier = self.order[:k]
            adds = self.conditional.linear(x[:, earlier], self.W[earlier])     # (k, B, H)
            h = torch.sigmoid(self.c + adds.sum(dim=0))              # (B, H)
            raw[i] = h @ self.V[i].T + self.b.view(self.n, -1)[i]    # (B, P)
        return self._family(torch.stack(raw, dim=1))

    @checked
    def one_by_one(self, x: Shaped[Tensor, "B n"]) -> Distribution:
        r"""The paper: $a_{i+1} = a_i + W_{\cdot, i}\, x_i$, one variable after another.
        O(n H)."""
        raw = [None] * self.n
        W, V, b = self.W.split(1), self.V.unbind(), self.b.view(self.n, -1).unbind()
        a = self.c.expand(len(x), -1)                                # (B, H)
        for i in self.order.tolist():
            raw[i] = torch.sigmoid(a) @ V[i].T + b[i]                # (B, P)
            a = a + self.conditional.linear(x[:, i:i + 1], W[i])[0]
        return self._family(torch.stack(raw, dim=1))

    # every factor at once: training and scoring
    def conditionals(self, x: Shaped[Tensor, "B n"], context: Tensor | None = None) -> Distribution:
        """`one_by_one` in value and in gradient; the hidden layers are not kept for the backward pass."""
        b = self.b.view(self.n, -1)                                  # (n, P)
        return self._family(running_sum(self.conditional, x, self.W, self.c, self.V, b, self.order))

    # one variable at a time: sampling
    def start(self, batch: int, context: Tensor | None = None) -> State:
        return State(0, self.c.expand(batch, -1))

    def predict(self, state: State) -> Distribution:
        i = self.variable_at(state.k)
        b = self.b.view(self.n, -1)[i]                               # (P,)
        raw = torch.addmm(b, torch.sigmoid(state.a), self.V[i].T)    # (B, P)
        return self.conditional(raw.view(-1, *self.conditional.parameter_shape))

    def update(self, state: State, x_i: Shaped[Tensor, "B"]) -> State:
        """x_i is known now: add its column of W. O(H) for each row."""
        i = self.variable_at(state.k)
        return State(state.k + 1,
                     state.a + self.conditional.linear(x_i[:, None], self.W[i:i + 1])[0])

    # what makes `sample` fast: the same draws with less bookkeeping
    def draw_all(self, u: Float[Tensor, "num n U"], given: Tensor | None = None, known: Tensor | None = None,
                 context: Tensor | None = None) -> Shaped[Tensor, "num n"]:
        """As predict, draw and update, all in place."""
        draw, columns, shape = make_sampler(self.conditional, u), [None] * self.n, self.conditional.parameter_shape
        W, V, b = self.W.unbind(), self.V.transpose(1, 2).unbind(), self.b.view(self.n, -1).unbind()
        a = self.c.repeat(len(u), 1)                                 # (num, H)
        h = torch.empty_like(a)
        for k, i in enumerate(self.order.tolist()):
            raw = torch.addmm(b[i], torch.sigmoid(a, out=h), V[i])   # (num, P)
            x = draw(raw.view(len(u), 1, *shape), k)                 # (num, 1)
            if known is not None:
                x = torch.where(known[:, i:i + 1], given[:, i:i + 1], x)
            a.addmm_(self.conditional.encode(x, a.dtype)[:, 0], W[i])
            columns[i] = x
        draw.check()
        return torch.cat(columns, dim=1)

    # raw numbers to distributions, and where to start
    def _family(self, raw: Float[Tensor, "B n P"]) -> Distribution:
        return self.conditional(raw.reshape(*raw.shape[:2], *self.conditional.parameter_shape))

    @torch.no_grad()
    def initialize(self, x: Shaped[Tensor, "N n"]) -> NADE:
        """Start from the columns of x, each on its own: b is set so, and V made small beside it. Returns self."""
        self.b.copy_(self.conditional.marginal(self.check_input(x)).flatten())
        self.V.mul_(0.1)
        return self
