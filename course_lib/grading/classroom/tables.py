"""Marks as a table, a row for each student: for a terminal, and as CSV for a spreadsheet."""
from __future__ import annotations

import csv
import io
import re
from collections.abc import Mapping, Sequence

from course_lib.grading.classroom.grading import Graded
from course_lib.grading.classroom.marks import Mark, to_decimal
from course_lib.grading.verdict import STATES

FORMULA = re.compile(r"(^|[;\t|])(?=[\s\"]*[=+\-@＝＋－＠])|^(?=[\t\r])")   # where one begins, for some spreadsheet
WIDTH = 20                      # of a name in the terminal
CELL = 32_000                   # characters of a cell; spreadsheets and Python's csv read little more


def terminal_table(records: Sequence[Graded], marks: Mapping[str, Mark] = {}) -> str:
    """One line for each student, then how many there are, the mean, of the marks if there are any, and the reasons of an instructor's own."""
    if not records:
        return "No submission was found."
    rows = [["student", "file", "points", *["mark"] * bool(marks), "score", "exercises"]]
    scores = []
    for record in records:
        mark = marks.get(record.student)
        scores.append(float(mark.total / mark.possible) if mark and mark.possible else 0.0 if mark else record.score)
        wrong = [f"{report.exercise} {STATES[report.state]}" for report in record.reports if report.state != "right"]
        names = [name if len(name) <= WIDTH else name[:WIDTH - 3] + "..."
                 for name in (record.student, record.file.replace("\\", "/").rsplit("/", 1)[-1] or "none")]
        rows.append([*names, f"{record.earned}/{record.possible}", *([f"{to_decimal(mark.total):g}/{to_decimal(mark.possible):g}"] if mark else []),
                     f"{scores[-1]:.0%}", record.reason.partition(":")[0] or "; ".join(wrong) or ("all right" if record.reports else "none found")])
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]) - 1)]
    lines = ["  ".join([*(cell.ljust(width) for cell, width in zip(row, widths, strict=False)), row[-1]]).rstrip() for row in rows]
    levels = ", ".join(sorted({level for record in records for level in record.isolation.split("; ")} - {""})) or "none"
    count = "1 student" if len(records) == 1 else f"{len(records)} students"
    lines.append(f"{count}, mean score {sum(scores) / len(scores):.0%}, isolation: {levels}")
    for_all = set.intersection(*(set(mark.why) for mark in marks.values())) if len(marks) > 1 else set()
    lines += [f"all students: {reason}" for reason in next(iter(marks.values())).why if reason in for_all] if marks else []
    lines += [f"{student}: {reason}" for student, mark in marks.items() for reason in mark.why if reason not in for_all]
    return "\n".join(lines)


def csv_table(records: Sequence[Graded], marks: Mapping[str, Mark] | None = None) -> str:
    """CSV: a row for each student, with the result of each exercise, and with the mark and its reasons, if there are any."""
    names = list(dict.fromkeys(report.exercise for record in records for report in record.reports))
    rows = [["student", "file", "sha256", "isolation", "seed", "earned", "possible", "score",
             *(f"{name} {what}" for name in names for what in ("points", "possible", "state", "misconception")),
             "notes", *(("mark", "mark possible", "why") if marks else ())]]
    for record in records:
        by_name = {report.exercise: report for report in record.reports}
        cells = [record.student, record.file, record.sha256, record.isolation, record.seed, record.earned, record.possible, f"{record.score:.4f}"]
        for name in names:
            report = by_name.get(name)
            cells += [report.earned, report.possible, report.state, report.misconception or ""] if report else [""] * 4
        cells.append(" ".join(record.notes))
        if marks:
            mark = marks[record.student]
            cells += [to_decimal(mark.total), to_decimal(mark.possible), "; ".join(mark.why)]
        rows.append(cells)
    return to_csv(rows)


def to_csv(rows: Sequence[Sequence[object]], escape: bool = True) -> str:
    """CSV, text in quotes, with no cell that is a formula; with escape=False the cells as they are."""
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n", quoting=csv.QUOTE_NONNUMERIC if escape else csv.QUOTE_MINIMAL)
    writer.writerows([escape_formula(cell) for cell in row] if escape else row for row in rows)
    return buffer.getvalue()


def escape_formula(cell):
    """A cell with an apostrophe before what a spreadsheet would take for a formula, also behind a sign that some take for a column's end."""
    return FORMULA.sub(lambda match: match[0] + "'", cell[:CELL]) if isinstance(cell, str) and cell != "-" else cell
