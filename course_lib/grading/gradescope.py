"""Gradescope's results.json: one test for each exercise, the feedback as plain text.

Format: https://gradescope-autograders.readthedocs.io/en/latest/specs/#output-format
"""
from __future__ import annotations

from collections.abc import Sequence

from course_lib.grading.report import Report
from course_lib.grading.submission import Graded


def results(records: Sequence[Graded]) -> dict:
    """The results of one student, as the object that results.json holds."""
    notes = [note for record in records for note in record.notes]
    levels = sorted({record.isolation for record in records if record.isolation})
    tests = [test(report, number) for number, report in
             enumerate((report for record in records for report in record.reports), 1)]
    return {
        "score": float(sum(record.earned for record in records)),
        "execution_time": round(sum(record.seconds for record in records), 3),
        "output": "\n".join(notes) or "Each exercise was judged on its own; see below.",
        "output_format": "text",
        "test_output_format": "text",
        "test_name_format": "text",
        "visibility": "visible",
        "stdout_visibility": "hidden",
        "extra_data": {"isolation": ", ".join(levels) or "none", "checks": [record.checks for record in records],
                       "sha256": [record.sha256 for record in records]},
        "tests": tests,
    }


def test(report: Report, number: int) -> dict:
    output = str(report)
    if report.seed is not None and report.state.startswith("wrong"):
        output += f"\n(inputs drawn with seed={report.seed})"
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
