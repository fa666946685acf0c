"""What answers are judged by, computed once: the cases, and on them the results of the reference and of its twins.

The answers to an exercise are all judged on the same few seeds, so on the same cases, and the reference and its twins give the
same there each time. Kept is the result for the same content of all arguments; what somebody else's function or object is
asked with is not compared, and asked anew. An answer itself is always called.
"""
from __future__ import annotations

import functools
import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from hashlib import blake2b
from typing import Any

import pytest
import torch
from torch import Tensor

from course_lib.grading import diagnosis
from course_lib.grading.checks import Check, Gradient
from course_lib.grading.exercise import Exercise

NUMBERS = (torch.bool, torch.int32, torch.int64, torch.float32, torch.float64)
LONG = 64                       # bytes of a tensor above which a digest stands for them


class Other(Exception):
    """A value whose content is not known."""


def content(value: Any) -> Any:
    """Something hashable that is equal for equal content alone. Raises `Other` for a function or an object."""
    if value is None or type(value) in (bool, int, float, str):
        return type(value).__name__, repr(value)
    if type(value) is Tensor and value.layout == torch.strided and value.dtype in NUMBERS and not value.requires_grad:
        held = value.contiguous().numpy().tobytes()
        return value.dtype, tuple(value.shape), value.stride(), held if len(held) <= LONG else blake2b(held).digest()
    if type(value) in (list, tuple, frozenset):
        return type(value).__name__, *map(content, sorted(value) if type(value) is frozenset else value)
    if type(value) is dict:
        return "dict", *((content(key), content(one)) for key, one in value.items())
    if type(value) is torch.Generator:
        return "generator", value.get_state().numpy().tobytes()
    if type(value) is random.Random:
        return "random", value.getstate()
    raise Other(type(value).__name__)


def kept(function: Callable, key: Callable[..., tuple]) -> Callable:
    """`function`, which for arguments of the same `key` gives the object that it gave first."""
    found: dict[Any, Any] = {}

    @functools.wraps(function)
    def call(*args):
        try:
            known = content(key(*args))
        except Other:
            return function(*args)
        if known not in found:
            found[known] = function(*args)
        return found[known]

    return call


def drawn_once(drawn: Callable) -> Callable:
    """`drawn`, which for the state that a generator had before gives the same cases, and leaves the generator as it did then.
    Cases that hold functions or objects are drawn anew, and so are those that somebody has changed since."""
    found: dict[tuple, tuple] = {}

    @functools.wraps(drawn)
    def call(check, exercise, generator):
        if not any(check is one for one in exercise.checks):
            return drawn(check, exercise, generator)
        known = check.cases, blake2b(generator.get_state().numpy().tobytes()).digest()
        if known in found:
            cases, after, was = found[known]
            if content(cases) == was:
                generator.set_state(after)
                return list(cases)
        cases = list(drawn(check, exercise, generator))
        try:
            found[known] = cases, generator.get_state(), content(cases)
        except Other:
            pass
        return list(cases)

    return call


def asked_with(exercise, args: tuple, *more: Any) -> tuple:
    """What a result depends on. Raises `Other` where a class is asked for a model that it keeps, by number."""
    if exercise.of_class and len(args) > 1 and isinstance(args[1], int):
        raise Other("number of a model")
    return exercise.id, args, *more


def asked_of_a_twin(exercise, check, record, bugs) -> tuple:
    """The same, of a reference with misconceptions."""
    wrt = check.wrt if isinstance(check, Gradient) else None
    return asked_with(exercise, record.args, frozenset(bugs), type(check).__name__, wrt)   # a check may ask for more than the value


@contextmanager
def compared_with_once() -> Iterator[None]:
    """Inside, a case is drawn once, the reference is asked once for it, and so is each twin."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Check, "draw", drawn_once(Check.draw))
        patch.setattr(Exercise, "expected", kept(Exercise.expected, lambda exercise, *args: asked_with(exercise, args)))
        patch.setattr(Gradient, "expected", kept(
            Gradient.expected, lambda check, exercise, args, weight: asked_with(exercise, args, check.wrt, weight)))
        patch.setattr(diagnosis, "outcome_with", kept(diagnosis.outcome_with, asked_of_a_twin))
        yield
