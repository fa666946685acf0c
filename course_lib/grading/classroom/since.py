"""What changed since an earlier run: the marks that its `--json` wrote, compared with those of now."""
from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from course_lib.grading.judge.report import STATES

CAUSES = {"sha256": "another file", "checks": "other checks", "isolation": "another level of isolation", "seed": "another seed"}


def read(path: str) -> list[dict[str, Any]]:
    """The marks of an earlier run. Raises ValueError if the file holds none."""
    try:
        found = json.loads(Path(path).read_text("utf-8"))
        if isinstance(found, list) and all({"student", "reports", "earned", *CAUSES} <= one.keys() for one in found):
            return found
    except (ValueError, AttributeError):
        pass
    raise ValueError(f"{path} holds no marks; expected what --json wrote in an earlier run")


def changes(before: Sequence[Mapping[str, Any]], now: Sequence[Mapping[str, Any]]) -> list[str]:
    """A line for each exercise and each mark that changed, with the reason."""
    old, new = {one["student"]: one for one in before}, {one["student"]: one for one in now}
    lines = [f"{student}: {'no longer' if student in old else 'new'} in the class"
             for student in [*new, *old] if student not in old or student not in new]
    for student in new.keys() & old.keys():
        one, other = old[student], new[student]
        causes = ", ".join(text for name, text in CAUSES.items() if one[name] != other[name]) or "same file, checks and seed"
        first, second = ({report["exercise"]: report for report in each["reports"]} for each in (one, other))
        for name in [*second, *(each for each in first if each not in second)]:
            states, points = zip(*((STATES[each[name]["state"]], each[name]["earned"]) if name in each else ("not graded", None)
                                   for each in (first, second)), strict=True)
            if points[0] != points[1]:
                lines.append(f"{student}: {name} {points[0]} -> {points[1]}: {states[1]} instead of {states[0]}: {causes}")
        if total(one) != total(other):
            reasons = other.get("mark", {}).get("why", [])
            lines.append("; ".join([f"{student}: mark {total(one):g} -> {total(other):g}", *reasons]))
    return sorted(lines, key=lambda line: line.partition(":")[0])


def total(record: Mapping[str, Any]) -> float | int:
    """The mark of a record, after marks.toml where that was given."""
    return record.get("mark", {}).get("mark", record["earned"])
