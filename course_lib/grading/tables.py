"""Marks as a table: for a terminal, and as CSV for a spreadsheet."""
from __future__ import annotations

import csv
import io
from collections.abc import Sequence

from course_lib.grading.report import STATES
from course_lib.grading.submission import Graded

WIDTH = 28                      # of a name in the terminal


def exercises_of(records: Sequence[Graded]) -> list[str]:
    return list(dict.fromkeys(report.exercise for record in records for report in record.reports))


def for_terminal(records: Sequence[Graded]) -> str:
    """One line for each submission, then how many there are and their mean."""
    if not records:
        return "No submission was found."
    head = ["student", "file", "points", "score", "isolation", "exercises"]
    rows = [[cut(record.student), cut(record.file.replace("\\", "/").rsplit("/", 1)[-1] or "none"),
             f"{record.earned}/{record.possible}", f"{record.score:.0%}", record.isolation or "-",
             "; ".join(f"{report.exercise} {STATES[report.state]}" for report in record.reports
                       if report.state != "right") or ("all right" if record.reports else "none found")]
            for record in records]
    widths = [max(len(row[i]) for row in [head, *rows]) for i in range(len(head) - 1)]
    lines = ["  ".join([*(cell.ljust(width) for cell, width in zip(row, widths, strict=False)), row[-1]]).rstrip()
             for row in [head, *rows]]
    mean = sum(record.score for record in records) / len(records)
    count = "1 submission" if len(records) == 1 else f"{len(records)} submissions"
    return "\n".join([*lines, f"{count}, mean score {mean:.0%}"])


def cut(text: str) -> str:
    return text if len(text) <= WIDTH else text[:WIDTH - 3] + "..."


def for_spreadsheet(records: Sequence[Graded]) -> str:
    """CSV: a row for each submission, with the points, the state and the misconception of each exercise."""
    names = exercises_of(records)
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(["student", "file", "sha256", "isolation", "seed", "earned", "possible", "score",
                     *(f"{name} {what}" for name in names for what in ("points", "possible", "state", "misconception")),
                     "notes"])
    for record in records:
        by_name = {report.exercise: report for report in record.reports}
        cells = [record.student, record.file, record.sha256, record.isolation, record.seed, record.earned,
                 record.possible, f"{record.score:.4f}"]
        for name in names:
            report = by_name.get(name)
            cells += [report.earned, report.possible, report.state, report.misconception or ""] if report else [""] * 4
        writer.writerow([harmless(cell) for cell in [*cells, " ".join(record.notes)]])
    return buffer.getvalue()


def harmless(cell):
    """Text that a spreadsheet would take for a formula gets an apostrophe in front."""
    return "'" + cell if isinstance(cell, str) and cell[:1] in ("=", "+", "-", "@", "\t", "\r") and cell != "-" else cell
