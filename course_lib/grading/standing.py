"""What you have done: `check` keeps a line for each exercise; `progress` and `next_exercise` read them.

A line holds what the last check said, the best points, and the tries. A check that finds nothing attempted is no try.
"""
from __future__ import annotations

import datetime
from collections.abc import Iterable
from html import escape
from pathlib import Path
from typing import Any

from course_lib.exercises import EXERCISES, chapters, get, of_chapter
from course_lib.grading import kept
from course_lib.grading.exercise.exercise import Exercise
from course_lib.grading.judge.report import STATES, Report
from course_lib.grading.shown import Shown, show

SECTION = "exercises"
WIDTH = 80
STUCK = 5                                # tries of one exercise, without full points, after which another may help
NO_TRY = ("not_attempted", "missing", "not_graded")
SIGNS = {"solved": "■", "partly": "◩", "tried": "□", "changed": "◇", "new": "·"}
MEANING = {"solved": "solved", "partly": "some points", "tried": "no points yet", "changed": "changed since solved",
           "new": "not begun"}
LEGEND = "  ".join(f"{SIGNS[one]} {words}" for one, words in MEANING.items())


def record(report: Report) -> None:
    """Keep what a check said. Does nothing where nothing was attempted, or nothing is kept.

    Raises OSError or ValueError where the file cannot be read or written; it is then as it was.
    """
    if report.state in NO_TRY:
        return
    exercise = get(report.exercise)

    def changed(old: Any) -> dict[str, Any]:
        was = kept_line(exercise, old)
        return {**(old if isinstance(old, dict) else {}), "state": report.state, "misconception": report.misconception,
                "earned": report.earned, "best": max(report.earned, was["best"]), "possible": report.possible,
                "tries": was["tries"] + 1, "version": exercise.version, "solved_before": was["solved_before"],
                "date": datetime.datetime.now().isoformat(timespec="microseconds")}

    kept.change(SECTION, exercise.id, changed)


def kept_line(exercise: Exercise, found: Any) -> dict[str, Any]:
    """What is kept of an exercise, as the exercise is now: points of another version do not count; that it was solved is
    remembered. What does not read as such a line counts as none."""
    line = {"state": "not_attempted", "earned": 0, "best": 0, "tries": 0, "version": "", "solved_before": False, "date": ""}
    found = found if isinstance(found, dict) else {}
    line.update({name: found[name] for name, value in line.items() if type(found.get(name)) is type(value)})
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
    return EXERCISES.values()


def progress(chapter: str | int | None = None, folder: Path | str = ".") -> None:
    """Show how far you are: a row of signs for each chapter, then each exercise that you have tried with its points, its tries
    and what the last check said; or, for one chapter, all of its exercises. A notebook gets the latter as a table.

    chapter: "13" or 13; None for all. folder: where `my-course.json` is, that of the notebook unless you say otherwise.
    Raises ValueError for a chapter that there is not, and for a file that cannot be read.
    """
    done = lines(folder)
    if chapter is None:
        tried = [one for one in of_all() if done[one.id]["tries"]]
        text = [*overview(done), *([""] if tried else []), *(in_words(one, done[one.id]) for one in tried)]
        rows = escape("\n".join(overview(done)))
        show(Shown("\n".join(text), lambda: f"<pre>{rows}</pre>" + (as_table(tried, done) if tried else "")))
        return
    number = f"{int(chapter):02d}" if str(chapter).isdecimal() else str(chapter)
    asked = [one for one in of_all() if one.chapter == number]
    if not asked:
        raise ValueError(f"chapter is {chapter!r}; it is 1 to {len(chapters())}, or None for all")
    show(Shown("\n".join([*(in_words(one, done[one.id]) for one in asked), LEGEND]), lambda: as_table(asked, done)))


def as_table(some: Iterable[Exercise], done: dict[str, dict[str, Any]]) -> str:
    """The exercises as a table in HTML: points, tries, and what the last check said."""
    from course_lib.show.tables import table

    rows = [[one.chapter, one.id, f"{SIGNS[standing(one, done[one.id])]} {MEANING[standing(one, done[one.id])]}",
             f"{done[one.id]['best']} of {one.possible}", done[one.id]["tries"] or None,
             STATES.get(done[one.id]["state"], done[one.id]["state"]) if done[one.id]["tries"] else None] for one in some]
    return table(["chapter", "exercise", "", "points", "tries", "last check"], rows)._repr_html_()


def overview(done: dict[str, dict[str, Any]]) -> list[str]:
    """A line for each chapter, the sum, and what the signs mean."""
    most = max(len(of_chapter(slug)) for slug in chapters())
    said, total = [], [0, 0, 0, 0]
    for slug, row in chapters().items():
        these = [(one, done[one.id]) for one in of_chapter(slug)]
        signs = "".join(SIGNS[standing(one, line)] for one, line in these)
        sums = [sum(standing(one, line) == "solved" for one, line in these), len(these),
                sum(line["best"] for _, line in these), sum(one.possible for one, _ in these)]
        total = [a + b for a, b in zip(total, sums, strict=True)]
        said.append(f"{row['number']} {slug.replace('-', ' '):22} {signs:{most}}  {sums[0]:2} of {sums[1]:2}  "
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
