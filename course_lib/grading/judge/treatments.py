"""Whether a wrong result is the right one of an argument that was treated: a factor in it, a function or a part of it too many.

The reference is asked for what it gives if an argument is scaled, centred, cut and so on, and the learner's function whether it
is right where the argument is put in so.
"""
from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch
from torch import Tensor

from course_lib.grading.exercise.checks import Call, Check, Record
from course_lib.grading.sandbox.inside.outcome import Outcome, is_number, plain, same

PATIENCE = 2.0                  # seconds of the processor after which no argument is treated any more


def asked(call: Call, args: Sequence[Any]) -> Outcome | None:
    """The outcome of a call that gave a value, or None."""
    try:
        outcome = call(args)
    except Exception:                   # a function that the learner returned fails
        return None
    return outcome if outcome.kind == "value" else None


def treated(exercise, call: Call, check: Check, records: Sequence[Record], part: int | None = None) -> str | None:
    """Whether the learner's results are the right ones of another argument in every case: a factor in it, a function or a part
    of it too many; or right themselves if it is put in so. `part`: of the reference's result, where it is several things."""
    def solved(args):
        found = plain(exercise.solve(*args))
        return found if part is None else found[part]

    if not all(numbers(record.expected) for record in records):
        return None
    until = time.process_time() + PATIENCE
    for i, arg in enumerate(records[0].args):
        if exercise.of_class and i < 3:                  # what is asked of a class, and how it is made
            continue
        for words, treat, once in treatments(records[0].name(i), arg):
            others = []
            for record in records:
                try:
                    other = treat(record.args[i])
                except Exception:       # not of this shape, or not in every case
                    break
                others.append((*record.args[:i], other, *record.args[i + 1:]))
            else:
                if all(map(same, (args[i] for args in others), (record.args[i] for record in records))):
                    continue
                if time.process_time() > until:
                    return None
                if holds(lambda record, args: same(record.outcome.value, solved(args), check.rtol, check.atol), records, others):
                    return f"Your result is what {words} in the place of {records[0].name(i)} should give."
                if once and holds(lambda record, args: (got := asked(call, args)) is not None and same(
                        got.value, record.expected, check.rtol, check.atol), records, others):
                    return f"Your result is right for {words} in the place of {records[0].name(i)}."
    return None


def holds(agree: Callable[[Record, tuple], bool], records: Sequence[Record], others: Sequence[tuple]) -> bool:
    """Whether every record agrees with what its other arguments give."""
    try:
        return all(agree(record, args) for record, args in zip(records, others, strict=True))
    except Exception:                   # what the reference does not take
        return False


def numbers(value: Any) -> bool:
    """Whether these are numbers that do not agree with others by chance: none of counts, and not of 0 and 1 alone."""
    if isinstance(value, bool | int) or not (is_number(value) or isinstance(value, Tensor) and value.is_floating_point()):
        return False
    value = torch.as_tensor(value)
    return bool((value != value.round()).any())


def treatments(name: str, value: Any) -> Iterator[tuple[str, Callable, bool]]:
    """Ways to treat an argument like `value`: in words, the function, and whether it cannot be undone by another of them."""
    if isinstance(value, float):
        for words, function in (("2 * {}", lambda x: 2 * x), ("{} / 2", lambda x: x / 2), ("1 - {}", lambda x: 1 - x),
                                ("1 / {}", lambda x: 1 / x), ("{} ** 2", lambda x: x * x), ("{} ** 0.5", lambda x: x ** 0.5)):
            yield words.format(name), function, False
    if not isinstance(value, Tensor) or not value.is_floating_point() or not value.ndim or value.numel() < 2:
        return
    for words, factor in (("2 * {}", 2.0), ("{} / 2", 0.5)):
        yield words.format(name), lambda x, factor=factor: x * factor, False
    for axis in reversed(range(value.ndim)):
        size = f"len({name})" if axis == 0 else f"{name}.shape[{axis}]"
        for words, power in (("/ {} ** 0.5", -0.5), ("* {} ** 0.5", 0.5), ("/ {}", -1.0), ("* {}", 1.0)):
            yield f"{name} {words.format(size)}", lambda x, axis=axis, power=power: x * x.shape[axis] ** power, False
    for axis in sorted({0, value.ndim - 1}):
        yield f"{name} - {name}.mean({axis})", lambda x, axis=axis: x - x.mean(axis, keepdim=True), True
        yield f"{name} / {name}.sum({axis})", lambda x, axis=axis: x / x.sum(axis, keepdim=True), True
        yield f"{name}.softmax({axis})", lambda x, axis=axis: x.softmax(axis), True
        yield f"{name} / {name}.norm(dim={axis})", lambda x, axis=axis: x / x.norm(dim=axis, keepdim=True), True
    for method in ("exp", "log", "sigmoid", "tanh", "relu", "abs", "square", "sqrt", "round"):
        yield f"{name}.{method}()", lambda x, method=method: finite(getattr(x, method)()), True
    yield f"{name} + 1", lambda x: x + 1, False
    yield f"{name} - 1", lambda x: x - 1, False
    yield f"{name}.clamp(min=1)", lambda x: x.clamp(min=1), True
    if value.ndim > 1 and value.shape[-1] == value.shape[-2]:
        for method in ("triu", "tril"):
            for diagonal, words in ((0, ""), (1 if method == "triu" else -1, "diagonal={}")):
                yield (f"{name}.{method}({words.format(diagonal)})",
                       lambda x, method=method, diagonal=diagonal: getattr(x, method)(diagonal), True)


def finite(x: Tensor) -> Tensor:
    """x itself. Raises ValueError if an entry is not finite."""
    if not x.isfinite().all():
        raise ValueError("an entry is not finite")
    return x
