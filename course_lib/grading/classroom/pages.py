"""HTML pages: one for each student, and one on the class for its teacher. No page holds a script or loads anything: its policy forbids
both. The same marks give the same bytes. All text is escaped."""
from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from pathlib import Path
from string import Template
from urllib.parse import quote

from course_lib.exercises import EXERCISES
from course_lib.grading.classroom.grading import Graded
from course_lib.grading.sandbox.sandbox import ISOLATED
from course_lib.grading.verdict import STATES, Report

PAGE = Path(__file__).with_name("page.html").read_text("utf-8")


# A student

def student_page(record: Graded) -> str:
    """The whole page of one student, as HTML."""
    title = f"{record.student}: {record.earned} of {record.possible} points"
    parts = "".join(exercise_section(report, record.code.get(report.exercise, "")) for report in record.reports)
    if record.reason:
        parts = f'<p class="feedback"><strong class="wrong">{escape(record.reason)}</strong></p>\n'
    return html_document(title, describe_grading(record) + parts)


def html_document(title: str, body: str) -> str:
    """A whole HTML page: the title, which is text, as its head, and the body, which is HTML."""
    return Template(PAGE).substitute(title=escape(title), body=body)


def table(names: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """An HTML table with these columns, of cells that are HTML."""
    head = "".join(f'<th scope="col">{escape(name)}</th>' for name in names)
    body = "".join(f"<tr>{''.join(f'<td>{cell}</td>' for cell in row)}</tr>\n" for row in rows)
    return f"<table>\n<thead><tr>{head}</tr></thead>\n<tbody>\n{body}</tbody>\n</table>"


def describe_grading(record: Graded) -> str:
    """The HTML of the file, the isolation and the seed."""
    level = {**{name: f"in a sandbox ({name})" for name in ISOLATED}, "limits": "without isolation, under limits only"}
    how = ", ".join(level.get(name, name) for name in record.isolation.split("; "))
    files = record.file if "; " in record.file else Path(record.file).name
    lines = [f"<p>File: {escape(files)}. Graded {how}, with seed {record.seed}.</p>\n" if record.file else ""]
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
    kind = "right" if report.state == "right" else "wrong"
    return (f"<section>\n<h2>{escape(title_of(report.exercise))}</h2>\n<p><code>{escape(report.exercise)}</code>: "
            f'<strong class="{kind}">{escape(STATES[report.state])}</strong>, {report.earned} of {report.possible} points</p>\n'
            f"{feedback}{checks}{answer}</section>\n")


def title_of(exercise: str) -> str:
    """The title of an exercise; its id if there is no such exercise any more."""
    return EXERCISES[exercise].title if exercise in EXERCISES else exercise


# The class

def class_page(records: Sequence[Graded], pages: Mapping[str, str] | None = None) -> str:
    """The page as HTML; `pages` has the address of each student's own page, as seen from this one."""
    by_exercise: dict[str, list[tuple[str, Report]]] = {}
    for record in records:
        for report in record.reports:
            by_exercise.setdefault(report.exercise, []).append((record.student, report))
    mean = sum(record.score for record in records) / len(records) if records else 0
    head = (f"<p>Students: {len(records)}, exercises: {len(by_exercise)}, mean score: {mean:.0%}. This page names everybody: it is for the "
            "teacher, not for the class.</p>\n")
    return html_document("The class", head + "".join(class_section(name, reports) for name, reports in by_exercise.items())
                         + student_index(records, pages or {}))


def class_section(exercise: str, reports: Sequence[tuple[str, Report]]) -> str:
    """One exercise: its mean, the states with their counts, then the named mistakes, the most frequent first, with their students."""
    states = Counter(report.state for _, report in reports)
    rows = [(escape(text), f"{states[state]} of {len(reports)}") for state, text in STATES.items() if state in states]
    people: dict[str, list[str]] = {}
    for student, report in reports:
        if report.misconception:
            people.setdefault(report.misconception, []).append(student)
    sentences = EXERCISES[exercise].misconceptions if exercise in EXERCISES else {}
    mistakes = "".join(f"<li><strong>{len(people[name])} of {len(reports)}</strong>: {escape(sentences.get(name, name))} "
                       f"(<code>{escape(name)}</code>): {escape(', '.join(people[name]))}</li>\n"
                       for name in sorted(people, key=lambda name: (-len(people[name]), name)))
    mean = sum(report.score for _, report in reports) / len(reports)
    return (f"<section>\n<h2>{escape(title_of(exercise))}</h2>\n<p><code>{escape(exercise)}</code>: mean {mean:.0%} of the points</p>\n"
            f"{table(('State', 'Students'), rows)}\n<ul>\n{mistakes}</ul>\n</section>\n")


def student_index(records: Sequence[Graded], pages: Mapping[str, str]) -> str:
    """A row for each student: the points, and the exercises that are not right."""
    rows = [(f'<a href="{escape(quote(pages[record.student]))}">{escape(record.student)}</a>' if record.student in pages else
             escape(record.student), f"{record.earned} of {record.possible}",
             "; ".join(f"{escape(report.exercise)} ({escape(STATES[report.state])})" for report in record.reports if report.state != "right"))
            for record in records]
    return f"<section>\n<h2>All students</h2>\n{table(('Student', 'Points', 'Not right'), rows)}\n</section>\n"
