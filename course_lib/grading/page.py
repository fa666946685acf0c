"""A page for each student: every exercise, its feedback, and the learner's own code, all of it as text.

The page holds no script and asks for nothing: its policy forbids both, whatever the text in it says.
"""
from __future__ import annotations

from collections.abc import Sequence
from html import escape
from pathlib import Path

from course_lib.grading.bank import EXERCISES
from course_lib.grading.report import STATES, Report
from course_lib.grading.submission import Graded

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


def page(student: str, records: Sequence[Graded]) -> str:
    """The whole page, as HTML."""
    earned, possible = sum(record.earned for record in records), sum(record.possible for record in records)
    parts = [file_part(record) for record in records]
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{escape(student)}: {earned} of {possible} points</title>
<style>{STYLE}</style>
</head>
<body>
<main>
<h1>{escape(student)}: {earned} of {possible} points</h1>
{"".join(parts)}</main>
</body>
</html>
"""


def file_part(record: Graded) -> str:
    level = {"bubblewrap": "in a sandbox (bubblewrap)", "limits": "without isolation, under limits only",
             "none": "without isolation"}.get(record.isolation, "")
    about = [f"<p>File: {escape(Path(record.file).name)}. Judged {level}, with seed {record.seed}.</p>\n" if record.file else ""]
    about += [f'<p class="feedback">{escape(note)}</p>\n' for note in record.notes]
    return "".join(about + [exercise_part(report, record.code.get(report.exercise, "")) for report in record.reports])


def exercise_part(report: Report, code: str) -> str:
    title = EXERCISES[report.exercise].title if report.exercise in EXERCISES else report.exercise
    rows = "".join(f"<tr><td>{escape(check.name)}</td><td>{outcome(check.passed)}</td>"
                   f"<td>{check.earned} of {check.possible}</td></tr>\n" for check in report.checks)
    table = ("<table>\n<thead><tr><th scope=\"col\">Check</th><th scope=\"col\">Outcome</th><th scope=\"col\">Points</th>"
             f"</tr></thead>\n<tbody>\n{rows}</tbody>\n</table>\n") if rows else ""
    feedback = f'<p class="feedback">{escape(report.message)}</p>\n' if report.message else ""
    answer = (f'<h3>Your code</h3>\n<pre tabindex="0" role="region" aria-label="Your code for {escape(report.exercise)}">'
              f"<code>{escape(code)}</code></pre>\n") if code else ""
    kind = "right" if report.state == "right" else "wrong"
    return (f"<section>\n<h2>{escape(title)}</h2>\n<p><code>{escape(report.exercise)}</code>: "
            f'<strong class="{kind}">{escape(STATES[report.state])}</strong>, {report.earned} of {report.possible} '
            f"points</p>\n{feedback}{table}{answer}</section>\n")


def outcome(passed: bool | None) -> str:
    return {True: '<span class="right">passed</span>', False: '<span class="wrong">failed</span>',
            None: "not run"}[passed]
