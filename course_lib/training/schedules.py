r"""Schedules: the factor on the learning rate at each step of the optimizer.

A schedule is a function from the step, counted from 1, to a factor. The functions `constant`, `linear`, `cosine` and
`inverse_sqrt` return a schedule; `steps` is the number of steps of the run, and `warmup` the number of steps of the
warm-up. In the warm-up the factor increases as step / warmup to its maximum, 1. It then decreases with `linear` and
`cosine` to 0 at the step after the last, so that no step of the run has the factor 0.
"""

from __future__ import annotations

import math
from collections.abc import Callable

Schedule = Callable[[int], float]


def constant(steps: int, warmup: int = 0) -> Schedule:
    """Schedule with the factor 1 after `warmup` steps of linear increase; `steps` has no effect."""
    return lambda step: min(1.0, step / max(warmup, 1))


def linear(steps: int, warmup: int = 0) -> Schedule:
    """Schedule with the factor $1 - t$ after the warm-up; t goes from 0 at its end to 1 at the step after the last."""
    return lambda step: step / warmup if step < warmup else 1 - _progress(step, steps, warmup)


def cosine(steps: int, warmup: int = 0) -> Schedule:
    r"""Schedule with the factor $(1 + \cos \pi t) / 2$ after the warm-up; t is as in `linear`.

    Source: Loshchilov and Hutter 2017. Without a warm-up this is torch's `CosineAnnealingLR(optimizer, T_max=steps)`.
    """
    def factor(step: int) -> float:
        return step / warmup if step < warmup else 0.5 * (1 + math.cos(math.pi * _progress(step, steps, warmup)))

    return factor


def inverse_sqrt(steps: int, warmup: int = 1) -> Schedule:
    r"""Schedule with the factor $\min(s / w,\; \sqrt{w / s})$ at step s, where w is `warmup`; `steps` has no effect.

    `noam_lr` is the learning rate of this form in Vaswani et al. 2017.
    """
    w = max(warmup, 1)
    return lambda step: min(step / w, math.sqrt(w / step))


def noam_lr(step: int, d_model: int, warmup: int) -> float:
    r"""The learning rate $D^{-1/2} \min(s^{-1/2},\; s\, w^{-3/2})$ at step s, counted from 1.

    D is `d_model`, the width of the model, and w is `warmup`, the number of steps of the warm-up. The maximum, at
    s = w, is $(D w)^{-1/2}$. Paper: Vaswani et al. 2017, section 5.3.
    """
    for name, value in (("step", step), ("d_model", d_model), ("warmup", warmup)):
        if value < 1:
            raise ValueError(f"{name} is {value}; expected at least 1")
    return d_model ** -0.5 * min(step ** -0.5, step * warmup ** -1.5)


NAMED = {"constant": constant, "cosine": cosine, "inverse_sqrt": inverse_sqrt, "linear": linear}


def make_schedule(schedule: str | Schedule | None, steps: int, warmup: int) -> Schedule:
    """Return the learning-rate schedule of a run of `steps` steps.

    schedule  a key of NAMED, None for "constant", or a schedule, which is returned unchanged
    warmup    number of steps of the warm-up

    Raises ValueError for an unknown name, a warmup that is longer than the run, or a warmup beside a function.
    """
    if callable(schedule):
        if warmup:
            raise ValueError(f"warmup is {warmup} and schedule is a function; expected warmup = 0, because a function "
                             "includes its warm-up")
        return schedule
    if (schedule or "constant") not in NAMED:
        raise ValueError(f"schedule is {schedule!r}; expected one of {', '.join(NAMED)}, or a function of the step")
    if not 0 <= warmup <= steps:
        raise ValueError(f"warmup is {warmup} steps; expected 0 to {steps}, the number of steps of this run")
    return NAMED[schedule or "constant"](steps, warmup)


def _progress(step: int, steps: int, warmup: int) -> float:
    peak = max(warmup, 1)
    return (step - peak) / (steps + 1 - peak)
