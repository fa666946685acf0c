"""A learner's model on the grader's side: each call of a method is sent to the `ModelServer`. `check_all` and the library can use it."""
from collections.abc import Callable
from operator import attrgetter
from typing import Any

import torch
from torch import Tensor
from torch.distributions import Bernoulli, Categorical, Distribution, MixtureSameFamily, Normal

from course_lib import conditional as families
from course_lib.autoregressive import AutoregressiveModel
from course_lib.grading.checks import Stop
from course_lib.grading.protocol.calls import Outcome
from course_lib.grading.protocol.models import PARAMETERS

FAMILIES = ("Bernoulli", "Categorical", "MixtureOfGaussians")
MOST = 10_000                   # values of a variable, parts of a mixture
Run = Callable[..., Any]        # run(what, config, weights, *args); raises Stop where there is no value


class State:
    """The number of a state on the other side, and its number of rows."""

    def __init__(self, number: int, batch: int):
        self.number, self.batch = number, batch


class Proxy(AutoregressiveModel):
    """The model `number` behind `run`. `length` is the number of variables where it has no n of its own."""

    def __init__(self, run: Run, number: int, length: int | None = None, facts: dict | None = None):
        facts = facts or check_facts(run("facts", number, None, length or 0))
        if length is None and facts["n"] and not facts["parents"]:
            facts = check_facts(run("facts", number, None, facts["n"]))
        super().__init__(facts["n"], create_family(facts["family"], facts["of"]), facts["order"])
        self.run, self.number, self.facts, self.length = run, number, facts, length
        self.register_buffer("pattern", torch.empty(0))              # its dtype is that of what is sent

    def ask(self, what: str, *args: Any) -> Any:
        return self.run(what, self.number, None, *args)

    def __deepcopy__(self, memo: dict) -> "Proxy":
        """A double copy in eval mode, on both sides, as the contract needs it."""
        return Proxy(self.run, self.ask("copy"), self.length, self.facts).double().eval()

    def parents(self, i: int) -> list[int]:
        return self.facts["parents"][i]

    def randomize(self, generator: torch.Generator | None = None) -> None:
        self.ask("randomize", draw_seed(generator))

    def check_context(self, context: Any, batch: int) -> None:
        """The class behind it accepts a context or not."""

    def conditionals(self, x: Tensor, context: Any = None) -> Distribution:
        if x.is_floating_point() and torch.is_grad_enabled():
            kind, parts = self.ask_distribution("conditionals", x.shape, x.detach(), context)
            return distribution(kind, list(RemoteGradient.apply(self, x, *parts)) if x.requires_grad else parts)
        return distribution(*self.ask_distribution("conditionals", x.shape, x, context))

    def log_prob(self, x: Tensor, context: Any = None) -> Tensor:
        return check_tensor(self.ask("log_prob", x, context), (len(x),), "log_prob")

    def start(self, batch: int, context: Any = None) -> State:
        return State(self.ask("start", batch, context), batch)

    def predict(self, state: State) -> Distribution:
        return distribution(*self.ask_distribution("predict", (state.batch,), state.number))

    def update(self, state: State, x_i: Tensor) -> State:
        return State(self.ask("update", state.number, x_i), state.batch)

    def select(self, state: State, rows: Tensor) -> State:
        return State(self.ask("select", state.number, rows), len(rows))

    def sample(self, num: int, given: Tensor | None = None, known: Tensor | None = None, context: Any = None,
               generator: torch.Generator | None = None, length: int | None = None) -> Tensor:
        x = self.ask("sample", num, given, known, context, draw_seed(generator), length)
        x = check_tensor(x, (num, self.n or length), "sample")
        return self.conditional.check(x, "what sample returns", torch.float64)

    def ask_distribution(self, what: str, shape: tuple[int, ...], *args: Any) -> tuple[str, list[Tensor]]:
        """A distribution of the family with this batch shape, by its parameters."""
        reply = self.ask(what, *args)
        kind = reply.get("kind") if isinstance(reply, dict) else None
        wanted = self.conditional(torch.zeros(1, *self.conditional.parameter_shape))
        if kind != type(wanted).__name__:
            raise model_error(f"{what} returns a distribution {kind}; expected {type(wanted).__name__}, that of {self.conditional}")
        parts = reply.get("parameters")
        if not isinstance(parts, list) or len(parts) != len(PARAMETERS[kind]):
            raise model_error(f"{what} returned no parameters of a distribution")
        last = attrgetter(PARAMETERS[kind][0])(wanted).shape[1:]
        return kind, [check_tensor(part, (*shape, *last), what) for part in parts]


class RemoteGradient(torch.autograd.Function):
    """The parameters of the factors, whose gradients by x are computed on the other side."""

    @staticmethod
    def forward(ctx, proxy: Proxy, x: Tensor, *parts: Tensor):
        ctx.proxy, ctx.x = proxy, x.detach()
        return tuple(part.clone() for part in parts)

    @staticmethod
    def backward(ctx, *grads: Tensor):
        gradient = check_tensor(ctx.proxy.ask("vjp", ctx.x, list(grads)), tuple(ctx.x.shape), "conditionals")
        return None, gradient.to(ctx.x), *(None for _ in grads)


def distribution(kind: str, parts: list[Tensor]) -> Distribution:
    """The distribution with these parameters."""
    if kind == "MixtureSameFamily":
        logits, loc, scale = parts
        return MixtureSameFamily(Categorical(logits=logits, validate_args=False), Normal(loc, scale, validate_args=False),
                                 validate_args=False)
    return {"Bernoulli": Bernoulli, "Categorical": Categorical}[kind](logits=parts[0], validate_args=False)


def check_tensor(value: Any, shape: tuple[int | None, ...], source: str) -> Tensor:
    """The learner's value, if it is a real tensor of this shape."""
    if not isinstance(value, Tensor) or value.is_complex():
        raise model_error(f"{source} gives {type(value).__name__}; expected a tensor of shape {shape}")
    if tuple(value.shape) != tuple(shape):
        raise model_error(f"{source} gives shape {tuple(value.shape)}; expected {tuple(shape)}")
    return value


def check_facts(facts: Any) -> dict[str, Any]:
    """The properties of a model, each of the type that it has to be."""
    if not isinstance(facts, dict) or facts.get("family") not in FAMILIES or not isinstance(facts.get("of"), dict):
        raise model_error(f"its family is none of {', '.join(FAMILIES)}")
    n, order, parents = facts.get("n"), facts.get("order"), facts.get("parents")
    ints = [order or [], *parents] if isinstance(parents, list) and all(isinstance(row, list) for row in parents) else [[None]]
    if not (n is None or type(n) is int and 0 < n < 1000) or any(type(i) is not int for row in ints for i in row):
        raise model_error("its n, order or parents are not whole numbers")
    if order is not None and sorted(order) != list(range(n or 0)):
        raise model_error(f"its order is {str(order)[:80]}; expected a permutation of 0..{(n or 0) - 1}")
    return facts


def create_family(name: str, of: dict[str, Any]) -> families.Conditional:
    """The family of this name with these numbers."""
    try:
        if any(isinstance(value, int) and value > MOST for value in of.values()):
            raise ValueError(f"a number above {MOST}")
        return getattr(families, name)(**of)
    except (TypeError, ValueError) as problem:
        raise model_error(f"its family cannot be made: {problem}") from None


def draw_seed(generator: torch.Generator | None) -> int:
    """A seed that the generator draws."""
    return int(torch.randint(2 ** 31, (), generator=generator))


def model_error(text: str) -> Stop:
    """Stops the check, with this sentence about the learner's class."""
    return Stop(Outcome("error", detail=f"Your class gives no model to grade: {text}"))
