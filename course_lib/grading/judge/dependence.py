"""Find out what an unexplained wrong answer depends on, by calling it again: unchanged, and with one argument changed."""
from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch
from torch import Tensor

from course_lib.grading.exercise.checks import Call, Check, Record
from course_lib.grading.sandbox.inside.outcome import Outcome, plain, same

PATIENCE = 2.0                  # seconds of the processor after which no argument is changed any more
EXACT, CLEAR = 1e-7, 1e-3       # a change of a result that is rounding at most; one that counts


def asked(call: Call, args: Sequence[Any]) -> Outcome | None:
    """The outcome of a call that gave a value, or None."""
    try:
        outcome = call(args)
    except Exception:                   # a function that the learner returned fails
        return None
    return outcome if outcome.kind == "value" else None


def repeated(call: Call, check: Check, record: Record) -> str | None:
    """Whether a second call with the same arguments gives another result."""
    outcome = asked(call, record.args)
    if outcome is None or same(outcome.value, record.outcome.value, check.rtol, check.atol):
        return None
    return ("Two calls with the same arguments give different results: something is drawn at random that should come from the "
            "arguments, or is kept from call to call.")


def independent_of(exercise, call: Call, check: Check, record: Record) -> str | None:
    """Which argument, or slice of one, does not change the learner's wrong result although it changes the right one; None if there
    is none. Two changes are tried, since one alone may leave a ReLU closed. Of several results it is the first wrong one."""
    part = first_wrong_part(check, record)
    pick = (lambda value: value) if part is None else (lambda value: value[part])
    mine, right = pick(record.outcome.value), pick(record.expected)

    def moves(args: tuple) -> bool:
        outcome = asked(call, args)
        return outcome is None or not same(pick(outcome.value), mine, EXACT, EXACT)

    def should_move(args: tuple) -> bool:
        return not same(pick(plain(exercise.solve(*args))), right, CLEAR, CLEAR)

    until = time.process_time() + PATIENCE
    for name, change in changes(record):
        if time.process_time() > until:
            return None
        try:
            if not any(moves(change(turn)) for turn in (0, 1)) and any(should_move(change(turn)) for turn in (0, 1)):
                before = "Result[0] is right. " if part == 1 else f"Result[0] to result[{part - 1}] are right. " if part else ""
                return f"{before}Your result{'' if part is None else f'[{part}]'} does not depend on {name}."
        except Exception:               # a change that one of the two does not take
            continue
    return None


def first_wrong_part(check: Check, record: Record) -> int | None:
    """The number of the first wrong part, where the result is a tuple."""
    got, right = record.outcome.value, record.expected
    if not isinstance(right, tuple) or not isinstance(got, list | tuple) or len(got) != len(right):
        return None
    return next((i for i, pair in enumerate(zip(got, right, strict=True)) if not same(*pair, check.rtol, check.atol)), None)


def changes(record: Record) -> Iterator[tuple[str, Callable[[int], tuple]]]:
    """What can be changed: its name, and the arguments after the first or second change. First each argument as a whole, and of a
    class each parameter; then the first and last slices along their first and last axes."""
    found = []
    for i, arg in enumerate(record.args):
        if isinstance(arg, dict):
            found += [(key, lambda other, i=i, key=key: put(record.args, i, record.args[i] | {key: other}), value,
                       ", a parameter of your class") for key, value in arg.items() if isinstance(value, Tensor)]
        else:
            found.append((record.name(i), lambda other, i=i: put(record.args, i, other), arg, ""))
    found = [one for one in found if changed(one[2], 0) is not None]
    for name, args_with, value, what in found:
        yield name + what, lambda turn, value=value, args_with=args_with: args_with(changed(value, turn))
    for name, args_with, value, what in found:
        for axis in sorted({0, value.ndim - 1}) if isinstance(value, Tensor) and value.ndim else ():
            for k in (0, value.shape[axis] - 1) if value.shape[axis] > 1 else ():
                place = ", ".join([":"] * axis + [str(k)] + [":"] * (value.ndim - axis - 1))
                yield f"{name}[{place}]{what}", lambda turn, value=value, args_with=args_with, axis=axis, k=k: args_with(
                    value.index_copy(axis, torch.tensor([k]), changed(value.narrow(axis, k, 1), turn)))


def put(args: tuple, i: int, other: Any) -> tuple:
    """The arguments with another one at place i."""
    return (*args[:i], other, *args[i + 1:])


def changed(value: Any, turn: int) -> Any:
    """Another value of the same kind, or None: 0 and 1 exchanged, tokens moved, other numbers made smaller, or on the second turn
    halved, with the other sign if they have both signs."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, float):
        return value * (0.9, 0.5)[turn]
    if not isinstance(value, Tensor) or value.is_complex() or not value.numel():
        return None
    if value.dtype == torch.bool:
        return ~value
    if not value.is_floating_point():
        return value.flatten().roll(1 + turn).reshape(value.shape) if value.numel() > 1 else None
    if ((value == 0) | (value == 1)).all():
        return 1 - value
    slope = 0.8 + 0.15 * torch.linspace(0, 1, value.numel()).reshape(value.shape).to(value)
    return value * (slope if not turn else 0.5 * slope if (value >= 0).all() else -1.4 * slope)
