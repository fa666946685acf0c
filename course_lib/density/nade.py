"""Neural autoregressive distribution estimator (NADE): one hidden layer per variable, with shared weights."""

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
    """State after k variables: the pre-activation of the next hidden layer."""

    k: int                                                           # number of known variables
    a: Tensor                                                        # (B, H): c plus terms of the known variables


class NADE(AutoregressiveModel):
    r"""Neural autoregressive distribution estimator: $h_i = \sigma(W_{\cdot, <i}\, x_{<i} + c)$, and raw parameters
    $V_i h_i + b_i$.

    n            number of variables
    hidden       H, width of each of the n hidden layers
    conditional  family of the factors. `Bernoulli()`, the default, is NADE: $\sigma(V_i h_i + b_i)$. `Categorical(256)`
                 is the softmax NADE, `MixtureOfGaussians(k)` RNADE
    order        order[k] is the variable that is sampled k-th; j < i means that j comes before i in the order

    Because the layers share W and c, the pre-activation $a_i = c + \sum_{j<i} W_{\cdot, j}\, x_j$ is a running sum,
    $a_{i+1} = a_i + W_{\cdot, i}\, x_i$. NADE has O(n H) parameters, and a likelihood or a sample takes O(n H)
    operations. `from_scratch` is the slide's formula, `one_by_one` the running sum, and `conditionals` the running sum
    without storing the n hidden layers for the backward pass. The three agree in value and gradient. NADE is not meant
    for `torch.compile`: its loop over n variables, with a backward pass of its own, does not fit a graph.

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
            raise ValueError(f"hidden is {hidden}; expected at least 1")
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
        """Arguments of the constructor."""
        return {"n": self.n, "hidden": self.hidden, "conditional": self.conditional, "order": self.order.tolist()}

    # the equation of the slide, and the running sum of the paper
    @checked
    def from_scratch(self, x: Shaped[Tensor, "B n"]) -> Distribution:
        r"""The slide's formula, $h_i = \sigma(W_{\cdot, <i}\, x_{<i} + c)$: O(n^2 H)."""
        raw = [None] * self.n
        for k, i in enumerate(self.order.tolist()):
            earlier = self.order[:k]
            adds = self.conditional.linear(x[:, earlier], self.W[earlier])     # (k, B, H)
            h = torch.sigmoid(self.c + adds.sum(dim=0))              # (B, H)
            raw[i] = h @ self.V[i].T + self.b.view(self.n, -1)[i]    # (B, P)
        return self._family(torch.stack(raw, dim=1))

    @checked
    def one_by_one(self, x: Shaped[Tensor, "B n"]) -> Distribution:
        r"""The running sum $a_{i+1} = a_i + W_{\cdot, i}\, x_i$ of the paper: O(n H)."""
        raw = [None] * self.n
        W, V, b = self.W.split(1), self.V.unbind(), self.b.view(self.n, -1).unbind()
        a = self.c.expand(len(x), -1)                                # (B, H)
        for i in self.order.tolist():
            raw[i] = torch.sigmoid(a) @ V[i].T + b[i]                # (B, P)
            a = a + self.conditional.linear(x[:, i:i + 1], W[i])[0]
        return self._family(torch.stack(raw, dim=1))

    # every factor at once: training and scoring
    def conditionals(self, x: Shaped[Tensor, "B n"], context: Tensor | None = None) -> Distribution:
        """Return all factors, batch shape (B, n): `one_by_one` without storing hidden layers for the backward pass."""
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
        """Add the contribution of x_i to the pre-activation: O(H) per row."""
        i = self.variable_at(state.k)
        return State(state.k + 1,
                     state.a + self.conditional.linear(x_i[:, None], self.W[i:i + 1])[0])

    # faster sampling: the same values
    def draw_all(self, u: Float[Tensor, "num n U"], given: Tensor | None = None, known: Tensor | None = None,
                 context: Tensor | None = None) -> Shaped[Tensor, "num n"]:
        """Same samples and arguments as `AutoregressiveModel.draw_all`; the pre-activation is updated in place."""
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

    # raw parameters to distributions, and initialization
    def _family(self, raw: Float[Tensor, "B n P"]) -> Distribution:
        return self.conditional(raw.reshape(*raw.shape[:2], *self.conditional.parameter_shape))

    @torch.no_grad()
    def initialize(self, x: Shaped[Tensor, "N n"]) -> NADE:
        """Set b to the parameters of the marginals of the columns of x, and multiply V by 0.1. Returns self."""
        self.b.copy_(self.conditional.marginal(self.check_input(x)).flatten())
        self.V.mul_(0.1)
        return self
