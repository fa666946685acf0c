"""What exported notebooks call inside nbgrader: the report on a function of the notebook, and its points. It runs in the learner's own
process, as nbgrader does, so only the command line is for credit."""
from __future__ import annotations

import contextlib
import io
import os
import sys
import warnings

from course_lib.exercises import get
from course_lib.grading.notebook import evaluate, find_in_callers


def earned(exercise_id: str, seed: int | None = None) -> int:
    """Print the report on the function of this name where you call, and return its points: at the end of a test cell of nbgrader's, a
    number is partial credit."""
    fn = find_in_callers(get(exercise_id).id, sys._getframe(1))
    if not callable(fn):
        print(f"There is no function {exercise_id}.")
        return 0
    with quiet():
        report = evaluate(exercise_id, fn, seed)
    print(report)
    return report.earned


@contextlib.contextmanager
def quiet():
    """Nothing that a function prints, warns or writes to the process's own stdout and stderr comes through: nbgrader takes points for a
    line on stderr."""
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
