"""Families of conditionals $p(x_i \\mid x_{<i})$: distributions that a model's outputs parametrize.

A model computes raw parameters, and a family turns them into a distribution. The two are chosen independently: NADE
with `Bernoulli()` is NADE, with `Categorical(256)` the softmax NADE, and with `MixtureOfGaussians(k)` RNADE.

Raw parameters have shape `(..., *parameter_shape)`. For a shape of `(3, k)`, row 0 holds the logits of the mixture
weights, row 1 the means and row 2 the log scales. `encode` and `linear` define a network's inputs for a value.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor
from torch.distributions import Bernoulli as BernoulliDistribution
from torch.distributions import Categorical as CategoricalDistribution
from torch.distributions import Distribution, MixtureSameFamily, Normal, constraints

from course_lib.validation import values_checked


class Conditional:
    """Base class of the families of distributions. A subclass defines `__call__`, `check`, `draw` and these attributes:

    parameter_shape  shape of the raw parameters of one variable; `()` is a scalar
    num_values       number of values, 0..num_values-1, of a discrete variable; None for a continuous variable
    num_uniforms     U, number of uniform random numbers from which `draw` computes one value
    num_inputs       E, number of inputs of a network into which `encode` maps one value

    >>> [family.num_parameters for family in (Bernoulli(), Categorical(256), MixtureOfGaussians(10))]
    [1, 256, 30]
    """

    parameter_shape: tuple[int, ...] = ()
    num_values: int | None = None
    num_uniforms: int = 1
    num_inputs: int = 1

    @property
    def config(self) -> dict[str, Any]:
        """Arguments of the constructor, {name: value}."""
        return {}

    @property
    def num_parameters(self) -> int:
        """Number of raw parameters of one variable."""
        return math.prod(self.parameter_shape)

    def __call__(self, raw: Tensor) -> Distribution:
        """Return the distribution, batch shape (...), with raw parameters (..., *parameter_shape)."""
        raise NotImplementedError

    def check(self, x: Tensor, name: str = "x", dtype: torch.dtype | None = None) -> Tensor:
        """Return values x, of any shape, in the dtype that the distribution expects: int64 for categories and levels,
        otherwise `dtype` (None: torch's default dtype).

        Raises ValueError if a value is outside the support; its message names the argument `name`.
        """
        raise NotImplementedError

    def draw(self, distribution: Distribution, u: Float[Tensor, "... U"]) -> Tensor:
        """Sample values (...) from a distribution of batch shape (...) by the inverse CDF, a function of u.

        u  uniforms in [0, 1), U for each value
        """
        raise NotImplementedError

    def encode(self, x: Tensor, dtype: torch.dtype) -> Float[Tensor, "... E"]:
        """Encode each value of x (...) as E inputs of a network, (..., E), in `dtype`; by default the value itself."""
        return x.to(dtype)[..., None]

    def linear(self, x: Tensor, weight: Float[Tensor, "m E H"]) -> Float[Tensor, "m B H"]:
        """Return the contributions (m, B, H) of m variables x (B, m) to H units: x[:, i], encoded, times weight[i]."""
        return self.encode(x, weight.dtype).transpose(0, 1) @ weight

    def marginal(self, x: Tensor) -> Tensor:
        """Return raw parameters `(n, *parameter_shape)`, each fitted to a column of the data x (N, n)."""
        raise NotImplementedError(f"{type(self).__name__} does not define marginal(x)")

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{name}={value}' for name, value in self.config.items())})"


class Bernoulli(Conditional):
    r"""Bernoulli distribution, $p(x = 1) = \sigma(a)$ with one raw parameter, the logit a.

    The values 0 and 1 may be integers, booleans or floats.

    >>> Bernoulli()(torch.tensor([0.0, 2.0])).probs
    tensor([0.5000, 0.8808])
    """

    num_values = 2

    def __call__(self, raw: Tensor) -> Distribution:
        return BernoulliDistribution(logits=raw, validate_args=False)

    def check(self, x: Tensor, name: str = "x", dtype: torch.dtype | None = None) -> Tensor:
        # x^2 = x for 0 and 1 only; this is faster than two comparisons
        if values_checked() and not (x.is_floating_point() and (x * x - x).abs().sum() == 0):
            _refuse(x, lambda: ~((x == 0) | (x == 1)), name, "a Bernoulli variable takes 0 or 1")
        return x.to(dtype or torch.get_default_dtype())

    def draw(self, distribution: Distribution, u: Float[Tensor, "... U"]) -> Tensor:
        p = _finite(distribution.probs)
        return (u[..., 0] >= 1 - p.double()).to(p.dtype)             # F(0) = 1 - p

    def marginal(self, x: Tensor) -> Tensor:
        return torch.logit((x.sum(dim=0) + 1) / (len(x) + 2))        # add-one counts: finite where a column is constant


class Categorical(Conditional):
    r"""Categorical distribution of 0..k-1, $p(x = v) = \mathrm{softmax}(a)_v$ with k raw parameters, the logits a.

    >>> Categorical(3)(torch.zeros(2, 3)).log_prob(torch.tensor([0, 2]))
    tensor([-1.0986, -1.0986])
    >>> Categorical(3).check(torch.tensor([0, 3]))
    Traceback (most recent call last):
    ValueError: x contains 3 at [1]; a categorical variable with 3 values takes 0 to 2
    """

    def __init__(self, k: int):
        if k < 2:
            raise ValueError(f"k is {k}; expected at least 2")
        self.num_values = self.num_inputs = k
        self.parameter_shape = (k,)

    @property
    def config(self) -> dict[str, Any]:
        return {"k": self.num_values}

    def __call__(self, raw: Tensor) -> Distribution:
        return CategoricalDistribution(logits=raw, validate_args=False)

    def check(self, x: Tensor, name: str = "x", dtype: torch.dtype | None = None) -> Tensor:
        return _integers(x, name, self.num_values, "a categorical variable")

    def draw(self, distribution: Distribution, u: Float[Tensor, "... U"]) -> Tensor:
        return _draw_index(distribution.logits.exp(), u[..., 0])     # the logits are normalized

    def encode(self, x: Tensor, dtype: torch.dtype) -> Float[Tensor, "... E"]:
        # one-hot: values have no order
        return F.one_hot(x.long(), self.num_values).to(dtype)

    def linear(self, x: Tensor, weight: Float[Tensor, "m E H"]) -> Float[Tensor, "m B H"]:
        first = self.num_values * torch.arange(len(weight), device=x.device)
        return F.embedding((x.long() + first).T, weight.flatten(0, 1))         # one-hot times weight is a look-up

    def marginal(self, x: Tensor) -> Tensor:
        counts = torch.stack([(x == v).sum(dim=0) for v in range(self.num_values)], dim=-1)        # (n, k)
        return ((counts + 1) / (len(x) + self.num_values)).to(torch.get_default_dtype()).log()

    def __repr__(self) -> str:
        return f"Categorical({self.num_values})"


class MixtureOfGaussians(Conditional):
    r"""Mixture of k Gaussians, $p(x) = \sum_{j=1}^{k} \pi_j\, \mathcal{N}(x; \mu_j, \sigma_j^2)$ with
    $\sigma_j = \sigma_{\min} + e^{s_j}$.

    The raw parameters (3, k) are the logits of the weights $\pi_j$, the means $\mu_j$, and the log scales $s_j$.

    min_sigma      $\sigma_{\min}$, in the units of x; it bounds the density when a component fits a repeated value
    equal_weights  whether all weights are 1/k, as on the slide; the raw parameters (2, k) are then means and log scales

    Source: RNADE (Uria, Murray and Larochelle, 2013).

    >>> family = MixtureOfGaussians(2)
    >>> family.parameter_shape
    (3, 2)
    >>> family(torch.zeros(5, 3, 2)).log_prob(torch.zeros(5)).shape  # five variables
    torch.Size([5])
    """

    num_uniforms = 2

    def __init__(self, k: int, min_sigma: float = 1e-3, equal_weights: bool = False):
        if k < 1 or not min_sigma > 0:
            raise ValueError(f"k is {k} and min_sigma is {min_sigma}; expected k >= 1 and min_sigma > 0")
        self.k, self.min_sigma, self.equal_weights = k, min_sigma, equal_weights
        self.parameter_shape = (2, k) if equal_weights else (3, k)

    @property
    def config(self) -> dict[str, Any]:
        return {"k": self.k, "min_sigma": self.min_sigma, "equal_weights": self.equal_weights}

    def __call__(self, raw: Tensor) -> Distribution:
        *logits, mean, log_sigma = raw.unbind(dim=-2)                # each (..., k)
        # equal logits: weights 1/k
        logits = logits[0] if logits else torch.zeros_like(mean)
        component = Normal(mean, self.min_sigma + log_sigma.exp(), validate_args=False)
        weights = CategoricalDistribution(logits=logits, validate_args=False)
        return MixtureSameFamily(weights, component, validate_args=False)

    def check(self, x: Tensor, name: str = "x", dtype: torch.dtype | None = None) -> Tensor:
        _refuse(x, lambda: ~torch.isfinite(x), name, "a continuous variable takes finite numbers")
        return x.to(dtype or torch.get_default_dtype())

    def draw(self, distribution: Distribution, u: Float[Tensor, "... U"]) -> Tensor:
        component = _component(distribution, u[..., 0])
        z = math.sqrt(2) * torch.erfinv(2 * _open(u[..., 1]) - 1)    # the standard normal's inverse CDF
        return component.loc + component.scale * z.to(component.loc.dtype)

    def marginal(self, x: Tensor) -> Tensor:
        mean, spread = _spread_over(x, self.k)
        raw = torch.stack([torch.zeros_like(mean), mean, spread.clamp(min=self.min_sigma).log()], dim=1)  # (n, 3, k)
        return raw[:, 1:] if self.equal_weights else raw

    def __repr__(self) -> str:
        return f"MixtureOfGaussians({self.k}{', equal_weights=True' if self.equal_weights else ''})"


class DiscretizedLogisticMixture(Conditional):
    r"""Mixture of k logistic densities, discretized to the L integers 0..L-1; L is `levels`.

    $P(x) = \sum_j \pi_j [\sigma((c + h - \mu_j)/s_j) - \sigma((c - h - \mu_j)/s_j)]$, where $c = 2x/(L - 1) - 1$ is the
    value x mapped to [-1, 1] and $h = 1/(L - 1)$ half the width of its bin. The first and the last bin extend to minus
    and plus infinity, so the probabilities sum to one. The raw parameters (3, k) are the logits of the weights $\pi_j$,
    the means $\mu_j$ and the log scales $\ln s_j$, which are clamped to at least -7. Source: PixelCNN++ (Salimans,
    Karpathy, Chen and Kingma, 2017).

    >>> family = DiscretizedLogisticMixture(3, levels=17)
    >>> # one variable, its 17 values
    >>> family(torch.zeros(3, 3)).log_prob(torch.arange(17)).exp().sum()
    tensor(1.)
    """

    num_uniforms = 2

    def __init__(self, k: int, levels: int):
        if k < 1 or levels < 2:
            raise ValueError(f"k is {k} and levels is {levels}; expected k >= 1 and levels >= 2")
        self.k, self.num_values = k, levels
        self.parameter_shape = (3, k)

    @property
    def config(self) -> dict[str, Any]:
        return {"k": self.k, "levels": self.num_values}

    def __call__(self, raw: Tensor) -> Distribution:
        logits, mean, log_scale = raw.unbind(dim=-2)                 # each (..., k)
        component = DiscretizedLogistic(mean, log_scale.clamp(min=-7).exp(), self.num_values)
        return MixtureSameFamily(CategoricalDistribution(logits=logits, validate_args=False), component,
                                 validate_args=False)

    def check(self, x: Tensor, name: str = "x", dtype: torch.dtype | None = None) -> Tensor:
        return _integers(x, name, self.num_values, "a discretized variable")

    def draw(self, distribution: Distribution, u: Float[Tensor, "... U"]) -> Tensor:
        component = _component(distribution, u[..., 0])
        return component.icdf(_open(u[..., 1]))

    def encode(self, x: Tensor, dtype: torch.dtype) -> Float[Tensor, "... E"]:
        return (2 * x.to(dtype) / (self.num_values - 1) - 1)[..., None]        # levels on [-1, 1]

    def marginal(self, x: Tensor) -> Tensor:
        mean, spread = _spread_over(self.encode(x, torch.get_default_dtype())[..., 0], self.k)
        scale = 3 ** 0.5 / math.pi * spread                          # a logistic of scale s has std pi s / sqrt 3
        return torch.stack([torch.zeros_like(mean), mean, scale.clamp(min=math.exp(-7)).log()], dim=1)

    def __repr__(self) -> str:
        return f"DiscretizedLogisticMixture({self.k}, levels={self.num_values})"


class DiscretizedLogistic(Distribution):
    """Logistic density with mean `loc` and scale `scale` on [-1, 1], discretized to the integers 0..levels-1.

    Integers map linearly to [-1, 1]; the bins at the ends extend to infinity. `loc` and `scale` have the batch shape.

    >>> binned = DiscretizedLogistic(torch.tensor(0.0), torch.tensor(0.1), levels=3)
    >>> binned.log_prob(torch.arange(3)).exp()
    tensor([0.0067, 0.9866, 0.0067])
    """

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive}

    def __init__(self, loc: Tensor, scale: Tensor, levels: int):
        self.loc, self.scale, self.levels = loc, scale, levels
        super().__init__(loc.shape, validate_args=False)

    def expand(self, batch_shape, _instance=None):
        return DiscretizedLogistic(self.loc.expand(batch_shape), self.scale.expand(batch_shape), self.levels)

    def log_prob(self, x: Tensor) -> Tensor:
        half = 1 / (self.levels - 1)                                 # half a bin, on [-1, 1]
        center = 2 * half * x.to(self.loc.dtype) - 1                 # an integer x alone would give float32
        upper = (center + half - self.loc) / self.scale
        lower = (center - half - self.loc) / self.scale
        # sigma(u) - sigma(l) = sigma(u) sigma(-l) (1 - e^(l-u)), without cancellation
        inside = F.logsigmoid(upper) + F.logsigmoid(-lower) + torch.log(-torch.expm1(-2 * half / self.scale))
        return torch.where(x == 0, F.logsigmoid(upper),
                           torch.where(x == self.levels - 1, F.logsigmoid(-lower), inside))

    def icdf(self, u: Tensor) -> Tensor:
        """Inverse CDF: return the integer whose bin contains the u-quantile of the logistic density, u in (0, 1)."""
        value = self.loc + self.scale * torch.logit(u)               # on [-1, 1]
        return ((value + 1) * (self.levels - 1) / 2).round().clamp(0, self.levels - 1).long()


def at(distribution: Distribution, index) -> Distribution:
    """Index the batch of a distribution: `at(d, (slice(None), 3))` is column 3 of a batch shape (B, n)."""
    if isinstance(distribution, MixtureSameFamily):
        return MixtureSameFamily(at(distribution.mixture_distribution, index),
                                 at(distribution.component_distribution, index), validate_args=False)
    if isinstance(distribution, DiscretizedLogistic):
        return DiscretizedLogistic(distribution.loc[index], distribution.scale[index], distribution.levels)
    held = [name for name in distribution.arg_constraints if name in vars(distribution)]
    if "logits" in held and "probs" in held:                         # one is a cached function of the other
        held.remove("probs")
    return type(distribution)(**{name: getattr(distribution, name)[index] for name in held}, validate_args=False)


def _component(mixture: Distribution, u: Tensor) -> Distribution:
    """Sample a component of each mixture from uniforms u (...); return the distribution of the sampled components."""
    j = _draw_index(mixture.mixture_distribution.probs, u)
    component = mixture.component_distribution
    pick = {name: getattr(component, name).gather(-1, j[..., None])[..., 0] for name in ("loc", "scale")}
    if isinstance(component, DiscretizedLogistic):
        return DiscretizedLogistic(**pick, levels=component.levels)
    return Normal(**pick, validate_args=False)


def _spread_over(x: Tensor, k: int) -> tuple[Tensor, Tensor]:
    """Initial means (n, k) of k components, at quantiles of each column of x (N, n), and standard deviations (n, k)."""
    place = ((torch.arange(k, device=x.device) + 0.5) / k * len(x)).long()
    mean = x.sort(dim=0).values[place].T                             # (n, k)
    return mean, (2 / (k + 1) * x.std(dim=0, correction=0))[:, None].expand_as(mean)


def _draw_index(probs: Tensor, u: Tensor) -> Tensor:
    """Sample indices (...) with probabilities `probs` (..., k), never 0, by the inverse CDF of uniforms u (...)."""
    cdf = _finite(probs).cumsum(-1, dtype=torch.float64)             # (..., k)
    return (u[..., None] * cdf[..., -1:] >= cdf[..., :-1]).sum(-1)


def _open(u: Tensor) -> Tensor:
    """Replace 0 among the uniforms u by a tiny positive number, because an inverse CDF is infinite at 0."""
    tiny = torch.finfo(u.dtype).eps / 4
    return u.clamp(min=tiny)


def _finite(probs: Tensor) -> Tensor:
    if torch.isnan(probs).any():
        raise ValueError("the model's probabilities are NaN; expected finite parameters and inputs (training may have "
                         "diverged: try a smaller lr)")
    return probs


def _integers(x: Tensor, name: str, levels: int, what: str) -> Tensor:
    value = x.long()                                                 # because uint8 cannot be compared with 256
    _refuse(x, lambda: (value != x) | (value < 0) | (value >= levels), name,
            f"{what} with {levels} values takes 0 to {levels - 1}")
    return value


def _refuse(x: Tensor, bad: Callable[[], Tensor], name: str, needed: str) -> None:
    if values_checked() and (wrong := bad()).any():
        where = wrong.nonzero()[0].tolist()
        raise ValueError(f"{name} contains {x[tuple(where)].item():.6g} at {where}; {needed}")
