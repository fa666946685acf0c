"""A learner's model on the judge's side: whatever is asked of it is asked across the border.

It keeps the library's contract as far as the model behind it does, so `check_all` and the library itself can be used on it.
"""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.distributions import Bernoulli, Categorical, Distribution, MixtureSameFamily, Normal

from course_lib import conditional as families
from course_lib.autoregressive import AutoregressiveModel
from course_lib.grading.exercise.checks import Stop
from course_lib.grading.sandbox.inside.models import PARAMETERS
from course_lib.grading.sandbox.inside.outcome import Outcome

FAMILIES = ("Bernoulli", "Categorical", "MixtureOfGaussians")
MOST = 10_000                   # values of a variable, parts of a mixture
Run = Callable[..., Any]        # run(what, config, weights, *args); raises Stop where there is no value


class Proxy(AutoregressiveModel):
    """The model `number` behind `run`. `length` is how many variables it is asked for where it has no n of its own."""

    def __init__(self, run: Run, number: int, length: int | None = None, facts: dict | None = None):
        facts = facts or checked(run("facts", number, None, length or 0))
        if length is None and facts["n"] and not facts["parents"]:
            facts = checked(run("facts", number, None, facts["n"]))
        super().__init__(facts["n"], family(facts["family"], facts["of"]), ordered(facts["order"], facts["n"]))
        self.run, self.number, self.facts, self.length = run, number, facts, length
        self.register_buffer("pattern", torch.empty(0))              # the dtype of what crosses

    def ask(self, what: str, *args: Any) -> Any:
        """What the model behind answers."""
        return self.run(what, self.number, None, *args)

    def __deepcopy__(self, memo: dict) -> Proxy:
        """A double copy in eval mode, on both sides: what the contract asks of a copy."""
        made = Proxy(self.run, self.ask("copy"), self.length, self.facts)
        return made.double().eval()

    def parents(self, i: int) -> list[int]:
        return self.facts["parents"][i]

    def randomize(self, generator: torch.Generator | None = None) -> None:
        self.ask("randomize", seed_of(generator))

    def check_context(self, context: Any, batch: int) -> None:
        """Whether a context is welcome is for the class behind to say, when it is asked."""

    def conditionals(self, x: Tensor, context: Any = None) -> Distribution:
        if x.is_floating_point() and torch.is_grad_enabled():
            kind, parts = self.asked("conditionals", x.shape, x.detach(), context)
            return made_of(kind, list(Across.apply(self, x, *parts)) if x.requires_grad else parts)
        return made_of(*self.asked("conditionals", x.shape, x, context))

    def log_prob(self, x: Tensor, context: Any = None) -> Tensor:
        return tensor(self.ask("log_prob", x, context), (len(x),), "log_prob")

    def start(self, batch: int, context: Any = None) -> State:
        return State(self.ask("start", batch, context), batch)

    def predict(self, state: State) -> Distribution:
        return made_of(*self.asked("predict", (state.batch,), state.number))

    def update(self, state: State, x_i: Tensor) -> State:
        return State(self.ask("update", state.number, x_i), state.batch)

    def select(self, state: State, rows: Tensor) -> State:
        return State(self.ask("select", state.number, rows), len(rows))

    def sample(self, num: int, given: Tensor | None = None, known: Tensor | None = None, context: Any = None,
               generator: torch.Generator | None = None, length: int | None = None) -> Tensor:
        found = self.ask("sample", num, given, known, context, seed_of(generator), length)
        found = tensor(found, (num, self.n or length), "sample")
        return self.conditional.check(found, "what sample returns", torch.float64)

    def asked(self, what: str, shape: tuple[int, ...], *args: Any) -> tuple[str, list[Tensor]]:
        """A distribution of the family with this batch shape, by its parameters."""
        found = self.ask(what, *args)
        kind = found.get("kind") if isinstance(found, dict) else None
        wanted = type(self.conditional(torch.zeros(1, *self.conditional.parameter_shape))).__name__
        if kind != wanted:
            raise wrong(f"{what} returns a distribution {kind}; expected {wanted}, that of {self.conditional}")
        parts = found.get("parameters")
        if not isinstance(parts, list) or len(parts) != len(PARAMETERS[kind]):
            raise wrong(f"{what} returned no parameters of a distribution")
        last = {"Bernoulli": (), "Categorical": (self.conditional.num_values,)}.get(kind)
        last = (self.conditional.k,) if last is None else last
        return kind, [tensor(part, (*shape, *last), what) for part in parts]


class State:
    """The number of a state behind the border, and how many rows it has."""

    def __init__(self, number: int, batch: int):
        self.number, self.batch = number, batch


class Across(torch.autograd.Function):
    """The parameters of the factors, with a way back to x that leads across the border."""

    @staticmethod
    def forward(ctx, proxy: Proxy, x: Tensor, *parts: Tensor):
        ctx.proxy, ctx.x = proxy, x.detach()
        return tuple(part.clone() for part in parts)

    @staticmethod
    def backward(ctx, *grads: Tensor):
        found = tensor(ctx.proxy.ask("pulled", ctx.x, list(grads)), tuple(ctx.x.shape), "conditionals")
        return None, found.to(ctx.x), *(None for _ in grads)


def made_of(kind: str, parts: list[Tensor]) -> Distribution:
    """The distribution with these parameters."""
    if kind == "MixtureSameFamily":
        logits, loc, scale = parts
        return MixtureSameFamily(Categorical(logits=logits, validate_args=False), Normal(loc, scale, validate_args=False),
                                 validate_args=False)
    return {"Bernoulli": Bernoulli, "Categorical": Categorical}[kind](logits=parts[0], validate_args=False)


def tensor(value: Any, shape: tuple[int | None, ...], who: str) -> Tensor:
    """The value, if it is a real tensor of this shape; it came from the learner."""
    if not isinstance(value, Tensor) or value.is_complex():
        raise wrong(f"{who} gives {type(value).__name__}; expected a tensor of shape {shape}")
    if tuple(value.shape) != tuple(shape):
        raise wrong(f"{who} gives shape {tuple(value.shape)}; expected {tuple(shape)}")
    return value


def checked(facts: Any) -> dict[str, Any]:
    """What the model says of itself, each part of the kind that it has to be."""
    if not isinstance(facts, dict) or facts.get("family") not in FAMILIES or not isinstance(facts.get("of"), dict):
        raise wrong(f"its family is none of {', '.join(FAMILIES)}")
    n, order, parents = facts.get("n"), facts.get("order"), facts.get("parents")
    ints = [order or [], *parents] if isinstance(parents, list) and all(isinstance(one, list) for one in parents) else [[None]]
    if not (n is None or type(n) is int and 0 < n < 1000) or any(type(i) is not int for one in ints for i in one):
        raise wrong("its n, order or parents are no whole numbers")
    return facts


def family(name: str, of: dict[str, Any]) -> families.Conditional:
    """The family of this name with these numbers."""
    try:
        if any(isinstance(value, int) and value > MOST for value in of.values()):
            raise ValueError(f"a number above {MOST}")
        return getattr(families, name)(**of)
    except (TypeError, ValueError) as problem:
        raise wrong(f"its family cannot be made: {problem}") from None


def ordered(order: list[int] | None, n: int | None) -> list[int] | None:
    """The order, if it is one of n variables."""
    if order is not None and sorted(order) != list(range(n or 0)):
        raise wrong(f"its order is {str(order)[:80]}; expected a permutation of 0..{(n or 0) - 1}")
    return order


def seed_of(generator: torch.Generator | None) -> int:
    """A seed that the generator draws."""
    return int(torch.randint(2 ** 31, (), generator=generator))


def wrong(text: str) -> Stop:
    """The check stops here, with this said of the learner's class."""
    return Stop(Outcome("error", detail=f"Your class gives no model to judge: {text}"))
