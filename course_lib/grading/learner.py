"""What a learner calls in a notebook: check, hint, solution, gap. They print, and work without IPython."""
from __future__ import annotations

import json
import math
import sys
import textwrap
from collections.abc import Callable
from importlib.resources import files
from typing import Any

from course_lib.exercises import get
from course_lib.grading import kept, standing
from course_lib.grading.judge.hints import heading, in_order, unseen
from course_lib.grading.judge.report import Report
from course_lib.grading.judge.verdict import in_this_process, judge
from course_lib.grading.sandbox.inside.outcome import is_number
from course_lib.grading.standing import WIDTH

_given: dict[str, list[int]] = {}          # the hints of each exercise that were given
_last: dict[str, Report] = {}              # what its last check said


def check(answer: str | Callable, seed: int | None = None) -> None:
    """Judge your answer, print what came out, and keep it for `progress`.

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
    _last[name] = evaluate(name, fn, seed)
    print(wrapped(_last[name]))
    try:
        standing.record(_last[name])
        if further := afterwards(_last[name]):
            print(further)
    except (OSError, ValueError) as problem:
        print(textwrap.fill(f"This is not in your progress: {problem}", WIDTH))


def evaluate(exercise_id: str, fn: Callable, seed: int | None = None, explain: bool = True) -> Report:
    """Judge `fn` as an answer to the exercise, in this process: for learning, never for credit.

    Where a class is asked for, `fn` is that class, or a function that is asked as `models.Ask` is. The inputs are drawn
    from `seed`; a new one each time if None. Without `explain` the report has the verdict alone, in a fraction of the time:
    no misconception is looked for, and no case to show. Raises KeyError for an unknown exercise and TypeError if `fn` cannot be
    called or `seed` is no whole number.
    """
    exercise = get(exercise_id)
    if not callable(fn):
        raise TypeError(f"fn is {type(fn).__name__}; evaluate judges a function")
    if seed is not None and not isinstance(seed, int):
        raise TypeError(f"seed is of type {type(seed).__name__}; expected a whole number. To judge a function: check(function)")
    return judge(exercise, in_this_process(exercise, fn), seed, explain)


def afterwards(report: Report) -> str:
    """Where to go on after a check that was kept: once the exercise is right, or when it has taken many tries. Empty otherwise."""
    if not kept.keeps() or report.state in standing.NO_TRY:
        return ""
    if report.state == "right":
        return "next_exercise() says what is worth doing next."
    stuck = standing.lines()[report.exercise]["tries"] >= standing.STUCK
    return "next_exercise() suggests another exercise for now." if stuck else ""


def defined(name: str, frame) -> Callable | None:
    """The value of `name` where the learner works: the nearest caller whose module has it."""
    while frame is not None:
        if name in frame.f_globals:
            return frame.f_globals[name]
        frame = frame.f_back
    return None


def hint(exercise_id: str, number: int | None = None) -> None:
    """Print the hint that fits what the last check said, then the others one by one; or the one with this `number`
    (from 1)."""
    exercise = get(exercise_id)
    count, given = len(exercise.hints), _given.setdefault(exercise_id, [])
    after = f'solution("{exercise_id}") shows an answer, and why it is so.'
    if number is None:
        number = unseen(in_order(exercise, _last.get(exercise_id)), given)
        if number is None:
            print(textwrap.fill(f'You have seen all {count} hints; hint("{exercise_id}", 1) shows the first again. {after}', WIDTH))
            return
        given.append(number)
    if not 1 <= number <= count:
        raise ValueError(f"number is {number}; {exercise_id} has hints 1 to {count}")
    found = exercise.hints[number - 1]
    print(textwrap.fill(heading(found, number, count), WIDTH))
    print(textwrap.fill(found.text, WIDTH))
    if len(given) == count:
        print(textwrap.fill(f"That was the last hint. {after}", WIDTH))


def solution(exercise_id: str) -> None:
    """Print the model solution and why it is so."""
    get(exercise_id)
    stored = json.loads((files("course_lib.exercises") / "solutions.json").read_text("utf-8"))[exercise_id]
    print(stored["source"].rstrip() + "\n\n" + textwrap.fill(stored["why"], WIDTH))


def gap(prediction: Any, measured: Any, name: str | None = None) -> None:
    """Print what you predicted beside what was measured, and how far apart they are.

    Both are numbers, texts, or several of them; an empty prediction ("", () or None) is none yet. With a `name`, your
    first prediction is kept beside the notebook, and shown again where you change it.

    >>> gap(20, 94.1)
    You predicted 20; measured: 94.1. Your prediction is too small by a factor of 4.7.
    """
    print(textwrap.fill(compared(prediction, measured), WIDTH))
    if name is None or none_yet(prediction):
        return
    said = ", ".join(map(short, listed(prediction)))
    before = kept.read().get("predictions", {}).get(name) if kept.keeps() else None
    if before is None:
        kept.keep("predictions", name, {"predicted": said, "measured": ", ".join(map(short, listed(measured)))})
    elif isinstance(before, dict) and before.get("predicted") != said:
        print(textwrap.fill(f"Before you had measured you predicted {before.get('predicted')}.", WIDTH))


def none_yet(prediction: Any) -> bool:
    """Whether nothing is predicted: None, an empty text or an empty list. 0 is a prediction."""
    return not isinstance(prediction, bool) and not is_number(prediction) and not prediction


def compared(prediction: Any, measured: Any) -> str:
    """The gap between a prediction and a measurement, as a sentence."""
    if none_yet(prediction):
        return "You predicted nothing yet: write your prediction down, then run this again."
    said, found = listed(prediction), listed(measured)
    head = f"You predicted {', '.join(map(short, said))}; measured: {', '.join(map(short, found)) or 'none'}."
    if all(is_number(one) for one in said + found) and len(said) == len(found):
        return f"{head} {distance([float(one) for one in said], [float(one) for one in found])}"
    missed = [one for one in found if plain_word(one) not in map(plain_word, said)]
    extra = [one for one in said if plain_word(one) not in map(plain_word, found)]
    if not missed and not extra or not found and plain_word(prediction) in ("none", "nothing"):
        return f"{head} That is what was measured."
    parts = [f"Left out: {', '.join(map(short, missed))}."] * bool(missed)
    parts += [f"Not measured: {', '.join(map(short, extra))}."] * bool(extra)
    return f"{head} {' '.join(parts)} Why?"


def distance(said: list[float], found: list[float]) -> str:
    """How far numbers are from those that were measured, in words; of several, the worst."""
    if all(math.isclose(a, b, rel_tol=0.02, abs_tol=1e-9) for a, b in zip(sorted(said), sorted(found), strict=True)):
        return "That is what was measured, within 2 %."
    a, b = max(zip(sorted(said), sorted(found), strict=True), key=lambda pair: abs(pair[0] - pair[1]) / (abs(pair[1]) or 1))
    if a * b <= 0 or max(a / b, b / a) < 1.5:
        return f"Your prediction is off by {a - b:+.3g}."
    return f"Your prediction is too {'large' if a > b else 'small'} by a factor of {max(a / b, b / a):.2g}."


def listed(value: Any) -> list:
    """The parts of a list, tuple or set; a text at its commas; anything else as the only part."""
    if isinstance(value, str):
        return [part for part in (one.strip() for one in value.split(",")) if part]
    return list(value) if isinstance(value, list | tuple | set | frozenset) else [value]


def short(value: Any) -> str:
    """A number with four digits, anything else as text."""
    return f"{float(value):.4g}" if is_number(value) else str(value)


def plain_word(value: Any) -> str:
    """A text for comparing: without quotes, case, blanks or underscores."""
    return short(value).lower().strip(" \"'.").replace("_", "").replace(" ", "")


def wrapped(report: Report) -> str:
    """The report as text of at most WIDTH columns; with it how the same inputs are drawn again."""
    parts = [report.head, textwrap.fill(report.message, WIDTH), report.shown, report.again]
    return "\n".join(part for part in parts if part)
