"""Base class of autoregressive models, $p(x) = \\prod_k p(x_{o_k} \\mid x_{o_1}, \\dots, x_{o_{k-1}})$.

The order o is a permutation of the n variables. A model has two views. In the parallel view, `conditionals` returns all
factors at once, where factor i depends only on variables before i in the order; it is used for training and scoring. In
the sequential view, `start` returns a state without known variables, `predict` the next factor, and `update` the state
with one more known variable; it is used for sampling. The base class implements the sequential view by calling
`conditionals` for each variable. A faster model overrides these three methods, or `draw_all`, the loop of `sample`.
`course_lib.contract` tests that both views agree.

The base class validates input: `conditionals` and `log_prob` of a subclass receive a valid x in the dtype that its
family expects, and a valid context; `start` receives a valid context. A model therefore contains only its equation:

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

State = Any                                                          # a NamedTuple of tensors, batch first
Context = Union[Tensor, tuple[Union[Tensor, None], ...]]             # tensors, batch first


class Prefix(NamedTuple):
    """Sampling state of the base class: the values of the first k variables in the order.

    >>> from course_lib.density import Tabular
    >>> Tabular(3).start(2)
    Prefix(k=0, x=tensor([[0., 0., 0.],
            [0., 0., 0.]]), context=None)
    """

    k: int                                                           # number of known variables
    x: Tensor                                                        # (B, n), 0 if unknown; (B, k) for n = None
    context: Context | None                                          # argument of `start`


class AutoregressiveModel(nn.Module):
    """Distribution over n variables, factorized by the chain rule.

    n            number of variables; None for a model of sequences of any length
    conditional  family of every factor, `Bernoulli()` by default
    order        order[k] is the variable that is sampled k-th, counted from 0; the identity by default

    The methods take a batch x (B, n) and, for a conditional model, a `context` that all factors depend on. Column i of
    x and of `conditionals` is variable i, whatever the order. Source: slides "Autoregressive models".

    >>> class Coins(AutoregressiveModel):  # a subclass needs `conditionals` only
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
            raise ValueError(f"n is {n}; expected at least 1")
        self.n = n
        self.conditional = conditional if conditional is not None else Bernoulli()
        self.register_buffer("order", None if n is None else check_order(order, n))

    def __init_subclass__(cls, **kwargs):
        super().__init_subclass__(**kwargs)
        wrap_input_checks(cls)                                             # methods of the subclass get validated input

    # --- every factor at once: training and scoring ------------------------------------------------------------------

    def conditionals(self, x: Tensor, context: Context | None = None) -> Distribution:
        """Return all factors, batch shape (B, n): column i is p(x_i | variables before i in the order)."""
        raise NotImplementedError(f"{type(self).__name__} does not define conditionals(x)")

    def log_prob(self, x: Tensor, context: Context | None = None) -> Float[Tensor, "B"]:
        """Exact log-likelihood (B,) of each row of x (B, n), in nats: the sum of the factors' log-probabilities."""
        return self.conditionals(x, context).log_prob(x).sum(dim=1)

    def forward(self, x: Tensor, context: Context | None = None) -> Distribution:
        """Return `conditionals(x, context)`; some models override it, such as GPT, which returns logits."""
        return self.conditionals(x, context)

    # --- one variable at a time: sampling ----------------------------------------------------------------------------

    def start(self, batch: int, context: Context | None = None) -> State:
        """Return the state before sampling, in which no variable is known, for a batch of `batch` rows."""
        like = self.like()
        x = torch.zeros(batch, self.n or 0, dtype=like.dtype, device=like.device)
        return Prefix(0, self.conditional.check(x, dtype=like.dtype), context)       # integers for a categorical family

    def predict(self, state: State) -> Distribution:
        """Return the distribution of the next variable in the order given the known variables, batch shape (B,)."""
        x, i = state.x, self.variable_at(state.k)
        if self.n is None:                                           # a sequence: append the next element
            x = torch.cat([x, x.new_zeros(len(x), 1)], dim=1)
        return at(self.conditionals(x, state.context), (slice(None), i))

    def update(self, state: State, x_i: Tensor) -> State:
        """Return the state in which the next variable in the order is known too; x_i (B,) are its values."""
        if not is_validating(self):                                     # `sample` passes its own values
            x_i = self.conditional.check(x_i, "x_i", state.x.dtype)
        column = x_i[:, None].to(state.x.dtype)
        if self.n is None:
            return Prefix(state.k + 1, torch.cat([state.x, column], dim=1), state.context)
        x = state.x.clone()
        x[:, self.variable_at(state.k)] = column[:, 0]
        return Prefix(state.k + 1, x, state.context)

    def select(self, state: State, rows: Tensor) -> State:
        """Return the state of the batch rows with the indices `rows`, (R,), which may be repeated or in any order."""
        return select_rows(state, rows)

    @torch.no_grad()
    def sample(self, num: int, given: Tensor | None = None, known: Tensor | None = None,
               context: Context | None = None, generator: torch.Generator | None = None,
               length: int | None = None) -> Tensor:
        """Sample `num` rows, one variable after another (ancestral sampling). Returns (num, n).

        given, known  (num, n): where the boolean `known` is True, the value of `given` is kept; the other variables are
                      sampled from p(x_i | variables before i in the order). This is the conditional distribution
                      p(unknown | known) only if the known variables come first in the order.
        context       what a conditional model depends on, with `num` rows
        generator     random number generator; for the same seed the first rows do not depend on `num`
        length        n, for a model of sequences of any length

        The model is in eval mode while it samples; its mode is restored.
        """
        n = self.length_for(length)
        check_integer("num", num, "a number of rows")
        if num < 1:
            raise ValueError(f"num is {num}; expected at least 1")
        given, known = self.check_given(num, n, given, known)
        if context is not None:
            self.check_context(context, num)
        u = uniforms(num, n, self.conditional.num_uniforms, generator, self.like().device)
        with evaluating(self), validating(self):
            return self.draw_all(u, given, known, context)

    def draw_all(self, u: Float[Tensor, "num n U"], given: Tensor | None = None, known: Tensor | None = None,
                 context: Context | None = None) -> Tensor:
        """Run the loop of `sample`: `predict`, sample and `update` for each variable in turn. Returns (num, n).

        u                      uniforms in [0, 1): u[:, k] determines the k-th variable in the order, by the inverse CDF
                               of the family, which needs U uniforms for a value
        given, known, context  as in `sample`, already validated

        A model that can compute the same values faster overrides this method. `sample` calls it in eval mode and
        without gradients.
        """
        num, n, _ = u.shape
        columns: list[Tensor] = [None] * n
        with torch.inference_mode():
            state = self.start(num, context)
            for k, u_k in enumerate(u.unbind(1)):
                i = self.variable_at(k)
                x_i = self.conditional.draw(self.predict(state), u_k)
                if known is not None:
                    x_i = torch.where(known[:, i], given[:, i], x_i)
                state = self.update(state, x_i)
                columns[i] = x_i
        return torch.stack(columns, dim=1)

    def extra_repr(self) -> str:
        """Return the arguments of the constructor as one line of text, which `print(model)` shows."""
        return configuration(self)

    # --- for the contract --------------------------------------------------------------------------------------------

    def parents(self, i: int) -> list[int]:
        """Return the indices of the variables that factor i may depend on: by default all before i in the order."""
        if self.order is None:
            return list(range(i))
        order = self.order.tolist()
        return order[: order.index(i)]

    @torch.no_grad()
    def randomize(self, generator: torch.Generator | None = None) -> None:
        """Replace all parameters by normal random numbers, scaled so that factors depend on x without saturating."""
        for p in self.parameters():
            scale = 0.5 if p.dim() < 2 else max(1, p[0].numel()) ** -0.5
            p.copy_(scale * torch.randn(p.shape, generator=generator, dtype=torch.float64))

    # --- for subclasses: to use, or to override ----------------------------------------------------------------------

    def check_input(self, x: Tensor, context: Context | None = None) -> Tensor:
        """Return x (B, n) in the dtype that the family expects. Raises ValueError if x or the context is invalid."""
        check_tensor("x", x)
        if x.dim() != 2:
            raise ValueError(f"x has shape {tuple(x.shape)}; expected (B, n): flatten images, write one row as x[None]")
        if len(x) == 0:
            raise ValueError("x is an empty batch; expected at least one row")
        if self.n is not None and x.shape[1] != self.n:
            raise ValueError(f"x has {x.shape[1]} variables; this model has {self.n}{_as_image(self.n)}")
        if context is not None:
            self.check_context(context, len(x))
        return self.conditional.check(x, dtype=self.like().dtype)

    def check_context(self, context: Context, batch: int) -> None:
        """Raise ValueError if `context`, which is not None, is invalid for `batch` rows.

        The base class rejects every context; a conditional model overrides this method.
        """
        raise ValueError(f"context is given; expected None, because {type(self).__name__} is unconditional")

    def check_given(self, num: int, n: int, given: Tensor | None,
                    known: Tensor | None) -> tuple[Tensor | None, Tensor | None]:
        """Validate `given` and `known` (num, n) of `sample`. Return both on the model's device, with `given` 0 where
        `known` is False, or (None, None) if both are None. Raises ValueError if only one of them is None, or if a
        shape, the dtype of `known` or a value of `given` is wrong.
        """
        if (given is None) != (known is None):
            raise ValueError(f"{'known' if known is None else 'given'} is None; expected given and known together, or "
                             "neither of them")
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
        given = torch.where(known, given, torch.zeros_like(given))   # unknown entries may hold any value
        return self.conditional.check(given, "given", like.dtype), known

    def length_for(self, length: int | None = None) -> int:
        """Return the number of variables: the model's n, or `length` if n is None. Raises ValueError if both are None
        or differ, and TypeError if `length` is not an integer.
        """
        if length is not None:
            check_integer("length", length, "a number of variables: a prompt is the argument context")
        if self.n is None and (length is None or length < 1):
            raise ValueError(f"length is {length}; expected at least 1, because {type(self).__name__} has no fixed "
                             "number of variables")
        if self.n is not None and length not in (None, self.n):
            raise ValueError(f"length is {length}; expected None or {self.n}, the number of variables of this model")
        return self.n or length

    def variable_at(self, k: int) -> int:
        """Return order[k], the variable that is sampled k-th. Raises ValueError if all variables are known."""
        if self.n is not None and k >= self.n:
            raise ValueError(f"all {self.n} variables are known; there is no next variable to predict")
        return k if self.order is None else int(self.order[k])

    def like(self) -> Tensor:
        """Return the first floating-point parameter or buffer, whose dtype and device new tensors get."""
        for t in (*self.parameters(), *self.buffers()):
            if t.is_floating_point():
                return t
        return torch.empty(0)


def check_order(order: Iterable[int] | Tensor | None, n: int) -> Tensor:
    """Return `order` as a LongTensor (n,), the identity if None. Raises ValueError unless it permutes 0..n-1."""
    if order is None:
        return torch.arange(n)
    order = torch.as_tensor(order if isinstance(order, Tensor) else list(order))
    if tuple(order.shape) != (n,) or not torch.equal(order.sort().values, torch.arange(n, device=order.device)):
        raise ValueError(f"order is {_brief(order)}; expected a permutation of 0 to {n - 1}")
    return order.long().clone()


def uniforms(num: int, n: int, per_variable: int, generator: torch.Generator | None,
             device) -> Float[Tensor, "num n U"]:
    """Sample uniforms in [0, 1), (num, n, per_variable), on `device`; the first rows do not depend on `num`."""
    target, device = device, generator.device if generator is not None else device
    dtype = torch.float32 if torch.device(device).type == "mps" else torch.float64
    if torch.device(device).type == "cpu":                           # torch fills in order there, so one call suffices
        return torch.rand(num, n, per_variable, generator=generator, dtype=dtype).to(target)
    rows = [torch.rand(n, per_variable, generator=generator, device=device, dtype=dtype) for _ in range(num)]
    return torch.stack(rows).to(target)


def select_rows(state: State, rows: Tensor) -> State:
    """Return a copy of a state in which every tensor has only the batch rows `rows`; other values are unchanged."""
    if isinstance(state, Tensor):
        return state[rows]
    if isinstance(state, tuple) and hasattr(state, "_fields"):
        return type(state)(*(select_rows(part, rows) for part in state))
    if isinstance(state, (tuple, list)):
        return type(state)(select_rows(part, rows) for part in state)
    return state


@contextmanager
def evaluating(model: nn.Module):
    """Put the model in eval mode inside the `with` block, and restore the mode of each submodule afterwards."""
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
    """Format `model.config` as one line, such as "n=784, hidden=500, conditional=Bernoulli()".

    Modules are omitted, because torch prints them itself; an `order` that is the identity is omitted too. Lists of more
    than 8 entries are truncated.
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
