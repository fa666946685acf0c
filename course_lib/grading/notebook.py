"""What a learner calls in a notebook: check, hint, solution. They print, and work without IPython."""
from __future__ import annotations

import json
import sys
import textwrap
from collections.abc import Callable
from importlib.resources import files

from course_lib.grading.bank import get
from course_lib.grading.evaluate import evaluate
from course_lib.grading.report import Report

WIDTH = 88
_shown: dict[str, int] = {}                # how many hints of each exercise were given


def check(answer: str | Callable, seed: int | None = None) -> None:
    """Judge your answer and print what came out.

    answer: the exercise's id, then your function is found by that name where you call; or the function itself.
    seed: draws the inputs; a message about a wrong answer names the one that was used.
    """
    if callable(answer):
        name, fn = getattr(answer, "__name__", type(answer).__name__), answer
    else:
        name, fn = answer, defined(answer, sys._getframe(1))
    exercise = get(name)
    if fn is None:
        print(wrapped(Report(name, "missing", 0, exercise.possible,
                             message=f"There is no function {name} here yet. Run the cell that defines it first.")))
        return
    print(wrapped(evaluate(name, fn, seed)))


def defined(name: str, frame) -> Callable | None:
    """The value of `name` where the learner works: the nearest caller whose module has it."""
    while frame is not None:
        if name in frame.f_globals:
            return frame.f_globals[name]
        frame = frame.f_back
    return None


def hint(exercise_id: str, number: int | None = None) -> None:
    """Print the next hint, or the one with this `number` (from 1)."""
    exercise = get(exercise_id)
    count = len(exercise.hints)
    if number is None:
        number = _shown[exercise_id] = min(_shown.get(exercise_id, 0) + 1, count)
    if not 1 <= number <= count:
        raise ValueError(f"number is {number}; {exercise_id} has hints 1 to {count}")
    found = exercise.hints[number - 1]
    print(f"Hint {number} of {count}. {found.symptom}")
    print(textwrap.fill(found.text, WIDTH))


def solution(exercise_id: str) -> None:
    """Print the model solution and why it is so."""
    get(exercise_id)
    stored = json.loads((files("course_lib.grading") / "solutions.json").read_text("utf-8"))[exercise_id]
    print(stored["source"].rstrip() + "\n\n" + textwrap.fill(stored["why"], WIDTH))


def wrapped(report: Report) -> str:
    """The report as text no wider than a notebook's output; the seed with it where the answer is wrong."""
    head, _, _ = str(report).partition("\n" + report.message) if report.message else (str(report), "", "")
    parts = [head] + ([textwrap.fill(report.message, WIDTH)] if report.message else [])
    if report.seed is not None and report.state.startswith("wrong"):
        parts.append(f"(inputs drawn with seed={report.seed})")
    return "\n".join(parts)
