"""Marks for the import of Moodle and Canvas: the table that was the roster, with its own columns and one of marks.

Moodle: https://docs.moodle.org/en/Assignment_FAQ, the grading worksheet, and https://docs.moodle.org/en/Grade_import.
Canvas: the gradebook as it was exported, with the columns that its import needs and the one that changes.
"""
from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from html import escape

from course_lib.grading.classroom.grading import Graded
from course_lib.grading.classroom.marks import Mark, to_decimal
from course_lib.grading.classroom.roster import POINTS, Roster, fold
from course_lib.grading.classroom.tables import escape_formula, to_csv
from course_lib.grading.verdict import STATES

CANVAS = ("student", "id", "sis user id", "sis login id", "root account", "section")      # of a student
TABLES = {"moodle": ("participants or its grading worksheet", ("identifier", "email", "id number", "username")),
          "canvas": ("gradebook", ("id", "sis login id", "sis user id"))}


def check_roster(option: str, roster: Roster | None) -> None:
    """Raises ValueError if the roster is not the table that this import needs."""
    what, names = TABLES[option]
    if not roster:
        raise ValueError(f"--{option} needs --roster, the table of its {what}: the columns that identify students come from there")
    if roster.column(*names) is None or option == "canvas" and roster.column("student") is None:
        raise ValueError(f"--{option} needs the table of its {what} as --roster; this one has "
                         f"{', '.join(roster.header) or 'no header'}")


def scale_mark(record: Graded, mark: Mark | None, most: str) -> float | int:
    """A student's mark, on a scale that ends at `most`, if that is a number."""
    value, possible = (mark.total, mark.possible) if mark else (Fraction(record.earned), record.possible)
    try:
        top = Fraction(most.strip().replace(",", "."))
    except (ValueError, ZeroDivisionError):
        return to_decimal(value)
    return to_decimal(value * top / possible if possible else Fraction(0))


def describe_result(record: Graded, mark: Mark | None) -> str:
    """The states and points of all exercises in a line of HTML; where nothing was graded or a function was not found, the reason."""
    lines = [f"{report.exercise}: {STATES[report.state]} ({report.earned} of {report.possible})"
             + f". {report.message}".rstrip(".") * (report.state == "missing") for report in record.reports]
    return escape("; ".join([*([record.reason.rstrip(".")] if record.reason else lines), *(mark.why if mark else ())]), quote=False)


def moodle_table(roster: Roster, records: Sequence[Graded], marks: Mapping[str, Mark], name: str) -> str:
    """Moodle's table with the marks. Its grading worksheet gets Grade, on the scale of Maximum Grade, and Feedback
    comments; its list of participants a column of this name."""
    known, header = {record.student: record for record in records}, list(roster.header)
    grade, most, comment = roster.column("grade"), roster.column("maximum grade"), roster.column("feedback comments")
    if grade is None or roster.column("identifier", "maximum grade") is None:
        header, grade = [*header, name], len(header)
    rows = []
    for row, student in zip(roster.rows, roster.owners, strict=True):
        row = [*row, *[""] * (len(header) - len(row))]
        if record := known.get(student):
            mark = marks.get(student)
            row[grade] = scale_mark(record, mark, row[most] if most is not None else "")
            if comment is not None:
                row[comment] = escape_formula(describe_result(record, mark))
        rows.append(row)
    return to_csv([header, *rows], escape=False)


def canvas_table(roster: Roster, records: Sequence[Graded], marks: Mapping[str, Mark], name: str) -> str:
    """Canvas' table with the columns that identify students and one of marks: that of the gradebook which is called so,
    with or without its number, on its scale; else a new one, for which Canvas makes an assignment."""
    known = {record.student: record for record in records}
    column = next((place for place, cell in enumerate(roster.header) if cell.strip() == name or
                  cell.strip().rpartition(" (")[0] == name and cell.strip().endswith(")")), None)
    own = sorted(roster.columns[title] for title in CANVAS if title in roster.columns)
    rows = [[*row, *[""] * (len(roster.header) - len(row))] for row in roster.rows]
    possible = next((row for row in rows if fold(row[roster.column("student")]) in POINTS), None)
    most = possible[column] if possible and column is not None else ""
    lines = [[*(roster.header[place] for place in own), roster.header[column] if column is not None else name]]
    for row, student in zip(rows, roster.owners, strict=True):
        cell: object = row[column] if column is not None else ""
        if record := known.get(student):
            cell = scale_mark(record, marks.get(student), most)
        elif row is possible:
            cell = most.strip() or max((record.possible for record in records), default=0)
        lines.append([*(row[place] for place in own), cell])
    return to_csv(lines, escape=False)
