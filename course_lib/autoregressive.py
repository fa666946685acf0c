"""The contract that every autoregressive model keeps: $p(x) = \\prod_k p(x_{o_k} \\mid x_{o_1}, \\dots, x_{o_{k-1}})$.

A model writes `conditionals`: every factor at once, factor i reading what comes before variable i only. That view
trains and scores. The other view, `start`, `predict`, `update`, gives one variable at a time and generates; the base
class derives it by running `conditionals` again, and a model overrides it to be fast, or `draw_all`, the loop of
`sample`, to be faster still. `course_lib.contract` proves that the two agree.

Input is checked here, once, whoever wrote the method that is called: `conditionals` and `log_prob` of any subclass
receive x as its family wants it, and a context that fits; `start` likewise. So a model is its equation:

    class Mine(AutoregressiveModel):
        def conditionals(self, x, context=None):
            return self.conditional(F.linear(x, self.weight.tril(-1), self.bias))
"""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import asdict, is_dataclass
from typing import Any, Iterable, NamedTuple, Union

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.distributions import Distribution

from course_lib.conditional import Bernoulli, Conditional, at
from course_lib.validation import check_integer, check_tensor, is_validating, validating, wrap_input_checks

State = Any                                                          # a NamedTuple whose tensors have the batch first
Context = Union[Tensor, tuple[Union[Tensor, None], ...]]             # what is given, the batch first; or several


class Prefix(NamedTuple):
    """What the base class remembers: how many variables are known, and their values.

    >>> from course_lib.density import Tabular
    >>> Tabular(3).start(2)
    Prefix(k=0, x=tensor([[0., 0., 0.],
            [0., 0., 0.]]), context=None)
    """

    k: int
    x: Tensor                                                        # (B, n), zeros where nothing is known yet
    context: Context | None


class AutoregressiveModel(nn.Module):
    """A distribution over n variables by the chain rule.

    n            number of variables; None for a model of sequences of any length
    conditional  family of every factor, `Bernoulli()` unless given
    order        order[k] is the variable drawn k-th, counted from 0; the identity unless given

    Column i of x and of `conditionals` is variable i, whatever the order. Source: slides "Autoregressive models".

    >>> class Coins(AutoregressiveModel):  # of your own: it needs `conditionals` alone
    ...     def __init__(self, n):
    ...         super().__init__(n)
    ...         self.logits = nn.Parameter(torch.zeros(n))
    ...     def conditionals(self, x, context=None):
    ...         return self.conditional(self.logits.expand(len(x), -1))
    >>> Coins(3).log_prob(torch.tensor([[0, 1, 1]]))               # 3 ln 1/2
    tensor([-2.0794], grad_fn=<...>)
    >>> Coins(3).sample(2).shape
    torch.Size([2, 3])
    """

    def __init__(self, n: int | None, conditional: Conditional | None = None,
                 order: Iterable[int] | Tensor | None = None):
        super().__init__()
        if n is not None and n < 1:
            raise ValueError(f"n is {n}; a model needs at least one variable")
        self.n = n
        self.conditional = conditional if conditional is not None else Bernoulli()
        self.register_buffer("order", None if n is None else check_order(order, n))

    def __init_subclass__(cls, **kwargs):
        super().__init_subclass__(**kwargs)
        wrap_input_checks(cls)                                             # what the subclass writes gets checked input

    # --- every factor at once: training and scoring ------------------------------------------------------------------

    def conditionals(self, x: Tensor, context: Context | None = None) -> Distribution:
        """All factors, batch shape (B, n): column i is p(x_i | the variables drawn before it)."""
        raise NotImplementedError(f"{type(self).__name__} does not define conditionals(x)")

    def log_prob(self, x: Tensor, context: Context | None = None) -> Float[Tensor, "B"]:
        """Exact log-likelihood of each row of x, in nats: the sum of its factors' logarithms."""
        return self.conditionals(x, context).log_prob(x).sum(dim=1)

    def forward(self, x: Tensor, context: Context | None = None) -> Distribution:
        """`model(x)` is `conditionals(x)`, unless a model says otherwise."""
        return self.conditionals(x, context)

    # --- one variable at a time: sampling ----------------------------------------------------------------------------

    def start(self, batch: int, context: Context | None = None) -> State:
        """The state before anything is known."""
        like = self.like()
        x = torch.zeros(batch, self.n or 0, dtype=like.dtype, device=like.device)
        return Prefix(0, self.conditional.check(x, dtype=like.dtype), context)       # integers if the family has such

    def predict(self, state: State) -> Distribution:
        """The distribution of the next variable, batch shape (B,)."""
        x, i = state.x, self.variable_at(state.k)
        if self.n is None:                                           # a sequence: make room for the next element
            x = torch.cat([x, x.new_zeros(len(x), 1)], dim=1)
        return at(self.conditionals(x, state.context), (slice(None), i))

    def update(self, state: State, x_i: Tensor) -> State:
        """The state once the next variable is known to be x_i (B,)."""
        if not is_validating(self):                                     # else it was drawn a moment ago
            x_i = self.conditional.check(x_i, "x_i", state.x.dtype)
        column = x_i[:, None].to(state.x.dtype)
        if self.n is None:
            return Prefix(state.k + 1, torch.cat([state.x, column], dim=1), state.context)
        x = state.x.clone()
        x[:, self.variable_at(state.k)] = column[:, 0]
        return Prefix(state.k + 1, x, state.context)

    def select(self, state: State, rows: Tensor) -> State:
        """The state of these rows, repeated or reordered: `rows` is a LongTensor of indices into the batch."""
        return select_rows(state, rows)

    @torch.no_grad()
    def sample(self, num: int, given: Tensor | None = None, known: Tensor | None = None,
               context: Context | None = None, generator: torch.Generator | None = None,
               length: int | None = None) -> Tensor:
        """Draw `num` rows, one variable after another (ancestral sampling).

        given, known  (num, n): where the boolean `known` is True the value of `given` is kept; the others follow
                      p(x_i | what came before). That is the conditional distribution p(unknown | known) only where
                      the known variables come first in the order.
        length        number of variables to draw, for a model of sequences of any length
        generator     the same generator gives the same first rows whatever `num` is

        The model is in eval mode while it draws; its mode is restored.
        """
        n = self.length_for(length)
        check_integer("num", num, "a number of rows")
        if num < 1:
            raise ValueError(f"num is {num}; at least one sample must be asked for")
        given, known = self.check_given(num, n, given, known)
        if context is not None:
            self.check_context(context, num)
        u = uniforms(num, n, self.conditional.num_uniforms, generator, self.like().device)
        with evaluating(self), validating(self):
            return self.draw_all(u, given, known, context)

    def draw_all(self, u: Float[Tensor, "num n U"], given: Tensor | None = None, known: Tensor | None = None,
                 context: Context | None = None) -> Tensor:
        """The loop behind `sample`: predict, draw, update, for every variable in turn. Returns (num, n).

        u             uniforms in [0, 1): the k-th variable drawn uses u[:, k], which the family turns into a value
        given, known  (num, n) as in `sample`, or both None

        A model that can draw the same values faster overrides this. `sample` has checked what it passes on, and calls
        it in eval mode and without gradients. In inference mode an operation costs less than under `no_grad`; what is stacked
        outside of it is an ordinary tensor.
        """
        num, n, _ = u.shape
        columns: list[Tensor] = [None] * n
        with torch.inference_mode():
            state = self.start(num, context)
            for k in range(n):
                i = self.variable_at(k)
                x_i = self.conditional.draw(self.predict(state), u[:, k])
                if known is not None:
                    x_i = torch.where(known[:, i], given[:, i], x_i)
                state = self.update(state, x_i)
                columns[i] = x_i
        return torch.stack(columns, dim=1)

    def extra_repr(self) -> str:
        """What `print(model)` says: the constructor's arguments, by `config`."""
        return configuration(self)

    # --- what the contract asks --------------------------------------------------------------------------------------

    def parents(self, i: int) -> list[int]:
        """Variables that factor i may read: all that are drawn before i, unless a model declares fewer."""
        if self.order is None:
            return list(range(i))
        order = self.order.tolist()
        return order[: order.index(i)]

    @torch.no_grad()
    def randomize(self, generator: torch.Generator | None = None) -> None:
        """Redraw every parameter, large enough to matter and small enough not to saturate. Tables override this."""
        for p in self.parameters():
            scale = 0.5 if p.dim() < 2 else max(1, p[0].numel()) ** -0.5
            p.copy_(scale * torch.randn(p.shape, generator=generator, dtype=torch.float64))

    # --- what a model of your own may use, or override ---------------------------------------------------------------

    def check_input(self, x: Tensor, context: Context | None = None) -> Tensor:
        """x (B, n) as the family wants it, or a ValueError that says what is wrong with it or with the context."""
        check_tensor("x", x)
        if x.dim() != 2:
            raise ValueError(f"x has shape {tuple(x.shape)}; this model takes (B, n), images flattened")
        if len(x) == 0:
            raise ValueError("x is an empty batch; expected at least one row")
        if self.n is not None and x.shape[1] != self.n:
            raise ValueError(f"x has {x.shape[1]} variables; this model has {self.n}{_as_image(self.n)}")
        if context is not None:
            self.check_context(context, len(x))
        return self.conditional.check(x, dtype=self.like().dtype)

    def check_context(self, context: Context, batch: int) -> None:
        """Raises a ValueError if the context does not fit `batch` rows. A model that is conditioned on something
        overrides this; it is called for every context that is not None."""
        raise ValueError(f"context was given; {type(self).__name__} models x alone")

    def check_given(self, num: int, n: int, given: Tensor | None,
                    known: Tensor | None) -> tuple[Tensor | None, Tensor | None]:
        """`given` and `known` (num, n) of `sample` on the model's device, `given` as the family wants it where it is
        known and zero elsewhere; both None if both are. Raises a ValueError for what does not fit."""
        if (given is None) != (known is None):
            raise ValueError("given and known belong together: the values, and where they are to be kept")
        if given is None:
            return None, None
        for name, value in (("given", given), ("known", known)):
            if tuple(value.shape) != (num, n):
                raise ValueError(f"{name} has shape {tuple(value.shape)}; expected (num, n) = ({num}, {n})")
        if known.dtype != torch.bool:
            raise ValueError(f"known has dtype {known.dtype}; expected torch.bool, True where given is kept")
        like = self.like()
        known = known.to(like.device)
        given = given.to(like.device)
        given = torch.where(known, given, torch.zeros_like(given))   # what is not known may be anything
        return self.conditional.check(given, "given", like.dtype), known

    def length_for(self, length: int | None = None) -> int:
        """The number of variables: the model's own, or `length` where it has none. Raises a ValueError if neither
        settles it, or if the two differ; a TypeError for what is no number, such as a prompt."""
        if length is not None:
            check_integer("length", length, "a number of variables: a prompt is the argument context")
        if self.n is None and (length is None or length < 1):
            raise ValueError(f"length is {length}; {type(self).__name__} has no fixed number of variables, "
                             "expected a positive length")
        if self.n is not None and length not in (None, self.n):
            raise ValueError(f"length is {length}; this model has {self.n} variables")
        return self.n or length

    def variable_at(self, k: int) -> int:
        """The variable that is drawn k-th, order[k]. Raises a ValueError once all are known."""
        if self.n is not None and k >= self.n:
            raise ValueError(f"all {self.n} variables are known; there is no next one to predict")
        return k if self.order is None else int(self.order[k])

    def like(self) -> Tensor:
        """A tensor with the dtype and the device of the model, as a pattern for others: its first floating one."""
        for t in (*self.parameters(), *self.buffers()):
            if t.is_floating_point():
                return t
        return torch.empty(0)


def check_order(order: Iterable[int] | Tensor | None, n: int) -> Tensor:
    """`order` as a LongTensor (n,); the identity if None. Raises ValueError unless it is a permutation of 0..n-1."""
    if order is None:
        return torch.arange(n)
    order = torch.as_tensor(order if isinstance(order, Tensor) else list(order))
    if tuple(order.shape) != (n,) or not torch.equal(order.sort().values, torch.arange(n, device=order.device)):
        raise ValueError(f"order is {_brief(order)}; expected a permutation of 0..{n - 1}")
    return order.long().clone()


def uniforms(num: int, n: int, per_variable: int, generator: torch.Generator | None,
             device) -> Float[Tensor, "num n U"]:
    """Uniforms in [0, 1), row by row, so that the first rows do not depend on how many rows follow."""
    target, device = device, generator.device if generator is not None else device
    dtype = torch.float32 if torch.device(device).type == "mps" else torch.float64
    if torch.device(device).type == "cpu":                           # torch fills in order there: one call will do
        return torch.rand(num, n, per_variable, generator=generator, dtype=dtype).to(target)
    rows = [torch.rand(n, per_variable, generator=generator, device=device, dtype=dtype) for _ in range(num)]
    return torch.stack(rows).to(target)


def select_rows(state: State, rows: Tensor) -> State:
    """Index the batch, the first axis, of every tensor in a state; other values pass through."""
    if isinstance(state, Tensor):
        return state[rows]
    if isinstance(state, tuple) and hasattr(state, "_fields"):
        return type(state)(*(select_rows(part, rows) for part in state))
    if isinstance(state, (tuple, list)):
        return type(state)(select_rows(part, rows) for part in state)
    return state


@contextmanager
def evaluating(model: nn.Module):
    """Eval mode inside, every submodule's own mode restored after."""
    modes = [(m, m.training) for m in model.modules()]
    model.eval()
    try:
        yield model
    finally:
        for m, mode in modes:
            m.training = mode


def _as_image(n: int) -> str:
    side = round(n ** 0.5)
    article = "an" if side in (11, 18) or str(side).startswith("8") else "a"
    return f" ({article} {side} x {side} image, flattened)" if side * side == n and n >= 16 else ""


def _brief(t: Tensor) -> str:
    values = t.flatten().tolist()
    return str(values) if len(values) <= 8 else f"{values[:6]}... ({len(values)} entries)"


def configuration(model: nn.Module) -> str:
    """The arguments in `model.config` as one line of text: "n=784, hidden=500, conditional=Bernoulli()".

    Modules among them are left out, since torch prints them below; so is the natural order. Long lists are cut short.
    """
    config = getattr(model, "config", None)
    if config is None:
        config = {name: getattr(model, name) for name in ("n", "conditional") if hasattr(model, name)}
    config = asdict(config) if is_dataclass(config) else config
    return ", ".join(f"{name}={_short(value)}" for name, value in config.items()
                     if not (name == "order" and value == sorted(value)) and not _has_modules(value))


def _has_modules(value: Any) -> bool:
    return isinstance(value, nn.Module) or isinstance(value, (list, tuple)) and any(map(_has_modules, value))


def _short(value: Any) -> str:
    if isinstance(value, (list, tuple)) and len(value) > 8:
        return f"[{', '.join(map(repr, value[:6]))}, ... {len(value)} entries]"
    return repr(value)


wrap_input_checks(AutoregressiveModel)
