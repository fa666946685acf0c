"""The best attempt: each exercise of a student counts once, however many files answer it.

Of several answers to one exercise the one with the most points counts, and of these the first by the name of its
file. A note names the others. Every report (terminal, CSV, JSON, HTML, Gradescope) is made from this.
"""
from __future__ import annotations

from collections.abc import Sequence
from pathlib import PurePath

from course_lib.grading.classroom.grading import WHOLE, Graded
from course_lib.grading.verdict import Report

UNGRADED = ("missing", "not_attempted", *WHOLE)           # of a file without an answer to grade
COPIES = "Handed in more than once; each counts once, with the most points: "


def merge_by_student(records: Sequence[Graded]) -> list[Graded]:
    """One record for each student, in the order in which they come first."""
    files: dict[str, list[Graded]] = {}
    for record in records:
        files.setdefault(record.student, []).append(record)
    return [merge_attempts(own) for own in files.values()]


def merge_attempts(records: Sequence[Graded]) -> Graded:
    """One record of those of all files of a student: each exercise once."""
    if len(records) == 1:
        return records[0]
    names = short_names([record.file for record in records])
    answers: dict[str, list[tuple[Report, Graded, str]]] = {}
    for record, name in zip(records, names, strict=True):
        for report in record.reports:
            answers.setdefault(report.exercise, []).append((report, record, name))
    best = {exercise: max(attempts, key=lambda attempt: rank(attempt[0])) for exercise, attempts in answers.items()}
    copies = []
    for exercise, attempts in answers.items():
        graded = [attempt for attempt in attempts if attempt[0].state not in UNGRADED]
        if len(graded) > 1:
            places = "; ".join(f"{attempt[0].earned} of {attempt[0].possible} in {attempt[2]}{', which counts' * (attempt is best[exercise])}"
                               for attempt in graded)
            copies.append(f"{exercise} ({places})")
    notes = [f"{name}: {note}" for record, name in zip(records, names, strict=True) for note in record.notes]
    return Graded(
        records[0].student, "; ".join(dict.fromkeys(names)), join_distinct(record.sha256 for record in records),
        join_distinct(record.checks for record in records), join_distinct(record.isolation for record in records), records[0].seed,
        sum(record.seconds for record in records), [report for report, _, _ in best.values()],
        {exercise: record.code[exercise] for exercise, (_, record, _) in best.items() if exercise in record.code},
        [COPIES + ", ".join(copies) + "."] * bool(copies) + notes)


def rank(report: Report) -> tuple[int, bool, bool]:
    """What decides between two reports on one exercise: points, then that there is an answer, then that there is a file
    that was read."""
    return report.earned, report.state not in UNGRADED, report.state not in ("missing", "no_notebook")


def join_distinct(parts) -> str:
    """The parts that say something, each once."""
    return "; ".join(dict.fromkeys(part for part in parts if part))


def short_names(paths: Sequence[str]) -> list[str]:
    """The paths from the first folder in which they differ; the names of the files if that is enough."""
    parts = [PurePath(path.replace("\\", "/")).parts for path in paths]
    if len({names[-1:] for names in parts}) == len(parts):
        return [names[-1] if names else "" for names in parts]
    common = 0
    while all(len(names) > common + 1 for names in parts) and len({names[common] for names in parts}) == 1:
        common += 1
    return ["/".join(names[common:]) for names in parts]
