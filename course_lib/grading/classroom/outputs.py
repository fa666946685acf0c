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


def add_arguments(parser) -> None:
    """The options that name a file or a folder to write, the same for `grade` and `merge`."""
    parser.add_argument("--csv", metavar="FILE", help="the marks as a table for a spreadsheet, a row for each student")
    parser.add_argument("--json", metavar="FILE", help="the marks as JSON, an object for each student")
    parser.add_argument("--gradescope", metavar="DIR", help="results.json in Gradescope's format, a folder for each "
                                                            "student")
    parser.add_argument("--html", metavar="DIR", help="a page for each student")
    parser.add_argument("--report", metavar="DIR", help="for you: a page on the class (each exercise with its states "
                                                        "and named mistakes, who is stuck, an index of the students' "
                                                        "pages), and class.csv")
    parser.add_argument("--moodle", metavar="FILE", help="the marks in the table of --roster, Moodle's grading "
                                                         "worksheet or participants, to be imported there")
    parser.add_argument("--canvas", metavar="FILE", help="the marks in the table of --roster, Canvas' gradebook, to "
                                                         "be imported there")
    parser.add_argument("--column", metavar="NAME", default="course-lib", help="what the marks are called there "
                                                                               "(default: course-lib); in Canvas an "
                                                                               "assignment of that name")
    parser.add_argument("--nbgrader", metavar="FILE", help="the marks in the columns of nbgrader export, a row for "
                                                           "each student and chapter")
    parser.add_argument("--rules", metavar="FILE", help="class.toml: deadlines, late days, penalty; gives each "
                                                        "student a mark")
    parser.add_argument("--marks", metavar="FILE", help="marks.toml: what was decided for somebody, with the reason")
    parser.add_argument("--since", metavar="FILE", help="what --json wrote in an earlier run: says which marks "
                                                        "changed, and why")
    parser.add_argument("--changes", metavar="FILE", help="with --since: the same as a table")


def check(args) -> None:
    """Raises ValueError for what could not be written at the end of a long run."""
    from course_lib.grading.classroom import changes, lms

    lms.check(args)
    if args.changes and not args.since:
        raise ValueError("--changes needs --since FILE, the marks to compare with")
    if args.since:
        changes.read(args.since)


def write(args, records: Sequence[Any], marks: Mapping[str, Any] | None = None) -> None:
    """The files that were asked for, of these records, one for each student, and of their marks, if there are any."""
    from course_lib.grading.classroom import changes, lms
    from course_lib.grading.classroom.gradescope import results
    from course_lib.grading.classroom.page import page
    from course_lib.grading.classroom.tables import for_spreadsheet

    marks = marks or {}
    before = changes.read(args.since) if args.since else None           # it may be the file that --json is to write
    now = [record.to_dict() | ({"mark": marks[record.student].to_dict()} if marks else {}) for record in records]
    if args.csv:
        put(Path(args.csv), for_spreadsheet(records, marks))
    if args.json:
        put(Path(args.json), json.dumps(now, indent=1) + "\n")
    for record in records:
        mark = marks.get(record.student)
        if args.html:
            put(Path(args.html, file_name(record.student) + ".html"), page(record, mark))
        if args.gradescope:
            put(Path(args.gradescope, file_name(record.student), "results.json"),
                json.dumps(results(record, mark), indent=1))
    if args.report:
        write_report(args, records)
    for option, table in (("moodle", lms.moodle), ("canvas", lms.canvas)):
        if getattr(args, option):
            put(Path(getattr(args, option)), table(lms.read_sheet(args.roster), records, marks, args.column))
    if args.nbgrader:
        put(Path(args.nbgrader), lms.nbgrader(records, marks))
    if before is not None:
        found = changes.changes(before, now)
        print(changes.in_words(found), file=sys.stderr)
        if args.changes:
            put(Path(args.changes), changes.for_spreadsheet(found))


def write_report(args, records: Sequence[Any]) -> None:
    """The page on the class and its table; the names in it lead to the students' pages, if those are written too."""
    from course_lib.grading.classroom.class_report import class_page, class_table

    way = Path(os.path.relpath(args.html, args.report)) if args.html else Path()
    pages = {record.student: (way / f"{file_name(record.student)}.html").as_posix()
             for record in records} if args.html else {}
    put(Path(args.report, "index.html"), class_page(records, pages))
    put(Path(args.report, "class.csv"), class_table(records))


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
