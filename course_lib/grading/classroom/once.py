"""What counts: each exercise of a student once, however many files hold it.

The rule: of several answers to one exercise the one with the most points counts, and of these the first by the name of its
file. A note tells of the others. Every report (terminal, CSV, JSON, HTML, Gradescope) is made from this.
"""
from __future__ import annotations

from collections.abc import Sequence
from pathlib import PurePath

from course_lib.grading.classroom.submission import Graded
from course_lib.grading.judge.report import Report

UNTOLD = ("missing", "not_attempted", "unreadable", "not_graded")      # of a file that holds no answer to judge
COPIES = "Handed in more than once; each counts once, with the most points: "


def by_student(records: Sequence[Graded]) -> list[Graded]:
    """One record for each student, in the order in which they come first."""
    files: dict[str, list[Graded]] = {}
    for record in records:
        files.setdefault(record.student, []).append(record)
    return [together(own) for own in files.values()]


def together(records: Sequence[Graded]) -> Graded:
    """The record of one student of those of all the student's files: each exercise once."""
    if len(records) == 1:
        return records[0]
    names = short_names([record.file for record in records])
    answers: dict[str, list[tuple[Report, Graded, str]]] = {}
    for record, name in zip(records, names, strict=True):
        for report in record.reports:
            answers.setdefault(report.exercise, []).append((report, record, name))
    best = {exercise: max(found, key=lambda one: worth(one[0])) for exercise, found in answers.items()}
    copies = []
    for exercise, found in answers.items():
        told = [one for one in found if one[0].state not in UNTOLD]
        if len(told) > 1:
            places = "; ".join(f"{one[0].earned} of {one[0].possible} in {one[2]}{', which counts' * (one is best[exercise])}"
                               for one in told)
            copies.append(f"{exercise} ({places})")
    notes = [f"{name}: {note}" for record, name in zip(records, names, strict=True) for note in record.notes]
    return Graded(
        records[0].student, "; ".join(dict.fromkeys(names)), joined(record.sha256 for record in records),
        joined(record.checks for record in records), joined(record.isolation for record in records), records[0].seed,
        sum(record.seconds for record in records), [report for report, _, _ in best.values()],
        {exercise: record.code[exercise] for exercise, (_, record, _) in best.items() if exercise in record.code},
        [COPIES + ", ".join(copies) + "."] * bool(copies) + notes)


def worth(report: Report) -> tuple[int, bool, bool]:
    """What decides between two reports on one exercise: points, then that there is an answer, then that there is a file
    that was read."""
    return report.earned, report.state not in UNTOLD, report.state != "missing"


def joined(parts) -> str:
    """The parts that say something, each once."""
    return "; ".join(dict.fromkeys(part for part in parts if part))


def short_names(paths: Sequence[str]) -> list[str]:
    """The paths from the first folder in which they differ; the names of the files if that is enough."""
    parts = [PurePath(path.replace("\\", "/")).parts for path in paths]
    if len({one[-1:] for one in parts}) == len(parts):
        return [one[-1] if one else "" for one in parts]
    same = 0
    while all(len(one) > same + 1 for one in parts) and len({one[same] for one in parts}) == 1:
        same += 1
    return ["/".join(one[same:]) for one in parts]
