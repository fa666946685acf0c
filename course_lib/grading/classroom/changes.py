"""What a second grading changed: the marks of an earlier run, as `--json` wrote them, beside those of now, with the
reason."""
from __future__ import annotations

import csv
import io
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from course_lib.grading.classroom.tables import harmless
from course_lib.grading.judge.report import STATES

NEEDED = {"student", "reports", "earned"}                 # of each record


@dataclass(frozen=True)
class Change:
    """One mark that is another now. what: an exercise, or "mark" for the whole. old and new: points, None where there
    were none."""

    student: str
    what: str
    old: float | int | None
    new: float | int | None
    why: str


def read(path: str) -> list[dict[str, Any]]:
    """The marks of an earlier run. Raises ValueError if the file holds none."""
    try:
        found = json.loads(Path(path).read_text("utf-8"))
        if isinstance(found, list) and all(NEEDED <= one.keys() for one in found):
            return found
    except (ValueError, AttributeError):
        pass
    raise ValueError(f"{path} holds no marks; expected what --json wrote in an earlier run")


def changes(old: Sequence[Mapping[str, Any]], new: Sequence[Mapping[str, Any]]) -> list[Change]:
    """What is another now, in the order of the students of now; then who is no longer there."""
    before, after = {one["student"]: one for one in old}, {one["student"]: one for one in new}
    found = []
    for student in [*after, *(name for name in before if name not in after)]:
        one, two = before.get(student), after.get(student)
        if one is None or two is None:
            found.append(Change(student, "mark", whole(one), whole(two), "new in the class" if one is None else
                                "no longer in the class"))
            continue
        first, second = ({report["exercise"]: report for report in each["reports"]} for each in (one, two))
        for name in [*second, *(each for each in first if each not in second)]:
            was, now = points(first.get(name)), points(second.get(name))
            if was != now:
                found.append(Change(student, name, was, now, reason(one, two, first.get(name), second.get(name))))
        if whole(one) != whole(two):
            own = [said for said in why(two) if said not in why(one)] + [f"no longer: {said}" for said in why(one)
                                                                          if said not in why(two)]
            found.append(Change(student, "mark", whole(one), whole(two), "; ".join(own) or "the points above"))
    return found


def whole(record: Mapping[str, Any] | None) -> float | int | None:
    """The mark of a record: after lateness and exemptions, where they were applied."""
    return None if record is None else record.get("mark", {}).get("mark", record["earned"])


def why(record: Mapping[str, Any]) -> list[str]:
    """The sentences on lateness and exemptions."""
    return record.get("mark", {}).get("why", [])


def points(report: Mapping[str, Any] | None) -> float | int | None:
    """The points of one exercise, as the grader gave them."""
    return None if report is None else report["earned"]


def reason(one: Mapping[str, Any], two: Mapping[str, Any], was: Mapping[str, Any] | None,
           now: Mapping[str, Any] | None) -> str:
    """Why an exercise has other points, as far as the two records tell."""
    if was is None or now is None:
        return "not asked for before" if was is None else "no longer asked for"
    said = []
    if one["sha256"] != two["sha256"]:
        said.append("another file")
    if one["checks"] != two["checks"]:
        said.append("other checks")
    if one["isolation"] != two["isolation"]:
        said.append(f"graded under {two['isolation'] or 'nothing'} instead of {one['isolation'] or 'nothing'}")
    if one["seed"] != two["seed"]:
        said.append("another seed")
    what = ", ".join(said) or "the same file, checks and seed"
    return f"{STATES[now['state']]} instead of {STATES[was['state']]}: {what}"


def for_spreadsheet(found: Sequence[Change]) -> str:
    """CSV: a row for each change."""
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n", quoting=csv.QUOTE_NONNUMERIC)
    writer.writerow(["student", "what", "old", "new", "why"])
    for one in found:
        writer.writerow([harmless(cell) for cell in (one.student, one.what, "" if one.old is None else one.old,
                                                     "" if one.new is None else one.new, one.why)])
    return buffer.getvalue()


def in_words(found: Sequence[Change]) -> str:
    """A line for each change."""
    lines = [f"{one.student}: {one.what} {'none' if one.old is None else f'{one.old:g}'} -> "
             f"{'none' if one.new is None else f'{one.new:g}'}: {one.why}" for one in found]
    return "\n".join(lines or ["No mark has changed."])
