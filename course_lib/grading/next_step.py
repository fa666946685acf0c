"""What is worth doing next: `next_exercise`, from difficulty, from what comes before, and from the mistake that was named."""
from __future__ import annotations

import textwrap
from collections.abc import Iterable
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

from course_lib.grading import before
from course_lib.grading.before import Section
from course_lib.grading.exercise.exercise import Exercise
from course_lib.grading.judge.hints import fitting
from course_lib.grading.judge.report import STATES, Report
from course_lib.grading.shown import Shown, show
from course_lib.grading.standing import STUCK, WIDTH, lines, of_all, standing

Lines = dict[str, dict[str, Any]]        # of every exercise, what `standing.lines` gives


@dataclass(frozen=True)
class Step:
    """What to do next. why: one sentence. mistake: what the last check named, of this exercise or of the one that led here;
    hint and read: what helps with it."""

    exercise: Exercise
    why: str
    mistake: str = ""
    hint: str = ""
    read: Section | None = None

    @property
    def head(self) -> str:
        """The exercise in two lines."""
        one = self.exercise
        return (f"{one.id}: {one.title}\nChapter {one.chapter}, difficulty {one.difficulty} of 5, about {one.minutes} minutes, "
                f"{one.possible} points.")

    def __str__(self) -> str:
        said = [self.why, self.mistake, self.hint]
        if self.read:
            said.append(f"Read: {self.read.heading} ({self.read.place}).")
        return "\n".join([self.head, *(textwrap.fill(part, WIDTH, break_on_hyphens=False, break_long_words=False)
                                       for part in said if part)])

    def _repr_html_(self) -> str:
        parts = [self.head.replace("?\n", "? ").replace("\n", ". "), self.why, self.mistake, self.hint]
        html = [f"<p>{escape(part)}</p>" for part in parts if part]
        if self.read:
            html.append(f'<p>Read: <a href="../{escape(self.read.place)}">{escape(self.read.heading)}</a>, chapter '
                        f"{self.read.chapter}.</p>")
        return "\n".join(html)


def next_exercise(folder: Path | str = ".") -> None:
    """Print which exercise is worth doing now, and why.

    One that you have begun comes first, the latest of them, until it has taken five tries. Where its last check named a mistake,
    an easier exercise in which the same mistake can be made comes before it; if there is none, you are told the hint and the
    section that help. Else it is the easiest that is open in the chapter where you are; then from the furthest chapter that you
    have begun, in their order; then what you have left out. A chapter waits for those that it needs: an exercise of each, or of a
    chapter that needs it, has to be solved. What is solved is never named.

    folder: where `my-course.json` is, that of the notebook unless you say otherwise. Raises ValueError for a file that cannot be
    read.
    """
    done = lines(folder)
    step = chosen(done)
    if step is None:
        print(f"All {len(done)} exercises are solved.")
    else:
        show(Shown(str(step), step._repr_html_))


def chosen(done: Lines) -> Step | None:
    """The exercise to do next, and the reason; None if all are solved. The same lines give the same answer."""
    opened = [one for one in of_all() if standing(one, done[one.id]) != "solved"]
    if not opened:
        return None
    begun = [one for one in in_time(opened, done) if done[one.id]["tries"]]
    stuck = {one.id for one in begun if done[one.id]["tries"] >= STUCK}
    latest = begun[-1] if begun else None
    if latest and (easier := treating(latest, done)):
        return led_by(latest, easier, done)
    if latest and latest.id not in stuck:
        return begun_step(latest, done)
    one, why = further(opened, stuck, done)
    if done[one.id]["tries"]:
        return begun_step(one, done)
    if latest and in_time(of_all(), done)[-1] is latest:             # five tries, the last of them just now
        return Step(one, why, *helping(latest, done[latest.id], later=True))
    return Step(one, why)


def in_time(some: Iterable[Exercise], done: Lines) -> list[Exercise]:
    """The exercises, the one that was tried last at the end; those without a date, as they stand in the course, before."""
    return sorted(some, key=lambda one: (done[one.id]["date"], done[one.id]["tries"] > 0))


def treating(exercise: Exercise, done: Lines) -> Exercise | None:
    """An easier exercise, open and not tried too often, in which a mistake that was named can be made too: of the same chapter
    if there is one, else of the nearest that comes before; of those the easiest."""
    names = mistaken(done[exercise.id])
    places = before.needs(exercise.chapter) | {exercise.chapter}
    found = [one for one in of_all() if one.chapter in places and one.difficulty < exercise.difficulty
             and standing(one, done[one.id]) != "solved" and done[one.id]["tries"] < STUCK
             and any(before.same_mistake(name, one, exercise) for name in names)]
    return min(found, key=lambda one: (-int(one.chapter), one.difficulty), default=None)


def mistaken(line: dict[str, Any]) -> list[str]:
    """The names of the mistakes in the last check: none, one, or two that explain it together."""
    return line["mistakes"] if line["state"] != "right" else []


def further(opened: list[Exercise], stuck: set[str], done: Lines) -> tuple[Exercise, str]:
    """Where nothing is to be gone on with: the exercise to begin, or to come back to, and why."""
    tried = [one for one in in_time(of_all(), done) if done[one.id]["tries"]]
    here = tried[-1].chapter if tried else opened[0].chapter
    furthest = max((one.chapter for one in tried), default=here)
    free = [one for one in opened if one.id not in stuck]
    waiting = [one for one in free if any(before.leads_to(other, one) for other in opened if other.id in stuck)]
    rest = [one for one in free if one not in waiting] or free or opened

    def turn(one: Exercise) -> tuple:
        return (0 if one.chapter == here else 1 if one.chapter >= furthest else 2), one.chapter, one.difficulty

    first = min(rest, key=turn)
    for chapter in sorted(before.needs(first.chapter) - known(done)):
        if own := [one for one in rest if one.chapter == chapter]:
            return (min(own, key=lambda one: one.difficulty),
                    f"Chapter {first.chapter} builds on chapter {chapter}, in which you have solved nothing yet.")
    if not tried:
        return first, f"It is the easiest exercise of chapter {here}, where the course begins."
    return first, (f"Of chapter {here}, where you are, it comes next by difficulty.",
                   f"Chapter {first.chapter} comes next, and there it is first by difficulty.",
                   "Of what you have left out, it comes first.")[turn(first)[0]]


def known(done: Lines) -> set[str]:
    """The chapters in which something is solved, and all that those need."""
    solved = {one.chapter for one in of_all() if standing(one, done[one.id]) in ("solved", "changed")}
    return solved.union(*map(before.needs, solved))


def begun_step(exercise: Exercise, done: Lines) -> Step:
    """Go on with an exercise: where it stands, the mistake that was named, and what helps with it."""
    line = done[exercise.id]
    if line["solved_before"]:
        why = "You had solved it; its checks have changed since."
    else:
        why = f"You have begun it, and have {line['best']} of its {exercise.possible} points."
    return Step(exercise, why, *helping(exercise, line))


def led_by(failed: Exercise, easier: Exercise, done: Lines) -> Step:
    """First an easier exercise, since the last check of another named a mistake that can be made there too."""
    mistake = helping(failed, done[failed.id])[0]
    why = f"The last check of {failed.id} named a mistake; {easier.id} is easier, and the same mistake can be made there."
    return Step(easier, why, mistake, read=before.section(mistake, easier, failed))


def helping(exercise: Exercise, line: dict[str, Any], later: bool = False) -> tuple[str, str, Section | None]:
    """What the last check named, the hint for it, and the section; the hint alone where it named nothing. Nothing after an
    answer that was right. later: the exercise is not the one to do now."""
    names, after = mistaken(line), ", or come back to it later" if later else ""
    whose = f"{exercise.id} has taken {line['tries']} tries: " if later else ""
    if line["state"] == "right" or not line["tries"]:
        return "", "", None
    sentence = " And: ".join(dict.fromkeys(exercise.misconceptions[name] for name in names))
    number = before.hint_for(sentence, exercise)
    if number is None and line["state"] in STATES:
        number = fitting(exercise, Report(exercise.id, line["state"], message=sentence))
    if number is None:
        hint = f'{whose}hint("{exercise.id}"){after}.'
    else:
        symptom = exercise.hints[number - 1].symptom.rstrip(".")
        hint = f'{whose}hint("{exercise.id}", {number}){after}. That hint is for: {symptom}.'
    hint = hint if later else f"Hint: {hint}"
    if not names:
        return "", hint, None
    return f"The last check of {exercise.id} said: {sentence}", hint, before.section(sentence, exercise)
