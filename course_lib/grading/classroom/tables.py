"""Marks as a table, a row for each student: for a terminal, and as CSV for a spreadsheet."""
import csv
import io
import re
from collections.abc import Sequence
from statistics import mean

from course_lib.grading.classroom.grading import Graded
from course_lib.grading.verdict import STATES

FORMULA = re.compile(r"(^|[;\t|])(?=[\s\"]*[=+\-@＝＋－＠])|^(?=[\t\r])")   # where one begins, for some spreadsheet
WIDTH = 20                      # of a name in the terminal
CELL = 32_000                   # characters of a cell; spreadsheets and Python's csv read little more


def terminal_table(records: Sequence[Graded]) -> str:
    """One line for each student, then how many there are and the mean."""
    if not records:
        return "No submission was found."
    marked = any(record.mark for record in records)
    rows = [["student", "file", "points", *["mark"] * marked, "score", "exercises"]]
    for record in records:
        wrong = [f"{report.exercise} {STATES[report.state]}" for report in record.reports if report.state != "right"]
        names = [name if len(name) <= WIDTH else name[:WIDTH - 3] + "..."
                 for name in (record.student, record.file.replace("\\", "/").rsplit("/", 1)[-1] or "none")]
        rows.append([*names, f"{record.earned}/{record.possible}", *[f"{record.total:g}/{record.most:g}"] * marked, f"{record.score:.0%}",
                     record.reason.partition(":")[0] or "; ".join(wrong) or ("all right" if record.reports else "none found")])
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]) - 1)]
    lines = ["  ".join([*(cell.ljust(width) for cell, width in zip(row, widths, strict=False)), row[-1]]).rstrip() for row in rows]
    levels = ", ".join(sorted({level for record in records for level in record.isolation.split("; ")} - {""})) or "none"
    count = "1 student" if len(records) == 1 else f"{len(records)} students"
    for_all = set.intersection(*(set(record.why) for record in records)) if len(records) > 1 else set()
    return "\n".join([*lines, f"{count}, mean score {mean(record.score for record in records):.0%}, isolation: {levels}",
                      *(f"all students: {reason}" for reason in records[0].why if reason in for_all),
                      *(f"{record.student}: {reason}" for record in records for reason in record.why if reason not in for_all)])


def csv_table(records: Sequence[Graded]) -> str:
    """CSV: a row for each student, with the result of each exercise, and with the mark and its reasons, if there are any."""
    names = list(dict.fromkeys(report.exercise for record in records for report in record.reports))
    marked = any(record.mark for record in records)
    rows = [["student", "file", "sha256", "isolation", "seed", "earned", "possible", "score",
             *(f"{name} {what}" for name in names for what in ("points", "possible", "state", "misconception")), "notes",
             *["mark", "mark possible", "why"] * marked]]
    for record in records:
        by_name = {report.exercise: report for report in record.reports}
        cells = [record.student, record.file, record.sha256, record.isolation, record.seed, record.earned, record.possible, f"{record.score:.4f}"]
        for name in names:
            report = by_name.get(name)
            cells += [report.earned, report.possible, report.state, report.misconception or ""] if report else [""] * 4
        rows.append([*cells, " ".join(record.notes), *[record.total, record.most, "; ".join(record.why)] * marked])
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
