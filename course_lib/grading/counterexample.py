"""What the learner sees of a wrong answer: the arguments of a call that stopped, or a small case that fails, with both results.

The case is drawn from a stream of its own, so it says nothing about the cases that count.
"""
from __future__ import annotations

import math
import textwrap
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from course_lib.grading.checks import Call, Check, ClassGradient, Compare, Gradient, Record
from course_lib.grading.protocol.calls import Outcome, describe, is_number, same

COLUMNS = 80                    # of a line
SIDE = 6                        # rows and columns of a tensor that are shown
ROW = 18                        # entries of a list of tokens that are shown
ROUNDS = 2                      # draws of the check's cases that are searched
PATIENCE = 2.0                  # seconds after which no further case is tried
LINES = 3                       # of a list
ANSWERS = 8                     # of a function that is shown by what it answers
WEIGHTS = 2                     # of a class, that are shown number by number


def describe_arguments(names: Sequence[str], args: Sequence[Any]) -> str:
    """A line for each argument: its type and shape, or its value where that is short."""
    return "\n".join([f"  {describe_argument(name, arg)}" for name, arg in list_arguments(names, args, 2 * SIDE)])


def list_arguments(names: Sequence[str], args: Sequence[Any], most: int) -> list[tuple[str, Any]]:
    """The arguments by their names. Of a class: the method, its configuration and each of its weights by itself, or, if there are
    more than `most` of them, their number."""
    if tuple(names[:3]) != ("what", "config", "weights"):
        return list(zip(names, args, strict=False))
    what, config, weights, *rest = args
    names = names[3:]
    if what == "slopes":                                 # the gradient of a method, weighted
        what, rest, names = f"the gradient of {rest[0]}", rest[1:], names[1:]
    what = "a, of the states from start on" if what == "path" else what
    made = list(config.items()) if isinstance(config, dict) else []
    line = ", ".join([f"{name}={format_inline(value)}" for name, value in made])
    made = [("made with", line)] if 0 < len(line) < 38 else made            # as much as `format_inline` leaves of a text
    several = [("parameters, drawn at random", len(weights))] if weights and len(weights) > most else (weights or {}).items()
    return [("asked for", what), *made, *several,
            *[(names[i] if i < len(names) else f"argument {i + 1}", value) for i, value in enumerate(rest)]]


def describe_argument(name: str, value: Any) -> str:
    """An argument in one line, without the numbers of a tensor or a list."""
    if value is None or isinstance(value, bool | int | float | str):
        return cut(f"{name} = {format_inline(value)}")
    if isinstance(value, Tensor):
        return f"{name}: {dtype_name(value)}, shape {tuple(value.shape)}"
    if formula := getattr(value, "formula", None):       # of a function that the exercise hands out
        return cut(f"{name} = {formula}")
    if isinstance(value, list | tuple | dict) or callable(value):
        return f"{name}: {describe(value)}"
    return f"{name}: a random generator"


def show_counterexample(exercise, check: Check, call: Call, seed: int, counted: Sequence[Record]) -> str:
    """The smallest of the drawn cases on which the answer fails, as text; or that none of them does."""
    record, tried = find_counterexample(exercise, check, call, seed, counted)
    if record is not None:
        return "A small example:\n" + "\n".join(format_case(record, check))
    return f"The {tried} cases drawn to be shown come out right;\nof those of seed={seed} one does not." if tried else ""


def draw_example(exercise, seed: int) -> Record:
    """The smallest case of the exercise's first check of values, with the expected result as both results; it counts for nothing.
    Raises ValueError if the exercise has no such check, or asks for a class."""
    check = next((check for check in exercise.checks if isinstance(check, Compare)), None)
    if check is None or exercise.of_class:
        raise ValueError(f"{exercise.id} has no single case; case() is for exercises that ask for a function of data")
    args = min((check.shown or check.cases)(exercise.generator(seed, f"{check.name}, example")), key=measure_case)
    return Record(args, exercise.expected(*args), Outcome("value"), exercise.argument_names(args))


def find_counterexample(exercise, check: Check, call: Call, seed: int, counted: Sequence[Record]) -> tuple[Record | None, int]:
    """The first wrong record, from small cases to large ones, and how many were tried. A case counts if it was drawn
    for the verdict, and is left out."""
    tried, until = 0, time.monotonic() + PATIENCE
    for i in range(ROUNDS):
        generator = exercise.generator(seed, f"{check.name}, shown {i}")
        for args in sorted((check.shown or check.cases)(generator), key=measure_case):
            if time.monotonic() > until:
                return None, tried
            if any([is_same_case(args, record.args) for record in counted]):
                continue
            try:
                [record] = replace(check, cases=lambda _, args=args: [args]).records(exercise, call, generator)
            except Exception:           # it stops here: nothing to compare
                return None, 0
            fault, tried = check.fault(record), tried + 1
            if fault and fault.state in ("wrong_value", "wrong_gradient") and record.outcome.kind == "value":
                return record, tried
    return None, tried


def is_same_case(args: Sequence[Any], counted: Sequence[Any]) -> bool:
    """Whether two cases are the same; a counted one may end in the weights of a gradient."""
    return all(same(*pair) for pair in zip(args, counted, strict=False))


def measure_case(value: Any) -> int:
    """The size of a case: the entries of its tensors and lists, and its whole numbers."""
    if isinstance(value, Tensor):
        return value.numel()
    if isinstance(value, list | tuple):
        return sum(map(measure_case, value))
    return abs(value) if type(value) is int else 0


def format_case(record: Record, check: Check) -> list[str]:
    """The lines of a case: the arguments, the learner's result, the expected one."""
    lines = [line for name, arg in list_arguments(record.names, record.args, WEIGHTS) for line in format_value(name, arg)]
    got, right, what = record.outcome.value, record.expected, ""
    if isinstance(check, Gradient):
        got = record.outcome.gradients
        i = next(i for i in check.wrt if not same(got.get(i), right[i], check.rtol, check.atol))
        got, right, what = got.get(i), right[i], f" gradient by {record.name(i)}"
        lines.append("  Of a weighted sum of the results, with weights drawn at random:")
    elif isinstance(right, dict) and isinstance(got, dict) and got.keys() == right.keys():
        name = next((name for name in right if not same(got[name], right[name], check.rtol, check.atol)), None)
        if name is not None:
            what = f" gradient by {check.argument_name(record, name)}" if isinstance(check, ClassGradient) else f"[{name!r}]"
            got, right = got[name], right[name]
    elif isinstance(check, Compare) and isinstance(right, list | tuple) and len(got) == len(right):
        wrong = next((i for i, (a, b) in enumerate(zip(got, right, strict=True))
                      if not same(a, b, check.rtol, check.atol)), None)
        if wrong is not None and isinstance(right[wrong], Tensor) and isinstance(got[wrong], Tensor):
            got, right, what = got[wrong], right[wrong], f"[{wrong}]"
    place, wrong = None, None
    if isinstance(got, Tensor) and isinstance(right, Tensor) and got.shape == right.shape and got.ndim \
            and not got.is_complex():
        wrong = ~torch.isclose(got.double(), right.double(), check.rtol, check.atol, equal_nan=True)
        place = tuple(wrong.nonzero()[0].tolist()) if wrong.any() else None
    digits = choose_digits(got, right, place)
    return [*lines, *format_value(f"yours{what}", got, place, digits, wrong),
            *format_value(f"expected{what}", right, place, digits)]


def choose_digits(got: Any, right: Any, place: tuple[int, ...] | None) -> int:
    """Significant digits that tell the two apart where they differ: 4, or more if need be."""
    if place is not None:
        got, right = got[place], right[place]
    if is_number(got) and is_number(right):
        return next((n for n in (4, 6, 8) if format_number(got, n) != format_number(right, n)), 12)
    return 4


def format_value(name: str, value: Any, place: tuple[int, ...] | None = None, digits: int = 4,
          wrong: Tensor | None = None) -> list[str]:
    """The lines of a value, cut to what a screen holds; around `place` where it does not fit. Entries that are
    `wrong` carry a star."""
    if is_number(value):
        return [f"  {name} = {format_number(value, digits)}"]
    if isinstance(value, Tensor):
        return format_tensor(name, value, place, digits, wrong)
    if isinstance(value, bool | str | list | tuple | dict | None):
        text = format_inline(value, digits)[:(LINES + 1) * COLUMNS]
        lines = textwrap.wrap(f"{name} = {text}", COLUMNS - 2, subsequent_indent="    ", break_long_words=True)
        lines = lines if len(lines) <= LINES else [*lines[:LINES - 1], "    ..."]
        return [f"  {line}" for line in lines]
    rows = getattr(value, "rows", None)                  # of a function that the exercise hands out: its results, by list
    if rows and len(rows) <= ANSWERS:
        return [f"  {name}, by what it is given:", *format_rows(rows, digits)]
    return [f"  {describe_argument(name, value)}"]


def format_rows(rows: Mapping[tuple[int, ...], Tensor], digits: int) -> list[str]:
    """A line for each list of tokens: the numbers (V,) that a function returns for it."""
    cells = [[format_number(value, digits) for value in row[:SIDE]] for row in rows.values()]
    width = max(len(cell) for row in cells for cell in row) + 2
    keys = [format_inline(list(key)) for key in rows]
    return [cut(f"    {key:<{max(map(len, keys))}}" + "".join(f"{cell:>{width}}" for cell in row) + " ..." * (len(row) < len(full)))
            for key, row, full in zip(keys, cells, rows.values(), strict=True)]


def format_tensor(name: str, value: Tensor, place: tuple[int, ...] | None, digits: int, wrong: Tensor | None) -> list[str]:
    """The lines of a tensor: its rows, at most SIDE of them; one matrix of it where it has more than two axes."""
    head = f"  {name}: {dtype_name(value)}, shape {tuple(value.shape)}"
    if not value.numel():
        return [head]
    place = place or (0,) * value.ndim
    lead = place[:-2]
    part, marks = value[lead], wrong[lead] if wrong is not None else torch.zeros_like(value[lead], dtype=torch.bool)
    if part.ndim == 1:
        part, marks = part[None], marks[None]
    side = SIDE if value.ndim > 1 or value.is_floating_point() else ROW
    rows, columns = (visible_range(size, at, side) for size, at in zip(part.shape, (0, *place)[-2:], strict=True))
    notes = [f"at [{', '.join(map(str, lead))}]"] * bool(lead)
    notes += [f"{what} {span.start} to {span.stop - 1}" for what, span, size in
             zip(("rows", "columns" if value.ndim > 1 else "entries"), (rows, columns), part.shape, strict=True)
             if len(span) < size]
    numbers, stars = part[rows.start:rows.stop, columns.start:columns.stop].tolist(), marks.tolist()
    cells = [[(format_number(number, digits), "*" if stars[i][j] else " ") for j, number in zip(columns, row, strict=True)]
             for i, row in zip(rows, numbers, strict=True)]
    width = max([len(text) for row in cells for text, _ in row]) + 1
    lines = ["    " + "".join([f"{text:>{width}}{star}" for text, star in row]).rstrip() for row in cells]
    return [cut(head + (f"; {', '.join(notes)}" if notes else "")), *map(cut, lines)]


def visible_range(size: int, at: int, side: int) -> range:
    """At most `side` positions of an axis, `at` among them."""
    start = max(0, min(at - side // 2, size - side))
    return range(start, min(size, start + side))


def format_number(value: Any, digits: int = 4) -> str:
    """A number with so many digits."""
    value = value.item() if isinstance(value, Tensor) else value
    if isinstance(value, bool | complex) or type(value) is int and abs(value) < 10 ** 12:
        return str(value)
    return f"{value:.{digits}g}"


def format_inline(value: Any, digits: int = 4) -> str:
    """A plain value in one line of ASCII; a long text or tensor is cut or described."""
    if isinstance(value, Tensor) and value.numel() > SIDE:
        return f"tensor of shape {tuple(value.shape)}"
    if isinstance(value, Tensor):
        return format_inline(value.tolist(), digits)
    if isinstance(value, float):
        return format_number(value, digits) if math.isfinite(value) else str(value)
    if isinstance(value, str):
        return ascii(value if len(value) <= 40 else value[:37] + "...")
    if isinstance(value, list | tuple):
        inner = ", ".join(format_inline(part, digits) for part in value[:60]) + (", ..." if len(value) > 60 else "")
        return f"[{inner}]" if isinstance(value, list) else f"({inner}{',' * (len(value) == 1)})"
    if isinstance(value, dict):
        parts = [f"{format_inline(key)}: {format_inline(part, digits)}" for key, part in list(value.items())[:20]]
        return "{" + ", ".join(parts) + (", ..." if len(value) > 20 else "") + "}"
    if formula := getattr(value, "formula", None):
        return str(formula)
    return str(value) if value is None or isinstance(value, bool | int) else describe(value)


def dtype_name(value: Tensor) -> str:
    """The tensor's kind of number, as torch calls it."""
    return str(value.dtype).removeprefix("torch.")


def cut(line: str) -> str:
    """A line that fits a screen."""
    return line if len(line) <= COLUMNS else line[:COLUMNS - 3] + "..."
