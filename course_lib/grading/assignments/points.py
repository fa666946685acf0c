"""What exported notebooks call inside another grader: the verdict on a function of the notebook, and its points. It runs in the
learner's own process, as those graders do, so only the command line is for credit."""
from __future__ import annotations

import contextlib
import io
import os
import sys
import warnings
from collections.abc import Callable

from course_lib.exercises import get
from course_lib.grading.notebook import evaluate, find_in_callers
from course_lib.grading.verdict import Report

_last: dict[tuple, tuple[Callable, Report]] = {}


def earned(exercise_id: str, seed: int | None = None, names: dict | None = None) -> int:
    """Print the report on the function of this name where you call, and return its points: at the end of a test cell of nbgrader's, a
    number is partial credit."""
    report = verdict(exercise_id, {exercise_id: find_in_callers(exercise_id, sys._getframe(1))} if names is None else names, seed)
    print(report)
    return report.earned


def verdict(exercise_id: str, names: dict, seed: int | None = None) -> Report:
    """The report on `names[exercise_id]`, with nothing of what the function prints; stored for the next question."""
    exercise, fn = get(exercise_id), names.get(exercise_id)
    if not callable(fn):
        return Report(exercise_id, "missing", 0, exercise.possible, message=f"There is no function {exercise_id}.")
    key = (exercise_id, seed)
    if seed is None or key not in _last or _last[key][0] is not fn:
        with quiet():
            _last[key] = fn, evaluate(exercise_id, fn, seed)
    return _last[key][1]


def demand(exercise_id: str, check: str, names: dict, seed: int | None = None) -> None:
    """Raise AssertionError, with the report's message, unless the check of this name was passed."""
    report = verdict(exercise_id, names, seed)
    if not any(result.name == check and result.passed for result in report.checks):
        raise AssertionError(report.message or str(report))


@contextlib.contextmanager
def quiet():
    """Nothing that a function prints, warns or writes to the process's own stdout and stderr comes through: other
    graders take points for a line on stderr."""
    with contextlib.ExitStack() as stack:
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
        stack.enter_context(warnings.catch_warnings())
        warnings.simplefilter("ignore")
        stack.enter_context(contextlib.redirect_stdout(io.StringIO()))
        stack.enter_context(contextlib.redirect_stderr(io.StringIO()))
        null = os.open(os.devnull, os.O_WRONLY)
        stack.callback(os.close, null)
        for number in (1, 2):
            with contextlib.suppress(OSError):                  # a process may have closed them
                copy = os.dup(number)
                stack.callback(os.close, copy)
                stack.callback(os.dup2, copy, number)
                os.dup2(null, number)
        yield
