"""What a learner may look at: the arguments of a call that stopped, and a small case that fails, with both results.

The case comes from a stream of its own. It is none of those that count, and none of those can be read from it.
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

from course_lib.grading.exercise.checks import Call, Check, Compare, Gradient, Record, Slopes
from course_lib.grading.sandbox.inside.outcome import described, is_number, same

COLUMNS = 80                    # of a line
SIDE = 6                        # rows and columns of a tensor that are shown
ROW = 18                        # entries of a list of tokens that are shown
ROUNDS = 2                      # draws of the check's cases that are searched
PATIENCE = 2.0                  # seconds after which no further case is tried
LINES = 3                       # of a list
ANSWERS = 8                     # of a function that is shown by what it answers
WEIGHTS = 2                     # of a class, that are shown number by number


def arguments(names: Sequence[str], args: Sequence[Any]) -> str:
    """A line for each argument: its type and shape, or its value where that is short."""
    return "\n".join(f"  {line}" for name, arg in spelt(names, args, 2 * SIDE) for line in [kind(name, arg)])


def spelt(names: Sequence[str], args: Sequence[Any], most: int) -> list[tuple[str, Any]]:
    """The arguments by their names. Of a class: what it is asked, its configuration and each of its weights by itself, or
    where there are more than `most` of them, how many."""
    if tuple(names[:3]) != ("what", "config", "weights"):
        return list(zip(names, args, strict=False))
    what, config, weights, *rest = args
    called = names[3:]
    if what == "slopes":                                 # the gradient of a method, weighted
        what, rest, called = f"the gradient of {rest[0]}", rest[1:], called[1:]
    what = "a, of the states from start on" if what == "path" else what
    made = list(config.items()) if isinstance(config, dict) else []
    together = ", ".join(f"{name}={brief(one)}" for name, one in made)
    made = [("made with", together)] if 0 < len(together) < 38 else made     # as much as `brief` leaves of a text
    several = [("parameters, drawn at random", len(weights))] if weights and len(weights) > most else (weights or {}).items()
    return [("asked for", what), *made, *several,
            *((called[i] if i < len(called) else f"argument {i + 1}", one) for i, one in enumerate(rest))]


def kind(name: str, value: Any) -> str:
    """An argument in one line, without the numbers of a tensor or a list."""
    if value is None or isinstance(value, bool | int | float | str):
        return cut(f"{name} = {brief(value)}")
    if isinstance(value, Tensor):
        return f"{name}: {type_of(value)}, shape {tuple(value.shape)}"
    if formula := getattr(value, "formula", None):       # of a function that the judge hands out
        return cut(f"{name} = {formula}")
    if isinstance(value, list | tuple | dict) or callable(value):
        return f"{name}: {described(value)}"
    return f"{name}: a random generator"


def case(exercise, check: Check, call: Call, seed: int, counted: Sequence[Record]) -> str:
    """The smallest of the drawn cases on which the answer fails, as text; or that none of them does."""
    found, tried = smallest(exercise, check, call, seed, counted)
    if found is not None:
        return "A case to look at, drawn anew (it is none of those that count):\n" + "\n".join(both(found, check))
    if not tried:
        return ""
    return f"The {tried} cases drawn to be shown come out right;\nof those of seed={seed} one does not."


def smallest(exercise, check: Check, call: Call, seed: int, counted: Sequence[Record]) -> tuple[Record | None, int]:
    """The first wrong record, from small cases to large ones, and how many were tried. A case counts if it was drawn
    for the verdict, and is left out."""
    tried, until = 0, time.monotonic() + PATIENCE
    for turn in range(ROUNDS):
        generator = exercise.generator(seed, f"{check.name}, shown {turn}")
        for args in sorted((check.shown or check.cases)(generator), key=size):
            if time.monotonic() > until:
                return None, tried
            if any(alike(args, record.args) for record in counted):
                continue
            try:
                [record] = replace(check, cases=lambda _, args=args: [args]).records(exercise, call, generator)
            except Exception:           # it stops here: nothing to compare
                return None, 0
            fault, tried = check.fault(record), tried + 1
            if fault and fault.state in ("wrong_value", "wrong_gradient") and record.outcome.kind == "value":
                return record, tried
    return None, tried


def alike(args: Sequence[Any], others: Sequence[Any]) -> bool:
    """Whether two cases are the same; of the others there may be more (the weights of a gradient)."""
    return all(same(one, other) for one, other in zip(args, others, strict=False))


def size(value: Any) -> int:
    """How large a case is: the entries of its tensors and lists, and its whole numbers."""
    if isinstance(value, Tensor):
        return value.numel()
    if isinstance(value, list | tuple):
        return sum(map(size, value))
    return abs(value) if type(value) is int else 0


def both(record: Record, check: Check) -> list[str]:
    """The lines of a case: what went in, what came out, what should have."""
    lines = [line for name, arg in spelt(record.names, record.args, WEIGHTS) for line in whole(name, arg)]
    got, right, what = record.outcome.value, record.expected, ""
    if isinstance(check, Gradient):
        got = record.outcome.gradients
        i = next(i for i in check.wrt if not same(got.get(i), right[i], check.rtol, check.atol))
        got, right, what = got.get(i), right[i], f" gradient by {record.name(i)}"
        lines.append("  Of a weighted sum of the results, with weights drawn at random:")
    elif isinstance(right, dict) and isinstance(got, dict) and got.keys() == right.keys():
        name = next((name for name in right if not same(got[name], right[name], check.rtol, check.atol)), None)
        if name is not None:
            what = f" gradient by {check.by(record, name)}" if isinstance(check, Slopes) else f"[{name!r}]"
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
    digits = digits_for(got, right, place)
    return [*lines, *whole(f"yours{what}", got, place, digits, wrong),
            *whole(f"expected{what}", right, place, digits)]


def digits_for(got: Any, right: Any, place: tuple[int, ...] | None) -> int:
    """Significant digits that tell the two apart where they differ: 4, or more if need be."""
    if place is not None:
        got, right = got[place], right[place]
    if is_number(got) and is_number(right):
        return next((n for n in (4, 6, 8) if number(got, n) != number(right, n)), 12)
    return 4


def whole(name: str, value: Any, place: tuple[int, ...] | None = None, digits: int = 4,
          wrong: Tensor | None = None) -> list[str]:
    """The lines of a value, cut to what a screen holds; around `place` where it does not fit. Entries that are
    `wrong` carry a star."""
    if is_number(value):
        return [f"  {name} = {number(value, digits)}"]
    if isinstance(value, Tensor):
        return table(name, value, place, digits, wrong)
    if isinstance(value, bool | str | list | tuple | dict | None):
        text = brief(value, digits)[:(LINES + 1) * COLUMNS]
        lines = textwrap.wrap(f"{name} = {text}", COLUMNS - 2, subsequent_indent="    ", break_long_words=True)
        lines = lines if len(lines) <= LINES else [*lines[:LINES - 1], "    ..."]
        return [f"  {line}" for line in lines]
    rows = getattr(value, "rows", None)                  # of a function that the judge hands out: what it returns, by list
    if rows and len(rows) <= ANSWERS:
        return [f"  {name}, by what it is given:", *answered(rows, digits)]
    return [f"  {kind(name, value)}"]


def answered(rows: Mapping[tuple[int, ...], Tensor], digits: int) -> list[str]:
    """A line for each list of tokens: the numbers (V,) that a function returns for it."""
    cells = [[number(one, digits) for one in row[:SIDE]] for row in rows.values()]
    width = max(len(cell) for row in cells for cell in row) + 2
    asked = [brief(list(key)) for key in rows]
    return [cut(f"    {key:<{max(map(len, asked))}}" + "".join(f"{cell:>{width}}" for cell in row) + " ..." * (len(row) < len(full)))
            for key, row, full in zip(asked, cells, rows.values(), strict=True)]


def table(name: str, value: Tensor, place: tuple[int, ...] | None, digits: int, wrong: Tensor | None) -> list[str]:
    """The lines of a tensor: its rows, at most SIDE of them; one matrix of it where it has more than two axes."""
    head = f"  {name}: {type_of(value)}, shape {tuple(value.shape)}"
    if not value.numel():
        return [head]
    place = place or (0,) * value.ndim
    lead = place[:-2]
    part, marks = value[lead], wrong[lead] if wrong is not None else torch.zeros_like(value[lead], dtype=torch.bool)
    if part.ndim == 1:
        part, marks = part[None], marks[None]
    side = SIDE if value.ndim > 1 or value.is_floating_point() else ROW
    rows, columns = (places_around(size, at, side) for size, at in zip(part.shape, (0, *place)[-2:], strict=True))
    said = [f"at [{', '.join(map(str, lead))}]"] * bool(lead)
    said += [f"{what} {span.start} to {span.stop - 1}" for what, span, size in
             zip(("rows", "columns" if value.ndim > 1 else "entries"), (rows, columns), part.shape, strict=True)
             if len(span) < size]
    cells = [[number(part[i, j], digits) + "*" * bool(marks[i, j]) for j in columns] for i in rows]
    width = max(len(cell.rstrip("*")) for row in cells for cell in row) + 1
    lines = ["    " + "".join(f"{cell.rstrip('*'):>{width}}{'*' if '*' in cell else ' '}" for cell in row).rstrip()
             for row in cells]
    return [cut(head + (f"; {', '.join(said)}" if said else "")), *map(cut, lines)]


def places_around(size: int, at: int, side: int) -> range:
    """At most `side` places of an axis, `at` among them."""
    start = max(0, min(at - side // 2, size - side))
    return range(start, min(size, start + side))


def number(value: Any, digits: int = 4) -> str:
    """A number with so many digits."""
    value = value.item() if isinstance(value, Tensor) else value
    if isinstance(value, bool | complex) or type(value) is int and abs(value) < 10 ** 12:
        return str(value)
    return f"{value:.{digits}g}"


def brief(value: Any, digits: int = 4) -> str:
    """A plain value in one line of ASCII; a long text or tensor is cut or described."""
    if isinstance(value, Tensor) and value.numel() > SIDE:
        return f"tensor of shape {tuple(value.shape)}"
    if isinstance(value, Tensor):
        return brief(value.tolist(), digits)
    if isinstance(value, float):
        return number(value, digits) if math.isfinite(value) else str(value)
    if isinstance(value, str):
        return ascii(value if len(value) <= 40 else value[:37] + "...")
    if isinstance(value, list | tuple):
        inner = ", ".join(brief(part, digits) for part in value[:60]) + (", ..." if len(value) > 60 else "")
        return f"[{inner}]" if isinstance(value, list) else f"({inner}{',' * (len(value) == 1)})"
    if isinstance(value, dict):
        parts = [f"{brief(key)}: {brief(part, digits)}" for key, part in list(value.items())[:20]]
        return "{" + ", ".join(parts) + (", ..." if len(value) > 20 else "") + "}"
    if formula := getattr(value, "formula", None):
        return str(formula)
    return str(value) if value is None or isinstance(value, bool | int) else described(value)


def type_of(value: Tensor) -> str:
    """The tensor's kind of number, as torch calls it."""
    return str(value.dtype).removeprefix("torch.")


def cut(line: str) -> str:
    """A line that fits a screen."""
    return line if len(line) <= COLUMNS else line[:COLUMNS - 3] + "..."
