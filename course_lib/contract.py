"""Proofs that a model keeps the autoregressive contract. They work on any model, the reader's own included.

    check_causal       each factor reacts to exactly its parents: nothing leaks, nothing is missing
    check_normalised   probabilities of all states sum to one
    check_views_agree  predicting one variable at a time gives the factors of the parallel pass
    check_samples      samples follow the enumerated distribution, also with some variables given
    check_all          all four

Each works on a float64 copy in eval mode, with parameters redrawn by the model's own `randomize`, and returns a result
that prints as one line, or raises `ContractError` with one sentence. The model itself is left alone.
"""

from __future__ import annotations

import copy
import math
from dataclasses import dataclass, field

import torch
from torch import Tensor, nn
from torch.distributions import Distribution

from course_lib.autoregressive import AutoregressiveModel, select_rows

MAX_STATES = 2 ** 16
REACTS = 1e-9           # a change in a factor's log-probabilities below this is rounding, in float64
AGREES = 1e-8
SUMS = 1e-6             # enumeration; quadrature of a density is allowed 1e-3
UNLIKELY = 1e-5         # a p-value below this is a failure: one correct model in 100,000 draws one


class ContractError(AssertionError):
    """A model broke the contract; the message says which input reached which output, or by how much it is off."""


@dataclass
class Result:
    """What was proved. Prints as one line; `values` holds the numbers behind it."""

    line: str
    values: dict = field(default_factory=dict)

    def __str__(self) -> str:
        return self.line

    __repr__ = __str__


def check_all(model: nn.Module, *, length: int | None = None, context: Tensor | None = None, seed: int = 0) -> Result:
    """All four checks. A `Mixture` is summed and sampled itself, its components are checked for everything.

    length   number of variables, for a model of sequences of any length
    context  (P,) or (1, P), for a model that is conditioned on something
    """
    kwargs = {"length": length, "context": context, "seed": seed}
    lines, values = [], {}
    checks = [check_causal, check_normalised, check_views_agree, check_samples]
    if not _has_factors(model):
        for k, component in enumerate(model.models):
            try:
                check_all(component, **kwargs)
            except ContractError as error:
                raise ContractError(f"component {k}: {error}") from None
        lines.append(f"{len(model.models)} components keep the contract")
        checks = [check_normalised, check_samples]
    for check in checks:
        try:
            result = check(model, **kwargs)
        except TooLarge as error:
            result = Result(f"sum not taken ({error})" if check is check_normalised else f"samples not tested ({error})")
        lines.append(result.line)
        values.update(result.values)
    return Result(", ".join(lines), values)


class TooLarge(ValueError):
    """More states than can be enumerated."""


# --- (1) nothing leaks and nothing is missing ----------------------------------------------------------------------------


def check_causal(model: nn.Module, *, length: int | None = None, context: Tensor | None = None, seed: int = 0) -> Result:
    """Each factor reacts to exactly its `parents(i)`.

    Discrete inputs are flipped one at a time, continuous ones differentiated; the reactions are united over several
    draws of the parameters and of the input, so that a chance zero hides nothing.
    """
    generator = torch.Generator().manual_seed(seed)
    n = _length(model, length)
    reacts = torch.zeros(n, n, dtype=torch.bool)                     # reacts[i, j]: factor i changes with variable j
    declared = torch.zeros(n, n, dtype=torch.bool)
    for i in range(n):
        declared[i, model.parents(i)] = True
    pattern = _flips if _discrete(model) else _jacobian
    for draw in range(8):
        net = _copy(model, generator)
        reacts |= pattern(net, _inputs(net, 1, n, generator), _context(context, 1, net), generator)
        if draw >= 2 and not (declared & ~reacts).any():             # nothing missing: three draws settle the leaks
            break
    order = list(range(n)) if model.order is None else model.order.tolist()
    where = "Jacobian" if pattern is _jacobian else "distribution"
    for i, j in (reacts & ~declared).nonzero().tolist():
        itself = "itself" if i == j else "drawn later" if order.index(j) > order.index(i) else "not one of its parents"
        raise ContractError(f"factor {i} reads x_{j}, which is {itself}: its {where} changes when x_{j} does")
    for i, j in (declared & ~reacts).nonzero().tolist():
        raise ContractError(f"factor {i} never reads x_{j}, which is one of its parents: information is lost")
    return Result("causal", {"reacts": reacts})


def _flips(model, x: Tensor, context, generator) -> Tensor:
    """reacts[i, j] by changing variable j to another of its values, all j in one batch."""
    n, k = x.shape[1], model.conditional.num_values
    shift = torch.randint(1, k, (n,), generator=generator).to(x.device)
    rows = x.repeat(n + 1, 1)                                        # row j has variable j changed, the last row none
    rows[range(n), range(n)] = ((rows[range(n), range(n)].long() + shift) % k).to(x.dtype)
    with torch.no_grad():
        table = _features(model, model.conditionals(rows, _expand(context, n + 1)))  # (n + 1, n, K)
    change = (table[:-1] - table[-1:]).abs().nan_to_num(posinf=1.0).amax(dim=-1)      # (j, i); inf - inf is no change
    return (change > REACTS).T.cpu()


def _jacobian(model, x: Tensor, context, generator) -> Tensor:
    """reacts[i, j] by the derivative of factor i's log-density, at fixed points, with respect to x_j."""
    x = x.requires_grad_()
    probe = torch.randn(5, 1, 1, generator=generator, dtype=torch.float64).to(x.device)
    total = model.conditionals(x, context).log_prob(probe).sum(dim=0)[0]             # (n,), one number a factor
    rows = []
    for i in range(len(total)):
        g = torch.autograd.grad(total[i], x, retain_graph=True, allow_unused=True)[0] if total[i].requires_grad else None
        rows.append(torch.zeros_like(x[0]) if g is None else g[0].detach())
    return (torch.stack(rows).abs() > REACTS).cpu()


# --- (2) probabilities sum to one -----------------------------------------------------------------------------------------


def check_normalised(model: nn.Module, *, length: int | None = None, context: Tensor | None = None,
                     seed: int = 0) -> Result:
    """The sum over all states (at most 2^16), or the integral over one or two continuous variables, is 1.

    Taken for the parameters as they are and once more for redrawn ones; the worse of the two is reported.
    """
    generator = torch.Generator().manual_seed(seed)
    n = _length(model, length)
    total, count, what = 1.0, 0, ""
    for net in (_copy(model), _copy(model, generator)):
        if _discrete(model):
            log_p = _enumerate(net, n, context)[1]
            s, count, what = log_p.exp().sum().item(), len(log_p), _states(model, n, len(log_p))
        else:
            s, what = _quadrature(net, n, context), f"integral over {n} continuous variable{'s' * (n > 1)}"
        if not abs(s - 1) <= abs(total - 1):
            total = s
    if not abs(total - 1) <= (SUMS if _discrete(model) else 1e-3):
        raise ContractError(f"probabilities do not sum to one: {what} gives {total:.6f}")
    shown = f"sum of p over {what}" if count else what
    return Result(f"normalised ({shown} = {total:.6f})", {"sum": total, "states": count})


def _quadrature(model, n: int, context) -> float:
    """Trapezoid rule on a box that holds the samples and eight standard deviations around them."""
    if n > 2:
        raise TooLarge(f"{n} continuous variables; quadrature takes one or two")
    with torch.no_grad():
        drawn = model.sample(4096, context=_expand(_context(context, 1, model), 4096),
                             generator=torch.Generator().manual_seed(0))
        low, high = drawn.amin(0), drawn.amax(0)
        margin = 8 * drawn.std(0) + 1
        points = 4001 if n == 1 else 1201
        axes = [torch.linspace(a, b, points, dtype=torch.float64, device=drawn.device)
                for a, b in zip((low - margin).tolist(), (high + margin).tolist())]
        grid = torch.cartesian_prod(*axes).reshape(-1, n)
        p = torch.cat([model.log_prob(x, _expand(_context(context, 1, model), len(x))).exp()
                       for x in grid.split(2 ** 17)]).reshape([points] * n)
        for axis in reversed(axes):
            p = torch.trapezoid(p, axis)
    return p.item()


# --- (3) both views agree -------------------------------------------------------------------------------------------------


def check_views_agree(model: nn.Module, *, length: int | None = None, context: Tensor | None = None,
                      seed: int = 0) -> Result:
    """Along drawn paths, `predict` equals the matching column of one full `conditionals` pass on the result.

    Half-way the rows are reordered by `select`, as a beam search would.
    """
    generator = torch.Generator().manual_seed(seed)
    n, rows = _length(model, length), 4
    worst = 0.0
    for net in (_copy(model), _copy(model, generator)):
        ctx = _context(context, rows, net)
        order = list(range(n)) if net.order is None else net.order.tolist()
        with torch.no_grad():
            state, seen, x = net.start(rows, ctx), [], None
            x = torch.zeros(rows, n, dtype=torch.float64 if not _discrete(net) else torch.long, device=_device(net))
            for k, i in enumerate(order):
                distribution = net.predict(state)
                seen.append(_features(net, distribution))
                u = torch.rand(rows, net.conditional.num_uniforms, generator=generator, dtype=torch.float64)
                x_i = net.conditional.draw(distribution, u.to(_device(net)))
                state = net.update(state, x_i)
                x[:, i] = x_i.to(x.dtype)
                if k == n // 2:
                    swap = torch.tensor([2, 0, 3, 3], device=x.device)
                    state, x, seen = net.select(state, swap), x[swap], [s[swap] for s in seen]
                    ctx = select_rows(ctx, swap)
            full = _features(net, net.conditionals(x, ctx))                          # (rows, n, K)
            own = net.log_prob(x, ctx)
            factors = net.conditionals(x, ctx).log_prob(net.check_input(x, ctx)).sum(dim=1)
        for k, i in enumerate(order):
            # log-probabilities of -1e9 and less are all "impossible"
            gap = (seen[k].clamp(min=-1e9) - full[:, i].clamp(min=-1e9)).abs().max().item()
            if not gap <= AGREES * max(1.0, full[:, i].clamp(min=-1e9).abs().max().item()):
                raise ContractError(f"the two views differ: at step {k} predict gives variable {i} another distribution "
                                    f"than conditionals does (largest difference {gap:.2g})")
            worst = max(worst, gap)
        gap = (own - factors).abs().max().item()
        if not gap <= AGREES * max(1.0, factors.abs().max().item()):
            raise ContractError(f"log_prob is not the sum of the factors' log-probabilities: it differs by {gap:.2g}")
    return Result(f"both views agree within {_power(worst)}", {"difference": worst})


# --- (4) samples follow the distribution ----------------------------------------------------------------------------------


def check_samples(model: nn.Module, *, length: int | None = None, context: Tensor | None = None, seed: int = 0) -> Result:
    """Chi-square of samples against the enumerated distribution; for continuous variables, of their CDF values.

    Discrete models with factors are tested twice, the second time with about half of the variables given, against the
    clamped law: known variables fixed, the others p(x_i | what came before).
    """
    generator = torch.Generator().manual_seed(seed)
    n, net = _length(model, length), _copy(model, generator)
    if not _discrete(model):
        return _check_uniform(net, n, context, generator)
    states, log_p = _enumerate(net, n, context)
    num = min(max(4096, 20 * len(states)), 2 ** 17)
    drawn = net.sample(num, context=_context(context, num, net), generator=generator, **_sized(net, n))
    statistic, freedom = _chi_square(drawn, states, log_p.exp(), model.conditional.num_values)
    _judge(statistic, freedom, "samples do not follow the model's own probabilities")
    if _has_factors(model) and n > 1:
        _check_clamped(net, n, context, states, generator)
    return Result(f"samples fit (chi-square {statistic:.0f} on {freedom})", {"chi_square": statistic, "freedom": freedom})


def _check_clamped(net, n: int, context, states: Tensor, generator) -> None:
    known = torch.rand(n, generator=generator) < 0.5
    known[torch.randint(n, (), generator=generator)] = True
    given = states[torch.randint(len(states), (), generator=generator)].cpu()
    num = 8192
    drawn = net.sample(num, given.expand(num, n).to(states.device), known.expand(num, n).to(states.device),
                       _context(context, num, net), generator, **_sized(net, n))
    if not torch.equal(drawn[:, known].long().cpu(), given[known].expand(num, -1)):
        raise ContractError("sample changed a given variable")
    with torch.no_grad():
        log_p = net.conditionals(states, _context(context, len(states), net)).log_prob(net.check_input(states))
    law = log_p[:, ~known].sum(dim=1).exp() * (states[:, known].cpu() == given[known]).all(dim=1).to(log_p.device)
    statistic, freedom = _chi_square(drawn, states, law, net.conditional.num_values)
    _judge(statistic, freedom, "with given variables, samples do not follow the clamped law")


def _check_uniform(net, n: int, context, generator) -> Result:
    """F(x_i | x_<i) is uniform on [0, 1] for draws from the model: 20 bins for each variable."""
    num, bins = 4096, 20
    ctx = _context(context, num, net)
    x = net.sample(num, context=ctx, generator=generator, **_sized(net, n))
    with torch.no_grad():
        cdf = net.conditionals(x, ctx).cdf(x)                                        # (num, n)
    statistic = 0.0
    for column in cdf.T:
        counts = torch.histc(column, bins, 0, 1)
        statistic += ((counts - num / bins) ** 2 / (num / bins)).sum().item()
    _judge(statistic, n * (bins - 1), "samples do not follow the model's own densities")
    return Result(f"samples fit (chi-square {statistic:.0f} on {n * (bins - 1)})",
                  {"chi_square": statistic, "freedom": n * (bins - 1)})


def _chi_square(drawn: Tensor, states: Tensor, p: Tensor, k: int) -> tuple[float, int]:
    """The statistic and its degrees of freedom; states expected less than five times share a cell."""
    place = k ** torch.arange(states.shape[1] - 1, -1, -1, device=drawn.device)
    counts = torch.bincount((drawn.long() * place).sum(1), minlength=len(states)).double()
    expected = p * len(drawn)
    if (counts[expected < 1e-9] > 0).any():
        return math.inf, 1                                           # something impossible was drawn
    rare = expected < 5
    cells = [(counts[~rare], expected[~rare])]
    if expected[rare].sum() >= 5:
        cells.append((counts[rare].sum()[None], expected[rare].sum()[None]))
    counts, expected = (torch.cat(part) for part in zip(*cells))
    return ((counts - expected) ** 2 / expected).sum().item(), max(1, len(counts) - 1)


def _judge(statistic: float, freedom: int, sentence: str) -> None:
    half = torch.tensor([freedom / 2, statistic / 2], dtype=torch.float64)
    p_value = 0.0 if math.isinf(statistic) else torch.special.gammaincc(half[0], half[1]).item()
    if p_value < UNLIKELY:
        raise ContractError(f"{sentence}: chi-square {statistic:.0f} on {freedom} degrees of freedom")


# --- shared ---------------------------------------------------------------------------------------------------------------


def _copy(model: nn.Module, generator: torch.Generator | None = None) -> nn.Module:
    """A float64 copy in eval mode; redrawn by the model's own `randomize` if a generator is passed."""
    net = copy.deepcopy(model).double().eval()
    if generator is not None:
        net.randomize(generator)
    return net


def _has_factors(model: nn.Module) -> bool:
    return isinstance(model, AutoregressiveModel)


def _discrete(model: nn.Module) -> bool:
    return model.conditional.num_values is not None


def _length(model: nn.Module, length: int | None) -> int:
    if model.n is None and length is None:
        raise ValueError(f"length is None; {type(model).__name__} has no fixed number of variables, so a length is needed")
    if model.n is not None and length not in (None, model.n):
        raise ValueError(f"length is {length}; this model has {model.n} variables")
    return model.n or length


def _sized(model: nn.Module, n: int) -> dict:
    return {"length": n} if model.n is None else {}


def _device(model: nn.Module):
    return next((t.device for t in (*model.parameters(), *model.buffers())), torch.device("cpu"))


def _context(context: Tensor | None, batch: int, model: nn.Module) -> Tensor | None:
    if context is None:
        return None
    context = context if context.dim() > 1 else context[None]
    return _expand(context.to(_device(model)), batch)


def _expand(context: Tensor | None, batch: int) -> Tensor | None:
    return None if context is None else context[:1].expand(batch, *context.shape[1:])


def _inputs(model, batch: int, n: int, generator) -> Tensor:
    k = model.conditional.num_values
    x = torch.randn(batch, n, generator=generator, dtype=torch.float64) if k is None else \
        torch.randint(k, (batch, n), generator=generator)
    return x.to(_device(model))


def _features(model, distribution: Distribution) -> Tensor:
    """A distribution as numbers, (*batch, K): log-probabilities of all values, or log-densities at fixed points."""
    k = model.conditional.num_values
    if k is None:
        return torch.stack([distribution.log_prob(torch.tensor(v, dtype=torch.float64, device=_device(model)))
                            for v in (-2.0, -0.5, 0.3, 1.0, 2.5)], dim=-1)
    if k > 64 and hasattr(distribution, "logits"):                   # a vocabulary: read the table itself
        return distribution.logits.log_softmax(-1)
    dtype = torch.float64 if k == 2 else torch.long
    return torch.stack([distribution.log_prob(torch.tensor(v, dtype=dtype, device=_device(model))) for v in range(k)],
                       dim=-1)


def _enumerate(model, n: int, context) -> tuple[Tensor, Tensor]:
    """All states (N, n), the last variable fastest, and their log-probabilities (N,)."""
    k = model.conditional.num_values
    if n * math.log(k) > math.log(MAX_STATES) + 1e-9:
        raise TooLarge(f"{_states(model, n, None)}; at most {MAX_STATES} are enumerated")
    r = torch.arange(k ** n, device=_device(model))
    states = r[:, None] // k ** torch.arange(n - 1, -1, -1, device=r.device) % k
    with torch.no_grad():
        log_p = torch.cat([model.log_prob(x, _context(context, len(x), model)) for x in states.split(4096)])
    return states, log_p


def _states(model, n: int, count: int | None) -> str:
    """What is summed over, in words: 512 images of 9 pixels read as 512 states."""
    return f"{model.conditional.num_values}^{n} states" if count is None else f"{count} states"


def _power(gap: float) -> str:
    """The next power of ten above a difference, no smaller than 1e-12: stable from machine to machine."""
    return f"1e{max(-12, math.ceil(math.log10(max(gap, 1e-300))))}"
