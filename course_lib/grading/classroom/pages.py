"""An HTML page for each student. It holds no script and loads nothing: its policy forbids both. The same marks give the same bytes. All text is
escaped."""
from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from pathlib import Path
from string import Template

from course_lib.exercises import EXERCISES
from course_lib.grading.classroom.grading import Graded
from course_lib.grading.verdict import STATES, Report

PAGE = Path(__file__).with_name("page.html").read_text("utf-8")


def student_page(record: Graded) -> str:
    """The whole page of one student, as HTML."""
    title = f"{record.student}: {record.earned} of {record.possible} points"
    parts = "".join(exercise_section(report, record.code.get(report.exercise, "")) for report in record.reports)
    if record.reason:
        parts = f'<p class="feedback"><strong class="wrong">{escape(record.reason)}</strong></p>\n'
    return Template(PAGE).substitute(title=escape(title), body=describe_grading(record) + parts)


def table(names: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """An HTML table with these columns, of cells that are HTML."""
    head = "".join(f'<th scope="col">{escape(name)}</th>' for name in names)
    body = "".join(f"<tr>{''.join(f'<td>{cell}</td>' for cell in row)}</tr>\n" for row in rows)
    return f"<table>\n<thead><tr>{head}</tr></thead>\n<tbody>\n{body}</tbody>\n</table>"


def describe_grading(record: Graded) -> str:
    """The HTML of the file, the isolation and the seed."""
    files = record.file if "; " in record.file else Path(record.file).name
    lines = [f"<p>File: {escape(files)}. Graded in a sandbox ({record.isolation}), with seed {record.seed}.</p>\n" if record.file else ""]
    return "".join(lines + [f'<p class="feedback">{escape(note)}</p>\n' for note in record.notes if not record.reason.endswith(note)])


def exercise_section(report: Report, code: str) -> str:
    """The HTML of one exercise: its checks as a table, what was observed, and the learner's code."""
    outcomes = {True: '<span class="right">passed</span>', False: '<span class="wrong">failed</span>', None: "not run"}
    rows = [(escape(check.name), outcomes[check.passed], f"{check.earned} of {check.possible}") for check in report.checks]
    checks = table(("Check", "Outcome", "Points"), rows) + "\n" if rows else ""
    feedback = f'<p class="feedback">{escape(report.message)}</p>\n' if report.message else ""
    feedback += f"<pre>{escape(report.shown)}</pre>\n" if report.shown else ""
    answer = (f'<h3>Your code</h3>\n<pre tabindex="0" role="region" aria-label="Your code for {escape(report.exercise)}">'
              f"<code>{escape(code)}</code></pre>\n") if code else ""
    title = EXERCISES[report.exercise].title if report.exercise in EXERCISES else report.exercise        # of an earlier version
    kind = "right" if report.state == "right" else "wrong"
    return (f"<section>\n<h2>{escape(title)}</h2>\n<p><code>{escape(report.exercise)}</code>: "
            f'<strong class="{kind}">{escape(STATES[report.state])}</strong>, {report.earned} of {report.possible} points</p>\n'
            f"{feedback}{checks}{answer}</section>\n")
