"""The best attempt: of several answers of a student to one exercise the one with the most points counts, and of these the first by the name
of its file. A note names the others. Every report (terminal, CSV, JSON, HTML, Gradescope) is made from this."""
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
    return [own[0] if len(own) == 1 else merge_attempts(own) for own in files.values()]


def merge_attempts(records: Sequence[Graded]) -> Graded:
    """One record of those of all files of a student: each exercise once."""
    names = short_names([record.file for record in records])
    attempts: dict[str, list[tuple[Report, Graded, str]]] = {}
    for record, name in zip(records, names, strict=True):
        for report in record.reports:
            attempts.setdefault(report.exercise, []).append((report, record, name))
    best = {exercise: max(own, key=lambda attempt: rank(attempt[0])) for exercise, own in attempts.items()}
    copies = []
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


def rank(report: Report) -> tuple[int, bool, bool]:
    """What decides between two reports on one exercise: points, then that there is an answer, then that there is a file that was read."""
    return report.earned, report.state not in UNGRADED, report.state not in ("missing", "no_notebook")


def short_names(paths: Sequence[str]) -> list[str]:
    """The names of the files; their paths where two have the same name."""
    names = [PurePath(path.replace("\\", "/")).name for path in paths]
    return names if len(set(names)) == len(names) else list(paths)
