"""The neural autoregressive distribution estimator: a hidden layer for every variable, and one set of weights for all."""

from __future__ import annotations

from typing import Iterable, NamedTuple

import torch
from jaxtyping import Float, Shaped
from torch import Tensor, nn
from torch.autograd.function import once_differentiable
from torch.distributions import Distribution
from torch.utils.checkpoint import checkpoint

from course_lib.autoregressive import AutoregressiveModel
from course_lib.conditional import Conditional
from course_lib.density._drawing import drawer

BLOCK = 16                                                           # one pre-activation in BLOCK is kept for training


class State(NamedTuple):
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
    """

    def __init__(self, n: int, hidden: int, conditional: Conditional | None = None,
                 order: Iterable[int] | Tensor | None = None):
        super().__init__(n, conditional, order)
        if hidden < 1:
            raise ValueError(f"hidden is {hidden}; at least one hidden unit is needed")
        self.hidden = hidden
        E, P = self.conditional.num_inputs, self.conditional.num_parameters
        self.W = nn.Parameter(torch.randn(n, E, hidden) * n ** -0.5)           # W[i]: the slide's column w_i if E = 1
        self.c = nn.Parameter(torch.zeros(hidden))
        self.V = nn.Parameter(torch.randn(n, P, hidden) * hidden ** -0.5)      # V[i]: the slide's alpha_i, or A_i
        self.b = nn.Parameter(torch.zeros(n * P))                              # of variable i: b[i P : (i + 1) P]

    @property
    def config(self) -> dict:
        """The constructor's arguments."""
        return {"n": self.n, "hidden": self.hidden, "conditional": self.conditional, "order": self.order.tolist()}

    @torch.no_grad()
    def initialise(self, x: Shaped[Tensor, "N n"]) -> NADE:
        """Start from the columns of x, each on its own: b is set so, and V made small beside it. Returns self."""
        self.b.copy_(self.conditional.marginal(self.check_input(x)).flatten())
        self.V.mul_(0.1)
        return self

    # every factor at once: training and scoring
    def conditionals(self, x: Shaped[Tensor, "B n"], context: Tensor | None = None) -> Distribution:
        x = self.check_input(x, context)
        W, V, b = self.W, self.V, self.b.view(self.n, -1)
        ordered = bool((self.order.diff() != 1).any())
        if ordered:                                                  # drawing order; a copy, spared the natural one
            x, (W, V, b) = x[:, self.order], (p.index_select(0, self.order) for p in (W, V, b))
        in_place = self.conditional.num_inputs == 1 and x.device.type == "cpu"
        raw = (self._in_place if in_place else self._by_blocks)(x, W, V, b)            # (n, B, P), in drawing order
        raw = raw[self.order.argsort()] if ordered else raw
        return self._family(raw.transpose(0, 1))

    def _in_place(self, x: Shaped[Tensor, "B n"], W: Tensor, V: Tensor, b: Tensor) -> Float[Tensor, "n B P"]:
        """For a processor, whose cache holds a (B, H) and no more: one variable after another, overwriting it."""
        return RunningSum.apply(self.conditional.encode(x, W.dtype).transpose(0, 1).contiguous(), W, self.c, V, b)

    def _by_blocks(self, x: Shaped[Tensor, "B n"], W: Tensor, V: Tensor, b: Tensor) -> Float[Tensor, "n B P"]:
        """For a GPU, and where a value is read as several numbers: a block of variables at a time.

        What a block computes is not kept for the backward pass but computed again.
        """
        a, raw = self.c.expand(len(x), -1), []                       # nothing seen: (B, H)
        for block in zip(x.split(BLOCK, dim=1), W.split(BLOCK), V.split(BLOCK), b.split(BLOCK)):
            if torch.is_grad_enabled():
                out, a = checkpoint(self._block, a, *block, use_reentrant=False, preserve_rng_state=False)
            else:
                out, a = self._block(a, *block)
            raw.append(out)
        return torch.cat(raw)

    def _block(self, a: Float[Tensor, "B H"], x: Shaped[Tensor, "B m"], W: Float[Tensor, "m E H"],
               V: Float[Tensor, "m P H"], b: Float[Tensor, "m P"]) -> tuple[Tensor, Tensor]:
        """Raw parameters (m, B, P) of the next m variables, and the pre-activation (B, H) after them."""
        adds = self.conditional.linear(x, W)                         # (m, B, H): what each adds to those after it
        earlier = torch.ones(len(W), len(W), dtype=W.dtype, device=W.device).tril(-1)
        within = (earlier @ adds.flatten(1)).view_as(adds)           # what those before it in the block have added
        h = torch.sigmoid(a + within)                                # (m, B, H)
        raw = torch.baddbmm(b[:, None], h, V.transpose(1, 2))        # (m, B, P)
        return raw, a + within[-1] + adds[-1]

    # the same, as it is written
    def from_scratch(self, x: Shaped[Tensor, "B n"]) -> Distribution:
        r"""The slide: $h_i = \sigma(W_{\cdot, <i}\, x_{<i} + c)$, each from nothing. O(n^2 H)."""
        x, raw = self.check_input(x), [None] * self.n
        for k, i in enumerate(self.order.tolist()):
            earlier = self.order[:k]
            h = torch.sigmoid(self.c + self.conditional.linear(x[:, earlier], self.W[earlier]).sum(dim=0))   # (B, H)
            raw[i] = h @ self.V[i].T + self.b.view(self.n, -1)[i]    # (B, P)
        return self._family(torch.stack(raw, dim=1))

    def one_by_one(self, x: Shaped[Tensor, "B n"]) -> Distribution:
        r"""The paper: $a_{i+1} = a_i + W_{\cdot, i}\, x_i$, one variable after another. O(n H)."""
        x, raw = self.check_input(x), [None] * self.n
        W, V, b = self.W.split(1), self.V.unbind(), self.b.view(self.n, -1).unbind()
        a = self.c.expand(len(x), -1)                                # (B, H)
        for i in self.order.tolist():
            raw[i] = torch.sigmoid(a) @ V[i].T + b[i]                # (B, P)
            a = a + self.conditional.linear(x[:, i:i + 1], W[i])[0]
        return self._family(torch.stack(raw, dim=1))

    # one variable at a time: sampling
    def start(self, batch: int, context: Tensor | None = None) -> State:
        if context is not None:
            self.check_context(context, batch)
        return State(0, self.c.expand(batch, -1))

    def predict(self, state: State) -> Distribution:
        i = self._variable(state.k)
        raw = torch.addmm(self.b.view(self.n, -1)[i], torch.sigmoid(state.a), self.V[i].T)         # (B, P)
        return self.conditional(raw.view(-1, *self.conditional.parameter_shape))

    def update(self, state: State, x_i: Shaped[Tensor, "B"]) -> State:
        """x_i is known now: add its column of W. O(H) for each row."""
        i = self._variable(state.k)
        return State(state.k + 1, state.a + self.conditional.linear(x_i[:, None], self.W[i:i + 1])[0])

    # the same draws with less bookkeeping: what `sample` runs
    def _ancestral(self, u: Float[Tensor, "num n U"], given: Tensor | None, known: Tensor | None,
                   context: Tensor | None) -> Shaped[Tensor, "num n"]:
        if context is not None:
            self.check_context(context, len(u))
        draw, columns, shape = drawer(self.conditional, u), [None] * self.n, self.conditional.parameter_shape
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

    def _family(self, raw: Float[Tensor, "B n P"]) -> Distribution:
        return self.conditional(raw.reshape(*raw.shape[:2], *self.conditional.parameter_shape))


class RunningSum(torch.autograd.Function):
    r"""$V_j\, \sigma(a_j) + b_j$ with $a_{j+1} = a_j + W_j x_j$ and $a_0 = c$, in place: (n, B, P).

    Arguments: x (n, B, 1), W (n, 1, H), c (H,), V (n, P, H), b (n, P), in drawing order. Of the n pre-activations one
    in BLOCK is kept; the backward pass runs forward again from there. It does not go back by subtraction: a_j would
    come out rounded differently, which is not the function that was computed.
    """

    @staticmethod
    def forward(ctx, x: Tensor, W: Tensor, c: Tensor, V: Tensor, b: Tensor) -> Tensor:
        with torch.autocast(x.device.type, enabled=False):           # a sum of n terms wants single precision
            a, kept = c.repeat(x.shape[1], 1), []                    # (B, H)
            raw, h = b[:, None].repeat(1, x.shape[1], 1), torch.empty_like(a)
            for j, (x_j, W_j, V_j, raw_j) in enumerate(zip(x, W, V, raw)):
                if j % BLOCK == 0:
                    kept.append(a.clone())
                raw_j.addmm_(torch.sigmoid(a, out=h), V_j.T)         # (B, P)
                a.addcmul_(x_j, W_j)
        ctx.save_for_backward(x, W, V, torch.stack(kept))
        return raw

    @staticmethod
    @once_differentiable
    def backward(ctx, grad: Tensor):
        x, W, V, kept = ctx.saved_tensors
        B, H = kept.shape[1:]
        into_x, into_W, into_V = (torch.empty_like(t) for t in (x, W, V))
        into_a, into_now = kept.new_zeros(B, H), kept.new_empty(B, H)          # into_a: through all later variables
        a, grad = kept.new_empty(BLOCK, B, H), grad.contiguous()
        with torch.autocast(x.device.type, enabled=False):
            for begin in reversed(range(0, len(x), BLOCK)):
                block = range(begin, min(begin + BLOCK, len(x)))
                a[0] = kept[begin // BLOCK]
                for j in block[:-1]:
                    torch.addcmul(a[j - begin], x[j], W[j], out=a[j - begin + 1])
                for j in reversed(block):
                    torch.mm(x[j].T, into_a, out=into_W[j])
                    if ctx.needs_input_grad[0]:
                        torch.mm(into_a, W[j].T, out=into_x[j])
                    h = a[j - begin].sigmoid_()
                    torch.mm(grad[j].T, h, out=into_V[j])
                    torch.mm(grad[j], V[j], out=into_now)            # into h
                    into_a.add_(torch.ops.aten.sigmoid_backward(into_now, h))          # times h (1 - h)
        return into_x if ctx.needs_input_grad[0] else None, into_W, into_a.sum(dim=0), into_V, grad.sum(dim=1)
