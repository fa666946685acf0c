"""A page for each student: every exercise, its feedback, and the learner's own code, all of it as text.

The page holds no script and asks for nothing: its policy forbids both, whatever the text in it says.
"""
from __future__ import annotations

from html import escape
from pathlib import Path

from course_lib.exercises import EXERCISES
from course_lib.grading.classroom.marks import Mark, decimal
from course_lib.grading.classroom.submission import Graded
from course_lib.grading.judge.report import STATES, Report

STYLE = """
:root { color-scheme: light dark; --text: #1a1a1a; --page: #fff; --soft: #f3f3f0; --line: #c9c9c4; --good: #135c2c;
  --bad: #8c1a10; }
@media (prefers-color-scheme: dark) {
  :root { --text: #e8e8e6; --page: #18191a; --soft: #242527; --line: #4a4b4d; --good: #86d9a0; --bad: #ff9d8f; } }
body { margin: 0 auto; max-width: 50rem; padding: 1.5rem; font: 1rem/1.5 system-ui, sans-serif; color: var(--text);
  background: var(--page); overflow-wrap: anywhere; }
section { border-top: 1px solid var(--line); margin-top: 2rem; }
h1, h2 { line-height: 1.25; }
.right { color: var(--good); } .wrong { color: var(--bad); }
table { border-collapse: collapse; } td, th { padding: .2rem 1rem .2rem 0; text-align: left; vertical-align: top; }
pre { background: var(--soft); border: 1px solid var(--line); padding: .8rem; overflow-x: auto; font-size: .875rem; }
.feedback { white-space: pre-wrap; }
"""


def page(record: Graded, mark: Mark | None = None) -> str:
    """The whole page of one student, as HTML; with the mark, if there is one, and why it is so."""
    title = f"{record.student}: {record.earned} of {record.possible} points"
    parts = "".join(exercise_part(report, record.code.get(report.exercise, "")) for report in record.reports)
    return document(title, about(record) + (about_mark(mark) if mark else "") + parts)


def document(title: str, body: str, style: str = "") -> str:
    """A whole HTML page: the title, which is text, as its head, and the body, which is HTML."""
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{escape(title)}</title>
<style>{STYLE}{style}</style>
</head>
<body>
<main>
<h1>{escape(title)}</h1>
{body}</main>
</body>
</html>
"""


def header(*names: str) -> str:
    """The row of names above a table, and what opens its rows, as HTML."""
    cells = "".join(f'<th scope="col">{escape(name)}</th>' for name in names)
    return f"<thead><tr>{cells}</tr></thead>\n<tbody>\n"


def about(record: Graded) -> str:
    """The HTML of what was judged, and how."""
    level = {"bubblewrap": "in a sandbox (bubblewrap)", "limits": "without isolation, under limits only"}
    how = ", ".join(level.get(one, one) for one in record.isolation.split("; "))
    files = record.file if "; " in record.file else Path(record.file).name
    lines = [f"<p>File: {escape(files)}. Judged {how}, with seed {record.seed}.</p>\n" if record.file else ""]
    return "".join(lines + [f'<p class="feedback">{escape(note)}</p>\n' for note in record.notes])


def about_mark(mark: Mark) -> str:
    """The HTML of a mark: what it is, and the reasons of an instructor's own marks."""
    reasons = "".join(f"<li>{escape(one)}</li>\n" for one in mark.why)
    return f"<p>Mark: <strong>{decimal(mark.total):g}</strong></p>\n" + (f"<ul>\n{reasons}</ul>\n" if reasons else "")


def exercise_part(report: Report, code: str) -> str:
    """The HTML of one exercise: its checks as a table, what was seen, and the learner's code."""
    title = EXERCISES[report.exercise].title if report.exercise in EXERCISES else report.exercise
    rows = "".join(f"<tr><td>{escape(check.name)}</td><td>{outcome(check.passed)}</td>"
                   f"<td>{check.earned} of {check.possible}</td></tr>\n" for check in report.checks)
    table = f"<table>\n{header('Check', 'Outcome', 'Points')}{rows}</tbody>\n</table>\n" if rows else ""
    feedback = f'<p class="feedback">{escape(report.message)}</p>\n' if report.message else ""
    feedback += f"<pre>{escape(report.shown)}</pre>\n" if report.shown else ""
    answer = (f'<h3>Your code</h3>\n<pre tabindex="0" role="region" aria-label="Your code for {escape(report.exercise)}">'
              f"<code>{escape(code)}</code></pre>\n") if code else ""
    kind = "right" if report.state == "right" else "wrong"
    return (f"<section>\n<h2>{escape(title)}</h2>\n<p><code>{escape(report.exercise)}</code>: "
            f'<strong class="{kind}">{escape(STATES[report.state])}</strong>, {report.earned} of {report.possible} '
            f"points</p>\n{feedback}{table}{answer}</section>\n")


def outcome(passed: bool | None) -> str:
    """A check's outcome as HTML; None was not run."""
    return {True: '<span class="right">passed</span>', False: '<span class="wrong">failed</span>',
            None: "not run"}[passed]
