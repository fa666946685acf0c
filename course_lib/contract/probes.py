"""Probes of the contract: model copies, test inputs, distributions as vectors, dependencies, enumeration and
quadrature."""

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

MAX_STATES = 2 ** 16


class TooLarge(ValueError):
    """Too many states to enumerate, or a density that quadrature cannot resolve.

    >>> from course_lib.contract import check_normalized
    >>> from course_lib.density import FVSBN
    >>> check_normalized(FVSBN(784))
    Traceback (most recent call last):
    course_lib.contract.probes.TooLarge: 2^784 states; at most 65536 are enumerated
    """


class Unusable(TypeError):
    """The object cannot be tested, because a method or attribute is missing or fails. The message says what to add."""


CALLED = ("conditionals", "log_prob", "start", "predict", "update", "select", "sample", "draw_all", "parents",
          "randomize", "check_input", "check_context")               # attributes that the contract may use


def require(model: Any, *names: str) -> None:
    """Raise Unusable unless `model` is a module with the attributes `names`; the message says what its class lacks."""
    if isinstance(model, type):
        raise Unusable(f"model is the class {model.__name__}; expected a model, {model.__name__}(...)")
    name = type(model).__name__
    if not isinstance(model, nn.Module):
        raise Unusable(f"model is of type {name}; expected an AutoregressiveModel")
    missing = [wanted for wanted in names if not hasattr(model, wanted)]
    if "conditionals" in missing and hasattr(model, "models"):
        raise Unusable(f"{name} has no conditionals; this check is for its components")
    if missing:
        listed = ", ".join(missing[:-1]) + " and " * (len(missing) > 1) + missing[-1]
        todo = [] if isinstance(model, AutoregressiveModel) else ["let its class inherit from AutoregressiveModel"]
        todo += ["call super().__init__(n) in its constructor"]
        todo += ["write conditionals(x, context)"] if "conditionals" in missing else []
        raise Unusable(f"{name} has no {listed}; {', '.join(todo)}")


def explain(model: nn.Module, error: Exception, context: Context | None) -> str:
    """Describe an error that a model raised: the method, its input, and a remedy."""
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
    """A float64 copy in eval mode, with parameters from the model's `randomize` if a generator is passed."""
    net = copy.deepcopy(model).double().eval()
    if generator is not None:
        net.randomize(generator)
    return net


def has_factors(model: nn.Module) -> bool:
    """Whether the model has conditionals; a mixture has none."""
    return hasattr(model, "conditionals")


def is_discrete(model: nn.Module) -> bool:
    """Whether the variables are discrete, so that states can be enumerated."""
    return model.conditional.num_values is not None


def order_of(model: nn.Module, n: int) -> list[int]:
    """order[k] is the variable that is sampled k-th; the natural order for a model of sequences."""
    return list(range(n)) if model.order is None else model.order.tolist()


def length_of(model: nn.Module, length: int | None) -> int:
    """Number of variables to test. Raises ValueError if `length` is needed but missing, or differs from `model.n`."""
    name = type(model).__name__
    if model.n is None and (length is None or length < 1):
        raise ValueError(f"length is {length}; expected at least 1, because {name} has no fixed number of variables")
    if model.n is not None and length not in (None, model.n):
        raise ValueError(f"length is {length}; this model has {model.n} variables")
    return model.n or length


def device_of(model: nn.Module):
    """Device of the model; the CPU if it has no tensors."""
    return next((t.device for t in (*model.parameters(), *model.buffers())), torch.device("cpu"))


def contexts(context: Context | None, batch: int, model: nn.Module, every: bool = False) -> Context | None:
    """Expand the context, or each part of a tuple, to `batch` rows: the first row repeated, or all rows if `every`."""
    if context is None:
        return None
    if isinstance(context, tuple):                                   # for example prompts and their mask
        return tuple(contexts(part, batch, model, every) for part in context)
    context = (context if context.dim() > 1 else context[None]).to(device_of(model))
    context = context.double() if context.is_floating_point() else context           # like the copy
    return context[torch.arange(batch) % len(context)] if every else expand(context, batch)


def expand(context: Context | None, batch: int) -> Context | None:
    """Repeat the first row of the context `batch` times; None for None."""
    if isinstance(context, tuple):
        return tuple(expand(part, batch) for part in context)
    return None if context is None else context[:1].expand(batch, *context.shape[1:])


def draw(model: nn.Module, num: int, n: int, context: Context | None, generator: torch.Generator,
         given: Tensor | None = None, known: Tensor | None = None) -> Tensor:
    """Sample `num` rows with `model.sample`, given the first row of the context.

    n             length of the rows, passed on if the model has no fixed number of variables
    given, known  values of given variables, and True for these variables, as in `AutoregressiveModel.sample`
    """
    return model.sample(num, given, known, contexts(context, num, model), generator, n if model.n is None else None)


def inputs(model: nn.Module, batch: int, n: int, generator: torch.Generator) -> Tensor:
    """Random rows (batch, n) from the support of the family, in the form that it expects."""
    k = model.conditional.num_values
    x = torch.randn(batch, n, generator=generator, dtype=torch.float64) if k is None else \
        torch.randint(k, (batch, n), generator=generator)
    return model.conditional.check(x.to(device_of(model)), dtype=torch.float64)


def factors(model: nn.Module, x: Tensor, context: Context | None) -> Distribution:
    """Call `conditionals` on x (B, n); return its distributions, of batch shape (B, n)."""
    return expect(model.conditionals(x, context), f"{type(model).__name__}.conditionals", tuple(x.shape))


def expect(answer: Any, method: str, shape: tuple[int, ...]) -> Distribution:
    """Return `answer`, the result of `method`. Raises Unusable unless it is a distribution of batch shape `shape`."""
    if not hasattr(answer, "log_prob"):
        what = f"a tensor of shape {tuple(answer.shape)}" if isinstance(answer, Tensor) else f"a {type(answer).__name__}"
        raise Unusable(f"{method} returns {what}; expected a distribution of batch shape {shape}, "
                       "such as self.conditional(raw)")
    if tuple(answer.batch_shape) != shape:
        raise Unusable(f"{method} returns a distribution of batch shape {tuple(answer.batch_shape)}; expected {shape}, "
                       "one for each row and variable")
    return answer


def features(model: nn.Module, distribution: Distribution) -> Tensor:
    """A distribution as a vector (..., K): log-probabilities of all values, or log-densities at fixed points."""
    k = model.conditional.num_values
    if k is not None and k > 64 and hasattr(distribution, "logits"):                 # a large vocabulary
        return distribution.logits.log_softmax(-1)
    points = (-2.0, -0.5, 0.3, 1.0, 2.5) if k is None else range(k)
    dtype = torch.long if k is not None and k != 2 else torch.float64
    return torch.stack([distribution.log_prob(torch.tensor(v, dtype=dtype, device=device_of(model))) for v in points],
                       dim=-1)


def flips(model: nn.Module, x: Tensor, context: Context | None, generator: torch.Generator) -> Tensor:
    """Matrix (n, n): entry [i, j] is the largest change of the log-probabilities of factor i when variable j changes.

    The maximum is over the rows of x (rows, n); variable j takes another random value in each row.
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
    """Matrix (n, n): entry [i, j] is the largest absolute derivative of log p(x_i = v | x_<i) with respect to x_j.

    The log-densities are summed over five random values v; the maximum is over the rows of x.
    """
    x = x.requires_grad_()
    points = torch.randn(5, 1, 1, generator=generator, dtype=torch.float64).to(x.device)
    total = factors(model, x, context).log_prob(points).sum(dim=(0, 1))          # (n,), one value per factor
    grads = [torch.autograd.grad(t, x, retain_graph=True, allow_unused=True)[0] if t.requires_grad else None
             for t in total]
    reaction = [torch.zeros_like(x[0]) if g is None else g.abs().nan_to_num(nan=1.0).amax(dim=0) for g in grads]
    return torch.stack(reaction).cpu()


def places(n: int, k: int, device) -> Tensor:
    """Place values k^(n-1), ..., k, 1 of the digits of a state in base k."""
    return k ** torch.arange(n - 1, -1, -1, device=device)


def enumerate_states(model: nn.Module, n: int, context: Context | None) -> tuple[Tensor, Tensor]:
    """All states (N, n), the last variable varying fastest, and their log-probabilities (N,)."""
    k = model.conditional.num_values
    if n * math.log(k) > math.log(MAX_STATES) + 1e-9:
        raise TooLarge(f"{k}^{n} states; at most {MAX_STATES} are enumerated")
    states = torch.arange(k ** n, device=device_of(model))[:, None] // places(n, k, device_of(model)) % k
    with torch.no_grad():
        x = model.conditional.check(states, dtype=torch.float64)
        log_p = torch.cat([model.log_prob(part, contexts(context, len(part), model)) for part in x.split(4096)])
    return states, log_p


def count_states(model: nn.Module, x: Tensor) -> Tensor:
    """Number of occurrences of each state among the rows of x, (N,) in float64."""
    n, k = x.shape[1], model.conditional.num_values
    return torch.bincount((x.long() * places(n, k, x.device)).sum(dim=1), minlength=k ** n).double()


def masses(model: nn.Module, n: int, context: Context | None) -> tuple[list[Tensor], Tensor]:
    """Return the axes of a grid and the probability of each of its cells.

    The grid exceeds the range of the samples by eight standard deviations. Its nodes are equally spaced, because the
    trapezoid rule then converges fast for smooth densities. A grid of half the nodes tests the convergence. Raises
    TooLarge for more than two variables, and if the two grids disagree.
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
                       f"and {coarse.sum():.3f} with half the nodes; use a model of larger scale")
    return axes, mass
