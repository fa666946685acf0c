"""Input is checked once: by the first of a model's methods that is called, whoever wrote it, and not by those it calls."""

from __future__ import annotations

import functools
import inspect
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Callable

from torch import nn

_models_at_work: ContextVar[tuple[nn.Module, ...]] = ContextVar("models whose input was checked", default=())


@contextmanager
def at_work(model: nn.Module):
    """Inside, nothing that the model calls of itself is checked again."""
    token = _models_at_work.set((*_models_at_work.get(), model))
    try:
        yield
    finally:
        _models_at_work.reset(token)


def is_at_work(model: nn.Module) -> bool:
    """Whether the input of this model was checked by a call that this one lies within."""
    return any(other is model for other in _models_at_work.get())


def checked(method: Callable) -> Callable:
    """The method, called with x as the model's `check_input` returns it: x is first, then a context if any.

    Of calls within calls the first one checks: `log_prob` does, and not the `conditionals` that it calls. The base
    class puts this before `conditionals` and `log_prob` of every subclass; other methods that take x say it themselves.
    """
    @functools.wraps(method)
    def call(self, x, *args, **kwargs):
        if is_at_work(self):
            return method(self, x, *args, **kwargs)
        x = self.check_input(x, args[0] if args else kwargs.get("context"))
        with at_work(self):
            return method(self, x, *args, **kwargs)

    return call


def _checked_start(method: Callable) -> Callable:
    """`start`, called with a context that fits the number of rows."""
    @functools.wraps(method)
    def call(self, batch, *args, **kwargs):
        context = args[0] if args else kwargs.get("context")
        if context is not None and not is_at_work(self):
            self.check_context(context, batch)
        with at_work(self):
            return method(self, batch, *args, **kwargs)

    return call


def check_first(cls: type) -> None:
    """Puts the check before `conditionals`, `log_prob` and `start`, those of them that the class itself writes."""
    for name, guard in (("conditionals", checked), ("log_prob", checked), ("start", _checked_start)):
        if inspect.isfunction(vars(cls).get(name)):
            setattr(cls, name, guard(vars(cls)[name]))
