"""Call the learner's function in this process: for learning, never for credit."""
from __future__ import annotations

import contextlib
import signal
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import Any

import torch
from torch import Tensor

from course_lib.grading.sandbox.inside.outcome import WRITABLE, NotData, Outcome, fresh, plain, written_to
from course_lib.grading.sandbox.inside.watch import watched
from course_lib.grading.sandbox.inside.where import where

OVERWRITTEN = "modified by an inplace operation"         # torch's words for a tensor that the way back still needed


class Local:
    """Calls one function, each call within `deadline` seconds where the system can interrupt it. A call that reaches
    one of the functions named in `forbid` has the outcome "forbidden", whatever it returns."""

    def __init__(self, fn: Callable, deadline: float = 10.0, forbid: Sequence[str] = ()):
        self.fn, self.deadline, self.forbid = fn, deadline, forbid

    def call(self, args: Sequence[Any], wrt: Sequence[int] = (), weight: Tensor | None = None) -> Outcome:
        """The outcome of fn(*args). With `wrt`, also the gradients of sum(weight * fn(*args)) by those arguments."""
        outcome, after = self.answer(args, wrt, weight)
        return replace(outcome, changed=written_to(args, after)) if outcome.kind == "value" else outcome

    def answer(self, args: Sequence[Any], wrt: Sequence[int] = (), weight: Tensor | None = None
               ) -> tuple[Outcome, dict[int, Any]]:
        """The outcome, and what each argument that can be written to holds after the call."""
        with watched(self.forbid) as watch:              # around the timer: it is over when the watch ends
            outcome, after = self.tried(args, wrt, weight)
        return (Outcome("forbidden", detail=watch.reached), {}) if watch.reached else (outcome, after)

    def tried(self, args: Sequence[Any], wrt: Sequence[int], weight: Tensor | None) -> tuple[Outcome, dict[int, Any]]:
        """The same, nothing forbidden."""
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
            return Outcome("no_gradient", detail=str(problem)), {}
        except NotData as problem:
            return Outcome("error", detail=f"it returned {problem}"), {}
        except BaseException as problem:
            if isinstance(problem, KeyboardInterrupt | GeneratorExit):
                raise
            return failure(problem, self.fn), {}
        after = {}
        for i, arg in enumerate(theirs):
            if isinstance(arg, WRITABLE):
                with contextlib.suppress(NotData):       # something that no argument holds: it is missing
                    after[i] = plain(arg)
        return Outcome("value", result, dict(zip(wrt, gradients, strict=True))), after


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


def failure(problem: BaseException, fn: Callable) -> Outcome:
    """The outcome of a call of `fn` that raised."""
    text = f"{type(problem).__name__}: {problem}"[:500].rstrip(": ")
    if isinstance(problem, OutOfTime):
        return Outcome("timeout", detail=str(problem), where=where(problem, fn))
    if isinstance(problem, NotImplementedError) and not lacking(text):
        return Outcome("not_attempted")
    if isinstance(problem, RuntimeError) and OVERWRITTEN in text:
        return Outcome("no_gradient", detail=OVERWRITTEN)
    memory = isinstance(problem, MemoryError) or isinstance(problem, RuntimeError) and "allocate memory" in text
    return Outcome("memory" if memory else "error", detail=text, where=where(problem, fn))


def lacking(text: str) -> bool:
    """Whether it is torch that says so, of an operation that it does not have for these numbers."""
    return "not implemented for '" in text or "Could not run '" in text


AGAIN = 0.01                    # seconds until the timer asks again
held = threading.local()        # of the main thread: whether it is in a block that is not to be interrupted


@contextmanager
def undisturbed():
    """The timer waits for the end of the block: of a message that is sent or read in part the rest is taken for another."""
    before, held.now = getattr(held, "now", False), True
    try:
        yield
    finally:
        held.now = before


def stop(seconds: float, *_) -> None:
    """What the timer calls."""
    if getattr(held, "now", False):
        signal.setitimer(signal.ITIMER_REAL, AGAIN)
        return
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
