"""What the learner sees of a wrong answer: the arguments of a call that stopped, or a small case that fails, none of those that count."""
import math
import textwrap
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import product
from typing import Any

import torch
from torch import Tensor

from course_lib.grading.checks import Call, Check, ClassGradient, Compare, Gradient, Record
from course_lib.grading.protocol.calls import Outcome, describe, first_difference, is_number, same

COLUMNS = 80                    # of a line
SIDE = 8                        # columns of a tensor that fit the screen
ROW = 18                        # and of one of whole numbers
ENTRIES = 80                    # of a tensor or a list that is shown
ROUNDS = 2                      # draws of the check's cases that are searched
PATIENCE = 2.0                  # seconds after which no further case is tried
LINES = 6                       # of a list
ANSWERS = 8                     # of a function that is shown by what it answers
WEIGHTS = 2                     # of a class, that are shown number by number


def describe_arguments(names: Sequence[str], args: Sequence[Any]) -> str:
    """A line for each argument: its type and shape, or its value where that is short."""
    return "\n".join([f"  {describe_argument(name, arg)}" for name, arg in list_arguments(names, args, 2 * SIDE)])


def list_arguments(names: Sequence[str], args: Sequence[Any], most: int) -> list[tuple[str, Any]]:
    """The arguments by their names. Of a class: the method, its configuration and each of its weights, or, of more than `most`, their number."""
    if tuple(names[:3]) != ("what", "config", "weights"):
        return list(zip(names, args, strict=False))
    what, config, weights, *rest = args
    names = names[3:]
    if what == "slopes":                                 # the gradient of a method, weighted
        what, rest, names = f"the gradient of {rest[0]}", rest[1:], names[1:]
    what = "a, of the states from start on" if what == "path" else what
    made = list(config.items()) if isinstance(config, dict) else []
    line = ", ".join([f"{name}={format_inline(value)}" for name, value in made])
    made = [("configuration", line)] if 0 < len(line) < 38 else made            # as much as `format_inline` leaves of a text
    several = [("random parameters", len(weights))] if weights and len(weights) > most else (weights or {}).items()
    return [("called", what), *made, *several,
            *[(names[i] if i < len(names) else f"argument {i + 1}", value) for i, value in enumerate(rest)]]


def describe_argument(name: str, value: Any) -> str:
    """An argument in one line, without the numbers of a tensor or a list."""
    if value is None or isinstance(value, bool | int | float | str):
        return cut(f"{name} = {format_inline(value)}")
    if isinstance(value, Tensor):
        return f"{name}: {str(value.dtype)[6:]}, shape {tuple(value.shape)}"
    if formula := getattr(value, "formula", None):       # of a function that the exercise hands out
        return cut(f"{name} = {formula}")
    if isinstance(value, list | tuple | dict) or callable(value):
        return f"{name}: {describe(value)}"
    return f"{name}: a random generator"


def draw_example(exercise, seed: int) -> Record:
    """The smallest case of the exercise's first check of values. Raises ValueError if it has none, or asks for a class."""
    check = next((check for check in exercise.checks if isinstance(check, Compare)), None)
    if check is None or exercise.of_class:
        raise ValueError(f"{exercise.id} has no single case; case() is for exercises that ask for a function of data")
    args = min((check.shown or check.cases)(exercise.generator(seed, f"{check.name}, example")), key=measure_case)
    return Record(args, exercise.expected(*args), Outcome("value"), exercise.argument_names(args))


def find_counterexample(exercise, check: Check, call: Call, seed: int, counted: Sequence[Record]) -> Record | None:
    """The smallest wrong record that can be shown whole. A case that was drawn for the verdict is left out."""
    until = time.monotonic() + PATIENCE
    for i in range(ROUNDS):
        generator = exercise.generator(seed, f"{check.name}, shown {i}")
        for args in sorted((check.shown or check.cases)(generator), key=measure_case):
            if time.monotonic() > until:
                return None
            if any(all(same(*pair) for pair in zip(args, record.args, strict=False)) for record in counted):     # a counted one may end in weights
                continue
            try:
                [record] = replace(check, cases=lambda _, args=args: [args]).records(exercise, call, generator)
            except Exception:           # it stops here: nothing to compare
                return None
            fault = check.fault(record)
            if fault and fault.state in ("wrong_value", "wrong_gradient") and record.outcome.kind == "value":
                shown = [value for _, value in list_arguments(record.names, record.args, WEIGHTS)]
                if all(map(fits_screen, [*shown, *select_results(record, check)])):       # one that is cut cannot be computed by hand
                    return record
    return None


def fits_screen(value: Any) -> bool:
    """Whether a value can be shown without a cut."""
    if isinstance(value, Tensor):
        return value.numel() <= ENTRIES and (value.ndim < 2 or value.shape[-1] <= (SIDE if value.is_floating_point() else ROW))
    if isinstance(value, list | tuple | dict):
        parts = [part for row in value.items() for part in row] if isinstance(value, dict) else value
        return len(parts) <= ENTRIES and all(map(fits_screen, parts)) and len(format_inline(value)) <= (LINES - 1) * COLUMNS
    return True


def measure_case(value: Any) -> int:
    """The size of a case: the entries of its tensors and lists, and its whole numbers."""
    if isinstance(value, Tensor):
        return value.numel()
    if isinstance(value, list | tuple):
        return sum(map(measure_case, value))
    return abs(value) if type(value) is int else 0


def select_results(record: Record, check: Check) -> tuple[str, Any, Any]:
    """Of the learner's result and the expected one the first part that is wrong, after what it is called: "", "[1]", " gradient by x"."""
    got, right = record.outcome.value, record.expected
    if isinstance(check, Gradient):
        got = {i: record.outcome.gradients.get(i) for i in check.wrt}
        i = first_difference(got, right, check.rtol, check.atol)
        return f" gradient by {record.name(i)}", got[i], right[i]
    if isinstance(right, dict) and isinstance(got, dict) and got.keys() == right.keys():
        name = first_difference(got, right, check.rtol, check.atol)
        if name is not None:
            what = f" gradient by {check.argument_name(record, name)}" if isinstance(check, ClassGradient) else f"[{name!r}]"
            return what, got[name], right[name]
    elif isinstance(check, Compare) and all(isinstance(value, list | tuple) for value in (got, right)) and len(got) == len(right):
        wrong = first_difference(got, right, check.rtol, check.atol)
        if wrong is not None and isinstance(right[wrong], Tensor) and isinstance(got[wrong], Tensor):
            return f"[{wrong}]", got[wrong], right[wrong]
    return "", got, right


def format_case(record: Record, check: Check) -> list[str]:
    """The lines of a case: the arguments, the learner's result, the expected one."""
    lines = [line for name, arg in list_arguments(record.names, record.args, WEIGHTS) for line in format_value(name, arg)]
    what, got, right = select_results(record, check)
    if isinstance(check, Gradient):
        lines.append("  Of a weighted sum of the results, with weights drawn at random:")
    place, wrong = None, None
    if isinstance(got, Tensor) and isinstance(right, Tensor) and got.shape == right.shape and got.ndim and not got.is_complex():
        wrong = ~torch.isclose(got.double(), right.double(), check.rtol, check.atol, equal_nan=True)
        place = tuple(wrong.nonzero()[0].tolist()) if wrong.any() else None
    one, two, digits = (got, right, 4) if place is None else (got[place], right[place], 4)
    if is_number(one) and is_number(two):                # significant digits that tell the two apart
        digits = next((n for n in (4, 6, 8) if format_number(one, n) != format_number(two, n)), 12)
    return [*lines, *format_value(f"yours{what}", got, digits, wrong), *format_value(f"expected{what}", right, digits)]


def format_value(name: str, value: Any, digits: int = 4, wrong: Tensor | None = None) -> list[str]:
    """The lines of a value. Entries that are `wrong` carry a star."""
    if is_number(value):
        return [f"  {name} = {format_number(value, digits)}"]
    if isinstance(value, Tensor):
        return format_tensor(name, value, digits, wrong)
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


def format_tensor(name: str, value: Tensor, digits: int, wrong: Tensor | None) -> list[str]:
    """The lines of a tensor: a line for each row, with its index where there are more than two axes. Of a large one only the shape."""
    head = f"  {name}: {str(value.dtype)[6:]}, shape {tuple(value.shape)}"
    if not value.numel() or not fits_screen(value):
        return [head]
    width = SIDE if value.is_floating_point() else ROW
    marks = torch.zeros_like(value, dtype=torch.bool) if wrong is None else wrong
    rows, marks = (part.split(width) if part.ndim == 1 else part.reshape(-1, part.shape[-1]) for part in (value, marks))
    cells = [[format_number(number, digits) + ("*" if mark else " ") for number, mark in zip(row.tolist(), stars.tolist(), strict=True)]
             for row, stars in zip(rows, marks, strict=True)]
    width = max(len(text) for row in cells for text in row) + 1
    labels = [f"{list(index)}" for index in product(*map(range, value.shape[:-1]))] if value.ndim > 2 else [""] * len(cells)
    return [head, *[cut("    " + label + "".join([f"{text:>{width}}" for text in row]).rstrip())
                    for label, row in zip(labels, cells, strict=True)]]


def format_number(value: Any, digits: int = 4) -> str:
    """A number with so many digits."""
    value = value.item() if isinstance(value, Tensor) else value
    if isinstance(value, bool | complex) or type(value) is int and abs(value) < 10 ** 12:
        return str(value)
    return f"{value:.{digits}g}"


def format_inline(value: Any, digits: int = 4) -> str:
    """A plain value in one line of ASCII; a long text or tensor is cut or described."""
    if isinstance(value, Tensor) and value.numel() > ENTRIES:
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


def cut(line: str) -> str:
    """A line that fits a screen."""
    return line if len(line) <= COLUMNS else line[:COLUMNS - 3] + "..."
