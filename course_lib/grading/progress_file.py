"""What a learner has done, in one file beside the notebook, `my-course.json`: predictions, scores, exercises. Nothing leaves the machine."""
from __future__ import annotations

import datetime
import inspect
import json
import os
import sys
import textwrap
import traceback
from collections.abc import Callable, Collection
from functools import cache, wraps
from pathlib import Path
from typing import Any

from filelock import FileLock

from course_lib.exercises import EXERCISES, chapter_slug, chapters, get, of_chapter
from course_lib.files import write_atomically
from course_lib.grading.exercise import Exercise
from course_lib.grading.verdict import STATES, Report

FILE = "my-course.json"
SECTION = "exercises"
WAIT = 10                                # seconds for another notebook to write its record
WIDTH = 80
STUCK = 5                                # tries of one exercise, without full points, after which another may help
NO_TRY = ("not_attempted", "missing", "not_graded")
SIGNS = {"solved": "■", "partly": "◩", "tried": "□", "changed": "◇", "new": "·"}
MEANING = {"solved": "solved", "partly": "some points", "tried": "no points yet", "changed": "changed since solved", "new": "not begun"}
LEGEND = "  ".join(f"{SIGNS[status]} {words}" for status, words in MEANING.items())
Record = dict[str, Any]


def in_notebook() -> bool:
    """Whether this runs in the kernel of a notebook, which has imported IPython already."""
    ipython = sys.modules.get("IPython")
    return ipython is not None and getattr(ipython.get_ipython(), "kernel", None) is not None


def one_line(function: Callable) -> Callable:
    """Decorate what a notebook calls: there a wrong argument or an interrupt is one line, not a traceback."""
    @wraps(function)
    def call(*args, **named):
        try:
            inspect.signature(function).bind(*args, **named)
            return function(*args, **named)
        except KeyboardInterrupt:
            problem = "interrupted; nothing was stored"
            if not in_notebook():
                raise
        except (KeyError, TypeError, ValueError) as error:
            *_, (frame, _) = traceback.walk_tb(error.__traceback__)
            problem = error.args[0] if error.args else ""
            if not in_notebook() or frame.f_globals["__name__"] not in (inspect.__name__, __name__, get.__module__, function.__module__):
                raise                                    # a fault of the grader's, not of the use
        print(textwrap.fill(f"{function.__name__}: {problem}", WIDTH))

    return call


def enabled() -> bool:
    """Whether anything is stored: not under COURSE_PROGRESS=off, and not while tests run this."""
    return os.environ.get("COURSE_PROGRESS", "").lower() != "off" and not {"PYTEST_CURRENT_TEST", "PYTEST_VERSION"} & {*os.environ}


def path_in(folder: Path | str = ".") -> Path:
    """The file of a folder; COURSE_PROGRESS may name the folder that stands for ".". Raises TypeError for what is not a path."""
    if not isinstance(folder, Path | str):
        raise TypeError(f"folder is {folder!r}; expected the path of a folder")
    place = os.environ.get("COURSE_PROGRESS", "")
    return Path(place if folder == "." and place.lower() not in ("", "off") else folder) / FILE


def describe_place(folder: Path | str) -> str:
    """Where progress is stored, and on Colab how it is kept."""
    if not enabled():
        return "Nothing is stored here (COURSE_PROGRESS is off)."
    path = path_in(folder).resolve()
    text = f"Stored in {path}."
    if "google.colab" in sys.modules and "drive" not in path.parts:
        text += (" Colab deletes this file with the machine.\nTo keep it, run these two lines at the beginning of each session:\n"
                 '    from google.colab import drive; drive.mount("/content/drive")\n'
                 "    %env COURSE_PROGRESS=/content/drive/MyDrive")
    return text


def read(folder: Path | str = ".") -> dict[str, Any]:
    """The content of this folder's file, or an empty dict. Raises ValueError for one that cannot be read, which is kept."""
    path = path_in(folder)
    if not path.exists():
        return {}
    try:
        content = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError) as problem:
        raise ValueError(f"{path} cannot be read ({problem}): repair it, or move it away, and run this again") from None
    if not isinstance(content, dict):
        raise ValueError(f"{path} holds a {type(content).__name__}; expected an object: move it away, and run this again")
    return content


def save(section: str, name: str, value: Any, folder: Path | str = ".") -> None:
    """Store `value` under section and name, if anything is stored. The file is the old one or the new one, never a part."""
    update_file(section, name, lambda _: value, folder)


def update_file(section: str, name: str, new: Callable[[Any], Any], folder: Path | str = ".") -> Any:
    """Store new(old) in the place of `old`, and return it. Raises ValueError or OSError where the file cannot be read or written."""
    if not enabled():
        return None
    path = path_in(folder)
    with FileLock(path.with_name(f".{FILE}.lock"), timeout=WAIT):
        content = read(folder)
        part = content.setdefault(section, {})
        if not isinstance(part, dict):
            raise ValueError(f"{section} in {path} is a {type(part).__name__}; expected an object: move the file away, and run this again")
        part[name] = new(part.get(name))
        write_atomically(path, (json.dumps(content, indent=1, ensure_ascii=False) + "\n").encode())
        return part[name]


def record(report: Report) -> Record | None:
    """Store the result of a check, if something was attempted, and return the exercise's record. Raises as `update_file`."""
    exercise = get(report.exercise)

    def add_try(stored: Any) -> Record:
        old = stored_record(exercise, stored)
        return {**(stored if isinstance(stored, dict) else {}), "state": report.state, "misconception": report.misconception,
                "earned": report.earned, "best": max(report.earned, old["best"]), "possible": report.possible, "tries": old["tries"] + 1,
                "version": exercise.version, "solved_before": old["solved_before"],
                "date": datetime.datetime.now().isoformat(timespec="microseconds")}

    return None if report.state in NO_TRY else update_file(SECTION, exercise.id, add_try)


def stored_record(exercise: Exercise, stored: Any) -> Record:
    """The record of an exercise as the exercise is now: of another version it is kept that it was solved, but no points."""
    result = {"state": "not_attempted", "earned": 0, "best": 0, "tries": 0, "version": "", "solved_before": False, "date": ""}
    stored = stored if isinstance(stored, dict) else {}
    result.update({name: stored[name] for name, value in result.items() if type(stored.get(name)) is type(value)})
    if result["version"] != exercise.version:
        result["solved_before"] |= 0 < result["best"] == stored.get("possible")
        result["earned"] = result["best"] = 0
    return result


def all_records(folder: Path | str = ".") -> dict[str, Record]:
    """The record of each exercise by its id, in the course's order."""
    stored = read(folder).get(SECTION)
    return {exercise.id: stored_record(exercise, stored.get(exercise.id) if isinstance(stored, dict) else None) for exercise in EXERCISES.values()}


def status(exercise: Exercise, record: Record) -> str:
    """A key of SIGNS."""
    return ("solved" if record["best"] >= exercise.possible else "changed" if record["solved_before"] else
            "partly" if record["best"] else "tried" if record["tries"] else "new")


@one_line
def progress(chapter: str | int | None = None, folder: Path | str = ".") -> None:
    """Show how far you are: a row of signs for each chapter, then each exercise that you have tried with its points, its tries
    and what the last check said; or, for one chapter, all of its exercises.

    chapter: its slug, such as "gpt", or its number; None for all. folder: where `my-course.json` is, that of the notebook unless you say otherwise.
    Raises ValueError for a chapter that there is not, and for a file that cannot be read.
    """
    records = all_records(folder)
    if chapter is not None:
        print(*(describe(exercise, records[exercise.id]) for exercise in of_chapter(chapter_slug(chapter))), LEGEND, sep="\n")
        return
    tried = [describe(exercise, records[exercise.id]) for exercise in EXERCISES.values() if records[exercise.id]["tries"]]
    print(*overview(records), *[""] * bool(tried), *tried, "", describe_place(folder), sep="\n")


def overview(records: dict[str, Record]) -> list[str]:
    """A line for each chapter, the sum, and the meaning of the signs."""
    most = max(len(of_chapter(slug)) for slug in chapters())

    def line(name: str, exercises: Collection[Exercise], signs: bool = True) -> str:
        kinds = [status(exercise, records[exercise.id]) for exercise in exercises]
        row = "".join(SIGNS[kind] for kind in kinds) if signs else ""
        best, possible = sum(records[exercise.id]["best"] for exercise in exercises), sum(exercise.possible for exercise in exercises)
        return f"{name:25} {row:{most}} {kinds.count('solved'):3} of {len(kinds):2}  {best:3} of {possible:3} points"

    lines = [line(f"{row['number']} {slug.replace('-', ' ')}", of_chapter(slug)) for slug, row in chapters().items()]
    return [*lines, line("all", EXERCISES.values(), signs=False), LEGEND]


def describe(exercise: Exercise, record: Record) -> str:
    """One exercise: its sign, its best points, its tries, and the result of the last check if that was not right."""
    kind = status(exercise, record)
    tries = f", {record['tries']} {'try' if record['tries'] == 1 else 'tries'}" if record["tries"] else ""
    last = f"; {STATES.get(record['state'], record['state'])}" if tries and kind != "solved" else ""
    return f"{SIGNS[kind]} {exercise.id:26} {record['best']:2} of {exercise.possible:2}{tries}{last}"


@cache
def prerequisites(chapter: str) -> frozenset[str]:
    """The slugs of the chapters that a chapter needs, directly or through others."""
    needs = chapters()[chapter]["needs"]
    return frozenset(needs).union(*map(prerequisites, needs))


@one_line
def next_exercise(folder: Path | str = ".") -> None:
    """Print which exercise is worth doing now, and why.

    The unsolved exercise that you checked last comes first, until it has taken five tries. After it comes the easiest unsolved
    exercise of the same chapter, then of the chapters after it, then of those before it. If a chapter needs another one in which
    you have solved nothing, the easiest exercise of that one comes first.

    folder: where `my-course.json` is, that of the notebook unless you say otherwise. Raises ValueError for a file that cannot be read.
    """
    choice = choose_next(all_records(folder))
    if choice is None:
        print(f"All {len(EXERCISES)} exercises are solved.")
        return
    exercise, reason = choice
    print(f"{exercise.id}: {exercise.title}\nChapter {exercise.chapter}, difficulty {exercise.difficulty} of 5, about "
          f"{exercise.minutes} minutes, {exercise.possible} points.\n{textwrap.fill(reason, WIDTH)}")


def choose_next(records: dict[str, Record]) -> tuple[Exercise, str] | None:
    """The exercise to do next and the reason; None if all are solved."""
    exercises = list(EXERCISES.values())
    unsolved = [exercise for exercise in exercises if status(exercise, records[exercise.id]) != "solved"]
    tried = sorted([exercise for exercise in exercises if records[exercise.id]["tries"]], key=lambda one: records[one.id]["date"])
    candidates = [exercise for exercise in unsolved if records[exercise.id]["tries"] < STUCK] or unsolved
    if not unsolved:
        return None
    if begun := [exercise for exercise in tried if exercise in candidates]:
        record = records[begun[-1].id]
        return begun[-1], ("You had solved it; its checks have changed since." if record["solved_before"] else
                           f"You have begun it and have {record['best']} of its {begun[-1].possible} points.")
    place = {slug: number for number, slug in enumerate(chapters())}
    here = place[tried[-1].chapter] if tried else 0
    best = min(candidates, key=lambda exercise: (place[exercise.chapter] < here, place[exercise.chapter], exercise.difficulty))
    solved = {exercise.chapter for exercise in exercises if status(exercise, records[exercise.id]) in ("solved", "changed")}
    missing = prerequisites(best.chapter) - solved.union(*map(prerequisites, solved))
    before = [exercise for exercise in candidates if exercise.chapter in missing]
    if before:
        first = min(before, key=lambda exercise: (place[exercise.chapter], exercise.difficulty))
        return first, f"Chapter {best.chapter} needs chapter {first.chapter}, in which you have solved nothing yet."
    return best, f"It is the easiest unsolved exercise of chapter {best.chapter}."
