"""Functions that exercises hand to an answer: some remember what they returned, all say which rule a call breaks."""
from __future__ import annotations

from collections.abc import Callable
from functools import wraps

import torch
from torch import Tensor

from course_lib.grading.protocol.calls import BrokenRule, describe, plain


def with_rule(rule: str, function: Callable) -> Callable:
    """`function`, whose calls raise BrokenRule where it fails: they say `rule`, how the statement allows it to be called, and
    what it was called with."""
    @wraps(function)
    def call(*args, **named):
        try:
            return function(*args, **named)
        except Exception as problem:
            if isinstance(problem, MemoryError) or "allocate memory" in str(problem):
                raise
            got = ", ".join([str(arg)[:60] if isinstance(arg, int | list) else describe(arg) for arg in (*args, *named.values())])
            raise BrokenRule(f"{rule} You passed {got or 'nothing'}.") from None

    return call


class Remembered:
    """`function` of a tensor and perhaps more, which does not compute again what it was asked last.

    What it returns is a copy each time, so that it may be written to. A tensor that wants a gradient gets one.
    """

    def __init__(self, function: Callable, kept: int = 2):
        self.function, self.kept = function, kept
        self.answers: list[tuple[Tensor, tuple, dict, object]] = []

    def __call__(self, x, *rest, **named):
        if not isinstance(x, Tensor) or x.requires_grad:
            return self.function(x, *rest, **named)
        for before, others, names, answer in self.answers:
            if before.dtype == x.dtype and others == rest and names == named and torch.equal(before, x):
                return plain(answer)
        answer = plain(self.function(x, *rest, **named))
        self.answers = [(x.clone(), rest, named, answer), *self.answers][:self.kept]
        return plain(answer)
