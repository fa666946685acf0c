"""Choose the hint whose symptom fits what the last check reported."""
from __future__ import annotations

import re
from collections.abc import Sequence

from course_lib.grading.exercise.exercise import Exercise, Hint
from course_lib.grading.judge.report import Report

SYMPTOMS = {                    # the state of a report, and the words of a symptom that describes it
    "not_attempted": r"\bdo not (know|see)\b|\bonly have\b|\bto begin\b",
    "wrong_shape": r"\bshapes?\b|\btype\b|\bnot fit\b",
    "error": r"\berror\b|\bfails?\b|\bdo not fit\b|\bcomplains\b",
    "timeout": r"\btoo long\b|\bslower\b",
    "changed_arguments": r"\bargument is changed\b",
    "wrong_gradient": r"\bgradient\b",
}
NOT_FINITE = r"\bNaN\b|\binf(inite|inity)?\b|\bnot finite\b"          # in a message, and in a symptom
ASKS = re.compile(r"(to )?(what|where|which|how)\b", re.I)                    # a symptom that is a question
THING = re.compile(r"(the|an?|from)\b", re.I)                                # it may be a thing, or a clause: then it has a verb
VERB = re.compile(r"\b(is|are|has|have|do|does|comes|confuse|fails?|falls|finds|gets?|goes|moves|raises|runs|says|stand|stays"
                  r"|stops)\b")


def in_order(exercise: Exercise, report: Report | None) -> list[int]:
    """The numbers of the hints (from 1), the one that fits the report first, the others as they are written."""
    numbers = list(range(1, len(exercise.hints) + 1))
    first = fitting(exercise, report)
    return numbers if first is None else [first, *(number for number in numbers if number != first)]


def fitting(exercise: Exercise, report: Report | None) -> int | None:
    """The number of the first hint whose symptom describes the report: its state, or a result that is not finite; None if
    there is none."""
    if report is None:
        return None
    state = "not_attempted" if report.state == "missing" else report.state
    wanted = NOT_FINITE if re.search(NOT_FINITE, report.message) else SYMPTOMS.get(state, "$^")
    return next((number for number, hint in enumerate(exercise.hints, 1) if re.search(wanted, hint.symptom)), None)


def heading(hint: Hint, number: int, count: int) -> str:
    """The hint's title: a condition, since nobody has looked at the code. A question becomes one; a thing that the hint is about
    stands alone."""
    symptom, place = hint.symptom.rstrip("."), f"Hint {number} of {count}."
    if THING.match(symptom) and not VERB.search(symptom):
        return f"{place} {symptom}:"
    first, *rest = symptom.split(" ")
    first = first.lower() if first.istitle() else first
    return f"{place} If {'you do not know ' * bool(ASKS.match(symptom))}{' '.join([first, *rest])}:"


def unseen(order: Sequence[int], given: Sequence[int]) -> int | None:
    """The first number in this order that was not given yet."""
    return next((number for number in order if number not in given), None)
