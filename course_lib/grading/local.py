"""Call the learner's function in this process: for learning, never for credit."""
from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any

import torch
from torch import Tensor

from course_lib.grading.outcome import NotData, Outcome, fresh, plain, same


class Local:
    """Calls one function, each call within `deadline` seconds where the system can interrupt it."""

    def __init__(self, fn: Callable, deadline: float = 10.0):
        self.fn, self.deadline = fn, deadline

    def call(self, args: Sequence[Any], wrt: Sequence[int] = (), weight: Tensor | None = None) -> Outcome:
        """The outcome of fn(*args). With `wrt`, also the gradients of sum(weight * fn(*args)) by those arguments."""
        mine = [plain(arg) if (copy := fresh(arg)) is arg else copy for arg in args]
        for i in wrt:
            mine[i].requires_grad_()
        # A leaf that requires a gradient refuses to be written to; the function gets a copy that does not.
        theirs = [arg.clone() if i in wrt else arg for i, arg in enumerate(mine)]
        try:
            with time_limit(self.deadline):
                value = self.fn(*theirs)
                gradients = gradients_of(value, [mine[i] for i in wrt], weight) if wrt else []
                result = plain(value)
        except NoGradient as problem:
            return Outcome("no_gradient", detail=str(problem))
        except NotData as problem:
            return Outcome("error", detail=f"it returned {problem}")
        except BaseException as problem:
            if isinstance(problem, KeyboardInterrupt | GeneratorExit):
                raise
            return failure(problem)
        changed = tuple(i for i, arg in enumerate(theirs) if isinstance(arg, Tensor | list | tuple | dict)
                        and not same(plain(arg), plain(args[i])))
        return Outcome("value", result, dict(zip(wrt, gradients, strict=True)), changed)


class NoGradient(Exception):
    """The result is not connected to an argument, so no gradient can be asked for."""


class OutOfTime(BaseException):
    """Raised by the timer; not an Exception, so that the learner's own handlers let it pass."""


def gradients_of(value: Any, wrt: Sequence[Tensor], weight: Tensor | None) -> list[Tensor]:
    """The gradients of sum(weight * value) by each tensor in `wrt`; zeros where it does not matter."""
    if not isinstance(value, Tensor) or not value.requires_grad:
        raise NoGradient("the result does not carry a gradient")
    if weight is None or weight.shape != value.shape:
        weight = torch.ones_like(value)
    # Of the sum: with grad_outputs, torch first imports its symbolic shapes, for half a second.
    grads = torch.autograd.grad((weight.to(value) * value).sum(), list(wrt), allow_unused=True)
    return [torch.zeros_like(t) if g is None else g.detach() for g, t in zip(grads, wrt, strict=True)]


def failure(problem: BaseException) -> Outcome:
    """The outcome of a call that raised."""
    if isinstance(problem, OutOfTime):
        return Outcome("timeout", detail=str(problem))
    if isinstance(problem, NotImplementedError):
        return Outcome("not_attempted")
    detail = f"{type(problem).__name__}: {problem}"[:500]
    memory = isinstance(problem, MemoryError) or isinstance(problem, RuntimeError) and "allocate memory" in str(problem)
    return Outcome("memory" if memory else "error", detail=detail)


def stop(seconds: float, *_) -> None:
    """What the timer calls."""
    raise OutOfTime(f"no answer within {seconds:g} seconds")


@contextmanager
def time_limit(seconds: float):
    """Interrupt the block after `seconds`, on the main thread of a system that has timers; else let it run."""
    if not hasattr(signal, "setitimer") or threading.current_thread() is not threading.main_thread():
        yield
        return

    before, began = signal.signal(signal.SIGALRM, partial(stop, seconds)), time.monotonic()
    left, every = signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
        if left:                         # somebody else's timer goes on where it was
            signal.setitimer(signal.ITIMER_REAL, max(left - (time.monotonic() - began), 0.001), every)
