"""The verdict on one answer. The same code judges a function in this process and one in a sandbox."""
from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable

from course_lib.grading.exercise.checks import Compare, Fault, Property, Stop
from course_lib.grading.exercise.exercise import Exercise
from course_lib.grading.exercise.facts import UNEXPLAINED
from course_lib.grading.judge.beyond import kept_to_the_ground
from course_lib.grading.judge.dependence import independent_of, repeated
from course_lib.grading.judge.diagnose import misconceptions
from course_lib.grading.judge.report import CheckResult, Report
from course_lib.grading.judge.shown import PATIENCE, arguments, case
from course_lib.grading.sandbox.inside.ground import absent
from course_lib.grading.sandbox.inside.local import Local
from course_lib.grading.sandbox.inside.models import Ask
from course_lib.grading.sandbox.inside.outcome import Outcome, described, plain

NOT_DATA = "it returned "       # begins what is said of a value that is no plain data
WHY = {
    "timeout": "{detail}. Look for a loop that never ends, or one that takes a step per element of a large tensor.",
    "too_long": "{detail}, by the clock. If it trains, take fewer steps; else look for a loop that never ends. Where something else "
                "keeps this machine busy, try again without it.",
    "memory": "It asked for more memory than it may have. {detail}",
    "error": "{detail}",
    "missing": "{detail}",
    "not_attempted": "",
}


def in_this_process(exercise: Exercise, fn: Callable) -> Callable[..., Outcome]:
    """What `judge` calls to ask `fn`, a function or a class, right here."""
    if exercise.trains:
        import torch._dynamo  # noqa: F401               the first optimizer imports it, for seconds that are not the answer's
    answers = Ask(fn) if exercise.of_class and isinstance(fn, type) else fn
    return kept_to_the_ground(fn, Local(answers, exercise.deadline, exercise.forbid).call)


def judge(exercise: Exercise, call: Callable[..., Outcome], seed: int | None = None, explain: bool = True) -> Report:
    """The verdict on whatever answers `call(args, wrt=(), weight=None)` and, with `explain`, why it is so. An answer that
    reaches what the exercise forbids earns nothing, whatever was right before."""
    seed = int.from_bytes(os.urandom(4), "big") if seed is None else seed
    results: list[CheckResult] = []
    for check in exercise.checks:
        began, generator = time.monotonic(), exercise.generator(seed, check.name)
        try:
            if isinstance(check, Property):
                records, fault = [], check.judge(exercise, call, generator)
            else:
                records = check.records(exercise, call, generator)
                fault = next((found for record in records if (found := check.fault(record))), None)
        except Stop as stop:
            fault = stopped(exercise, stop)
            if fault.state == "forbidden":               # whatever was right before
                return report_of(exercise, [], seed, fault)
            if fault.state == "not_attempted" and any(result.earned for result in results):
                fault = Fault(f"This part is still to be written ({check.name}): what it calls raises NotImplementedError.",
                              None, "error")
            results.append(CheckResult(check.name, False, 0, check.points, fault.message))
            return report_of(exercise, results, seed, fault, stopped_at(exercise, stop))
        shaped = fault is None or fault.state != "wrong_shape"
        if isinstance(check, Compare):
            results.append(CheckResult(f"{check.name}: type and shape", shaped, 0, 0))
        results.append(CheckResult(check.name, fault is None if shaped else None, 0 if fault else check.points,
                                   check.points, fault.message if fault else ""))
        if fault and not explain:
            return report_of(exercise, results, seed, fault)
        if fault:
            slow = time.monotonic() - began > PATIENCE
            return report_of(exercise, results, seed, with_misconception(exercise, check, records, fault, call, seed),
                             "" if slow else to_look_at(exercise, check, records, fault, call, seed))
    return report_of(exercise, results, seed, None)


def about(name: str) -> str:
    """What to tell somebody whose function reaches what it may not use."""
    if name.startswith("course_lib."):
        return f"Your function uses {name}, but {absent(name)}."
    return (f"Your function uses {name}, itself or through another function. The line above this exercise says that this one "
            "is yours to write.")


def stopped(exercise: Exercise, stop: Stop) -> Fault:
    """What a call that gave no value means."""
    outcome = stop.outcome
    if outcome.kind == "forbidden":
        return Fault(about(outcome.detail), None, "forbidden")
    if outcome.kind == "error" and outcome.detail.startswith(NOT_DATA):
        text = f"Your function returns {outcome.detail.removeprefix(NOT_DATA)}"
        if stop.inputs is not None:
            with contextlib.suppress(Exception):         # a check may give it what the reference does not take
                text += f"; it should return {described(plain(exercise.solve(*stop.inputs)), counted=False)}"
        return Fault(f"{text}.", None, "wrong_shape")
    why = "too_long" if outcome.kind == "timeout" and exercise.trains else outcome.kind
    return Fault(WHY[why].format(detail=outcome.detail[:1].upper() + outcome.detail[1:]), None, outcome.kind)


def stopped_at(exercise: Exercise, stop: Stop) -> str:
    """The learner's line that a call stopped at, and what it was called with."""
    if stop.outcome.kind == "not_attempted":
        return ""
    lines = [f"At {stop.outcome.where}"] if stop.outcome.where else []
    if stop.inputs is not None and exercise.names:
        lines += ["Called with:", arguments(exercise.named(stop.inputs), stop.inputs)]
    return "\n".join(lines)


def to_look_at(exercise: Exercise, check, records, fault: Fault, call, seed: int) -> str:
    """For a wrong value or gradient a case that fails; for a wrong shape what the function was called with."""
    if isinstance(check, Property):
        return ""
    if fault.state in ("wrong_value", "wrong_gradient"):
        return case(exercise, check, call, seed, records)
    if fault.state == "wrong_shape":
        first = next(record for record in records if check.fault(record))
        return "\n".join(["Called with:", arguments(exercise.named(first.args), first.args)])
    return ""


def with_misconception(exercise, check, records, fault: Fault, call, seed: int) -> Fault:
    """The fault with its misconception, and the misconception's sentence as the message, where one explains it."""
    if isinstance(check, Property):
        text = exercise.misconceptions.get(fault.misconception or "", fault.message)
        return Fault(text, fault.misconception, fault.state)
    if all(record.outcome.kind == "value" and record.outcome.value is None for record in records):
        return fault
    names = misconceptions(exercise, check, records, call, seed)
    text = " And: ".join(exercise.misconceptions[name] for name in names)
    if not text and isinstance(check, Compare) and fault.state == "wrong_value":
        wrong = next(record for record in records if check.fault(record))
        text = repeated(call, check, wrong) or (independent_of(exercise, call, check, wrong) if UNEXPLAINED.search(fault.message) else "")
    return Fault(text or fault.message, names[0] if len(names) == 1 else None, fault.state)


def report_of(exercise: Exercise, results: list[CheckResult], seed: int, fault: Fault | None, shown: str = "") -> Report:
    """The report, with the checks that were not reached marked so."""
    reached = {result.name for result in results}
    results = results + [CheckResult(check.name, None, 0, check.points) for check in exercise.checks
                         if check.name not in reached]
    return Report(exercise.id, fault.state if fault else "right", sum(result.earned for result in results),
                  exercise.possible, fault.misconception if fault else None, fault.message if fault else "",
                  results, seed, shown)
