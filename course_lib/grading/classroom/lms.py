"""Marks as Moodle, Canvas and nbgrader's users import them: in the table that was the roster, with its own columns
for who is who.

Moodle: https://docs.moodle.org/en/Assignment_FAQ, the grading worksheet, and https://docs.moodle.org/en/Grade_import.
Canvas: the gradebook as it was exported, with the columns that its import needs and the one that changes.
"""
from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

from course_lib.grading.bank import EXERCISES
from course_lib.grading.classroom import roster
from course_lib.grading.classroom.asked import NAMES
from course_lib.grading.classroom.marking import Mark, decimal
from course_lib.grading.classroom.submission import Graded
from course_lib.grading.classroom.tables import harmless
from course_lib.grading.judge.report import STATES

CANVAS = ("student", "id", "sis user id", "sis login id", "root account", "section")      # of a student
NBGRADER = ("assignment", "duedate", "timestamp", "student_id", "last_name", "first_name", "email", "raw_score",
            "late_submission_penalty", "score", "max_score")                              # of `nbgrader export`

TABLES = {"moodle": ("participants or its grading worksheet", ("identifier", "email address", "id number", "username")),
          "canvas": ("gradebook", ("id", "sis login id", "sis user id"))}


@dataclass(frozen=True)
class Sheet:
    """A roster as it was read: the header, the rows as they stand there, and the student of each, None where there is
    none."""

    header: list[str]
    rows: list[list[str]]
    students: list[str | None]

    def column(self, *names: str) -> int | None:
        """The place of the first of these columns, by its name in small letters."""
        small = [cell.strip().casefold() for cell in self.header]
        return next((small.index(name) for name in names if name in small), None)


def read_sheet(path: str) -> Sheet:
    """The roster with all its columns. Raises ValueError if it is no table with a header."""
    text = Path(path).read_text("utf-8-sig")
    rows, column = roster.table(text)
    if not column:
        raise ValueError(f"{path} has no header; expected the table that Moodle or Canvas wrote")
    separators = {}
    for one in ",;\t":
        raw = [row for row in csv.reader(io.StringIO(text, newline=""), delimiter=one)
               if any(cell.strip() for cell in row)]
        if [[cell.strip() for cell in row] for row in raw[1:]] == rows:
            separators[one] = raw
    raw = next(iter(separators.values()))
    people = [roster.person(row, column) for row in rows]
    real = [bool(one.student) and roster.folded(one.student) != "points possible" for one in people]
    names = iter(roster.told_apart([one for one, is_one in zip(people, real, strict=True) if is_one], path))
    return Sheet(raw[0], raw[1:], [next(names).student if is_one else None for is_one in real])


def check(args) -> None:
    """Raises ValueError if the roster is not the table that an import needs."""
    for option, (what, names) in TABLES.items():
        if getattr(args, option):
            if not args.roster:
                raise ValueError(f"--{option} needs --roster, the table of its {what}: the columns that say who is "
                                 "who come from there")
            sheet = read_sheet(args.roster)
            if sheet.column(*names) is None or option == "canvas" and sheet.column("student") is None:
                raise ValueError(f"--{option} needs the table of its {what} as --roster; {args.roster} has "
                                 f"{', '.join(sheet.header)}")


def worth(record: Graded, mark: Mark | None) -> Fraction:
    """What a student gets."""
    return mark.total if mark else Fraction(record.earned)


def scaled(value: Fraction, possible: int, most: str) -> float | int:
    """The value on a scale that ends at `most`, if that is a number, else as it is."""
    try:
        top = Fraction(most.strip().replace(",", "."))
    except (ValueError, ZeroDivisionError):
        return decimal(value)
    return decimal(value * top / possible if possible else Fraction(0))


def moodle(sheet: Sheet, records: Sequence[Graded], marks: Mapping[str, Mark], name: str) -> str:
    """Moodle's table with the marks. Its grading worksheet gets Grade, on the scale of Maximum Grade, and Feedback
    comments; its list of participants a column of this name."""
    known, header = {record.student: record for record in records}, list(sheet.header)
    grade, most, comment = sheet.column("grade"), sheet.column("maximum grade"), sheet.column("feedback comments")
    if grade is None:
        header, grade = [*header, name], len(header)
    rows = []
    for row, student in zip(sheet.rows, sheet.students, strict=True):
        row = [*row, *[""] * (len(header) - len(row))]
        if record := known.get(student):
            mark = marks.get(student)
            row[grade] = scaled(worth(record, mark), record.possible, row[most] if most is not None else "")
            if comment is not None:
                row[comment] = comments(record, mark)
        rows.append(row)
    return written([header, *rows])


def comments(record: Graded, mark: Mark | None) -> str:
    """What became of each exercise, in a line: names and numbers alone, nothing that a student wrote."""
    said = [f"{report.exercise}: {STATES[report.state]} ({report.earned} of {report.possible})"
            for report in record.reports]
    return harmless("; ".join([*said, *(mark.why if mark else ())]))


def canvas(sheet: Sheet, records: Sequence[Graded], marks: Mapping[str, Mark], name: str) -> str:
    """Canvas' table with the columns that say who is who and one of marks: that of the gradebook which is called so,
    with or without its number, on its scale; else a new one, for which Canvas makes an assignment."""
    known = {record.student: record for record in records}
    found = next((place for place, cell in enumerate(sheet.header) if cell.strip() == name or
                  cell.strip().rpartition(" (")[0] == name and cell.strip().endswith(")")), None)
    kept = [place for place, cell in enumerate(sheet.header) if cell.strip().casefold() in CANVAS]
    possible = max((record.possible for record in records), default=0)
    points = {roster.folded(row[sheet.column("student")]): row for row in sheet.rows}.get("points possible", [])
    most = points[found] if found is not None and found < len(points) else ""
    rows = [[*(sheet.header[place] for place in kept), sheet.header[found] if found is not None else name]]
    for row, student in zip(sheet.rows, sheet.students, strict=True):
        row = [*row, *[""] * (len(sheet.header) - len(row))]
        cell: object = row[found] if found is not None else ""
        if record := known.get(student):
            cell = scaled(worth(record, marks.get(student)), record.possible, most)
        elif student is None and row == [*points, *[""] * (len(sheet.header) - len(points))]:
            cell = most.strip() or possible
        rows.append([*(row[place] for place in kept), cell])
    return written(rows)


def nbgrader(records: Sequence[Graded], marks: Mapping[str, Mark]) -> str:
    """The columns of `nbgrader export`: a row for each student and chapter. What is added to a mark stands with the
    last; what is taken off and more than the last has, with those before it, so that the rows sum to the mark."""
    rows: list[list] = [list(NBGRADER)]
    for record in records:
        mark = marks.get(record.student)
        chapters = list(dict.fromkeys(EXERCISES[report.exercise].chapter for report in record.reports))
        own_reports = [[report for report in record.reports if EXERCISES[report.exercise].chapter == chapter]
                       for chapter in chapters]
        scores = [sum((mark.points[report.exercise] if mark else Fraction(report.earned) for report in own), Fraction(0))
                  for own in own_reports]
        left = mark.added if mark else Fraction(0)
        for k in reversed(range(len(scores))):
            scores[k], left = max(Fraction(0), scores[k] + left), min(Fraction(0), scores[k] + left)
        for chapter, own, score in zip(chapters, own_reports, scores, strict=True):
            raw = Fraction(sum(report.earned for report in own))
            line = {"assignment": "-".join(NAMES[chapter]), "student_id": harmless(record.student),
                    "raw_score": decimal(raw), "late_submission_penalty": decimal(max(Fraction(0), raw - score)),
                    "score": decimal(score), "max_score": sum(report.possible for report in own)}
            rows.append([line.get(name, "") for name in NBGRADER])
    return written(rows)


def written(rows: Sequence[Sequence[object]]) -> str:
    """CSV, with a comma between the columns."""
    buffer = io.StringIO()
    csv.writer(buffer, lineterminator="\n").writerows(rows)
    return buffer.getvalue()
