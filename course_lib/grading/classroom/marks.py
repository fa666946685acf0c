"""An instructor's own marks, from `marks.toml`: entries set points or the weight of an exercise or add to a total; and updates of earlier marks."""
from __future__ import annotations

import difflib
import json
import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
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
EVERYBODY = "*"


@dataclass(frozen=True)
class Mark:
    """The mark of one student: weighted points of each exercise, what is added to their sum, the reasons, and the most possible before that."""

    points: dict[str, Fraction]
    added: Fraction = Fraction(0)
    why: tuple[str, ...] = ()
    possible: Fraction = Fraction(0)

    @property
    def total(self) -> Fraction:
        """The mark; never below 0."""
        return max(Fraction(0), sum(self.points.values(), self.added))

    def to_dict(self) -> dict:
        return {"mark": to_decimal(self.total), "possible": to_decimal(self.possible), "why": list(self.why), "added": to_decimal(self.added),
                "points": {name: to_decimal(value) for name, value in self.points.items()}}


def to_decimal(value: Fraction) -> float | int:
    """A number with at most two decimal places."""
    rounded = round(value, 2)
    return int(rounded) if rounded.denominator == 1 else float(rounded)


def read_marks(path: str, students: Collection[str]) -> list[dict[str, Any]]:
    """The entries [[mark]] of a file. Raises ValueError, with the number of the entry, for one that has no reason, names
    none of these students, or is not understood."""
    try:
        data = tomllib.loads(Path(path).read_text("utf-8-sig"))
    except ValueError as problem:                        # not UTF-8, or not TOML
        raise ValueError(f"{path} is not TOML: {problem}") from None
    entries = data.get("mark", [])
    if set(data) - {"mark"} or not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        raise ValueError(f"{path} has {', '.join(data)}; expected entries [[mark]]")
    for number, entry in enumerate(entries, 1):
        if problem := describe_problem(entry, students):
            raise ValueError(f"entry {number} of {path} {problem}")
    return entries


def describe_problem(entry: dict[str, Any], students: Collection[str]) -> str:
    """What is wrong with an entry; empty if nothing is."""
    for name, value in entry.items():
        if name not in KINDS:
            return f"has {name!r}{closest_name(name, KINDS)}; expected {', '.join(KINDS)}"
        if not isinstance(value, KINDS[name]) or isinstance(value, bool) or KINDS[name] is not str and not math.isfinite(value):
            return f"has {name} = {value!r}; expected a {'text' if KINDS[name] is str else 'number'}"
    for name in ("student", "reason"):
        if not entry.get(name, "").strip():
            return f"has no {name}"
    if entry.keys() - {"student", "reason"} not in ({"exercise", "points"}, {"exercise", "weight"}, {"add"}):
        return "needs exercise and points, or exercise and weight, or add, and only one of these"
    if entry["student"] not in students and entry["student"] != EVERYBODY:
        return f"names {entry['student']}, who is not in this class{closest_name(entry['student'], students)}"
    name = entry.get("exercise")
    if name and name not in EXERCISES:
        return f"names the exercise {name}, which does not exist{closest_name(name, EXERCISES)}"
    if "points" in entry and not 0 <= entry["points"] <= EXERCISES[name].possible:
        return f"has points = {entry['points']}; {name} gives 0 to {EXERCISES[name].possible}"
    if entry.get("weight", 0) < 0:
        return f"has weight = {entry['weight']}; expected 0 or more"
    return ""


def closest_name(name: str, known: Collection[str]) -> str:
    """"; did you mean ...", if a known name is close."""
    return "".join(f"; did you mean {match}" for match in difflib.get_close_matches(name, list(known), 1))


def apply_marks(records: Sequence[Graded], entries: Sequence[dict[str, Any]]) -> dict[str, Mark]:
    """The mark of each student, after the entries."""
    marks = {}
    for record in records:
        points = {report.exercise: Fraction(report.earned) for report in record.reports}
        weights = dict.fromkeys(points, Fraction(1))
        added, why = Fraction(0), []
        for entry in entries:
            name, reason = entry.get("exercise"), entry["reason"]
            if entry["student"] not in (record.student, EVERYBODY):
                continue
            if "weight" in entry and name in points:
                weights[name] = Fraction(str(entry["weight"]))
                why.append(f"{name} {f'has weight {float(weights[name]):g}' if weights[name] else 'does not count'} ({reason})")
            elif name in points:
                why.append(f"{name}: {entry['points']:g} instead of {to_decimal(points[name]):g} ({reason})")
                points[name] = Fraction(str(entry["points"]))
            elif "add" in entry:
                why.append(f"{entry['add']:+g} points ({reason})")
                added += Fraction(str(entry["add"]))
        marks[record.student] = Mark({name: points[name] * weights[name] for name in points}, added, tuple(why),
                                     sum((report.possible * weights[report.exercise] for report in record.reports), Fraction(0)))
    return marks


# Update of earlier marks

def read_earlier(path: str) -> list[dict[str, Any]]:
    """The marks of an earlier run. Raises ValueError if the file holds none."""
    try:
        records = json.loads(Path(path).read_text("utf-8"))
        if isinstance(records, list) and all(map(Graded.from_dict, records)):
            return records
    except (ValueError, TypeError, KeyError):
        pass
    raise ValueError(f"{path} holds no marks; expected what --json wrote in an earlier run")


def update_records(earlier: Sequence[Mapping[str, Any]], records: Sequence[Graded]) -> list[Graded]:
    """The earlier records with those of this run in their place; students and exercises that this run did not grade keep what they had."""
    students = {data["student"]: Graded.from_dict(data) for data in earlier}
    for record in records:
        if before := students.get(record.student):
            reports = {report.exercise: report for report in [*before.reports, *record.reports]}
            record = replace(record, reports=list(reports.values()), code=before.code | record.code,
                             checks=checks_version([EXERCISES[name] for name in reports if name in EXERCISES]))
        students[record.student] = record
    return list(students.values())


def describe_changes(before: Sequence[Mapping[str, Any]], now: Sequence[Mapping[str, Any]]) -> list[str]:
    """A line for each exercise and each mark that changed, with the reason."""
    old, new = ({record["student"]: record for record in records} for records in (before, now))
    lines = [f"{student}: new in the class" for student in new if student not in old]
    for student in new.keys() & old.keys():
        pair = old[student], new[student]
        causes = ", ".join(text for name, text in CAUSES.items() if pair[0][name] != pair[1][name]) or "same file, checks and seed"
        first, second = ({report["exercise"]: report for report in record["reports"]} for record in pair)
        for name, report in second.items():
            state, points = (STATES[first[name]["state"]], first[name]["earned"]) if name in first else ("not graded", None)
            if points != report["earned"]:
                lines.append(f"{student}: {name} {points} -> {report['earned']}: {STATES[report['state']]} instead of {state}: {causes}")
        marks = [record.get("mark", {}).get("mark", record["earned"]) for record in pair]         # after marks.toml, if given
        if marks[0] != marks[1]:
            lines.append("; ".join([f"{student}: mark {marks[0]:g} -> {marks[1]:g}", *pair[1].get("mark", {}).get("why", [])]))
    return sorted(lines, key=lambda line: line.partition(":")[0])
