"""What a class shows, for who teaches it: each exercise with its states and its named mistakes, and who is stuck.

The page names every student, so it is not for the class. The same marks give the same bytes; it holds no script, asks
for nothing, and reads in a light and in a dark theme.
"""
from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from urllib.parse import quote

from course_lib.grading.bank import EXERCISES
from course_lib.grading.classroom.once import UNTOLD
from course_lib.grading.classroom.page import document, header
from course_lib.grading.classroom.submission import Graded
from course_lib.grading.classroom.tables import exercises_of, harmless
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
    count: int = 0                                        # students of whom it was asked
    earned: int = 0
    possible: int = 0
    kinds: Counter = field(default_factory=Counter)
    states: Counter = field(default_factory=Counter)
    mistakes: dict[str, list[str]] = field(default_factory=dict)
    stuck: list[tuple[str, str]] = field(default_factory=list)       # student, state

    @property
    def title(self) -> str:
        """What its page calls it."""
        return EXERCISES[self.exercise].title if self.exercise in EXERCISES else self.exercise

    @property
    def named(self) -> list[tuple[str, list[str], str]]:
        """The mistakes with who made them and what sets them right, the commonest first, of equal ones by their
        name."""
        told = EXERCISES[self.exercise].misconceptions if self.exercise in EXERCISES else {}
        return [(name, people, told.get(name, name))
                for name, people in sorted(self.mistakes.items(), key=lambda one: (-len(one[1]), one[0]))]


def standings(records: Sequence[Graded]) -> list[Standing]:
    """Each exercise of these records, one for each student, in their order."""
    found = {name: Standing(name) for name in exercises_of(records)}
    for record in records:
        for report in record.reports:
            one = found[report.exercise]
            one.count += 1
            one.earned += report.earned
            one.possible += report.possible
            one.states[report.state] += 1
            one.kinds[kind(report)] += 1
            if report.misconception:
                one.mistakes.setdefault(report.misconception, []).append(record.student)
            if is_stuck(report):
                one.stuck.append((record.student, report.state))
    return list(found.values())


def kind(report: Report) -> str:
    """A key of KINDS."""
    if report.state in UNTOLD:
        return "untold"
    return "full" if report.earned >= report.possible else "some" if report.earned else "none"


def is_stuck(report: Report) -> bool:
    """Whether somebody tried, and has no points or nothing that can be compared."""
    return report.state not in UNTOLD and (not report.earned or report.state in STOPPED)


def class_page(records: Sequence[Graded], pages: Mapping[str, str] | None = None) -> str:
    """The page as HTML; `pages` has the address of each student's own page, as seen from this one."""
    found = standings(records)
    mean = sum(record.score for record in records) / len(records) if records else 0
    head = (f"<p>{counted(len(records), 'student')}, {counted(len(found), 'exercise')}, mean score {mean:.0%}. "
            "This page names everybody: it is for who teaches the class, not for the class.</p>\n")
    return document("The class", head + summary(found) + "".join(map(part, found)) + stuck_students(found, pages or {})
                    + index(records, found, pages or {}), STYLE)


def summary(found: Sequence[Standing]) -> str:
    """The table of all exercises, each with its bar."""
    if not found:
        return "<p>No exercise was asked for, and none was found.</p>\n"
    legend = ", ".join(KINDS.values())
    rows = "".join(
        f'<tr><td><a href="#{escape(one.exercise)}">{escape(one.exercise)}</a></td><td>{bar(one)}</td>'
        f'<td class="number">{one.kinds["full"]} of {one.count}</td><td class="number">{share(one):.0%}</td></tr>\n'
        for one in found)
    return (f"<section>\n<h2>All exercises</h2>\n<p>Each bar, from left to right: {legend}.</p>\n"
            f'<div class="wide"><table>\n{header("Exercise", "The class", "Full points", "Mean")}'
            f"{rows}</tbody>\n</table></div>\n</section>\n")


def bar(one: Standing) -> str:
    """The four kinds of outcome as parts of one bar, said in words too."""
    words = ", ".join(f"{one.kinds[name]} {text}" for name, text in KINDS.items())
    parts, left = [], 0
    for name in KINDS:
        parts.append(f'<rect class="{name}" x="{100 * left / one.count:.2f}" y="0" '
                     f'width="{100 * one.kinds[name] / one.count:.2f}" '
                     f'height="{HEIGHT}"/>')
        left += one.kinds[name]
    return (f'<svg role="img" aria-label="{escape(one.exercise)}: of {one.count}, {words}" viewBox="0 0 100 {HEIGHT}" '
            f'preserveAspectRatio="none">{"".join(parts)}</svg>')


def share(one: Standing) -> float:
    """Points earned by the class over those that it could earn."""
    return one.earned / one.possible if one.possible else 0.0


def stuck_students(found: Sequence[Standing], pages: Mapping[str, str]) -> str:
    """Who tried something in vain, with what; the longest list first."""
    by_student: dict[str, list[str]] = {}
    for one in found:
        for student, state in one.stuck:
            by_student.setdefault(student, []).append(f"{one.exercise} ({STATES[state]})")
    if not by_student:
        return "<section>\n<h2>Who is stuck</h2>\n<p>Nobody: who tried an exercise has points for it.</p>\n</section>\n"
    rows = "".join(f"<tr><td>{linked(student, pages)}</td><td>{escape(', '.join(what))}</td></tr>\n"
                   for student, what in sorted(by_student.items(), key=lambda one: (-len(one[1]), one[0])))
    return ("<section>\n<h2>Who is stuck</h2>\n"
            "<p>Who tried, and has no points or an answer that stopped.</p>\n"
            f"<table>\n{header('Student', 'Exercises')}{rows}</tbody>\n</table>\n</section>\n")


def part(one: Standing) -> str:
    """One exercise: the states with their counts, then the mistakes by name with theirs."""
    states = "".join(f'<tr><td>{escape(STATES[name])}</td>'
                     f'<td class="number">{one.states[name]} of {one.count}</td></tr>\n'
                     for name in STATES if one.states[name])
    mistakes = "".join(
        f'<li><strong>{len(people)} of {one.count}</strong>: {escape(text)} (<code>{escape(name)}</code>)<br>'
        f'<span class="people">{escape(", ".join(people))}</span></li>\n' for name, people, text in one.named)
    named = f"<h3>Mistakes by name</h3>\n<ul>\n{mistakes}</ul>\n" if mistakes else ""
    return (f'<section id="{escape(one.exercise)}">\n<h2>{escape(one.title)}</h2>\n'
            f"<p><code>{escape(one.exercise)}</code>: mean {share(one):.0%} of the points</p>\n"
            f"<table>\n{header('State', 'Students')}{states}</tbody>\n</table>\n{named}</section>\n")


def index(records: Sequence[Graded], found: Sequence[Standing], pages: Mapping[str, str]) -> str:
    """A row for each student, with the points of each exercise and the way to the student's own page."""
    rows = []
    for record in records:
        points = {report.exercise: f"{report.earned} of {report.possible}" for report in record.reports}
        cells = [f"{record.earned} of {record.possible}", *(points.get(one.exercise, "") for one in found)]
        rows.append(f"<tr><td>{linked(record.student, pages)}</td>"
                    + "".join(f'<td class="number">{cell}</td>' for cell in cells) + "</tr>\n")
    return ("<section>\n<h2>All students</h2>\n"
            '<div class="wide" tabindex="0" role="region" aria-label="The points of all students">\n'
            f'<table>\n{header("Student", "Points", *(one.exercise for one in found))}{"".join(rows)}</tbody>\n'
            "</table>\n</div>\n</section>\n")


def linked(student: str, pages: Mapping[str, str]) -> str:
    """The name, with the way to the student's page if there is one."""
    return f'<a href="{escape(quote(pages[student]))}">{escape(student)}</a>' if student in pages else escape(student)


def counted(number: int, word: str) -> str:
    """"1 student", "2 students"."""
    return f"{number} {word}{'' if number == 1 else 's'}"


def class_table(records: Sequence[Graded]) -> str:
    """CSV: a row for each state and each named mistake of each exercise, with its count and its students."""
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n", quoting=csv.QUOTE_NONNUMERIC)
    writer.writerow(["exercise", "kind", "name", "count", "of", "text", "students"])
    for row in counted_rows(records):
        writer.writerow([harmless(cell) for cell in row])
    return buffer.getvalue()


def counted_rows(records: Sequence[Graded]) -> Iterable[list]:
    """The rows of `class_table`."""
    for one in standings(records):
        states: dict[str, list[str]] = {}
        for record in records:
            for report in record.reports:
                if report.exercise == one.exercise:
                    states.setdefault(report.state, []).append(record.student)
        for name in STATES:
            if name in states:
                yield [one.exercise, "state", name, len(states[name]), one.count, STATES[name], "; ".join(states[name])]
        for name, people, text in one.named:
            yield [one.exercise, "mistake", name, len(people), one.count, text, "; ".join(people)]
        if one.stuck:
            yield [one.exercise, "stuck", "", len(one.stuck), one.count,
                   "tried, and has no points or an answer that stopped",
                   "; ".join(student for student, _ in one.stuck)]
