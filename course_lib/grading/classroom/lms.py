"""What Moodle and Canvas import: the table that was the roster, with its own columns and one of marks, and feedback pages as a zip.

Moodle's tables: https://docs.moodle.org/en/Assignment_FAQ, the grading worksheet, and https://docs.moodle.org/en/Grade_import. It reads the
participant of a page from the folder `Full name_ID_assignsubmission_file_` (`mod/assign/feedback/file/importziplib.php`).
Canvas' table: the exported gradebook, with the columns that its import needs and the one that changes. It takes the first two numbers
between underscores in the name of a page for the student and the attachment, whose name it shows (`infer_comment_context_from_filename`).
"""
from __future__ import annotations

import json
import zipfile
from collections.abc import Mapping, Sequence
from fractions import Fraction
from html import escape

from course_lib.grading.classroom.collection import MOODLE
from course_lib.grading.classroom.grading import Graded
from course_lib.grading.classroom.marks import Mark, to_decimal
from course_lib.grading.classroom.pages import student_page
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
        raise ValueError(f"--{option} needs the table of its {what} as --roster; this one has {', '.join(roster.header) or 'no header'}")


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
    known, header = {record.student: record for record in records}, roster.header
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


# Feedback

def name_files(records: Sequence[Graded], downloads: Mapping[str, str], roster: Roster) -> dict[str, str]:
    """The path of each student's page in the zip, given the names under which the submissions were downloaded. A student without a
    submission has one in Moodle, if the roster has the number of the participant."""
    moodle = {person.student: f"{person.student.replace('_', ' ').replace('/', ' ')}_{person.number}_assignsubmission_file_"
              for person in roster.people if person.number and roster.column("identifier") is not None}
    names = {record.student: downloads.get(record.student) or moodle.get(record.student) for record in records}
    return {student: f"{folder[0]}/feedback.html" if (folder := MOODLE.match(name)) else name for student, name in names.items() if name}


def write_zip(path: str, records: Sequence[Graded], marks: Mapping[str, Mark], paths: Mapping[str, str]) -> None:
    """Write the pages of these students. What Canvas shows under the name of a notebook is a notebook."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for record in records:
            if record.student in paths:
                page = feedback_notebook if paths[record.student].endswith(".ipynb") else student_page
                archive.writestr(paths[record.student], page(record, marks.get(record.student)))


def feedback_notebook(record: Graded, mark: Mark | None = None) -> str:
    """The feedback as a notebook with a cell of text."""
    notes = [note for note in record.notes if not record.reason.endswith(note)]
    lines = [f"{record.earned} of {record.possible} points", *notes, *(mark.why if mark else ()),
             *([record.reason] if record.reason else map(str, record.reports))]
    cell = {"cell_type": "raw", "metadata": {}, "source": "\n\n".join(lines)}
    return json.dumps({"cells": [cell], "metadata": {}, "nbformat": 4, "nbformat_minor": 4})
