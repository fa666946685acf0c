"""Input is checked once: by the first of a model's methods that is called, whoever wrote it, and not by those it calls.

A check of shapes costs nothing. A check of values reads them, which a graph cannot do (`torch.compile`,
`torch.export`) and for which a GPU is waited for. Within `unchecked` no value is read: that is for data that were checked before.
"""

from __future__ import annotations

import functools
import inspect
import numbers
import threading
from contextlib import contextmanager
from typing import Callable

import torch
from torch import Tensor, nn


class _ThreadState(threading.local):
    """Of this thread; torch.compile can read it, which a ContextVar is not."""

    def __init__(self):                                              # in each thread: a compiled graph guards these attributes
        self.models: tuple[nn.Module, ...] = ()                      # whose input was checked
        self.values = True                                           # whether they are looked at


_state = _ThreadState()


@contextmanager
def unchecked():
    """Inside, in this thread, models trust the values they are given; shapes and dtypes are checked as ever.

    What is no value of the variable then gives an error of torch's, or an answer that means nothing: check the data
    before, as `fit` does.

    >>> from course_lib.density import FVSBN
    >>> with unchecked():                            # a Bernoulli variable takes 0 or 1
    ...     FVSBN(4).log_prob(torch.full((1, 4), 7))
    tensor([-2.7726], grad_fn=<...>)
    """
    before, _state.values = _state.values, False
    try:
        yield
    finally:
        _state.values = before


def values_checked() -> bool:
    """Whether values are looked at: everywhere but within `unchecked`."""
    return _state.values


def check_integer(name: str, value: object, expected: str) -> None:
    """TypeError unless the argument called `name` is a whole number; `expected` says what it counts."""
    if not isinstance(value, numbers.Integral):
        got = f"{value!r}" if isinstance(value, numbers.Number) else "a tensor" if isinstance(value, Tensor) else \
            f"of type {type(value).__name__}"
        raise TypeError(f"{name} is {got}; expected {expected}")


def check_sizes(least: int = 1, **sizes: int) -> None:
    """ValueError unless each of these arguments is at least `least`."""
    for name, size in sizes.items():
        if size < least:
            raise ValueError(f"{name} is {size}; expected at least {least}")


def check_tensor(name: str, value: object) -> None:
    """TypeError unless the argument called `name` is a tensor."""
    if not isinstance(value, Tensor):
        raise TypeError(f"{name} is of type {type(value).__name__}; expected a tensor: torch.as_tensor makes one of numbers")


def may_sync(tensor: Tensor) -> bool:
    """Whether values may be looked at to save work: not in a graph, nor on a GPU within `unchecked`."""
    return (_state.values or tensor.device.type == "cpu") and not torch.compiler.is_compiling()


def is_all_true(mask: Tensor) -> bool:
    """Whether a mask is known to be True everywhere: False where it may not be looked at."""
    return may_sync(mask) and bool(mask.all())


@contextmanager
def validating(model: nn.Module):
    """Inside, nothing that the model calls of itself is checked again."""
    before, _state.models = _state.models, (*_state.models, model)
    try:
        yield
    finally:
        _state.models = before


def is_validating(model: nn.Module) -> bool:
    """Whether the input of this model was checked by a call that this one lies within."""
    return any(other is model for other in _state.models)


def checked(method: Callable) -> Callable:
    """The method, called with x as the model's `check_input` returns it: x is first, then a context if any.

    Of calls within calls the first one checks: `log_prob` does, and not the `conditionals` that it calls. The base
    class puts this before `conditionals` and `log_prob` of every subclass; other methods that take x say it themselves.
    """
    @functools.wraps(method)
    def call(self, x, *args, **kwargs):
        if is_validating(self):
            return method(self, x, *args, **kwargs)
        x = self.check_input(x, args[0] if args else kwargs.get("context"))
        with validating(self):
            return method(self, x, *args, **kwargs)

    return call


def _checked_start(method: Callable) -> Callable:
    """`start`, called with a context that fits the number of rows."""
    @functools.wraps(method)
    def call(self, batch, *args, **kwargs):
        context = args[0] if args else kwargs.get("context")
        if context is not None and not is_validating(self):
            self.check_context(context, batch)
        with validating(self):
            return method(self, batch, *args, **kwargs)

    return call


def wrap_input_checks(cls: type) -> None:
    """Puts the check before `conditionals`, `log_prob` and `start`, those of them that the class itself writes."""
    for name, guard in (("conditionals", checked), ("log_prob", checked), ("start", _checked_start)):
        if inspect.isfunction(vars(cls).get(name)):
            setattr(cls, name, guard(vars(cls)[name]))
