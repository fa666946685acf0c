"""The files that are written about a class: CSV, JSON, pages, Gradescope's results."""
import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from course_lib.grading.classroom import lms
from course_lib.grading.classroom.grading import Graded
from course_lib.grading.classroom.pages import CLASS, class_page, class_rows, student_page
from course_lib.grading.classroom.roster import Roster
from course_lib.grading.classroom.tables import csv_table, to_csv

BOM = "\ufeff"                  # by which Excel knows that a table is UTF-8


def check_options(args, roster: Roster, downloads: Mapping[str, str] = {}) -> None:
    """Raises ValueError for what could not be written at the end of a long run."""
    for option in lms.TABLES:
        if getattr(args, option):
            lms.check_roster(option, roster)
    if args.feedback and not lms.name_files([*downloads, *roster.students], downloads, roster):
        raise ValueError("--feedback needs the submissions under the names that Moodle gave them, or those of Canvas and its gradebook as "
                         "--roster, or Moodle's grading worksheet as --roster")


def write(args, records: Sequence[Graded], roster: Roster = Roster(), downloads: Mapping[str, str] = {}) -> None:
    """The files that were asked for, of these records, one for each student."""
    if args.csv:
        write_text(Path(args.csv), BOM + csv_table(records))
    if args.json:
        write_text(Path(args.json), json.dumps([record.to_dict() for record in records], indent=1) + "\n")
    shown = anonymize(records) if args.anonymous else records
    names = {record.student: file_name(other.student) for record, other in zip(records, shown, strict=True)}
    for record, other in zip(records, shown, strict=True):
        if args.html:
            write_text(Path(args.html, f"{names[record.student]}.html"), student_page(other))
        if args.gradescope:
            write_text(Path(args.gradescope, file_name(record.student), "results.json"), json.dumps(gradescope_results(record), indent=1))
    if args.report:
        write_text(Path(args.report, "index.html"), class_page(shown))
        write_text(Path(args.report, "class.csv"), BOM + to_csv([CLASS, *class_rows(shown)]))
    if args.html:
        index = [[student, roster.address(student), f"{name}.html"] for student, name in names.items()]
        write_text(Path(args.html, "index.csv"), BOM + to_csv([["student", "address", "file"], *index]))
    if args.feedback:
        lms.write_zip(args.feedback, records, lms.name_files(list(names), downloads, roster))
    for option in lms.TABLES:
        if path := getattr(args, option):
            write_text(Path(path), lms.import_table(option, roster, records, args.column))


def anonymize(records: Sequence[Graded]) -> list[Graded]:
    """Each student's record under a number, in an order that does not follow the names, without files and notes, which may name the student."""
    order = sorted(records, key=lambda record: hashlib.sha256(f"{record.seed} {record.student}".encode("utf-8", "surrogatepass")).digest())
    number = {record.student: f"student {i:03}" for i, record in enumerate(order, 1)}
    return [replace(record, student=number[record.student], file="", notes=[]) for record in records]


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


def gradescope_results(record: Graded) -> dict:
    """The results of one student, as https://gradescope-autograders.readthedocs.io/en/latest/specs/#output-format describes."""
    return {"score": float(record.total), "execution_time": round(record.seconds, 3),
            "output": "\n".join([*record.notes, *record.why]) or "Each exercise was graded on its own; see below.", "output_format": "text",
            "test_output_format": "text", "test_name_format": "text", "visibility": "visible", "stdout_visibility": "hidden",
            "extra_data": {"isolation": record.isolation or "none", "checks": record.checks, "sha256": record.sha256},
            "tests": [{"name": report.exercise, "number": str(number), "score": float(report.earned), "max_score": float(report.possible),
                       "status": "passed" if report.state == "right" else "failed", "output": f"{report}\n{report.again}".rstrip(),
                       "output_format": "text", "visibility": "visible", "tags": list(filter(None, [report.state, report.misconception])),
                       "extra_data": {"state": report.state, "misconception": report.misconception}}
                      for number, report in enumerate(record.reports, 1)]}
