"""Gradescope's results.json: one test for each exercise, the feedback as plain text.

Format: https://gradescope-autograders.readthedocs.io/en/latest/specs/#output-format
"""
from __future__ import annotations

from course_lib.grading.classroom.marks import Mark, decimal
from course_lib.grading.classroom.submission import Graded
from course_lib.grading.judge.report import Report


def results(record: Graded, mark: Mark | None = None) -> dict:
    """The results of one student, as the object that results.json holds. With a mark that is the score, and the tests keep the
    points that the grader gave."""
    said = [*record.notes, *(mark.why if mark else ())]
    return {
        "score": float(decimal(mark.total)) if mark else float(record.earned),
        "execution_time": round(record.seconds, 3),
        "output": "\n".join(said) or "Each exercise was judged on its own; see below.",
        "output_format": "text",
        "test_output_format": "text",
        "test_name_format": "text",
        "visibility": "visible",
        "stdout_visibility": "hidden",
        "extra_data": {"isolation": record.isolation or "none", "checks": record.checks, "sha256": record.sha256},
        "tests": [test(report, number) for number, report in enumerate(record.reports, 1)],
    }


def test(report: Report, number: int) -> dict:
    """One exercise as an entry of Gradescope's `tests`."""
    output = f"{report}\n{report.again}".rstrip()
    return {
        "name": report.exercise,
        "number": str(number),
        "score": float(report.earned),
        "max_score": float(report.possible),
        "status": "passed" if report.state == "right" else "failed",
        "output": output,
        "output_format": "text",
        "visibility": "visible",
        "tags": [report.state, *([report.misconception] if report.misconception else [])],
        "extra_data": {"state": report.state, "misconception": report.misconception},
    }
