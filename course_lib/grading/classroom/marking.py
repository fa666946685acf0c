"""Marks: points after lateness and after what was decided for somebody, each with the sentence that says why.

A chapter's files count up to the day that gives the most: what came in time with all its points, or what came later
with the penalty of its day. Late days are spent on the chapters in the order of their deadlines. What `marks.toml`
gives is final.
"""
from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from fractions import Fraction

from course_lib.grading.bank import EXERCISES
from course_lib.grading.classroom.once import UNTOLD
from course_lib.grading.classroom.rules import Exemption, Rules
from course_lib.grading.classroom.submission import Graded
from course_lib.grading.classroom.when import Handed


@dataclass(frozen=True)
class Mark:
    """What a student gets: the points of each exercise, what is added to their sum, days late, and why it is so."""

    points: dict[str, Fraction] = field(default_factory=dict)
    added: Fraction = Fraction(0)
    late: int = 0
    why: tuple[str, ...] = ()

    @property
    def total(self) -> Fraction:
        """The mark; never below 0."""
        return max(Fraction(0), sum(self.points.values(), self.added))

    def to_dict(self) -> dict:
        """As JSON can hold it."""
        return {"mark": decimal(self.total), "late": self.late, "why": list(self.why), "added": decimal(self.added),
                "points": {name: decimal(value) for name, value in self.points.items()}}


def decimal(value: Fraction) -> float | int:
    """A number with two digits after the point at most, halves to the even digit."""
    rounded = round(value, 2)
    return int(rounded) if rounded.denominator == 1 else float(rounded)


@dataclass(frozen=True)
class Terms:
    """What holds for a class: its rules, what was decided for somebody, and the time of each file by its name in the
    records."""

    rules: Rules = Rules()
    exemptions: Sequence[Exemption] = ()
    times: Mapping[str, Handed] = field(default_factory=dict)


def marks(files: Sequence[Graded], terms: Terms) -> dict[str, Mark]:
    """The mark of each student of these records, one for each file."""
    own: dict[str, list[Graded]] = {}
    for record in files:
        own.setdefault(record.student, []).append(record)
    return {student: mark(records, terms.times, terms.rules,
                          [one for one in terms.exemptions if one.student == student])
            for student, records in own.items()}


def mark(records: Sequence[Graded], times: Mapping[str, Handed], rules: Rules, exemptions: Sequence[Exemption]) -> Mark:
    """The mark of one student."""
    reports = [report for record in records for report in record.reports]
    chapters = dict.fromkeys(EXERCISES[report.exercise].chapter for report in reports)
    deadlines = dict(rules.deadlines)
    for one in exemptions:
        if one.deadline:
            deadlines[one.chapter] = one.deadline
    left, late, points, why = rules.days, 0, {}, []
    far = max([*deadlines.values()], default=None)
    for chapter in sorted(chapters, key=lambda one: (deadlines.get(one, far), one) if far else one):
        moved = [one for one in exemptions if one.chapter == chapter and (one.submitted or one.deadline)]
        submitted = next((one.submitted for one in moved if one.submitted), None)
        decided = Handed(submitted, "marks.toml") if submitted else None
        handed = {record.file: decided or times.get(record.file) for record in records}
        found = of_chapter(chapter, records, handed, deadlines.get(chapter), rules, left)
        points |= found.points
        left, late, why = left - found.spent, late + found.late, [*why, *found.why]
        for one in moved:
            why.append(f"chapter {chapter}: {'deadline' if one.deadline else 'handed in'} "
                       f"{shown(one.deadline or one.submitted)} ({one.reason})")
    points = {report.exercise: points[report.exercise] for report in reports}
    added = Fraction(0)
    for one in exemptions:
        if one.points is not None and one.exercise in points:
            why.append(f"{one.exercise}: {one.points:g} instead of {decimal(points[one.exercise]):g} ({one.reason})")
            points[one.exercise] = Fraction(str(one.points))
        if one.add is not None:
            added += Fraction(str(one.add))
            why.append(f"{one.add:+g} points ({one.reason})")
    return Mark(points, added, late, tuple(why))


@dataclass(frozen=True)
class Chapter:
    """One chapter of one student: the points, days late, free days spent on it, what there is to say."""

    points: dict[str, Fraction]
    late: int = 0
    spent: int = 0
    why: tuple[str, ...] = ()

    @property
    def sum(self) -> Fraction:
        """All points."""
        return sum(self.points.values(), Fraction(0))


def of_chapter(chapter: str, records: Sequence[Graded], handed: Mapping[str, Handed | None], deadline: datetime | None,
               rules: Rules, left: int) -> Chapter:
    """The chapter, judged by the files up to the day that gives the most; of equal days the earlier one."""
    late = {record.file: rules.days_late(when.at, deadline) if deadline and (when := handed[record.file]) else 0
            for record in records if any(report.state not in UNTOLD for report in reports_of(record, chapter))}
    best = None
    for day in sorted({0, *late.values()}):
        points = {report.exercise: Fraction(0) for record in records for report in reports_of(record, chapter)}
        for record in records:
            if late.get(record.file, 0) <= day:
                for report in reports_of(record, chapter):
                    points[report.exercise] = max(points[report.exercise], Fraction(report.earned))
        spent = min(day, left)
        share = factor(rules, day, day - spent)
        found = Chapter({name: value * share for name, value in points.items()}, day, spent,
                        (sentence(chapter, day, spent, share, records, late, handed, deadline),) if day else ())
        if best is None or found.sum > best.sum:
            best = found
    if not best.late and any(late.values()):
        said = (f"what came {days(max(late.values()))} late gives no more than what came in time"
                if 0 in late.values() else f"{days(min(late.values()))} late, and no points for it")
        return Chapter(best.points, why=(f"chapter {chapter}: {said}",))
    return best


def reports_of(record: Graded, chapter: str) -> list:
    """The reports on this chapter's exercises."""
    return [report for report in record.reports if EXERCISES[report.exercise].chapter == chapter]


def factor(rules: Rules, late: int, paid: int) -> Fraction:
    """The share of the points that so many days late leave, of which so many are not free."""
    if rules.most is not None and late > rules.most:
        return Fraction(0)
    return max(Fraction(0), 1 - paid * Fraction(str(rules.penalty)) / 100)


def sentence(chapter: str, day: int, spent: int, share: Fraction, records: Sequence[Graded], late: Mapping[str, int],
             handed: Mapping[str, Handed | None], deadline: datetime | None) -> str:
    """Why a late chapter gives what it gives."""
    when = next(handed[record.file] for record in records if late.get(record.file) == day)
    free = f", {spent} of them free" if spent else ""
    return (f"chapter {chapter}: {days(day)} late{free}, {decimal(100 * share):g} % of the points (handed in "
            f"{shown(when.at)}, by {when.source}; deadline {shown(deadline)})")


def days(count: int) -> str:
    """"1 day", "2 days"."""
    return f"{count} day{'' if count == 1 else 's'}"


def shown(moment: datetime) -> str:
    """A time with its offset: 2026-11-20 23:59 +0100."""
    return moment.strftime("%Y-%m-%d %H:%M %z")
