"""Validation of input: each value is checked once, by the outermost method that is called.

Checks of shapes cost nothing. Checks of values read tensors, which a compiled graph (`torch.compile`, `torch.export`)
cannot do, and which synchronize a GPU. Within `unchecked` no value is read; use it for data that were validated before.
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
    """Validation flags of one thread; a thread-local, because torch.compile cannot trace a ContextVar."""

    def __init__(self):                                              # per thread: compiled graphs guard these
        self.models: tuple[nn.Module, ...] = ()                      # whose input was validated
        self.values = True                                           # whether values are validated


_state = _ThreadState()


@contextmanager
def unchecked():
    """Skip the validation of values inside the `with` block, for this thread; shapes and dtypes are still checked.

    A value outside the support then raises an error of torch, or gives a meaningless result: validate the data before,
    as `fit` does.

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
    """Whether values are validated: everywhere except within `unchecked`."""
    return _state.values


def check_integer(name: str, value: object, expected: str) -> None:
    """Raise TypeError unless `value`, the argument called `name`, is an integer; `expected` is text for the message."""
    if not isinstance(value, numbers.Integral):
        got = f"{value!r}" if isinstance(value, numbers.Number) else "a tensor" if isinstance(value, Tensor) else \
            f"of type {type(value).__name__}"
        raise TypeError(f"{name} is {got}; expected {expected}")


def check_sizes(least: int = 1, **sizes: int) -> None:
    """Raise ValueError unless each of `sizes`, {name of an argument: its value}, is at least `least`."""
    for name, size in sizes.items():
        if size < least:
            raise ValueError(f"{name} is {size}; expected at least {least}")


def check_tensor(name: str, value: object) -> None:
    """Raise TypeError unless `value`, the argument called `name`, is a tensor."""
    if not isinstance(value, Tensor):
        raise TypeError(f"{name} is of type {type(value).__name__}; expected a tensor (torch.as_tensor converts numbers)")


def may_sync(tensor: Tensor) -> bool:
    """Whether the values of `tensor` may be read: not in a compiled graph, and not on a GPU within `unchecked`."""
    return (_state.values or tensor.device.type == "cpu") and not torch.compiler.is_compiling()


def is_all_true(mask: Tensor) -> bool:
    """Whether `mask` is True everywhere; False also if its values may not be read (see `may_sync`)."""
    return may_sync(mask) and bool(mask.all())


@contextmanager
def validating(model: nn.Module):
    """Mark the input of `model` as validated inside the `with` block, so that its methods do not check it again."""
    before, _state.models = _state.models, (*_state.models, model)
    try:
        yield
    finally:
        _state.models = before


def is_validating(model: nn.Module) -> bool:
    """Whether the input of `model` was validated by an outer call, that is, within `validating`."""
    return any(other is model for other in _state.models)


def checked(method: Callable) -> Callable:
    """Wrap `method`, with the arguments x, context and others, so that it gets x as `check_input` returns it.

    Only the outermost call validates: `log_prob` validates x, and `conditionals`, called by `log_prob`, does not. The
    base class wraps `conditionals` and `log_prob` of every subclass; other methods of x are decorated explicitly.
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
    """Wrap `start` so that the model's `check_context` first checks the context against the batch size."""
    @functools.wraps(method)
    def call(self, batch, *args, **kwargs):
        context = args[0] if args else kwargs.get("context")
        if context is not None and not is_validating(self):
            self.check_context(context, batch)
        with validating(self):
            return method(self, batch, *args, **kwargs)

    return call


def wrap_input_checks(cls: type) -> None:
    """Wrap `conditionals`, `log_prob` and `start`, if `cls` itself defines them, with the checks of their input."""
    for name, guard in (("conditionals", checked), ("log_prob", checked), ("start", _checked_start)):
        if inspect.isfunction(vars(cls).get(name)):
            setattr(cls, name, guard(vars(cls)[name]))
