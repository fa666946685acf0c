"""The verdict on one answer. The same code judges a function in this process and one in a sandbox."""
from __future__ import annotations

import ast
import inspect
import os
import textwrap
from collections.abc import Callable

from course_lib.grading.bank import get
from course_lib.grading.checks import Compare, Fault, Property, Stop
from course_lib.grading.diagnose import misconceptions
from course_lib.grading.exercise import Exercise
from course_lib.grading.local import Local
from course_lib.grading.outcome import Outcome
from course_lib.grading.report import CheckResult, Report

WHY = {
    "timeout": "{detail}. Look for a loop that never ends, or one that takes a step per element of a large tensor.",
    "memory": "It asked for more memory than it may have. {detail}",
    "error": "{detail}",
    "missing": "{detail}",
    "not_attempted": "",
}


def evaluate(exercise_id: str, fn: Callable, seed: int | None = None) -> Report:
    """Judge `fn` as an answer to the exercise, in this process: for learning, never for credit.

    The inputs are drawn from `seed`; a new one each time if None. Raises KeyError for an unknown exercise and
    TypeError if `fn` cannot be called.
    """
    exercise = get(exercise_id)
    if not callable(fn):
        raise TypeError(f"fn is {type(fn).__name__}; evaluate judges a function")
    try:
        source = textwrap.dedent(inspect.getsource(fn))
    except (OSError, TypeError, IndentationError):
        source = None
    return judge(exercise, Local(fn, exercise.deadline).call, seed, source)


def judge(exercise: Exercise, call: Callable[..., Outcome], seed: int | None = None,
          source: str | None = None) -> Report:
    """The verdict on whatever answers `call(args, wrt=(), weight=None)`; `source`, if known, is searched for what
    the exercise forbids."""
    seed = int.from_bytes(os.urandom(4), "big") if seed is None else seed
    used = forbidden(source, exercise.forbid) if source else None
    if used:
        return closed(exercise, [], seed, Fault(f"Your function uses {used}, which is what this exercise asks you to "
                                                "write.", None, "error"))
    results: list[CheckResult] = []
    for check in exercise.checks:
        generator = exercise.generator(seed, check.name)
        try:
            if isinstance(check, Property):
                records, fault = [], check.judge(exercise, call, generator)
            else:
                records = check.records(exercise, call, generator)
                fault = next((found for record in records if (found := check.fault(record))), None)
        except Stop as stop:
            outcome = stop.outcome
            text = WHY[outcome.kind].format(detail=outcome.detail[:1].upper() + outcome.detail[1:])
            results.append(CheckResult(check.name, False, 0, check.points, text))
            return closed(exercise, results, seed, Fault(text, None, outcome.kind))
        shaped = fault is None or fault.state != "wrong_shape"
        if isinstance(check, Compare):
            results.append(CheckResult(f"{check.name}: type and shape", shaped, 0, 0))
        results.append(CheckResult(check.name, fault is None if shaped else None, 0 if fault else check.points,
                                   check.points, fault.message if fault else ""))
        if fault:
            return closed(exercise, results, seed, named(exercise, check, records, fault, call, seed))
    return closed(exercise, results, seed, None)


def named(exercise, check, records, fault: Fault, call, seed: int) -> Fault:
    """The fault with its misconception, and the misconception's sentence as the message, where one explains it."""
    if isinstance(check, Property):
        text = exercise.misconceptions.get(fault.misconception or "", fault.message)
        return Fault(text, fault.misconception, fault.state)
    empty = all(record.outcome.kind == "value" and record.outcome.value is None for record in records)
    names = () if empty else misconceptions(exercise, check, records, call, seed)
    text = " And: ".join(exercise.misconceptions[name] for name in names) or fault.message
    return Fault(text, names[0] if len(names) == 1 else None, fault.state)


def closed(exercise: Exercise, results: list[CheckResult], seed: int, fault: Fault | None) -> Report:
    """The report, with the checks that were not reached marked so."""
    reached = {result.name for result in results}
    results = results + [CheckResult(check.name, None, 0, check.points) for check in exercise.checks
                         if check.name not in reached]
    return Report(exercise.id, fault.state if fault else "right", sum(result.earned for result in results),
                  exercise.possible, fault.misconception if fault else None, fault.message if fault else "",
                  results, seed)


def forbidden(source: str, names) -> str | None:
    """The first of the dotted `names` that the code uses, whatever the module is called there."""
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    used = {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
    used |= {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    used |= {node.name.rsplit(".", 1)[-1] for node in ast.walk(tree) if isinstance(node, ast.alias)}
    used |= {node.value for node in ast.walk(tree) if isinstance(node, ast.Constant)}           # getattr(F, "...")
    return next((name for name in names if name.rsplit(".", 1)[-1] in used), None)
