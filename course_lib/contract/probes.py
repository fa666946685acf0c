"""Helpers of the checks: copies of a model, test inputs, dependencies, enumeration of states and quadrature.

In all functions, `model` is a model under test, n its number of variables, k the number of values of a discrete
variable, and `context` the input of a conditional model as in `check_all`, or None.
"""

from __future__ import annotations

import copy
import math
import re
from typing import Any

import torch
from torch import Tensor, nn
from torch.distributions import Distribution

from course_lib.autoregressive import AutoregressiveModel, Context
from course_lib.contract.statistics import cell_masses

MAX_STATES = 2 ** 16                                                 # states that are enumerated at most


class TooLarge(ValueError):
    """Raised if there are too many states to enumerate, or if a density has too many variables or is too narrow.

    >>> from course_lib.contract import check_normalized
    >>> from course_lib.density import FVSBN
    >>> check_normalized(FVSBN(784))
    Traceback (most recent call last):
    course_lib.contract.probes.TooLarge: model has 2^784 states; expected at most 65536
    """


class Unusable(TypeError):
    """Raised if a method or attribute that a check needs is missing or fails. The message says what to add."""


CALLED = ("conditionals", "log_prob", "start", "predict", "update", "select", "sample", "draw_all", "parents",
          "randomize", "check_input", "check_context")               # attributes that the contract may use


def require(model: Any, *names: str) -> None:
    """Raise Unusable unless `model` is an nn.Module with the attributes `names`; the message says which it lacks."""
    if isinstance(model, type):
        raise Unusable(f"model is the class {model.__name__}; expected a model, {model.__name__}(...)")
    name = type(model).__name__
    if not isinstance(model, nn.Module):
        raise Unusable(f"model is of type {name}; expected an AutoregressiveModel")
    missing = [wanted for wanted in names if not hasattr(model, wanted)]
    if "conditionals" in missing and hasattr(model, "models"):
        raise Unusable(f"{name} has no conditionals; this check is for its components, model.models[k]")
    if missing:
        listed = ", ".join(missing[:-1]) + " and " * (len(missing) > 1) + missing[-1]
        todo = [] if isinstance(model, AutoregressiveModel) else ["let its class inherit from AutoregressiveModel"]
        todo += ["call super().__init__(n) in its constructor"]
        todo += ["write conditionals(x, context)"] if "conditionals" in missing else []
        raise Unusable(f"{name} has no {listed}; {', '.join(todo)}")


def explain(model: nn.Module, error: Exception, context: Context | None) -> str:
    """Describe `error`, which a method of the model raised, in one line: the method, its input x, and a remedy."""
    name, x, step = type(model).__name__, None, error.__traceback__
    while step is not None:                                          # the innermost of a model's own methods
        held = step.tb_frame.f_locals
        if step.tb_frame.f_code.co_name in CALLED and isinstance(held.get("self"), nn.Module):
            name, x = f"{type(held['self']).__name__}.{step.tb_frame.f_code.co_name}", held.get("x")
        step = step.tb_next
    on = f" on x {tuple(x.shape)} of {x.dtype}" if isinstance(x, Tensor) else ""
    message, advice = str(error).split("\n")[0].rstrip("."), ""
    if context is None and "NoneType" in message:
        advice = "; context is None: pass context= to a conditional model"
    elif "'Tensor' object has no attribute" in message:
        advice = "; a method returns a tensor instead of a distribution: self.conditional(raw) builds a distribution"
    elif "positional argument" in message:
        advice = "; expected the signatures conditionals(x, context), start(batch, context), predict(state), " \
                 "update(state, x_i)"
    elif re.search("dtype|scalar type|used as indices", message):
        advice = "; the contract converts parameters and buffers to float64, but no other tensors: use register_buffer, " \
                 "and x.long() for an index"
        if isinstance(x, Tensor) and not x.is_floating_point():
            advice = f"; values of {model.conditional} are integers: self.conditional.encode(x, dtype) converts them to " \
                     "inputs of a layer"
    return f"{name} fails{on}: {type(error).__name__}: {message}{advice}"


def copy_of(model: nn.Module, generator: torch.Generator | None = None) -> nn.Module:
    """Return a float64 copy in eval mode; if a generator is passed, `randomize` samples the parameters with it."""
    net = copy.deepcopy(model).double().eval()
    if generator is not None:
        net.randomize(generator)
    return net


def has_factors(model: nn.Module) -> bool:
    """Whether the model has a method `conditionals`, unlike a `Mixture`."""
    return hasattr(model, "conditionals")


def is_discrete(model: nn.Module) -> bool:
    """Whether the variables of the model are discrete, so that its states can be enumerated."""
    return model.conditional.num_values is not None


def order_of(model: nn.Module, n: int) -> list[int]:
    """Return the list whose entry k is the variable sampled k-th: `model.order`, or 0 to n - 1 if it is None."""
    return list(range(n)) if model.order is None else model.order.tolist()


def length_of(model: nn.Module, length: int | None) -> int:
    """Return the number of variables, `model.n` or else `length`. Raises ValueError if both are None or they differ."""
    name = type(model).__name__
    if model.n is None and (length is None or length < 1):
        raise ValueError(f"length is {length}; expected at least 1, because {name} has no fixed number of variables")
    if model.n is not None and length not in (None, model.n):
        raise ValueError(f"length is {length}; expected {model.n}, the number of variables of {name}, or None")
    return model.n or length


def device_of(model: nn.Module):
    """Return the device of the model; the CPU if it has no tensors."""
    return next((t.device for t in (*model.parameters(), *model.buffers())), torch.device("cpu"))


def contexts(context: Context | None, batch: int, model: nn.Module, every: bool = False) -> Context | None:
    """Return the context, or each tensor of a tuple, with `batch` rows, on the model's device and, if real, in float64.

    These are copies of the first row, or, if `every`, the rows in order, from the start again after the last.
    """
    if context is None:
        return None
    if isinstance(context, tuple):                                   # for example prompts and their mask
        return tuple(contexts(part, batch, model, every) for part in context)
    context = (context if context.dim() > 1 else context[None]).to(device_of(model))
    context = context.double() if context.is_floating_point() else context           # like the copy
    return context[torch.arange(batch) % len(context)] if every else expand(context, batch)


def expand(context: Context | None, batch: int) -> Context | None:
    """Repeat the first row of the context, or of each tensor of a tuple, `batch` times; None for None."""
    if isinstance(context, tuple):
        return tuple(expand(part, batch) for part in context)
    return None if context is None else context[:1].expand(batch, *context.shape[1:])


def draw(model: nn.Module, num: int, n: int, context: Context | None, generator: torch.Generator,
         given: Tensor | None = None, known: Tensor | None = None) -> Tensor:
    """Sample `num` rows with `model.sample` under the first row of the context; returns (num, n).

    given, known  (num, n): where the boolean `known` is True, the value of `given` is kept; None: nothing is given
    """
    return model.sample(num, given, known, contexts(context, num, model), generator, n if model.n is None else None)


def inputs(model: nn.Module, batch: int, n: int, generator: torch.Generator) -> Tensor:
    """Sample inputs (batch, n), integers from 0 to k - 1 or normal numbers, in the dtype that the model expects."""
    k = model.conditional.num_values
    x = torch.randn(batch, n, generator=generator, dtype=torch.float64) if k is None else \
        torch.randint(k, (batch, n), generator=generator)
    return model.conditional.check(x.to(device_of(model)), dtype=torch.float64)


def factors(model: nn.Module, x: Tensor, context: Context | None) -> Distribution:
    """Return `conditionals(x, context)` for x (B, n). Raises Unusable unless its batch shape is (B, n)."""
    return expect(model.conditionals(x, context), f"{type(model).__name__}.conditionals", tuple(x.shape))


def expect(answer: Any, method: str, shape: tuple[int, ...]) -> Distribution:
    """Return `answer`, the result of `method`. Raises Unusable if it is not a distribution of batch shape `shape`."""
    if not hasattr(answer, "log_prob"):
        what = f"a tensor of shape {tuple(answer.shape)}" if isinstance(answer, Tensor) else f"a {type(answer).__name__}"
        raise Unusable(f"{method} returns {what}; expected a distribution of batch shape {shape}, "
                       "such as self.conditional(raw)")
    if tuple(answer.batch_shape) != shape:
        raise Unusable(f"{method} returns a distribution of batch shape {tuple(answer.batch_shape)}; expected {shape}, "
                       "one for each row and variable")
    return answer


def features(model: nn.Module, distribution: Distribution) -> Tensor:
    """Return log-probabilities (..., K) of all K values under `distribution`, or log-densities (..., 5) at 5 points."""
    k = model.conditional.num_values
    if k is not None and k > 64 and hasattr(distribution, "logits"):                 # a large vocabulary
        return distribution.logits.log_softmax(-1)
    points = (-2.0, -0.5, 0.3, 1.0, 2.5) if k is None else range(k)
    dtype = torch.long if k is not None and k != 2 else torch.float64
    return torch.stack([distribution.log_prob(torch.tensor(v, dtype=dtype, device=device_of(model))) for v in points],
                       dim=-1)


def flips(model: nn.Module, x: Tensor, context: Context | None, generator: torch.Generator) -> Tensor:
    """Return (n, n): entry [i, j] is the largest change of a log-probability of factor i when variable j changes.

    The maximum is over the values of factor i and the rows of x (rows, n), in each of which variable j takes another
    random value.
    """
    (rows, n), k = x.shape, model.conditional.num_values
    flipped = x.repeat(n + 1, 1, 1)                                  # variable j is changed in copy j, none in the last
    for j in range(n):
        flipped[j, :, j] = (x[:, j] + torch.randint(1, k, (rows,), generator=generator).to(x.device)) % k
    with torch.no_grad():
        table = features(model, factors(model, flipped.flatten(0, 1), expand(context, (n + 1) * rows)))
    table = table.reshape(n + 1, rows, n, -1)                        # log-probabilities of the last axis' values
    change = torch.where(table[:-1] == table[-1:], 0.0, (table[:-1] - table[-1:]).abs())   # inf - inf is NaN
    return change.nan_to_num(nan=1.0).amax(dim=(1, 3)).T.cpu()       # (i, j)


def jacobian(model: nn.Module, x: Tensor, context: Context | None, generator: torch.Generator) -> Tensor:
    r"""Return (n, n): [i, j] is the largest absolute derivative of $\sum_v \log p(x_i = v \mid x_{<i})$ by $x_j$.

    The sum is over five random values v; the maximum is over the rows of x (rows, n).
    """
    x = x.requires_grad_()
    points = torch.randn(5, 1, 1, generator=generator, dtype=torch.float64).to(x.device)
    total = factors(model, x, context).log_prob(points).sum(dim=(0, 1))          # (n,), one value per factor
    grads = [torch.autograd.grad(t, x, retain_graph=True, allow_unused=True)[0] if t.requires_grad else None
             for t in total]
    reaction = [torch.zeros_like(x[0]) if g is None else g.abs().nan_to_num(nan=1.0).amax(dim=0) for g in grads]
    return torch.stack(reaction).cpu()


def places(n: int, k: int, device) -> Tensor:
    """Return the place values (k^(n-1), ..., k, 1) of a state that is read as a number of n digits in base k."""
    return k ** torch.arange(n - 1, -1, -1, device=device)


def enumerate_states(model: nn.Module, n: int, context: Context | None) -> tuple[Tensor, Tensor]:
    """Return all N = k^n states (N, n), the last variable varying fastest, and their log-probabilities (N,)."""
    k = model.conditional.num_values
    if n * math.log(k) > math.log(MAX_STATES) + 1e-9:
        raise TooLarge(f"model has {k}^{n} states; expected at most {MAX_STATES}")
    states = torch.arange(k ** n, device=device_of(model))[:, None] // places(n, k, device_of(model)) % k
    with torch.no_grad():
        x = model.conditional.check(states, dtype=torch.float64)
        log_p = torch.cat([model.log_prob(part, contexts(context, len(part), model)) for part in x.split(4096)])
    return states, log_p


def count_states(model: nn.Module, x: Tensor) -> Tensor:
    """Count how often each state is a row of x (num, n); returns (k^n,) in the order of `enumerate_states`."""
    n, k = x.shape[1], model.conditional.num_values
    return torch.bincount((x.long() * places(n, k, x.device)).sum(dim=1), minlength=k ** n).double()


def masses(model: nn.Module, n: int, context: Context | None) -> tuple[list[Tensor], Tensor]:
    """Return the coordinates of the nodes along each axis of a grid, and the probability of each of its cells.

    The grid covers 2000 samples of the model with a margin of eight standard deviations plus 1 on each side. Its nodes
    are equally spaced, because the trapezoid rule then converges fast for smooth densities. A grid of half the nodes
    tests the convergence. Raises TooLarge for more than two variables, and if the integrals over the two grids differ.
    """
    if n > 2:
        raise TooLarge(f"model has {n} continuous variables; expected one or two, for an integral by quadrature")
    with torch.no_grad():
        drawn = draw(model, 2000, n, context, torch.Generator().manual_seed(0))
        margin = 8 * drawn.std(0) + 1
        low, high = drawn.amin(0) - margin, drawn.amax(0) + margin
        even = torch.linspace(0, 1, 8001 if n == 1 else 701, dtype=torch.float64, device=drawn.device)
        axes = [a + (b - a) * even for a, b in zip(low, high)]
        grid = torch.cartesian_prod(*axes).reshape(-1, n)
        p = torch.cat([model.log_prob(x, contexts(context, len(x), model)).exp() for x in grid.split(2 ** 16)])
        p = p.reshape([len(even)] * n)
        mass, coarse = cell_masses(p, axes), cell_masses(p[(slice(None, None, 2),) * n], [a[::2] for a in axes])
    if abs(mass.sum() - coarse.sum()) > 1e-3:
        raise TooLarge(f"the density is too narrow for the grid of the quadrature: its integral is {mass.sum():.3f}, "
                       f"and {coarse.sum():.3f} with half the nodes; increase the standard deviations of the model")
    return axes, mass
