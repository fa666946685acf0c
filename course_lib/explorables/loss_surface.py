r"""Paths of three optimizers on a loss surface.

`path` computes them with the optimizers of the library, equations (2.4), (2.6) and (2.7). The noise in the gradient,
which simulates a mini-batch, is the same for all three.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import torch
import traitlets
from jaxtyping import Float
from torch import Tensor, nn

from course_lib.basics import SGD, Adam, Momentum
from course_lib.explorables.base import Explorable, OneOf, Whole, script, style
from course_lib.explorables.draws import uniforms

NOISE, FAR, LONGEST = 0.3, 1e6, 100      # standard deviation of the noise, largest coordinate, largest number of steps
RATES = (0.003, 0.005, 0.01, 0.02, 0.03, 0.05, 0.07, 0.1, 0.14, 0.19, 0.25, 0.35, 0.5, 0.7, 1.0, 1.4, 2.0)
OPTIMIZERS: dict[str, Callable] = {"SGD": SGD, "momentum": Momentum, "Adam": Adam}
# {name: (loss, its gradient)}, both functions of x and y
SURFACES: dict[str, tuple[Callable, Callable]] = {
    "valley": (lambda x, y: 0.1 * (x - 1) ** 2 + 5 * (y - 0.5) ** 2, lambda x, y: (0.2 * (x - 1), 10 * (y - 0.5))),
    "bowl": (lambda x, y: 0.5 * (x - 1) ** 2 + 0.5 * (y - 0.5) ** 2, lambda x, y: (x - 1, y - 0.5)),
    "saddle": (lambda x, y: x ** 4 / 4 - x ** 2 / 2 + y ** 2, lambda x, y: (x ** 3 - x, 2 * y)),
}
TITLES = {"valley": "an elongated quadratic loss", "bowl": "a round quadratic loss", "saddle": "a loss with a saddle point"}


def noise(seed: int, steps: int) -> list[tuple[float, float]]:
    r"""Return a pair of samples of $\mathcal N(0, 1)$ for each of `steps` steps, by the Box-Muller transform.

    seed  seed of the uniform numbers
    """
    u = uniforms(seed, 2 * steps)
    size = [math.sqrt(-2 * math.log(a)) for a in u[::2]]
    return [(r * math.cos(2 * math.pi * b), r * math.sin(2 * math.pi * b)) for r, b in zip(size, u[1::2])]


def path(surface: str, optimizer: str, rate: float, start: Sequence[float], steps: int, sigma: float = 0.0,
         seed: int = 1) -> Float[Tensor, "steps 2"]:
    """Return the iterates (x, y) of an optimizer, `start` first, in `steps` + 1 rows.

    The path ends early if the absolute value of a coordinate exceeds FAR.

    surface    key of SURFACES
    optimizer  key of OPTIMIZERS
    rate       learning rate
    start      initial point (x, y)
    steps      number of steps
    sigma      standard deviation of the noise that is added to the gradient
    seed       seed of the noise
    """
    theta = nn.Parameter(torch.tensor(start, dtype=torch.float64))
    rule, gradient, found = OPTIMIZERS[optimizer]([theta], rate), SURFACES[surface][1], [theta.detach().clone()]
    for z in noise(seed, steps):
        g = gradient(*theta.tolist())
        theta.grad = torch.tensor([g[0] + sigma * z[0], g[1] + sigma * z[1]], dtype=torch.float64)
        rule.step()
        found.append(theta.detach().clone())
        if not theta.detach().abs().max() < FAR:
            break
    return torch.stack(found)


class LossSurface(Explorable):
    """The paths of SGD, momentum and Adam from one initial point on a loss surface, each with its own learning rate.

    surface  "valley" (curvatures 0.2 and 10), "bowl" or "saddle"
    start    initial point (x, y), x from -3 to 3, y from -2 to 2
    rates    learning rates of SGD, momentum and Adam, each one of RATES
    steps    number of steps, 0 to 100
    noisy    add noise of standard deviation 0.3 to the gradient
    seed     seed of the noise
    shown    three booleans: whether the paths of SGD, momentum and Adam are shown

    Raises ValueError for values other than these.

    >>> print(LossSurface(surface="bowl", noisy=False, steps=1).text().splitlines()[1])
    SGD at rate 0.19: loss 3.6250, at (-1.59, 1.23).
    """

    _esm = script("loss_surface")
    _css = style("loss_surface")
    alt = traitlets.Unicode("Three optimizers on a loss surface").tag(sync=True)
    surface = OneOf("valley", SURFACES).tag(sync=True)
    start = traitlets.List(traitlets.Float(), [-2.2, 1.4]).tag(sync=True)
    rates = traitlets.List(traitlets.Float(), [0.19] * 3).tag(sync=True)
    steps = Whole(30, 0, LONGEST).tag(sync=True)
    noisy = traitlets.Bool(True).tag(sync=True)
    seed = traitlets.Int(1).tag(sync=True)
    shown = traitlets.List(traitlets.Bool(), [True] * 3).tag(sync=True)

    @property
    def paths(self) -> list[Float[Tensor, "steps 2"]]:
        """The paths of SGD, momentum and Adam, from `path`."""
        return [path(self.surface, name, rate, self.start, self.steps, NOISE * self.noisy, self.seed)
                for name, rate in zip(OPTIMIZERS, self.rates)]

    def text(self) -> str:
        lines = [f"Interactive figure: {self.steps} steps of three optimizers on {TITLES[self.surface]}, from "
                 f"({self.start[0]:.2f}, {self.start[1]:.2f}), {'with' if self.noisy else 'without'} noise."]
        for name, rate, points in zip(OPTIMIZERS, self.rates, self.paths):
            x, y = points[-1].tolist()
            lines.append(f"{name} at rate {rate:g}: " + (
                f"loss {SURFACES[self.surface][0](x, y):.4f}, at ({x:.2f}, {y:.2f})." if max(abs(x), abs(y)) < FAR
                else "diverged."))
        return "\n".join(lines)

    @traitlets.validate("start")
    def _valid_start(self, proposal):
        value = proposal["value"]
        if len(value) != 2 or abs(value[0]) > 3 or abs(value[1]) > 2:
            raise ValueError(f"start is {value}; expected [x, y], with x from -3 to 3 and y from -2 to 2")
        return value

    @traitlets.validate("rates")
    def _valid_rates(self, proposal):
        value = proposal["value"]
        if len(value) != 3 or any(rate not in RATES for rate in value):
            raise ValueError(f"rates is {value}; expected three numbers, each one of "
                             f"{', '.join(f'{rate:g}' for rate in RATES)}")
        return value

    @traitlets.validate("shown")
    def _valid_shown(self, proposal):
        if len(proposal["value"]) != 3:
            raise ValueError(f"shown has {len(proposal['value'])} entries; expected three, one for each optimizer")
        return proposal["value"]
