"""Binarize gray levels."""

from __future__ import annotations

import torch
from torch import Tensor

METHODS = ("threshold", "dynamic")


def binarize(x: Tensor, method: str, generator: torch.Generator | None = None, maximum: int | None = None) -> Tensor:
    r"""Binarize gray levels. Returns zeros and ones in uint8, with the shape and device of x.

    x          gray levels from 0 to m, integers or floats, of any shape
    method     "threshold": $b_i = 1$ where $x_i / m \ge 1/2$;
               "dynamic": $b_i \sim \mathrm{Bernoulli}(x_i / m)$, sampled in each call, usually once per epoch
    generator  random generator on the device of x, required for "dynamic"
    maximum    m; None: 255 for integers and 1 for floats; load_data("digits", grey=True) needs 16

    Likelihoods are comparable only between data that were binarized in the same way; load_data("binarized_mnist")
    is a third way: the binary images were sampled once and stored.

    Raises ValueError if the method is unknown, if a level is NaN or outside 0 to m, or if "dynamic" has no generator.
    """
    if method not in METHODS:
        raise ValueError(f"method is {method!r}; expected one of {', '.join(map(repr, METHODS))}")
    if maximum is None:
        maximum = 1 if x.is_floating_point() else 255
    if maximum < 1:
        raise ValueError(f"maximum is {maximum}; expected at least 1")
    if x.numel() and not bool(((x >= 0) & (x <= maximum)).all()):    # NaN fails both comparisons
        bad = x[~((x >= 0) & (x <= maximum))].flatten()[0].item()
        raise ValueError(f"x contains {bad}; expected gray levels from 0 to maximum = {maximum}")
    grey = x.to(torch.float64 if x.dtype == torch.float64 else torch.float32) / maximum
    if method == "threshold":
        return (grey >= 0.5).to(torch.uint8)
    if generator is None:
        raise ValueError('generator is None; expected torch.Generator(x.device) for method "dynamic"')
    return (torch.rand(grey.shape, generator=generator, device=x.device, dtype=grey.dtype) < grey).to(torch.uint8)
