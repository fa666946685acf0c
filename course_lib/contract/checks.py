"""Tests that a model has the four properties of the autoregressive contract.

    check_causal       each factor, a conditional distribution p(x_i | its parents), depends on exactly its parents
    check_normalized   the probabilities of all states, vectors of values of the n variables, sum to one
    check_views_agree  `predict`, one variable at a time, gives the same factors as `conditionals`, all at once
    check_samples      samples follow the enumerated distribution, also if some variables are given
    check_all          all four

Each check works on float64 copies of the model in eval mode, whose parameters the model's `randomize` initializes; the
model is not changed. A check returns a Result, which prints as one line, or raises ContractError with one sentence. If
a method of the model is missing or fails, the check raises a TypeError that says what to add.
"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass, field
from typing import Callable

import torch
from torch import Tensor, nn

from course_lib.autoregressive import Context, select_rows
from course_lib.contract import probes as probe
from course_lib.contract.probes import TooLarge, Unusable
from course_lib.contract.statistics import Test, chi_square, p_value, uniform_tests
from course_lib.validation import check_integer

REACTS = 1e-9           # changes of log-probabilities below this are rounding errors, in float64
AGREES = 1e-8           # largest difference of log-probabilities, relative to their magnitude
SUMS = 1e-6             # largest error of a sum of probabilities, by enumeration; by quadrature 1e-3
UNLIKELY = 1e-4         # two p-values in a row below this fail: a false alarm in 1e8


class ContractError(AssertionError):
    """Raised if a model violates the contract. The message names the factor and the variable, or the size of the error.

    >>> from course_lib.autoregressive import AutoregressiveModel
    >>> class Leaky(AutoregressiveModel):
    ...     def conditionals(self, x, context=None):
    ...         return self.conditional(x)  # each factor sees its own variable
    >>> check_all(Leaky(3))
    Traceback (most recent call last):
    course_lib.contract.checks.ContractError: factor 0 depends on x_0, ...
    """


@dataclass
class Result:
    """Result of a check, which prints as `line`.

    line    the result in one line
    values  measured quantities by name: "reacts" of `check_causal`, "sum" and "states" of `check_normalized`,
            "difference" of `check_views_agree`, "chi_square" and "freedom" of `check_samples`

    >>> from course_lib.density import FVSBN
    >>> print(check_normalized(FVSBN(9)))
    normalized (sum of p over 512 states = 1.000000)
    """

    line: str
    values: dict = field(default_factory=dict)

    def __str__(self) -> str:
        return self.line

    __repr__ = __str__


def _requires(*names: str) -> Callable:
    """Decorate a check: it raises Unusable, with a remedy, if the model lacks one of `names` or a method fails."""
    def decorate(check: Callable) -> Callable:
        @functools.wraps(check)
        def call(model: nn.Module, *, length: int | None = None, context: Context | None = None,
                 seed: int = 0) -> Result:
            probe.require(model, "n", "conditional", "log_prob", "randomize", *names)
            if length is not None:
                check_integer("length", length, "a number of variables")
            try:
                return check(model, length=length, context=context, seed=seed)
            except (NotImplementedError, Unusable):                  # their messages say what to do
                raise
            except (AttributeError, IndexError, KeyError, RuntimeError, TypeError) as error:
                raise Unusable(probe.explain(model, error, context)) from error
        return call
    return decorate


def check_all(model: nn.Module, *, length: int | None = None, context: Context | None = None, seed: int = 0) -> Result:
    """Run `check_causal`, `check_normalized`, `check_views_agree` and `check_samples`.

    A `Mixture` has no factors: run `check_normalized` and `check_samples` on it, and all four checks on each component.

    length   number of variables, for a model of sequences of any length; None for other models
    context  input of a conditional model, such as a prompt of P tokens, (P,), or R prompts (R, P), or a tuple of such
             tensors; `check_views_agree` uses the first four rows, the other checks use the first. None if the model
             needs no context
    seed     seed of the random parameters, inputs and samples

    Returns one Result with the lines of all checks, joined by commas, and their values. If a check raises TooLarge, the
    line says what was not tested. Raises ContractError if a check fails.
    """
    kwargs = {"length": length, "context": context, "seed": seed}
    lines, values = [], {}
    checks = [check_causal, check_normalized, check_views_agree, check_samples]
    probe.require(model, *([] if hasattr(model, "models") else ["conditionals"]))
    if not probe.has_factors(model):
        for k, component in enumerate(model.models):
            try:
                check_all(component, **kwargs)
            except ContractError as error:
                raise ContractError(f"component {k}: {error}") from None
        lines.append(f"{len(model.models)} components satisfy the contract")
        checks = [check_normalized, check_samples]
    for check in checks:
        try:
            result = check(model, **kwargs)
        except TooLarge as error:
            result = Result(f"{'sum not computed' if check is check_normalized else 'samples not tested'} ({error})")
        lines.append(result.line)
        values.update(result.values)
    return Result(", ".join(lines), values)


# --- (1) dependencies ------------------------------------------------------------------------------------------------


@_requires("conditionals", "order", "parents")
def check_causal(model: nn.Module, *, length: int | None = None, context: Context | None = None,
                 seed: int = 0) -> Result:
    """Test on random inputs that factor i depends on every variable in `parents(i)` and on no others.

    Discrete variables are changed one at a time; for continuous variables, derivatives with respect to them are
    computed. The dependencies are combined over several random parameters and inputs, because a dependency can vanish
    by chance. The inputs are a sample, so a dependency that exists only in rare states can be missed. The arguments are
    described in `check_all`. Returns a Result, whose values["reacts"], a boolean tensor (n, n), is True at [i, j] if
    factor i depends on variable j. Raises ContractError if the test fails.
    """
    generator = torch.Generator().manual_seed(seed)
    n = probe.length_of(model, length)
    reacts = torch.zeros(n, n, dtype=torch.bool)                     # reacts[i, j]: factor i depends on variable j
    declared = torch.zeros(n, n, dtype=torch.bool)
    for i in range(n):
        declared[i, model.parents(i)] = True
    pattern = probe.flips if probe.is_discrete(model) else probe.jacobian
    rows = max(1, min(8, 512 // n))                                  # inputs per sample of the parameters
    for draw in range(8):
        net = probe.copy_of(model, generator)
        x, ctx = probe.inputs(net, rows, n, generator), probe.contexts(context, rows, net)
        reacts |= pattern(net, x, ctx, generator) > REACTS
        if draw >= 2 and not (declared & ~reacts).any():             # nothing is missing; 3 samples for leaks
            break
    order = probe.order_of(model, n)
    where = "Jacobian" if pattern is probe.jacobian else "distribution"
    for i, j in (reacts & ~declared).nonzero().tolist():
        late = "sampled later" if order.index(j) > order.index(i) else "not one of its parents"
        what = "the variable that it predicts" if i == j else late
        raise ContractError(f"factor {i} depends on x_{j}, which is {what}: its {where} changes when x_{j} does")
    for i, j in (declared & ~reacts).nonzero().tolist():
        raise ContractError(f"factor {i} does not depend on x_{j}, which is one of its parents: information is lost")
    return Result("causal", {"reacts": reacts})


# --- (2) normalization -----------------------------------------------------------------------------------------------


@_requires()
def check_normalized(model: nn.Module, *, length: int | None = None, context: Context | None = None,
                     seed: int = 0) -> Result:
    """Test that the probabilities of all states sum to 1, or that a density of one or two variables integrates to 1.

    The sum is computed with the current and with random parameters, and the one with the larger error is reported. The
    arguments are described in `check_all`. Returns a Result with values["sum"], the sum or integral, and
    values["states"], the number of states, 0 for a density. Raises ContractError if the test fails, and TooLarge, a
    ValueError, for more than 2^16 states, more than two continuous variables or a density too narrow for quadrature.
    """
    generator = torch.Generator().manual_seed(seed)
    n = probe.length_of(model, length)
    sums, count = [], 0
    for net in (probe.copy_of(model), probe.copy_of(model, generator)):
        if probe.is_discrete(model):
            log_p = probe.enumerate_states(net, n, context)[1]
            count = len(log_p)
            sums.append(log_p.exp().sum().item())
        else:
            sums.append(probe.masses(net, n, context)[1].sum().item())
    total = max(sums, key=lambda s: math.inf if math.isnan(s) else abs(s - 1))
    what, over = ("sum of p", f"{count} states") if count else ("integral", f"{n} continuous variable{'s' * (n > 1)}")
    if not abs(total - 1) <= (SUMS if count else 1e-3):
        raise ContractError(f"probabilities do not sum to one: the {what} over {over} is {total:.6f}")
    return Result(f"normalized ({what} over {over} = {total:.6f})", {"sum": total, "states": count})


# --- (3) agreement of the two views ----------------------------------------------------------------------------------


@_requires("conditionals", "order", "start", "predict", "update", "select", "check_input")
def check_views_agree(model: nn.Module, *, length: int | None = None, context: Context | None = None,
                      seed: int = 0) -> Result:
    """Test that `predict` returns, at each step of sampling, the same distribution as `conditionals` for that variable.

    Halfway, `select` reorders the rows, as in a beam search. `log_prob` must equal the sum of the factors'
    log-probabilities. The test uses the current and then random parameters. The arguments are described in `check_all`.
    Returns a Result, whose values["difference"] is the largest difference of log p. Raises ContractError if it fails.
    """
    generator = torch.Generator().manual_seed(seed)
    n, rows = probe.length_of(model, length), 4
    order, worst = probe.order_of(model, n), 0.0
    for net in (probe.copy_of(model), probe.copy_of(model, generator)):
        ctx = probe.contexts(context, rows, net, every=True)
        x = torch.zeros_like(probe.inputs(net, rows, n, generator))
        with torch.no_grad():
            state, seen = net.start(rows, ctx), []
            for k, i in enumerate(order):
                distribution = probe.expect(net.predict(state), f"{type(net).__name__}.predict", (rows,))
                seen.append(probe.features(net, distribution))       # (rows, K)
                u = torch.rand(rows, net.conditional.num_uniforms, generator=generator, dtype=torch.float64)
                x_i = net.conditional.draw(distribution, u.to(x.device))
                state = net.update(state, x_i)
                x[:, i] = x_i.to(x.dtype)
                if k == n // 2:
                    swap = torch.tensor([2, 0, 3, 3], device=x.device)
                    state, x, ctx = net.select(state, swap), x[swap], select_rows(ctx, swap)
                    seen = [s[swap] for s in seen]
            factors = probe.factors(net, x, ctx)
            full, parts = probe.features(net, factors), factors.log_prob(net.check_input(x, ctx)).sum(dim=1)
            whole = net.log_prob(x, ctx)
        for k, i in enumerate(order):
            gap, size = _gap(seen[k], full[:, i])
            if not gap <= AGREES * size:
                raise ContractError(f"the two views differ: at step {k} predict and conditionals give different "
                                    f"distributions of variable {i} (largest difference {gap:.2g})")
            worst = max(worst, gap)
        gap, size = _gap(whole, parts)
        if not gap <= AGREES * size:
            raise ContractError(f"log_prob is not the sum of the factors' log-probabilities: it differs by {gap:.2g}")
    power = max(-12, math.ceil(math.log10(max(worst, 1e-300))))      # the next power of ten: the same on every machine
    return Result(f"both views agree within 1e{power}", {"difference": worst})


def _gap(a: Tensor, b: Tensor) -> tuple[float, float]:
    """(largest absolute difference of log-probabilities a and b, max(1, largest magnitude of b)), clipped at -1e9."""
    a, b = a.clamp(min=-1e9), b.clamp(min=-1e9)
    return (a - b).abs().max().item(), max(1.0, b.abs().max().item())


# --- (4) samples -----------------------------------------------------------------------------------------------------


@_requires("sample")
def check_samples(model: nn.Module, *, length: int | None = None, context: Context | None = None,
                  seed: int = 0) -> Result:
    """Test by chi-square that samples follow the enumerated distribution, or, if continuous, have uniform CDF values.

    Every model except a `Mixture` is tested a second time with about half of the variables given: they must keep their
    values, and the others must follow p(x_i | the variables before it). The arguments are described in `check_all`.
    Returns a Result with the statistic values["chi_square"] of the first test and its degrees of freedom
    values["freedom"]. Raises ContractError if a test fails. Raises TooLarge, a ValueError, if there are more than 2^16
    states, or for a `Mixture` of densities that `check_normalized` cannot integrate.
    """
    generator = torch.Generator().manual_seed(seed)
    n, net = probe.length_of(model, length), probe.copy_of(model, generator)
    fit, clamped = (_fit_of_states, _fit_of_clamped_states) if probe.is_discrete(net) else \
        (_fit_of_percentiles if probe.has_factors(net) else _fit_of_cells, _fit_of_clamped_percentiles)
    statistic, freedom = _decide(fit(net, n, context, generator), "samples do not follow the model's own probabilities")
    if probe.has_factors(net):
        _decide(clamped(net, n, context, generator), "with given variables, samples do not follow the model's conditionals")
    return Result(f"samples fit (chi-square {statistic:.0f} on {freedom})",
                  {"chi_square": statistic, "freedom": freedom})


def _fit_of_states(net, n: int, context, generator) -> Callable[[], list[Test]]:
    """Return a function that samples and tests how often each state occurs."""
    states, log_p = probe.enumerate_states(net, n, context)
    num = min(max(4096, 20 * len(states)), 2 ** 16)

    def tests() -> list[Test]:
        drawn = probe.draw(net, num, n, context, generator)
        return [chi_square(probe.count_states(net, drawn), num * log_p.exp())]
    return tests


def _fit_of_clamped_states(net, n: int, context, generator) -> Callable[[], list[Test]]:
    """Return a function that samples with given variables and tests how often each state occurs.

    There are eight sets of given variables, each with its values; the rows t, t + 8, t + 16, ... have set t."""
    states, _ = probe.enumerate_states(net, n, context)
    ctx, each = probe.contexts(context, len(states), net), 4096
    given = states[torch.randint(len(states), (8,), generator=generator).to(states.device)]
    known = torch.rand(4, n, generator=generator).to(states.device) < 0.5
    known = torch.cat([known, ~known])
    with torch.no_grad():
        x = net.conditional.check(states, dtype=torch.float64)
        log_p = probe.factors(net, x, ctx).log_prob(x)
    laws = [log_p[:, ~k].sum(dim=1).exp() * (states == g)[:, k].all(dim=1) for g, k in zip(given, known)]

    def tests() -> list[Test]:
        x = probe.draw(net, 8 * each, n, context, generator, given.repeat(each, 1), known.repeat(each, 1))
        _check_given(x, given.repeat(each, 1), known.repeat(each, 1))
        return [chi_square(probe.count_states(net, x[t::8]), each * law) for t, law in enumerate(laws)]
    return tests


def _fit_of_percentiles(net, n: int, context, generator) -> Callable[[], list[Test]]:
    """Return a function that samples and tests that the CDF values F(x_i | x_<i) are uniform and independent."""
    def tests() -> list[Test]:
        x = probe.draw(net, 4096, n, context, generator)
        with torch.no_grad():
            return uniform_tests(probe.factors(net, x, probe.contexts(context, len(x), net)).cdf(x))
    return tests


def _fit_of_clamped_percentiles(net, n: int, context, generator) -> Callable[[], list[Test]]:
    """Return a function that samples with given variables and tests CDF values, and ranks of the given variables.

    The given values are samples of the model whose columns have been shuffled, so they are independent."""
    def tests() -> list[Test]:
        given = probe.draw(net, 2 ** 15, n, context, generator)
        given = given.gather(0, torch.rand(given.shape, generator=generator).argsort(dim=0).to(given.device))
        known = (torch.rand(given.shape, generator=generator) < 0.5).to(given.device)
        x = probe.draw(net, len(given), n, context, generator, given, known)
        _check_given(x, given, known)
        with torch.no_grad():
            u = probe.factors(net, x, probe.contexts(context, len(x), net)).cdf(x)
        rank = given.argsort(dim=0).argsort(dim=0)                   # ranks of given values are uniform
        return uniform_tests(torch.where(known, (rank + 0.5) / len(given), u))
    return tests


def _check_given(x: Tensor, given: Tensor, known: Tensor) -> None:
    if not (x == given)[known].all():
        raise ContractError("sample changed a given variable; expected the value in `given` wherever `known` is True")


def _fit_of_cells(net, n: int, context, generator) -> Callable[[], list[Test]]:
    """Return a function that samples a `Mixture` of densities and tests counts in a grid of ten intervals per axis."""
    axes, mass = probe.masses(net, n, context)
    bins = []                                                        # for each axis, the interval of each of its cells
    for d in range(n):
        margin = mass.sum(dim=1 - d) if n == 2 else mass
        bins.append((10 * (margin.cumsum(0) - margin / 2) / margin.sum()).long().clamp(0, 9))
    place = bins[0] if n == 1 else 10 * bins[0][:, None] + bins[1]
    expected = mass.new_zeros(10 ** n).index_add(0, place.flatten(), mass.flatten())

    def tests() -> list[Test]:
        x = probe.draw(net, 8192, n, context, generator)
        cell = [(torch.bucketize(x[:, d].contiguous(), axes[d]) - 1).clamp(0, len(bins[d]) - 1) for d in range(n)]
        counts = torch.bincount(place[tuple(cell)], minlength=10 ** n)
        return [chi_square(counts.double(), len(x) * expected)]
    return tests


def _decide(tests: Callable[[], list[Test]], sentence: str) -> Test:
    """Run `tests` and return the first. Raises ContractError, with `sentence`, if one fails on two sets of samples."""
    results = tests()
    suspects = [t for t, test in enumerate(results) if p_value(*test) < UNLIKELY]
    second = tests() if suspects else []
    for t in suspects:
        if p_value(*second[t]) < UNLIKELY:
            raise ContractError(f"{sentence}: chi-square {second[t][0]:.0f} on {second[t][1]} degrees of freedom")
    return results[0]
