"""The files that are written about a class: CSV, JSON, pages, Gradescope's results."""
from __future__ import annotations

import hashlib
import json
import os
import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from course_lib.grading.classroom import lms
from course_lib.grading.classroom.grading import Graded
from course_lib.grading.classroom.marks import Mark, describe_changes, read_earlier, to_decimal
from course_lib.grading.classroom.pages import class_page, class_table, student_page
from course_lib.grading.classroom.roster import Roster
from course_lib.grading.classroom.tables import csv_table, to_csv
from course_lib.grading.verdict import Report

BOM = "\ufeff"                  # by which Excel knows that a table is UTF-8


def check_options(args, roster: Roster, downloads: Mapping[str, str] = {}) -> list[dict[str, Any]] | None:
    """The marks of --update, which may be the file that --json is to write. Raises ValueError for what could not be written
    at the end of a long run."""
    for option in lms.TABLES:
        if getattr(args, option):
            lms.check_roster(option, roster)
    if args.feedback and not lms.name_files([Graded(student, "") for student in {*downloads, *roster.students}], downloads, roster):
        raise ValueError("--feedback needs the submissions under the names that Moodle or Canvas gave them, or Moodle's grading worksheet as "
                         "--roster")
    return read_earlier(args.update) if args.update else None


def write(args, records: Sequence[Graded], roster: Roster = Roster(), marks: Mapping[str, Mark] = {}, earlier: Any = None,
          downloads: Mapping[str, str] = {}) -> None:
    """The files that were asked for, of these records, one for each student, and of their marks, if there are any."""
    now = [record.to_dict() | ({"mark": marks[record.student].to_dict()} if marks else {}) for record in records]
    if args.csv:
        write_text(Path(args.csv), BOM + csv_table(records, marks))
    if args.json:
        write_text(Path(args.json), json.dumps(now, indent=1) + "\n")
    shown = anonymize(records) if args.anonymous else {record.student: record for record in records}
    pages, index = {}, [["student", "address", "file"]]            # pages: the address of each from the page on the class
    for student, record in shown.items():
        mark, page = marks.get(student), f"{file_name(record.student)}.html"
        if args.html:
            pages[record.student] = Path(os.path.relpath(Path(args.html, page), args.report or ".")).as_posix()
            write_text(Path(args.html, page), student_page(record, mark))
            index.append([student, roster.address(student), page])
        if args.gradescope:
            write_text(Path(args.gradescope, file_name(student), "results.json"), json.dumps(gradescope_results(record, mark), indent=1))
    if args.html:
        write_text(Path(args.html, "index.csv"), BOM + to_csv(index))
    if args.report:                                      # the names in it lead to the students' pages, if there are any
        write_text(Path(args.report, "index.html"), class_page(list(shown.values()), pages))
        write_text(Path(args.report, "class.csv"), BOM + class_table(list(shown.values())))
    if args.feedback:
        lms.write_zip(args.feedback, records, marks, lms.name_files(records, downloads, roster))
    if args.moodle:
        write_text(Path(args.moodle), lms.moodle_table(roster, records, marks, args.column))
    if args.canvas:
        write_text(Path(args.canvas), lms.canvas_table(roster, records, marks, args.column))
    if earlier is not None:
        print("\n".join(describe_changes(earlier, now)) or "No mark has changed.", file=sys.stderr)


def anonymize(records: Sequence[Graded]) -> dict[str, Graded]:
    """Each student's record under a number, in an order that does not follow the names, without files and notes, which may name the student."""
    order = sorted(records, key=lambda record: hashlib.sha256(f"{record.seed} {record.student}".encode("utf-8", "surrogatepass")).digest())
    return {record.student: replace(record, student=f"student {number:03}", file="", notes=[]) for number, record in enumerate(order, 1)}


def write_text(path: Path, text: str) -> None:
    """Write a text, with the folders on the way to it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8", errors="backslashreplace")


def file_name(student: str) -> str:
    """A name that every file system accepts, and that no two students share."""
    plain = re.sub(r"[^A-Za-z0-9._@-]", "_", student).strip(".")[:80]
    reserved = re.fullmatch(r"(?i)(index|con|prn|aux|nul|com\d|lpt\d)(\..*)?", plain)
    hashed = re.search("-[0-9a-f]{16}$", plain)          # as the name of another student may end
    if plain and plain == student and not reserved and not hashed and plain == plain.lower():
        return plain
    return f"{plain or 'student'}-{hashlib.sha256(student.encode('utf-8', 'surrogatepass')).hexdigest()[:16]}"


# Gradescope

def gradescope_results(record: Graded, mark: Mark | None = None) -> dict:
    """The results of one student as Gradescope's results.json holds them: a test for each exercise, with the points that the grader gave; a
    mark is the score. Format: https://gradescope-autograders.readthedocs.io/en/latest/specs/#output-format"""
    notes = [*record.notes, *(mark.why if mark else ())]
    return {"score": float(to_decimal(mark.total) if mark else record.earned), "execution_time": round(record.seconds, 3),
            "output": "\n".join(notes) or "Each exercise was graded on its own; see below.", "output_format": "text", "test_output_format": "text",
            "test_name_format": "text", "visibility": "visible", "stdout_visibility": "hidden",
            "extra_data": {"isolation": record.isolation or "none", "checks": record.checks, "sha256": record.sha256},
            "tests": [gradescope_test(report, number) for number, report in enumerate(record.reports, 1)]}


def gradescope_test(report: Report, number: int) -> dict:
    """One exercise as an entry of Gradescope's `tests`."""
    return {"name": report.exercise, "number": str(number), "score": float(report.earned), "max_score": float(report.possible),
            "status": "passed" if report.state == "right" else "failed", "output": f"{report}\n{report.again}".rstrip(),
            "output_format": "text", "visibility": "visible", "tags": [report.state, *([report.misconception] if report.misconception else [])],
            "extra_data": {"state": report.state, "misconception": report.misconception}}
