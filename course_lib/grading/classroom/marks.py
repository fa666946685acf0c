"""What counts: of several answers of a student to one exercise the one with the most points, then the first by the name of its file; an
instructor's own marks, from `marks.toml`, whose entries set points or the weight of an exercise or add to a total; earlier marks."""
import difflib
import json
import math
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from pathlib import Path, PurePath
from typing import Any

try:
    import tomllib
except ImportError:                                      # Python 3.10
    import tomli as tomllib

from course_lib.exercises import EXERCISES
from course_lib.grading.classroom.grading import WHOLE, Graded, checks_version
from course_lib.grading.verdict import STATES, Report

UNGRADED = ("missing", "not_attempted", *WHOLE)           # of a file without an answer to grade
COPIES = "Handed in more than once; each counts once, with the most points: "
CAUSES = {"sha256": "another file", "checks": "other checks", "isolation": "another level of isolation", "seed": "another seed"}
KINDS = {"student": str, "reason": str, "exercise": str, "points": (int, float), "weight": (int, float), "add": (int, float)}


def merge_by_student(records: Sequence[Graded]) -> list[Graded]:
    """One record for each student, in the order in which they come first."""
    files: dict[str, list[Graded]] = {}
    for record in records:
        files.setdefault(record.student, []).append(record)
    return [own[0] if len(own) == 1 else merge_attempts(own) for own in files.values()]


def merge_attempts(records: Sequence[Graded]) -> Graded:
    """One record of those of all files of a student: each exercise once."""
    names = short_names([record.file for record in records])
    attempts: dict[str, list[tuple[Report, Graded, str]]] = {}
    for record, name in zip(records, names, strict=True):
        for report in record.reports:
            attempts.setdefault(report.exercise, []).append((report, record, name))

    def rank(attempt: tuple[Report, Graded, str]) -> tuple[int, bool, bool]:         # points, an answer, a file that was read
        return attempt[0].earned, attempt[0].state not in UNGRADED, attempt[0].state not in ("missing", "no_notebook")

    best, copies = {exercise: max(own, key=rank) for exercise, own in attempts.items()}, []
    for exercise, own in attempts.items():
        places = [f"{report.earned} of {report.possible} in {name}{', which counts' * (report is best[exercise][0])}"
                  for report, _, name in own if report.state not in UNGRADED]
        if len(places) > 1:
            copies.append(f"{exercise} ({'; '.join(places)})")
    notes = [f"{name}: {note}" for record, name in zip(records, names, strict=True) for note in record.notes]
    first, join = records[0], lambda parts: "; ".join(dict.fromkeys(filter(None, parts)))
    return Graded(first.student, "; ".join(dict.fromkeys(names)), join(record.sha256 for record in records),
                  join(record.checks for record in records), join(record.isolation for record in records), first.seed,
                  sum(record.seconds for record in records), [report for report, *_ in best.values()],
                  {exercise: record.code[exercise] for exercise, (_, record, _) in best.items() if exercise in record.code},
                  [COPIES + ", ".join(copies) + "."] * bool(copies) + notes)


def short_names(paths: Sequence[str]) -> list[str]:
    """The names of the files; their paths where two have the same name."""
    names = [PurePath(path.replace("\\", "/")).name for path in paths]
    return names if len(set(names)) == len(names) else list(paths)


def read_marks(path: str, students: Collection[str]) -> list[dict[str, Any]]:
    """The entries [[mark]] of a file, each on one of these students or on "*". Raises ValueError, with the entry's number."""
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
