r"""Schedules: the factor on the learning rate at each step of the optimizer.

A schedule is a function from the step, counted from 1, to a factor. The makers below take the number of steps of the
whole run and the number of warm-up steps: the factor rises as step / warmup, reaches 1 at the step `warmup`, which is
its peak, and would reach 0 one step after the last. No step is taken with a factor of 0.
"""

from __future__ import annotations

import math
from collections.abc import Callable

Schedule = Callable[[int], float]


def constant(steps: int, warmup: int = 0) -> Schedule:
    """1 once the warm-up is over."""
    return lambda step: min(1.0, step / max(warmup, 1))


def linear(steps: int, warmup: int = 0) -> Schedule:
    """1 - t, where t goes from 0 at the peak to 1 one step after the last."""
    return lambda step: step / warmup if step < warmup else 1 - _progress(step, steps, warmup)


def cosine(steps: int, warmup: int = 0) -> Schedule:
    r"""$(1 + \cos \pi t) / 2$, where t goes from 0 at the peak to 1 one step after the last.

    Source: Loshchilov and Hutter 2017. Without a warm-up this is torch's `CosineAnnealingLR(optimizer, T_max=steps)`.
    """
    def factor(step: int) -> float:
        return step / warmup if step < warmup else 0.5 * (1 + math.cos(math.pi * _progress(step, steps, warmup)))

    return factor


NAMED = {"constant": constant, "cosine": cosine, "linear": linear}


def make_schedule(schedule: str | Schedule | None, steps: int, warmup: int) -> Schedule:
    """The schedule of that name for a run of `steps` steps; a function is taken as it is."""
    if callable(schedule):
        if warmup:
            raise ValueError(f"warmup is {warmup} and schedule is a function; a function makes its own warm-up")
        return schedule
    if (schedule or "constant") not in NAMED:
        raise ValueError(f"schedule is {schedule!r}; needed is one of {', '.join(NAMED)}, or a function of the step")
    if not 0 <= warmup <= steps:
        raise ValueError(f"warmup is {warmup} steps; this run has {steps}")
    return NAMED[schedule or "constant"](steps, warmup)


def _progress(step: int, steps: int, warmup: int) -> float:
    peak = max(warmup, 1)
    return (step - peak) / (steps + 1 - peak)
