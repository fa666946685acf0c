"""What Moodle and Canvas import: the table that was the roster, with a column of marks, and feedback pages as a zip. Moodle's tables:
https://docs.moodle.org/en/Assignment_FAQ and https://docs.moodle.org/en/Grade_import; the folder `Full name_ID_assignsubmission_file_` names
the participant (`mod/assign/feedback/file/importziplib.php`). Canvas' table is the exported gradebook; the first two numbers between
underscores in the name of a page are the student and the attachment (`infer_comment_context_from_filename`)."""
import json
import zipfile
from collections.abc import Mapping, Sequence
from fractions import Fraction
from html import escape

from course_lib.grading.classroom.collection import MOODLE
from course_lib.grading.classroom.grading import Graded
from course_lib.grading.classroom.pages import student_page
from course_lib.grading.classroom.roster import POINTS, Roster, fold
from course_lib.grading.classroom.tables import escape_formula, to_csv
from course_lib.grading.verdict import STATES

CANVAS = ("student", "id", "sis user id", "sis login id", "root account", "section")      # of a student
TABLES = {"moodle": ("participants or its grading worksheet", {"identifier", "email", "id number", "username"}),
          "canvas": ("gradebook", {"id", "sis login id", "sis user id"})}


def check_roster(option: str, roster: Roster) -> None:
    """Raises ValueError if the roster is not the table that this import needs."""
    what, names = TABLES[option]
    if not roster.columns.keys() & names or option == "canvas" and "student" not in roster.columns:
        raise ValueError(f"--{option} needs the table of its {what} as --roster, for the columns that identify students; this one has "
                         f"{', '.join(roster.header) or 'no header'}")


def scale_points(record: Graded, most: str) -> float | int:
    """A student's points, on a scale that ends at `most`, if that is a number; with at most two decimal places."""
    value = Fraction(str(record.total))
    try:
        value *= Fraction(most.strip().replace(",", ".")) / (Fraction(str(record.most)) or 1)
    except (ValueError, ZeroDivisionError):
        pass
    rounded = round(value, 2)
    return int(rounded) if rounded.denominator == 1 else float(rounded)


def describe_result(record: Graded) -> str:
    """A line of HTML: the states and points of all exercises, or why nothing was graded; then the reasons of own marks."""
    lines = [f"{report.exercise}: {STATES[report.state]} ({report.earned} of {report.possible})"
             + f". {report.message}".rstrip(".") * (report.state == "missing") for report in record.reports]
    return escape("; ".join([*([record.reason.rstrip(".")] if record.reason else lines), *record.why]), quote=False)


def import_table(option: str, roster: Roster, records: Sequence[Graded], name: str) -> str:
    """The roster's table with the points in a column of this name, or in Grade; the scale is Maximum Grade or Points Possible."""
    known, columns = {record.student: record for record in records}, roster.columns
    titles = [title.strip() for title in roster.header]
    place = columns.get("grade") if option == "moodle" and columns.keys() & {"identifier", "maximum grade"} else next(
        (i for i, title in enumerate(titles) if title == name or title.startswith(f"{name} (")), None)
    header = roster.header if place is not None else [*roster.header, name]
    place = len(roster.header) if place is None else place
    rows = [[*row, *[""] * (len(header) - len(row))] for row in roster.rows]
    possible = next((row for row in rows if option == "canvas" and fold(row[columns["student"]]) in POINTS), None)
    comment = columns.get("feedback comments") if option == "moodle" else None
    for row, student in zip(rows, roster.owners, strict=True):
        if record := known.get(student):
            row[place] = scale_points(record, possible[place] if possible else row[columns["maximum grade"]] if "maximum grade" in columns else "")
            if comment is not None:
                row[comment] = escape_formula(describe_result(record))
        elif row is possible and not row[place].strip():
            row[place] = f"{max((record.most for record in records), default=0):g}"
    shown = range(len(header)) if option == "moodle" else [*sorted(columns[title] for title in CANVAS if title in columns), place]
    return to_csv([[row[i] for i in shown] for row in [header, *rows]], escape=False)


def name_files(students: Sequence[str], downloads: Mapping[str, str], roster: Roster) -> dict[str, str]:
    """The path of each student's page in the zip, by the name of the download or the number that Moodle's roster has."""
    moodle = {person.student: f"{person.student.replace('_', ' ').replace('/', ' ')}_{person.number}_assignsubmission_file_"
              for person in roster.people if person.number and "identifier" in roster.columns}
    names = {student: downloads.get(student) or moodle.get(student) for student in students}
    return {student: f"{folder[0]}/feedback.html" if (folder := MOODLE.match(name)) else name for student, name in names.items() if name}


def write_zip(path: str, records: Sequence[Graded], paths: Mapping[str, str]) -> None:
    """Write the pages of these students. What Canvas shows under the name of a notebook is a notebook."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for record in records:
            if record.student in paths:
                page = feedback_notebook if paths[record.student].endswith(".ipynb") else student_page
                archive.writestr(paths[record.student], page(record))


def feedback_notebook(record: Graded) -> str:
    """The feedback as a notebook with a cell of text."""
    notes = [note for note in record.notes if not record.reason.endswith(note)]
    lines = [f"{record.total:g} of {record.most:g} points", *record.why, *notes, *([record.reason] if record.reason else map(str, record.reports))]
    cell = {"cell_type": "raw", "metadata": {}, "source": "\n\n".join(lines)}
    return json.dumps({"cells": [cell], "metadata": {}, "nbformat": 4, "nbformat_minor": 4})
