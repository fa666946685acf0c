"""What you have done, and what to do next: `check` keeps a line for each exercise; `progress` and `next_exercise` read them.

A line holds what the last check said, the best points, and the tries. A check that finds nothing attempted is no try.
"""
from __future__ import annotations

import datetime
import textwrap
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from course_lib.grading import kept
from course_lib.grading.bank import CHAPTERS, get
from course_lib.grading.exercise.exercise import Exercise
from course_lib.grading.judge.report import STATES, Report

SECTION = "exercises"
WIDTH = 80
STUCK = 5                                # tries of one exercise, without full points, after which another may help
NO_TRY = ("not_attempted", "missing", "not_graded")
SIGNS = {"solved": "■", "partly": "◩", "tried": "□", "changed": "◇", "new": "·"}
LEGEND = "■ solved  ◩ some points  □ no points yet  ◇ changed since solved  · not begun"


def record(report: Report) -> None:
    """Keep what a check said. Does nothing where nothing was attempted, or nothing is kept.

    Raises OSError or ValueError where the file cannot be read or written; it is then as it was.
    """
    if report.state in NO_TRY:
        return
    exercise = get(report.exercise)

    def changed(old: Any) -> dict[str, Any]:
        before = kept_line(exercise, old)
        return {"state": report.state, "misconception": report.misconception, "earned": report.earned,
                "best": max(report.earned, before["best"]), "possible": report.possible, "tries": before["tries"] + 1,
                "version": exercise.version, "solved_before": before["solved_before"],
                "date": datetime.datetime.now().isoformat(timespec="microseconds")}

    kept.change(SECTION, exercise.id, changed)


def kept_line(exercise: Exercise, found: Any) -> dict[str, Any]:
    """What is kept of an exercise, as the exercise is now: points of another version do not count; that it was solved is
    remembered. What does not read as such a line counts as none."""
    line = {"state": "not_attempted", "earned": 0, "best": 0, "tries": 0, "version": "", "solved_before": False, "date": ""}
    found = found if isinstance(found, dict) else {}
    line.update({name: found[name] for name, value in line.items() if type(found.get(name)) is type(value)})
    named = found.get("misconception")
    line["misconception"] = named if isinstance(named, str) and named in exercise.misconceptions else None
    if line["version"] != exercise.version:
        line["solved_before"] |= 0 < line["best"] == found.get("possible")
        line["earned"] = line["best"] = 0
    return line


def standing(exercise: Exercise, line: dict[str, Any]) -> str:
    """A key of SIGNS."""
    if line["best"] >= exercise.possible:
        return "solved"
    if line["solved_before"]:
        return "changed"
    if line["best"]:
        return "partly"
    return "tried" if line["tries"] else "new"


def lines(folder: Path | str = ".") -> dict[str, dict[str, Any]]:
    """Every exercise's id and its line, in the course's order."""
    found = kept.read(folder).get(SECTION)
    found = found if isinstance(found, dict) else {}
    return {exercise.id: kept_line(exercise, found.get(exercise.id)) for exercise in of_all()}


def of_all() -> Iterable[Exercise]:
    """All exercises, in the course's order."""
    return (exercise for chapter in CHAPTERS for exercise in chapter.EXERCISES)


def progress(chapter: str | int | None = None, folder: Path | str = ".") -> None:
    """Print how far you are: a row of signs for each chapter, or, for one chapter, a line for each of its exercises.

    chapter: "13" or 13; None for all. folder: where `my-course.json` is, that of the notebook unless you say otherwise.
    Raises ValueError for a chapter that there is not, and for a file that cannot be read.
    """
    done = lines(folder)
    if chapter is None:
        print("\n".join(overview(done)))
        return
    number = f"{int(chapter):02d}" if str(chapter).isdecimal() else str(chapter)
    asked = [one for one in of_all() if one.chapter == number]
    if not asked:
        raise ValueError(f"chapter is {chapter!r}; it is 1 to {len(CHAPTERS)}, or None for all")
    for one in asked:
        print(in_words(one, done[one.id]))
    print(LEGEND)


def overview(done: dict[str, dict[str, Any]]) -> list[str]:
    """A line for each chapter, the sum, and what the signs mean."""
    most = max(len(chapter.EXERCISES) for chapter in CHAPTERS)
    said, total = [], [0, 0, 0, 0]
    for chapter in CHAPTERS:
        these = [(one, done[one.id]) for one in chapter.EXERCISES]
        signs = "".join(SIGNS[standing(one, line)] for one, line in these)
        sums = [sum(standing(one, line) == "solved" for one, line in these), len(these),
                sum(line["best"] for _, line in these), sum(one.possible for one, _ in these)]
        total = [a + b for a, b in zip(total, sums, strict=True)]
        number, _, name = chapter.__name__.rpartition(".")[2].removeprefix("ch").partition("_")
        said.append(f"{number} {name.replace('_', ' '):22} {signs:{most}}  {sums[0]:2} of {sums[1]:2}  "
                    f"{sums[2]:3} of {sums[3]:3} points")
    said.append(f"{'all':25} {'':{most}} {total[0]:3} of {total[1]:2}  {total[2]:3} of {total[3]:3} points")
    return [*said, LEGEND]


def in_words(exercise: Exercise, line: dict[str, Any]) -> str:
    """One exercise: its sign, its best points, its tries, and what the last check said if that was not right."""
    where = standing(exercise, line)
    said = f"{SIGNS[where]} {exercise.id:26} {line['best']:2} of {exercise.possible:2}"
    if line["tries"]:
        said += f", {line['tries']} {'try' if line['tries'] == 1 else 'tries'}"
        if where != "solved":
            said += f"; {STATES.get(line['state'], line['state'])}"
    return said


def next_exercise(folder: Path | str = ".") -> None:
    """Print which exercise is worth doing now, and why.

    One that you have begun comes first, the latest of them, until it has taken five tries. Then the easiest that is open
    in the chapter where you are; then the chapters after it, in their order, since each builds on those before; then
    what you have left out.
    """
    done = lines(folder)
    found = chosen(done)
    if found is None:
        print(f"All {len(done)} exercises are solved.")
        return
    exercise, why = found
    print(f"{exercise.id}: {exercise.title}")
    print(f"Chapter {exercise.chapter}, difficulty {exercise.difficulty} of 5, about {exercise.minutes} minutes, "
          f"{exercise.possible} points.")
    print(textwrap.fill(why, WIDTH))


def chosen(done: dict[str, dict[str, Any]]) -> tuple[Exercise, str] | None:
    """The exercise to do next, and the reason; None if all are solved."""
    opened = [one for one in of_all() if standing(one, done[one.id]) != "solved"]
    if not opened:
        return None
    latest = max(of_all(), key=lambda one: done[one.id]["date"])
    here = latest.chapter if done[latest.id]["date"] else opened[0].chapter
    begun = sorted((one for one in opened if done[one.id]["tries"]), key=lambda one: done[one.id]["date"])
    stuck = [one for one in begun if done[one.id]["tries"] >= STUCK]
    if begun and begun[-1] not in stuck:
        return begun[-1], because(begun[-1], done[begun[-1].id])
    fresh = [one for one in opened if one not in stuck] or opened
    after = [one for one in fresh if one.chapter >= here] or fresh
    one = min(after, key=lambda one: (one.chapter, one.difficulty))
    if one in stuck:
        return one, because(one, done[one.id])
    why = "You have not begun it." if not done[one.id]["tries"] else because(one, done[one.id])
    if stuck and begun[-1] in stuck and one.chapter == here:
        why += f" {begun[-1].id} has taken {done[begun[-1].id]['tries']} tries: hint(\"{begun[-1].id}\"), or come back to it later."
    return one, why


def because(exercise: Exercise, line: dict[str, Any]) -> str:
    """Where an exercise that was begun stands, and the mistake that the last check named."""
    if line["solved_before"]:
        return "You had solved it; its checks have changed since."
    said = f"You have {line['best']} of its {exercise.possible} points."
    if line["misconception"]:
        said += f" The last check said: {exercise.misconceptions[line['misconception']]}"
    return said
