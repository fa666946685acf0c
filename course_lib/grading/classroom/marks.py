"""An instructor's own marks: each entry of `marks.toml` sets the points of one exercise or adds to a student's total."""
from __future__ import annotations

import difflib
import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

from course_lib.exercises import EXERCISES
from course_lib.grading.classroom.submission import Graded

KINDS = {"student": str, "reason": str, "exercise": str, "points": (int, float), "add": (int, float)}


@dataclass(frozen=True)
class Mark:
    """The mark of one student: points of each exercise, what is added to their sum, and the reasons."""

    points: dict[str, Fraction]
    added: Fraction = Fraction(0)
    why: tuple[str, ...] = ()

    @property
    def total(self) -> Fraction:
        """The mark; never below 0."""
        return max(Fraction(0), sum(self.points.values(), self.added))

    def to_dict(self) -> dict:
        """As JSON can hold it."""
        return {"mark": decimal(self.total), "why": list(self.why), "added": decimal(self.added),
                "points": {name: decimal(value) for name, value in self.points.items()}}


def decimal(value: Fraction) -> float | int:
    """A number with at most two decimal places."""
    rounded = round(value, 2)
    return int(rounded) if rounded.denominator == 1 else float(rounded)


def read_marks(path: str, students: Collection[str]) -> list[dict[str, Any]]:
    """The entries [[mark]] of a file. Raises ValueError, with the number of the entry, for one that has no reason, names
    none of these students, or is not understood."""
    try:
        import tomllib
    except ImportError:
        raise ValueError(f"{path} is read by Python 3.11 and newer") from None
    try:
        data = tomllib.loads(Path(path).read_text("utf-8-sig"))
    except ValueError as problem:                        # not UTF-8, or not TOML
        raise ValueError(f"{path} is not TOML: {problem}") from None
    entries = data.get("mark", [])
    if set(data) - {"mark"} or not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        raise ValueError(f"{path} has {', '.join(data)}; expected entries [[mark]]")
    for number, entry in enumerate(entries, 1):
        if problem := problem_of(entry, students):
            raise ValueError(f"entry {number} of {path} {problem}")
    return entries


def problem_of(entry: dict[str, Any], students: Collection[str]) -> str:
    """What is wrong with an entry; empty if nothing is."""
    for name, value in entry.items():
        if name not in KINDS:
            return f"has {name!r}{closest_name(name, KINDS)}; expected {', '.join(KINDS)}"
        if not isinstance(value, KINDS[name]) or isinstance(value, bool) or KINDS[name] is not str and not math.isfinite(value):
            return f"has {name} = {value!r}; expected a {'text' if KINDS[name] is str else 'number'}"
    for name in ("student", "reason"):
        if not entry.get(name, "").strip():
            return f"has no {name}"
    if entry.keys() - {"student", "reason"} not in ({"exercise", "points"}, {"add"}):
        return "needs exercise and points, or add, and not both"
    if entry["student"] not in students:
        return f"names {entry['student']}, who is not in this class{closest_name(entry['student'], students)}"
    name = entry.get("exercise")
    if name and name not in EXERCISES:
        return f"names the exercise {name}, which does not exist{closest_name(name, EXERCISES)}"
    if name and not 0 <= entry["points"] <= EXERCISES[name].possible:
        return f"has points = {entry['points']}; {name} gives 0 to {EXERCISES[name].possible}"
    return ""


def closest_name(name: str, known: Collection[str]) -> str:
    """"; did you mean ...", if a known name is close."""
    return "".join(f"; did you mean {one}" for one in difflib.get_close_matches(name, list(known), 1))


def apply_marks(records: Sequence[Graded], entries: Sequence[dict[str, Any]]) -> dict[str, Mark]:
    """The mark of each student, after the entries."""
    found = {}
    for record in records:
        points = {report.exercise: Fraction(report.earned) for report in record.reports}
        added, why = Fraction(0), []
        for entry in entries:
            if entry["student"] != record.student:
                continue
            name, reason = entry.get("exercise"), entry["reason"]
            if name in points:
                why.append(f"{name}: {entry['points']:g} instead of {decimal(points[name]):g} ({reason})")
                points[name] = Fraction(str(entry["points"]))
            elif "add" in entry:
                why.append(f"{entry['add']:+g} points ({reason})")
                added += Fraction(str(entry["add"]))
        found[record.student] = Mark(points, added, tuple(why))
    return found
