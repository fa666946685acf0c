"""`next_exercise`: which exercise is worth doing now."""
from __future__ import annotations

import textwrap
from functools import cache
from pathlib import Path
from typing import Any

from course_lib.exercises import chapters
from course_lib.grading.exercise.exercise import Exercise
from course_lib.grading.standing import STUCK, WIDTH, lines, of_all, standing


@cache
def prerequisites(chapter: str) -> frozenset[str]:
    """The chapters that a chapter needs, and those that these need."""
    rows = {row["number"]: row for row in chapters().values()}
    needs = [chapters()[slug]["number"] for slug in rows[chapter]["needs"]]
    return frozenset(needs).union(*map(prerequisites, needs))


def next_exercise(folder: Path | str = ".") -> None:
    """Print which exercise is worth doing now, and why.

    The unsolved exercise that you checked last comes first, until it has taken five tries. After it comes the easiest unsolved
    exercise of the same chapter, then of the chapters after it, then of those before it. If a chapter needs another one in which
    you have solved nothing, the easiest exercise of that one comes first.

    folder: where `my-course.json` is, that of the notebook unless you say otherwise. Raises ValueError for a file that cannot be
    read.
    """
    done = lines(folder)
    found = choose(done)
    if found is None:
        print(f"All {len(done)} exercises are solved.")
        return
    exercise, why = found
    print(f"{exercise.id}: {exercise.title}\nChapter {exercise.chapter}, difficulty {exercise.difficulty} of 5, about "
          f"{exercise.minutes} minutes, {exercise.possible} points.\n{textwrap.fill(why, WIDTH)}")


def choose(done: dict[str, dict[str, Any]]) -> tuple[Exercise, str] | None:
    """The exercise to do next and the reason, given the line of each exercise (see `standing.lines`); None if all are solved."""
    unsolved = [one for one in of_all() if standing(one, done[one.id]) != "solved"]
    tried = sorted((one for one in of_all() if done[one.id]["tries"]), key=lambda one: done[one.id]["date"])
    open_ones = [one for one in unsolved if done[one.id]["tries"] < STUCK] or unsolved
    if not unsolved:
        return None
    if begun := [one for one in tried if one in open_ones]:
        line = done[begun[-1].id]
        return begun[-1], ("You had solved it; its checks have changed since." if line["solved_before"] else
                           f"You have begun it and have {line['best']} of its {begun[-1].possible} points.")
    here = tried[-1].chapter if tried else "01"
    exercise = min(open_ones, key=lambda one: (one.chapter < here, one.chapter, one.difficulty))
    solved = {one.chapter for one in of_all() if standing(one, done[one.id]) in ("solved", "changed")}
    known = solved.union(*map(prerequisites, solved))
    for chapter in sorted(prerequisites(exercise.chapter) - known):
        if own := [one for one in open_ones if one.chapter == chapter]:
            return (min(own, key=lambda one: one.difficulty),
                    f"Chapter {exercise.chapter} needs chapter {chapter}, in which you have solved nothing yet.")
    return exercise, f"It is the easiest unsolved exercise of chapter {exercise.chapter}."
