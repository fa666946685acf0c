"""Grey levels to zeros and ones."""

from __future__ import annotations

import torch
from torch import Tensor

METHODS = ("threshold", "dynamic")


def binarize(x: Tensor, method: str, generator: torch.Generator | None = None, maximum: int | None = None) -> Tensor:
    r"""Zeros and ones from grey levels, uint8 of the shape of x, on its device.

    "threshold": $b_i = 1$ where $x_i / m \ge 1/2$. The same each time: do it once.
    "dynamic": $b_i \sim \mathrm{Bernoulli}(x_i / m)$, drawn anew at each call, so once per epoch in training.

    With the fixed files of load_data("binarized_mnist") these are three benchmarks, not three ways to one: a threshold
    leaves clean strokes with less noise to explain, and fresh draws are more training data. A likelihood on one says
    nothing about another. Compare only what was binarised the same way.

    x: grey levels from 0 to m, integers or floats, of any shape.
    generator: for "dynamic", on x's device; required there.
    maximum: the level m of a full pixel; 255 for integers, 1 for floats unless given; 16 for load_data("digits", grey=True).

    Raises ValueError for another method, a level outside 0 to m, NaN, or "dynamic" without a generator.
    """
    if method not in METHODS:
        raise ValueError(f"method is {method!r}; it must be one of {', '.join(map(repr, METHODS))}")
    if maximum is None:
        maximum = 1 if x.is_floating_point() else 255
    if maximum < 1:
        raise ValueError(f"maximum is {maximum}; the level of a full pixel is at least 1")
    if x.numel() and not bool(((x >= 0) & (x <= maximum)).all()):    # NaN fails both comparisons
        bad = x[~((x >= 0) & (x <= maximum))].flatten()[0].item()
        raise ValueError(f"x holds {bad}; grey levels must lie between 0 and maximum = {maximum}")
    grey = x.to(torch.float64 if x.dtype == torch.float64 else torch.float32) / maximum
    if method == "threshold":
        return (grey >= 0.5).to(torch.uint8)
    if generator is None:
        raise ValueError('generator is None; method "dynamic" draws from one: pass torch.Generator(x.device)')
    return (torch.rand(grey.shape, generator=generator, device=x.device, dtype=grey.dtype) < grey).to(torch.uint8)
