"""Steps of a reference that a misconception can replace.

The reference of an exercise is written as it is meant, in functions that it calls; a misconception is another function for one
of these, so that two misconceptions of different steps can act together.
"""
from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

_replaced: ContextVar[Mapping[Step, Callable]] = ContextVar("replaced", default={})


class Step:
    """A function that a reference calls, or a method of its class. `original` is what it does where no misconception replaces it.

    >>> half = Step(lambda x: x / 2)
    >>> half(6)
    3.0
    >>> with replaced({half: lambda x: x}):
    ...     half(6), half.original(6)
    (6, 3.0)
    """

    def __init__(self, original: Callable):
        self.original = original
        functools.update_wrapper(self, original)

    def __get__(self, owner: Any, cls: type | None = None) -> Any:
        return self if owner is None else functools.partial(self, owner)       # a method of a class

    def __call__(self, *args: Any, **options: Any) -> Any:
        return _replaced.get().get(self, self.original)(*args, **options)


@contextmanager
def replaced(by: Mapping[Step, Callable]) -> Iterator[None]:
    """Within the block, each of these steps does what the function beside it does."""
    token = _replaced.set(by)
    try:
        yield
    finally:
        _replaced.reset(token)
