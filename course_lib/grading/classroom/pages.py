"""An HTML page for each student, and one on the class. They hold no script and load nothing; all text is escaped."""
from collections import Counter
from collections.abc import Iterable, Sequence
from html import escape
from pathlib import Path
from statistics import StatisticsError, correlation, mean
from string import Template

from course_lib.exercises import EXERCISES
from course_lib.grading.classroom.grading import Graded
from course_lib.grading.classroom.marks import UNGRADED
from course_lib.grading.sandbox.sandbox import LIMITS
from course_lib.grading.verdict import STATES, Report

PAGE = Path(__file__).with_name("page.html").read_text("utf-8")


def student_page(record: Graded) -> str:
    """The whole page of one student, as HTML."""
    title = f"{record.student}: {record.earned} of {record.possible} points"
    parts = "".join(exercise_section(report, record.code.get(report.exercise, "")) for report in record.reports)
    if record.reason:
        parts = f'<p class="feedback"><strong class="wrong">{escape(record.reason)}</strong></p>\n'
    if record.mark:
        parts = f"<p>Mark: <strong>{record.total:g} of {record.most:g}</strong></p>\n" + "".join(
            f'<p class="feedback">{escape(reason)}</p>\n' for reason in record.why) + parts
    files = record.file if "; " in record.file else Path(record.file).name
    how = "without isolation" if LIMITS in record.isolation else f"in a sandbox ({record.isolation})"
    graded = [f"<p>File: {escape(files)}. Graded {how}, with seed {record.seed}.</p>\n"] if record.file else []
    notes = [f'<p class="feedback">{escape(note)}</p>\n' for note in record.notes if not record.reason.endswith(note)]
    return html_document(title, "".join([*graded, *notes, parts]))


def html_document(title: str, body: str) -> str:
    """A whole HTML page: the title, which is text, as its head, and the body, which is HTML."""
    return Template(PAGE).substitute(title=escape(title), body=body)


def table(names: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """An HTML table with these columns, of cells that are HTML."""
    head = "".join(f'<th scope="col">{escape(name)}</th>' for name in names)
    body = "".join(f"<tr>{''.join(f'<td>{cell}</td>' for cell in row)}</tr>\n" for row in rows)
    return f"<table>\n<thead><tr>{head}</tr></thead>\n<tbody>\n{body}</tbody>\n</table>"


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


CLASS = ("exercise", "students", "full points", "difficulty", "discrimination", "states", "mistakes", "without points")


def class_rows(records: Sequence[Graded]) -> list[tuple]:
    """A row of CLASS for each exercise: the class page says what they mean; the last are students who tried without success."""
    def counted(names: Iterable[str]) -> str:
        return "; ".join(f"{name}: {count}" for name, count in sorted(Counter(names).items(), key=lambda item: (-item[1], item[0])))

    rows = []
    for name in dict.fromkeys(report.exercise for record in records for report in record.reports):
        own = [(record, report) for record in records for report in record.reports if report.exercise == name]
        pairs = [(report.earned, record.earned - report.earned) for record, report in own if report.state != "not_submitted"]
        try:
            discrimination = f"{correlation(*zip(*pairs, strict=True)):.2f}"
        except (StatisticsError, TypeError):             # fewer than two students, or all with the same points
            discrimination = "-"
        earned, possible = (sum(getattr(report, what) for _, report in own) for what in ("earned", "possible"))
        rows.append((name, len(own), sum(report.earned >= report.possible for _, report in own), f"{earned / possible if possible else 0:.2f}",
                     discrimination, counted(STATES[report.state] for _, report in own),
                     counted(report.misconception for _, report in own if report.misconception),
                     "; ".join(record.student for record, report in own if not report.earned and report.state not in UNGRADED)))
    return rows


def class_page(records: Sequence[Graded]) -> str:
    """The table on the class as HTML."""
    rows = [[escape(str(cell)) for cell in row] for row in class_rows(records)]
    average = mean(record.score for record in records) if records else 0
    return html_document("The class", f"<p>{len(records)} students, mean score {average:.0%}. Difficulty is the share of the points that the class "
                         "earned; discrimination is the correlation of an exercise's points with those of the other exercises, over the students "
                         f"who submitted. This page names students: it is for the teacher.</p>\n{table(CLASS, rows)}\n")
