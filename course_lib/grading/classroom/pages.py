"""HTML pages: one for each student, and one on the class for its teacher, with states, named mistakes and students who are stuck. No
page holds a script or loads anything: its policy forbids both. The same marks give the same bytes. All text is escaped."""
from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from html import escape
from itertools import accumulate
from pathlib import Path
from statistics import StatisticsError, correlation
from string import Template
from urllib.parse import quote

from course_lib.exercises import EXERCISES
from course_lib.grading.classroom.best_attempt import UNGRADED
from course_lib.grading.classroom.grading import Graded
from course_lib.grading.classroom.marks import Mark, to_decimal
from course_lib.grading.classroom.tables import to_csv
from course_lib.grading.sandbox.sandbox import ISOLATED
from course_lib.grading.verdict import STATES, Report

STOPPED = ("error", "timeout", "memory")                  # states in which an answer gives nothing to compare
KINDS = {"full": "with full points", "some": "with some points", "none": "tried without points", "ungraded": "with nothing to grade"}
HEIGHT = 14                                               # of a bar, in pixels; its width is 100 units
PAGE, CLASS_STYLE = (Path(__file__).with_name(name).read_text("utf-8") for name in ("page.html", "class.css"))


# A student

def student_page(record: Graded, mark: Mark | None = None) -> str:
    """The whole page of one student, as HTML; with the mark, if there is one, and why it is so."""
    title = f"{record.student}: {record.earned} of {record.possible} points"
    parts = "".join(exercise_section(report, record.code.get(report.exercise, "")) for report in record.reports)
    if record.reason:
        parts = f'<p class="feedback"><strong class="wrong">{escape(record.reason)}</strong></p>\n'
    if mark:
        reasons = "".join(f"<li>{escape(reason)}</li>\n" for reason in mark.why)
        parts = f"<p>Mark: <strong>{to_decimal(mark.total):g}</strong></p>\n" + (f"<ul>\n{reasons}</ul>\n" if reasons else "") + parts
    return html_document(title, describe_grading(record) + parts)


def html_document(title: str, body: str, style: str = "") -> str:
    """A whole HTML page: the title, which is text, as its head, and the body, which is HTML."""
    return Template(PAGE).substitute(title=escape(title), style=style, body=body)


def table(names: Sequence[str], rows: Iterable[Sequence[str]], numbers: int = 0) -> str:
    """An HTML table with these columns, the last `numbers` of them aligned right, of cells that are HTML."""
    head = "".join(f'<th scope="col">{escape(name)}</th>' for name in names)
    opened = ["<td>"] * (len(names) - numbers) + ['<td class="number">'] * numbers
    body = "".join(f"<tr>{''.join(f'{tag}{cell}</td>' for tag, cell in zip(opened, row, strict=True))}</tr>\n" for row in rows)
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

class Summary:
    """One exercise in the class: students by state and by named mistake, and those who are stuck."""

    def __init__(self, exercise: str):
        self.exercise, self.earned, self.possible, self.discrimination = exercise, 0, 0, None
        self.kinds: Counter = Counter()
        self.states: dict[str, list[str]] = {}           # state -> students
        self.mistakes: dict[str, list[str]] = {}         # misconception -> students
        self.stuck: list[tuple[str, str]] = []           # student, state

    @property
    def count(self) -> int:
        """The number of students who were asked for it."""
        return sum(self.kinds.values())

    @property
    def mean(self) -> float:
        """Points earned by the class over those that it could earn."""
        return self.earned / self.possible if self.possible else 0.0

    @property
    def discrimination_text(self) -> str:
        return "-" if self.discrimination is None else f"{self.discrimination:.2f}"

    @property
    def named(self) -> list[tuple[str, list[str], str]]:
        """The mistakes with their students and sentences, the most frequent first, of equal ones by their name."""
        sentences = EXERCISES[self.exercise].misconceptions if self.exercise in EXERCISES else {}
        return [(name, people, sentences.get(name, name))
                for name, people in sorted(self.mistakes.items(), key=lambda item: (-len(item[1]), item[0]))]

    def add(self, student: str, report: Report) -> None:
        """Count one student's report."""
        tried = report.state not in UNGRADED
        self.earned += report.earned
        self.possible += report.possible
        self.states.setdefault(report.state, []).append(student)
        self.kinds["ungraded" if not tried else "full" if report.earned >= report.possible else "some" if report.earned else "none"] += 1
        if report.misconception:
            self.mistakes.setdefault(report.misconception, []).append(student)
        if tried and (not report.earned or report.state in STOPPED):
            self.stuck.append((student, report.state))


def summarize(records: Sequence[Graded]) -> list[Summary]:
    """A summary of each exercise in these records, one for each student, in their order."""
    summaries: dict[str, Summary] = {}
    for record in records:
        for report in record.reports:
            summaries.setdefault(report.exercise, Summary(report.exercise)).add(record.student, report)
    for name, summary in summaries.items():
        pairs = [(report.earned, record.earned - report.earned) for record in records for report in record.reports
                 if report.exercise == name and report.state != "not_submitted"]
        with suppress(StatisticsError):                  # fewer than two students, or all with the same points
            summary.discrimination = correlation(*zip(*pairs, strict=True)) if pairs else None
    return list(summaries.values())


def class_page(records: Sequence[Graded], pages: Mapping[str, str] | None = None) -> str:
    """The page as HTML; `pages` has the address of each student's own page, as seen from this one."""
    summaries = summarize(records)
    mean = sum(record.score for record in records) / len(records) if records else 0
    students, exercises = (f"{len(what)} {word}{'' if len(what) == 1 else 's'}" for what, word in ((records, "student"), (summaries, "exercise")))
    head = f"<p>{students}, {exercises}, mean score {mean:.0%}. This page names everybody: it is for the teacher, not for the class.</p>\n"
    return html_document("The class", head + exercise_table(summaries) + "".join(map(summary_section, summaries))
                         + stuck_section(summaries, pages or {}) + student_index(records, summaries, pages or {}), "\n" + CLASS_STYLE)


def exercise_table(summaries: Sequence[Summary]) -> str:
    """The table of all exercises, each with its bar."""
    if not summaries:
        return "<p>No exercise was asked for, and none was found.</p>\n"
    rows = [(f'<a href="#{escape(summary.exercise)}">{escape(summary.exercise)}</a>', bar(summary), f"{summary.kinds['full']} of {summary.count}",
             f"{summary.mean:.2f}", summary.discrimination_text) for summary in summaries]
    return (f"<section>\n<h2>All exercises</h2>\n<p>Each bar, from left to right: {', '.join(KINDS.values())}. Difficulty is the share of "
            "the points that the class earned. Discrimination is the correlation of an exercise's points with the points of the other "
            "exercises, over the students who submitted.</p>\n"
            f'<div class="wide">{table(("Exercise", "The class", "Full points", "Difficulty", "Discrimination"), rows, 3)}</div>\n</section>\n')


def bar(summary: Summary) -> str:
    """The four kinds of outcome as parts of one bar, said in words too."""
    words = ", ".join(f"{summary.kinds[name]} {text}" for name, text in KINDS.items())
    before = accumulate((summary.kinds[name] for name in KINDS), initial=0)
    parts = (f'<rect class="{name}" x="{100 * left / summary.count:.2f}" y="0" width="{100 * summary.kinds[name] / summary.count:.2f}" '
             f'height="{HEIGHT}"/>' for name, left in zip(KINDS, before, strict=False))
    return (f'<svg role="img" aria-label="{escape(summary.exercise)}: of {summary.count}, {words}" viewBox="0 0 100 {HEIGHT}" '
            f'preserveAspectRatio="none">{"".join(parts)}</svg>')


def summary_section(summary: Summary) -> str:
    """One exercise: the states with their counts, then the mistakes by name with theirs."""
    states = [(escape(text), f"{len(summary.states[name])} of {summary.count}") for name, text in STATES.items() if name in summary.states]
    mistakes = "".join(
        f'<li><strong>{len(people)} of {summary.count}</strong>: {escape(text)} (<code>{escape(name)}</code>)<br>'
        f'<span class="people">{escape(", ".join(people))}</span></li>\n' for name, people, text in summary.named)
    named = f"<h3>Mistakes by name</h3>\n<ul>\n{mistakes}</ul>\n" if mistakes else ""
    return (f'<section id="{escape(summary.exercise)}">\n<h2>{escape(title_of(summary.exercise))}</h2>\n'
            f"<p><code>{escape(summary.exercise)}</code>: mean {summary.mean:.0%} of the points</p>\n"
            f"{table(('State', 'Students'), states, 1)}\n{named}</section>\n")


def stuck_section(summaries: Sequence[Summary], pages: Mapping[str, str]) -> str:
    """The students who tried an exercise without success; the longest list first."""
    by_student: dict[str, list[str]] = {}
    for summary in summaries:
        for student, state in summary.stuck:
            by_student.setdefault(student, []).append(f"{summary.exercise} ({STATES[state]})")
    if not by_student:
        return "<section>\n<h2>Who is stuck</h2>\n<p>Nobody: who tried an exercise has points for it.</p>\n</section>\n"
    rows = [(link(student, pages), escape(", ".join(what))) for student, what in sorted(by_student.items(), key=lambda item: (-len(item[1]), item[0]))]
    return ("<section>\n<h2>Who is stuck</h2>\n<p>Who tried, and has no points or an answer that stopped.</p>\n"
            f"{table(('Student', 'Exercises'), rows)}\n</section>\n")


def student_index(records: Sequence[Graded], summaries: Sequence[Summary], pages: Mapping[str, str]) -> str:
    """A row for each student, with the points of each exercise and a link to the student's own page."""
    names, rows = ["Student", "Points", *(summary.exercise for summary in summaries)], []
    for record in records:
        points = {report.exercise: f"{report.earned} of {report.possible}" for report in record.reports}
        rows.append([link(record.student, pages), f"{record.earned} of {record.possible}", *(points.get(name, "") for name in names[2:])])
    return ('<section>\n<h2>All students</h2>\n<div class="wide" tabindex="0" role="region" aria-label="The points of all students">\n'
            f"{table(names, rows, len(names) - 1)}\n</div>\n</section>\n")


def link(student: str, pages: Mapping[str, str]) -> str:
    """The name, with a link to the student's page if there is one."""
    return f'<a href="{escape(quote(pages[student]))}">{escape(student)}</a>' if student in pages else escape(student)


def class_table(records: Sequence[Graded]) -> str:
    """CSV: a row for each state and each named mistake of each exercise, with its count and its students."""
    rows = [["exercise", "kind", "name", "count", "of", "text", "students"]]
    for summary in summarize(records):
        groups = [("state", name, text, summary.states[name]) for name, text in STATES.items() if name in summary.states]
        groups += [("mistake", name, text, people) for name, people, text in summary.named]
        rows += [[summary.exercise, "statistic", name, value, "", "", ""]
                 for name, value in (("difficulty", f"{summary.mean:.2f}"), ("discrimination", summary.discrimination_text))]
        if summary.stuck:
            groups.append(("stuck", "", "tried, and has no points or an answer that stopped", [student for student, _ in summary.stuck]))
        rows += [[summary.exercise, kind, name, len(people), summary.count, text, "; ".join(people)] for kind, name, text, people in groups]
    return to_csv(rows)
