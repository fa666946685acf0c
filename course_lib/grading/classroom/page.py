"""A page for each student: every exercise, its feedback, and the learner's own code, all of it as text.

The page holds no script and asks for nothing: its policy forbids both, whatever the text in it says.
"""
from __future__ import annotations

from html import escape
from pathlib import Path

from course_lib.grading.bank import EXERCISES
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


def page(record: Graded) -> str:
    """The whole page of one student, as HTML."""
    title = f"{escape(record.student)}: {record.earned} of {record.possible} points"
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<style>{STYLE}</style>
</head>
<body>
<main>
<h1>{title}</h1>
{about(record)}{"".join(exercise_part(report, record.code.get(report.exercise, "")) for report in record.reports)}</main>
</body>
</html>
"""


def about(record: Graded) -> str:
    """The HTML of what was judged, and how."""
    level = {"bubblewrap": "in a sandbox (bubblewrap)", "limits": "without isolation, under limits only",
             "none": "without isolation"}
    how = ", ".join(level.get(one, one) for one in record.isolation.split("; "))
    files = record.file if "; " in record.file else Path(record.file).name
    lines = [f"<p>File: {escape(files)}. Judged {how}, with seed {record.seed}.</p>\n" if record.file else ""]
    return "".join(lines + [f'<p class="feedback">{escape(note)}</p>\n' for note in record.notes])


def exercise_part(report: Report, code: str) -> str:
    """The HTML of one exercise: its checks as a table, what was seen, and the learner's code."""
    title = EXERCISES[report.exercise].title if report.exercise in EXERCISES else report.exercise
    rows = "".join(f"<tr><td>{escape(check.name)}</td><td>{outcome(check.passed)}</td>"
                   f"<td>{check.earned} of {check.possible}</td></tr>\n" for check in report.checks)
    table = ("<table>\n<thead><tr><th scope=\"col\">Check</th><th scope=\"col\">Outcome</th><th scope=\"col\">Points</th>"
             f"</tr></thead>\n<tbody>\n{rows}</tbody>\n</table>\n") if rows else ""
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
