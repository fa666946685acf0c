"""An instructor's own marks, from `marks.toml`: entries set points or the weight of an exercise or add to a total; and updates of earlier marks."""
from __future__ import annotations

import difflib
import json
import math
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

try:
    import tomllib
except ImportError:                                      # Python 3.10
    import tomli as tomllib

from course_lib.exercises import EXERCISES
from course_lib.grading.classroom.grading import Graded, checks_version
from course_lib.grading.verdict import STATES

CAUSES = {"sha256": "another file", "checks": "other checks", "isolation": "another level of isolation", "seed": "another seed"}
KINDS = {"student": str, "reason": str, "exercise": str, "points": (int, float), "weight": (int, float), "add": (int, float)}


def read_marks(path: str, students: Collection[str]) -> list[dict[str, Any]]:
    """The entries [[mark]] of a file. Raises ValueError, with the number of the entry, for one that has no reason, names none of these
    students (or "*", all of them), or is not understood."""
    try:
        data = tomllib.loads(Path(path).read_text("utf-8-sig"))
    except ValueError as problem:                        # not UTF-8, or not TOML
        raise ValueError(f"{path} is not TOML: {problem}") from None
    entries = data.get("mark", [])
    if set(data) - {"mark"} or not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        raise ValueError(f"{path} has {', '.join(data)}; expected entries [[mark]]")
    for number, entry in enumerate(entries, 1):
        for problem in find_problems(entry, {"student": [*students, "*"], "exercise": list(EXERCISES)}):
            raise ValueError(f"entry {number} of {path} {problem}")
    return entries


def find_problems(entry: dict[str, Any], known: dict[str, list[str]]) -> Iterator[str]:
    """What is wrong with an entry."""
    for name, value in entry.items():
        near = difflib.get_close_matches(str(value), known[name], 1) if name in known else difflib.get_close_matches(name, KINDS, 1)
        meant = f"; did you mean {near[0]}" if near else ""
        if name not in KINDS:
            yield f"has {name!r}{meant}; expected {', '.join(KINDS)}"
        elif not isinstance(value, KINDS[name]) or isinstance(value, bool) or KINDS[name] is not str and not math.isfinite(value):
            yield f"has {name} = {value!r}; expected a {'text' if KINDS[name] is str else 'number'}"
        elif name in known and value not in known[name]:
            yield f"names the {name} {value}, which there is not{meant}"
    if entry.keys() - {"student", "reason"} not in ({"exercise", "points"}, {"exercise", "weight"}, {"add"}):
        yield "needs exercise and points, or exercise and weight, or add, and only one of these"
    if "student" not in entry or not entry.get("reason", "").strip():
        yield "needs a student and a reason"
    if "points" in entry and not 0 <= entry["points"] <= (most := EXERCISES[entry["exercise"]].possible) or entry.get("weight", 0) < 0:
        yield f"needs points from 0 to {most}" if "points" in entry else f"has weight = {entry['weight']}; expected 0 or more"


def apply_marks(record: Graded, entries: Sequence[dict[str, Any]]) -> Graded:
    """The record with its mark after the entries: the sum of the weighted points and of what is added, never below 0."""
    points = {report.exercise: report.earned for report in record.reports}
    weights, added, why = dict.fromkeys(points, 1), 0, []
    for entry in entries:
        name, reason = entry.get("exercise"), f"({entry['reason']})"
        if entry["student"] not in (record.student, "*") or name and name not in points:
            continue
        if "weight" in entry:
            weights[name] = entry["weight"]
            why.append(f"{name} {f'has weight {weights[name]:g}' if weights[name] else 'does not count'} {reason}")
        elif name:
            why.append(f"{name}: {entry['points']:g} instead of {points[name]:g} {reason}")
            points[name] = entry["points"]
        else:
            added += entry["add"]
            why.append(f"{entry['add']:+g} points {reason}")
    mark = max(0, round(sum(points[name] * weights[name] for name in points) + added, 2))
    most = round(sum(report.possible * weights[report.exercise] for report in record.reports), 2)
    return replace(record, mark={"mark": mark, "possible": most, "why": why})


def read_earlier(path: str) -> list[Graded]:
    """The marks of an earlier run. Raises ValueError if the file holds none."""
    try:
        return [Graded.from_dict(record) for record in json.loads(Path(path).read_text("utf-8"))]
    except (ValueError, TypeError, KeyError):
        raise ValueError(f"{path} holds no marks; expected what --json wrote in an earlier run") from None


def update_records(earlier: Sequence[Graded], records: Sequence[Graded]) -> list[Graded]:
    """The earlier records with those of this run in their place; students and exercises that this run did not grade keep what they had."""
    students = {record.student: replace(record, mark=None) for record in earlier}
    for record in records:
        before = students.get(record.student, record)
        reports = {report.exercise: report for report in [*before.reports, *record.reports]}
        version = checks_version([EXERCISES[name] for name in reports if name in EXERCISES])
        students[record.student] = replace(record, reports=list(reports.values()), code=before.code | record.code, checks=version)
    return list(students.values())


def describe_changes(before: Sequence[Graded], now: Sequence[Graded]) -> Iterator[str]:
    """A line for each exercise and each mark that changed, with the reason."""
    earlier = {record.student: record for record in before}
    for new in now:
        old = earlier.get(new.student) or Graded(new.student, "")
        causes = ", ".join(text for name, text in CAUSES.items() if getattr(old, name) != getattr(new, name)) or "same file, checks and seed"
        first = {report.exercise: report for report in old.reports}
        for report in new.reports:
            points, state = (was.earned, STATES[was.state]) if (was := first.get(report.exercise)) else (None, "not graded")
            if points != report.earned:
                yield f"{new.student}: {report.exercise} {points} -> {report.earned}: {STATES[report.state]} instead of {state}: {causes}"
        if old.total != new.total:
            yield "; ".join([f"{new.student}: mark {old.total:g} -> {new.total:g}", *new.why])
