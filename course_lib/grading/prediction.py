"""`gap`: a prediction beside a measurement."""
from __future__ import annotations

import math
import textwrap
from typing import Any

from course_lib.grading import progress_file
from course_lib.grading.progress_file import WIDTH
from course_lib.grading.protocol.calls import is_number


def gap(prediction: Any, measured: Any, name: str | None = None) -> None:
    """Print what you predicted beside what was measured, and how far apart they are.

    Both are numbers, texts, or several of them; an empty prediction ("", () or None) means that you have not predicted yet. With
    a `name`, your first prediction is stored beside the notebook, and shown again if you change it.

    >>> gap(20, 94.1)
    You predicted 20; measured: 94.1. Your prediction is too small by a factor of 4.7.
    """
    print(textwrap.fill(compare(prediction, measured), WIDTH))
    if name is None or is_empty(prediction):
        return
    predicted = format_all(to_list(prediction))
    before = progress_file.read().get("predictions", {}).get(name) if progress_file.enabled() else None
    if before is None:
        progress_file.save("predictions", name, {"predicted": predicted, "measured": format_all(to_list(measured))})
    elif isinstance(before, dict) and before.get("predicted") != predicted:
        print(textwrap.fill(f"Before you had measured you predicted {before.get('predicted')}.", WIDTH))


def is_empty(prediction: Any) -> bool:
    """Whether nothing is predicted: None, an empty text or an empty list. 0 is a prediction."""
    return not isinstance(prediction, bool) and not is_number(prediction) and not prediction


def compare(prediction: Any, measured: Any) -> str:
    """The gap between a prediction and a measurement, as a sentence."""
    if is_empty(prediction):
        return "You predicted nothing yet: write your prediction down, then run this again."
    guesses, values = to_list(prediction), to_list(measured)
    head = f"You predicted {format_all(guesses)}; measured: {format_all(values) or 'none'}."
    if all(map(is_number, guesses + values)) and len(guesses) == len(values):
        return f"{head} {describe_distance(sorted(map(float, guesses)), sorted(map(float, values)))}"
    missed = [value for value in values if normalize(value) not in map(normalize, guesses)]
    extra = [guess for guess in guesses if normalize(guess) not in map(normalize, values)]
    if not missed and not extra or not values and normalize(prediction) in ("none", "nothing"):
        return f"{head} That is what was measured."
    parts = [f"Left out: {format_all(missed)}."] * bool(missed)
    parts += [f"Not measured: {format_all(extra)}."] * bool(extra)
    return f"{head} {' '.join(parts)} Why?"


def describe_distance(guesses: list[float], values: list[float]) -> str:
    """How far sorted numbers are from the measured ones, in words; of several, the worst."""
    pairs = list(zip(guesses, values, strict=True))
    if all(math.isclose(a, b, rel_tol=0.02, abs_tol=1e-9) for a, b in pairs):
        return "That is what was measured, within 2 %."
    a, b = max(pairs, key=lambda pair: abs(pair[0] - pair[1]) / (abs(pair[1]) or 1))
    if a * b <= 0 or max(a / b, b / a) < 1.5:
        return f"Your prediction is off by {a - b:+.3g}."
    return f"Your prediction is too {'large' if a > b else 'small'} by a factor of {max(a / b, b / a):.2g}."


def to_list(value: Any) -> list:
    """The parts of a list, tuple or set; a text at its commas; anything else as the only part."""
    if isinstance(value, str):
        return [part.strip() for part in value.split(",") if part.strip()]
    return list(value) if isinstance(value, list | tuple | set | frozenset) else [value]


def format_all(values: list) -> str:
    """Values in a row: a number with four digits, anything else as text."""
    return ", ".join(f"{float(value):.4g}" if is_number(value) else str(value) for value in values)


def normalize(value: Any) -> str:
    """A text for comparing: without quotes, case, blanks or underscores."""
    return format_all([value]).lower().strip(" \"'.").replace("_", "").replace(" ", "")
