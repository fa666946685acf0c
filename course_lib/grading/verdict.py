"""The verdict on one answer, and the report that tells it. The same code grades a function in this process and one in a sandbox."""
from __future__ import annotations

import contextlib
import os
import re
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field, replace
from html import escape

from course_lib.grading import diagnosis
from course_lib.grading.checks import Compare, Fault, Property, Record, Stop
from course_lib.grading.counterexample import PATIENCE, describe_arguments, find_counterexample, format_case
from course_lib.grading.exercise import Exercise
from course_lib.grading.protocol.allowlist import denied_message
from course_lib.grading.protocol.calls import Outcome, describe, plain

EXAMPLE = "A small example:"
UNEXPLAINED = re.compile(r"is (too (large|small)|not the right one)|\bwrong\b")        # in a message that says where, and no more
NOT_DATA = "it returned "       # begins the detail of a value that is not plain data
WHY = {
    "timeout": "{detail}. Look for a loop that never ends, or one that takes a step per element of a large tensor.",
    "too_long": "{detail}, by the clock. If it trains, take fewer steps; else look for a loop that never ends. Where something else "
                "keeps this machine busy, try again without it.",
    "memory": "It asked for more memory than it may have. {detail}", "error": "{detail}", "missing": "{detail}", "not_attempted": ""}


NO_INPUTS = ("not_attempted", "missing", "not_submitted", "no_notebook", "forbidden", "unreadable", "not_graded", "right")
STATES = {
    "not_attempted": "not attempted yet", "missing": "no such function", "not_submitted": "not submitted",
    "no_notebook": "no notebook in the submission", "error": "stopped with an error", "timeout": "took too long",
    "memory": "needed too much memory", "wrong_shape": "wrong shape or type", "wrong_value": "wrong value",
    "wrong_gradient": "right values, wrong gradient", "changed_arguments": "an argument is changed",
    "forbidden": "uses a forbidden function", "unreadable": "could not be read",
    "not_graded": "not graded: the grader stopped", "right": "right"}


@dataclass(frozen=True)
class CheckResult:
    """One check. A gate is worth 0 points; `passed` is None where the check was not reached."""

    name: str
    passed: bool | None
    earned: int
    possible: int
    message: str = ""


@dataclass(frozen=True)
class Report:
    """The verdict on one exercise. `state` is a key of STATES; `misconception` a name, or None; `shown` some lines of at most 80
    columns: where the answer stopped, or a case that fails.

    >>> print(Report("made_masks", "wrong_value", earned=2, possible=7))
    made_masks: wrong value (2 of 7 points)
    """

    exercise: str
    state: str
    earned: int = 0
    possible: int = 0
    misconception: str | None = None
    message: str = ""
    checks: list[CheckResult] = field(default_factory=list)
    seed: int | None = None
    shown: str = ""

    def __post_init__(self):
        if self.state not in STATES:
            raise ValueError(f"state is {self.state!r}; it is one of {', '.join(STATES)}")

    @property
    def score(self) -> float:
        """Earned over possible, 0 to 1."""
        return self.earned / self.possible if self.possible else 0.0

    def __str__(self) -> str:
        return "\n".join(part for part in (self.head, self.message, self.shown) if part)

    @property
    def head(self) -> str:
        """The state, the points, and the outcome of each check."""
        lines = [f"{self.exercise}: {STATES[self.state]} ({self.earned} of {self.possible} points)"]
        if self.state != "not_attempted":            # a gate is listed only when it stops the answer
            outcomes = {True: "passed", False: "failed", None: "not reached"}
            lines += [f"  {outcomes[check.passed]}  {check.name}" for check in self.checks if check.possible or not check.passed]
        return "\n".join(lines)

    @property
    def again(self) -> str:
        """A line that says how to draw the same inputs again; empty where none were drawn."""
        if self.seed is None or self.state in NO_INPUTS:
            return ""
        return f'(the same inputs again: check("{self.exercise}", seed={self.seed}))'

    def _repr_html_(self) -> str:
        """The same for a notebook: the state in color and in words, the message, and the example folded."""
        color = {"right": "#1a6b34", "not_attempted": "#555", "missing": "#555"}.get(self.state, "#a32116")
        first, _, rest = self.shown.partition("\n")
        checks = "" if self.state == "not_attempted" else " · ".join(line.strip() for line in self.head.splitlines()[1:])
        parts = [f'<b>{escape(self.exercise)}</b> <b style="background:{color};color:#fff;padding:0 .4em">{STATES[self.state]}</b> '
                 f"<b>{self.earned} of {self.possible} points</b>", escape(checks), escape(self.message),
                 first and f"<details{' open' * (first != EXAMPLE)}><summary>{escape(first)}</summary><pre>{escape(rest)}</pre></details>",
                 self.again and f"<small>{escape(self.again)}</small>"]
        return "".join(f"<div>{part}</div>" for part in parts if part)

    def to_dict(self) -> dict:
        """As plain data; `from_dict` is the inverse."""
        return asdict(self)

    @classmethod
    def from_dict(cls, data: dict) -> Report:
        """The inverse of `to_dict`."""
        return cls(**{**data, "checks": [CheckResult(**check) for check in data["checks"]]})


def grade(exercise: Exercise, call: Callable[..., Outcome], seed: int | None = None, explain: bool = True) -> Report:
    """The verdict on the answer behind `call(args, wrt=(), weight=None)` and, with `explain`, its reason."""
    seed = int.from_bytes(os.urandom(4), "big") if seed is None else seed
    results: list[CheckResult] = []
    seconds = [0.0]                                      # of the calls

    def timed(*args, **named) -> Outcome:
        began = time.monotonic()
        try:
            return call(*args, **named)
        finally:
            seconds.append(time.monotonic() - began)

    for check in exercise.checks:
        began, generator = time.monotonic(), exercise.generator(seed, check.name)
        try:
            if isinstance(check, Property):
                records, fault = [], check.test(exercise, timed, generator)
            else:
                records = check.records(exercise, timed, generator)
                fault = next((fault for record in records if (fault := check.fault(record))), None)
        except Stop as stop:
            fault = fault_of_stop(exercise, stop)
            if fault.state == "forbidden":               # whatever was right before
                return make_report(exercise, [], seed, fault)
            if fault.state == "not_attempted" and any(result.earned for result in results):
                fault = Fault(f"This part is still to be written ({check.name}): what it calls raises NotImplementedError.", None, "error")
            results.append(CheckResult(check.name, False, 0, check.points, fault.message))
            return make_report(exercise, results, seed, fault, describe_stop(exercise, stop))
        shaped = fault is None or fault.state != "wrong_shape"
        if isinstance(check, Compare):
            results.append(CheckResult(f"{check.name}: type and shape", shaped, 0, 0))
        results.append(CheckResult(check.name, fault is None if shaped else None, 0 if fault else check.points,
                                   check.points, fault.message if fault else ""))
        if fault and not explain:
            return make_report(exercise, results, seed, fault)
        if fault:
            example = None
            if fault.state in ("wrong_value", "wrong_gradient") and records and time.monotonic() - began <= PATIENCE:
                example = find_counterexample(exercise, check, timed, seed, records)
            shown = show_failure(exercise, check, records, fault, example)
            fault = name_misconception(exercise, check, records, fault, timed, seed, example)
            if exercise.kind == "train" and fault.state == "wrong_value" and not fault.misconception:
                used = f" Your function used {max(seconds):.1f} of its {exercise.deadline:g} seconds."
                fault = replace(fault, message=fault.message + used)
            return make_report(exercise, results, seed, fault, shown)
    return make_report(exercise, results, seed, None)


def fault_of_stop(exercise: Exercise, stop: Stop) -> Fault:
    """The fault of an answer whose call gave no value."""
    outcome = stop.outcome
    if outcome.kind == "forbidden":
        rule = f"but {denied_message(outcome.detail)}." if outcome.detail.startswith("course_lib.") else \
            "itself or through another function. The line above this exercise says that this one is yours to write."
        return Fault(f"Your function uses {outcome.detail}, {rule}", None, "forbidden")
    if outcome.kind == "error" and outcome.detail.startswith(NOT_DATA):
        text = f"Your function returns {outcome.detail.removeprefix(NOT_DATA)}"
        if stop.inputs is not None:
            with contextlib.suppress(Exception):         # a check may pass arguments that the reference does not accept
                text += f"; it should return {describe(plain(exercise.solve(*stop.inputs)), counted=False)}"
        return Fault(f"{text}.", None, "wrong_shape")
    why = "too_long" if outcome.kind == "timeout" and exercise.trains else outcome.kind
    return Fault(WHY[why].format(detail=outcome.detail[:1].upper() + outcome.detail[1:]), None, outcome.kind)


def describe_stop(exercise: Exercise, stop: Stop) -> str:
    """The learner's line that a call stopped at, and what it was called with."""
    if stop.outcome.kind == "not_attempted":
        return ""
    lines = [f"At {stop.outcome.where}"] if stop.outcome.where else []
    if stop.inputs is not None and exercise.names:
        lines += ["Called with:", describe_arguments(exercise.argument_names(stop.inputs), stop.inputs)]
    return "\n".join(lines)


def show_failure(exercise: Exercise, check, records, fault: Fault, example: Record | None) -> str:
    """The example of a wrong value or gradient; for a wrong shape what the function was called with."""
    if example is not None:
        return EXAMPLE + "\n" + "\n".join(format_case(example, check))
    if fault.state == "wrong_shape" and records:
        first = next(record for record in records if check.fault(record))
        return "\n".join(["Called with:", describe_arguments(exercise.argument_names(first.args), first.args)])
    return ""


def name_misconception(exercise, check, records, fault: Fault, call, seed: int, example: Record | None) -> Fault:
    """The fault with the misconception that explains it, and its sentence as the message; else the message describes the example."""
    if isinstance(check, Property):
        return replace(fault, message=exercise.misconceptions.get(fault.misconception or "", fault.message))
    if all(record.outcome.kind == "value" and record.outcome.value is None for record in records):
        return fault
    names = diagnosis.find_misconceptions(exercise, check, records, call, seed)
    text = " And: ".join(exercise.misconceptions[name] for name in names)
    if not text and isinstance(check, Compare) and fault.state == "wrong_value":
        wrong = example or next(record for record in records if check.fault(record))
        fault = check.fault(wrong)
        text = diagnosis.describe_nondeterminism(call, check, wrong)
        if not text and UNEXPLAINED.search(fault.message):
            text = diagnosis.describe_ignored_argument(exercise, call, wrong, records)
    return Fault(text or fault.message, names[0] if len(names) == 1 else None, fault.state)


def make_report(exercise: Exercise, results: list[CheckResult], seed: int, fault: Fault | None, shown: str = "") -> Report:
    """The report, with the checks that were not reached."""
    reached = {result.name for result in results}
    results = results + [CheckResult(check.name, None, 0, check.points) for check in exercise.checks if check.name not in reached]
    fault = fault or Fault("", state="right")
    return Report(exercise.id, fault.state, sum([result.earned for result in results]), exercise.possible, fault.misconception,
                  fault.message, results, seed, shown)
