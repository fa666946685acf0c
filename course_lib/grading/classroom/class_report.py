"""What a class shows, for who teaches it: each exercise with its states and its named mistakes, and who is stuck.

The page names every student, so it is not for the class. The same marks give the same bytes; it holds no script, asks
for nothing, and reads in a light and in a dark theme.
"""
from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from urllib.parse import quote

from course_lib.exercises import EXERCISES
from course_lib.grading.classroom.once import UNTOLD
from course_lib.grading.classroom.page import document, header
from course_lib.grading.classroom.submission import Graded
from course_lib.grading.classroom.tables import written
from course_lib.grading.judge.report import STATES, Report

STOPPED = ("error", "timeout", "memory")                  # states in which an answer gives nothing to compare
KINDS = {"full": "with full points", "some": "with some points", "none": "tried without points",
         "untold": "with nothing to judge"}
HEIGHT = 14                                               # of a bar, in pixels; its width is 100 units
STYLE = """
body { max-width: 62rem; }
svg { display: block; width: 100%; min-width: 14rem; height: 14px; border: 1px solid var(--line); }
.full { fill: #2c7a4b; } .some { fill: #8fc3a2; } .none { fill: #c4613f; } .untold { fill: var(--soft); }
@media (prefers-color-scheme: dark) { .full { fill: #58b27d; } .some { fill: #2f6546; } .none { fill: #d98363; } }
.number { text-align: right; } .people { color: inherit; opacity: .85; } a { color: inherit; }
.wide { overflow-x: auto; }
"""


@dataclass
class Standing:
    """One exercise in the class: how many are in each state, who made which named mistake, who is stuck."""

    exercise: str
    earned: int = 0
    possible: int = 0
    kinds: Counter = field(default_factory=Counter)
    states: dict[str, list[str]] = field(default_factory=dict)       # state -> students
    mistakes: dict[str, list[str]] = field(default_factory=dict)     # misconception -> students
    stuck: list[tuple[str, str]] = field(default_factory=list)       # student, state

    @property
    def count(self) -> int:
        """The students of whom it was asked."""
        return sum(self.kinds.values())

    @property
    def mean(self) -> float:
        """Points earned by the class over those that it could earn."""
        return self.earned / self.possible if self.possible else 0.0

    @property
    def named(self) -> list[tuple[str, list[str], str]]:
        """The mistakes with their students and sentences, the most frequent first, of equal ones by their name."""
        told = EXERCISES[self.exercise].misconceptions if self.exercise in EXERCISES else {}
        return [(name, people, told.get(name, name))
                for name, people in sorted(self.mistakes.items(), key=lambda one: (-len(one[1]), one[0]))]

    def add(self, student: str, report: Report) -> None:
        """Count one student's report."""
        tried = report.state not in UNTOLD
        self.earned += report.earned
        self.possible += report.possible
        self.states.setdefault(report.state, []).append(student)
        self.kinds["untold" if not tried else "full" if report.earned >= report.possible else "some" if report.earned else "none"] += 1
        if report.misconception:
            self.mistakes.setdefault(report.misconception, []).append(student)
        if tried and (not report.earned or report.state in STOPPED):
            self.stuck.append((student, report.state))


def standings(records: Sequence[Graded]) -> list[Standing]:
    """Each exercise of these records, one for each student, in their order."""
    found: dict[str, Standing] = {}
    for record in records:
        for report in record.reports:
            found.setdefault(report.exercise, Standing(report.exercise)).add(record.student, report)
    return list(found.values())


def class_page(records: Sequence[Graded], pages: Mapping[str, str] | None = None) -> str:
    """The page as HTML; `pages` has the address of each student's own page, as seen from this one."""
    found = standings(records)
    mean = sum(record.score for record in records) / len(records) if records else 0
    students, exercises = (f"{len(what)} {word}{'' if len(what) == 1 else 's'}"
                           for what, word in ((records, "student"), (found, "exercise")))
    head = (f"<p>{students}, {exercises}, mean score {mean:.0%}. "
            "This page names everybody: it is for who teaches the class, not for the class.</p>\n")
    return document("The class", head + summary(found) + "".join(map(part, found)) + stuck_students(found, pages or {})
                    + index(records, found, pages or {}), STYLE)


def table(names: Sequence[str], rows: Iterable[str]) -> str:
    """An HTML table with these columns, of rows that are HTML."""
    return f"<table>\n{header(*names)}{''.join(rows)}</tbody>\n</table>"


def summary(found: Sequence[Standing]) -> str:
    """The table of all exercises, each with its bar."""
    if not found:
        return "<p>No exercise was asked for, and none was found.</p>\n"
    rows = (f'<tr><td><a href="#{escape(one.exercise)}">{escape(one.exercise)}</a></td><td>{bar(one)}</td>'
            f'<td class="number">{one.kinds["full"]} of {one.count}</td><td class="number">{one.mean:.0%}</td></tr>\n'
            for one in found)
    return (f"<section>\n<h2>All exercises</h2>\n<p>Each bar, from left to right: {', '.join(KINDS.values())}.</p>\n"
            f'<div class="wide">{table(("Exercise", "The class", "Full points", "Mean"), rows)}</div>\n</section>\n')


def bar(one: Standing) -> str:
    """The four kinds of outcome as parts of one bar, said in words too."""
    words = ", ".join(f"{one.kinds[name]} {text}" for name, text in KINDS.items())
    parts, left = [], 0
    for name in KINDS:
        parts.append(f'<rect class="{name}" x="{100 * left / one.count:.2f}" y="0" '
                     f'width="{100 * one.kinds[name] / one.count:.2f}" height="{HEIGHT}"/>')
        left += one.kinds[name]
    return (f'<svg role="img" aria-label="{escape(one.exercise)}: of {one.count}, {words}" viewBox="0 0 100 {HEIGHT}" '
            f'preserveAspectRatio="none">{"".join(parts)}</svg>')


def part(one: Standing) -> str:
    """One exercise: the states with their counts, then the mistakes by name with theirs."""
    title = EXERCISES[one.exercise].title if one.exercise in EXERCISES else one.exercise
    states = (f'<tr><td>{escape(text)}</td><td class="number">{len(one.states[name])} of {one.count}</td></tr>\n'
              for name, text in STATES.items() if name in one.states)
    mistakes = "".join(
        f'<li><strong>{len(people)} of {one.count}</strong>: {escape(text)} (<code>{escape(name)}</code>)<br>'
        f'<span class="people">{escape(", ".join(people))}</span></li>\n' for name, people, text in one.named)
    named = f"<h3>Mistakes by name</h3>\n<ul>\n{mistakes}</ul>\n" if mistakes else ""
    return (f'<section id="{escape(one.exercise)}">\n<h2>{escape(title)}</h2>\n'
            f"<p><code>{escape(one.exercise)}</code>: mean {one.mean:.0%} of the points</p>\n"
            f"{table(('State', 'Students'), states)}\n{named}</section>\n")


def stuck_students(found: Sequence[Standing], pages: Mapping[str, str]) -> str:
    """Who tried something in vain, with what; the longest list first."""
    by_student: dict[str, list[str]] = {}
    for one in found:
        for student, state in one.stuck:
            by_student.setdefault(student, []).append(f"{one.exercise} ({STATES[state]})")
    if not by_student:
        return "<section>\n<h2>Who is stuck</h2>\n<p>Nobody: who tried an exercise has points for it.</p>\n</section>\n"
    rows = (f"<tr><td>{linked(student, pages)}</td><td>{escape(', '.join(what))}</td></tr>\n"
            for student, what in sorted(by_student.items(), key=lambda one: (-len(one[1]), one[0])))
    return ("<section>\n<h2>Who is stuck</h2>\n<p>Who tried, and has no points or an answer that stopped.</p>\n"
            f"{table(('Student', 'Exercises'), rows)}\n</section>\n")


def index(records: Sequence[Graded], found: Sequence[Standing], pages: Mapping[str, str]) -> str:
    """A row for each student, with the points of each exercise and the way to the student's own page."""
    rows = []
    for record in records:
        points = {report.exercise: f"{report.earned} of {report.possible}" for report in record.reports}
        cells = [f"{record.earned} of {record.possible}", *(points.get(one.exercise, "") for one in found)]
        rows.append(f"<tr><td>{linked(record.student, pages)}</td>"
                    + "".join(f'<td class="number">{cell}</td>' for cell in cells) + "</tr>\n")
    return ('<section>\n<h2>All students</h2>\n<div class="wide" tabindex="0" role="region" '
            f'aria-label="The points of all students">\n{table(("Student", "Points", *(one.exercise for one in found)), rows)}'
            "\n</div>\n</section>\n")


def linked(student: str, pages: Mapping[str, str]) -> str:
    """The name, with the way to the student's page if there is one."""
    return f'<a href="{escape(quote(pages[student]))}">{escape(student)}</a>' if student in pages else escape(student)


def class_table(records: Sequence[Graded]) -> str:
    """CSV: a row for each state and each named mistake of each exercise, with its count and its students."""
    rows = [["exercise", "kind", "name", "count", "of", "text", "students"]]
    for one in standings(records):
        found = [("state", name, text, one.states[name]) for name, text in STATES.items() if name in one.states]
        found += [("mistake", name, text, people) for name, people, text in one.named]
        if one.stuck:
            found.append(("stuck", "", "tried, and has no points or an answer that stopped", [student for student, _ in one.stuck]))
        rows += [[one.exercise, kind, name, len(people), one.count, text, "; ".join(people)] for kind, name, text, people in found]
    return written(rows)
