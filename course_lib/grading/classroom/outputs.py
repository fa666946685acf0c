"""The files that are written about a class: their options on the command line, and the writing itself."""
from __future__ import annotations

import hashlib
import json
import os
import re
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

OPEN = ("The package itself holds the references, where anybody with a copy can read them: what is graded is whether "
        "the code does the task. Marks for credit need --require-isolation, so that no answer runs where they can be "
        "read.")
OPTIONS = {
    "csv": ("FILE", "the marks as a table for a spreadsheet, a row for each student"),
    "json": ("FILE", "the marks as JSON, an object for each student"),
    "gradescope": ("DIR", "results.json in Gradescope's format, a folder for each student"),
    "html": ("DIR", "a page for each student"),
    "report": ("DIR", "for you: a page on the class (each exercise with its states and named mistakes, who is stuck, an index "
                      "of the students' pages), and class.csv"),
    "moodle": ("FILE", "the marks in the table of --roster, Moodle's grading worksheet or participants, to be imported there"),
    "canvas": ("FILE", "the marks in the table of --roster, Canvas' gradebook, to be imported there"),
    "column": ("NAME", "what the marks are called there (default: course-lib); in Canvas an assignment of that name"),
    "marks": ("FILE", "marks.toml: an instructor's own marks, with the reason"),
    "since": ("FILE", "what --json wrote in an earlier run: says which marks changed, and why"),
}


def add_arguments(parser) -> None:
    """The options of `grade` that name a file or a folder to write, and what the marks depend on."""
    for name, (metavar, text) in OPTIONS.items():
        parser.add_argument(f"--{name}", metavar=metavar, help=text, default="course-lib" if name == "column" else None)


def check(args, roster: Any) -> list[dict[str, Any]] | None:
    """The marks of --since, which may be the file that --json is to write. Raises ValueError for what could not be written
    at the end of a long run."""
    from course_lib.grading.classroom import lms, since

    for option in lms.TABLES:
        if getattr(args, option):
            lms.check(option, roster)
    return since.read(args.since) if args.since else None


def write(args, records: Sequence[Any], roster: Any = None, marks: Mapping[str, Any] = {}, before: Any = None) -> None:
    """The files that were asked for, of these records, one for each student, and of their marks, if there are any."""
    from course_lib.grading.classroom import lms, since
    from course_lib.grading.classroom.class_report import class_page, class_table
    from course_lib.grading.classroom.gradescope import results
    from course_lib.grading.classroom.page import page
    from course_lib.grading.classroom.tables import for_spreadsheet

    now = [record.to_dict() | ({"mark": marks[record.student].to_dict()} if marks else {}) for record in records]
    if args.csv:
        put(Path(args.csv), for_spreadsheet(records, marks))
    if args.json:
        put(Path(args.json), json.dumps(now, indent=1) + "\n")
    for record in records:
        mark, name = marks.get(record.student), file_name(record.student)
        if args.html:
            put(Path(args.html, f"{name}.html"), page(record, mark))
        if args.gradescope:
            put(Path(args.gradescope, name, "results.json"), json.dumps(results(record, mark), indent=1))
    if args.report:                                      # the names in it lead to the students' pages, if there are any
        way = Path(os.path.relpath(args.html, args.report)) if args.html else None
        pages = {record.student: (way / f"{file_name(record.student)}.html").as_posix() for record in records} if way else {}
        put(Path(args.report, "index.html"), class_page(records, pages))
        put(Path(args.report, "class.csv"), class_table(records))
    if args.moodle:
        put(Path(args.moodle), lms.moodle(roster, records, marks, args.column))
    if args.canvas:
        put(Path(args.canvas), lms.canvas(roster, records, marks, args.column))
    if before is not None:
        print("\n".join(since.changes(before, now)) or "No mark has changed.", file=sys.stderr)


def put(path: Path, text: str) -> None:
    """Write a text, with the folders on the way to it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8", errors="backslashreplace")


def file_name(student: str) -> str:
    """A name that no file system minds, and that no two students share."""
    plain = re.sub(r"[^A-Za-z0-9._@-]", "_", student).strip(".")[:80]
    reserved = re.fullmatch(r"(?i)(con|prn|aux|nul|com\d|lpt\d)(\..*)?", plain)
    if plain and plain == student and not reserved and plain == plain.lower():
        return plain
    return f"{plain or 'student'}-{hashlib.sha256(student.encode('utf-8', 'surrogatepass')).hexdigest()[:8]}"
