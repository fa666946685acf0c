"""The exercises that a notebook is graded on: those that were asked for, or those of the chapter that it names."""
from __future__ import annotations

import os
import re
from argparse import Namespace
from collections.abc import Iterable, Sequence
from pathlib import Path

from course_lib.exercises import EXERCISES, chapters, get, of_chapter
from course_lib.grading.exercise import Exercise
from course_lib.grading.submissions.archives import without_suffix
from course_lib.grading.submissions.notebook import Notebook

# the number and the words of each chapter's notebook: {"13": ("13", "self", "attention")}
NAMES = {row["number"]: (row["number"], *slug.split("-")) for slug, row in chapters().items()}
NOTHING = ("No exercise was found: neither the notebook's metadata nor its name says which chapter it is, and it defines no "
           "function of that name. --chapter decides.")


def select_chapters(numbers: Sequence[str]) -> list[Exercise]:
    """The exercises of these chapters ("13", or "3" for "03"). Raises ValueError for one that has none."""
    chosen = []
    for number in dict.fromkeys(number.strip().zfill(2) for number in numbers):
        exercises = of_chapter(number)
        if not exercises:
            raise ValueError(f"chapter {number} has no exercises; those with exercises are {', '.join(NAMES)}")
        chosen += exercises
    return chosen


def select_ids(ids: Iterable[str]) -> list[Exercise]:
    """The exercises with these ids, each once. Raises KeyError, with the nearest names, for one that there is not."""
    return [get(name) for name in dict.fromkeys(name.strip() for name in ids)]


def select_requested(args: Namespace) -> list[Exercise] | None:
    """The exercises that --chapter or --exercises ask for; None where neither is given."""
    return select_chapters(args.chapter) if args.chapter else select_ids(args.exercises) if args.exercises else None


def chapter_in_name(stem: str, whole: bool = False) -> str | None:
    """The chapter whose number and name stand in the name of a file, with others beside them unless `whole`: "13" of
    "mo_13-self-attention (2)", and None of "13_mueller"."""
    words = [word for word in re.split(r"[\W_]+", stem.casefold()) if word]
    for number, name in NAMES.items():
        if whole and tuple(words) == name:
            return number
        if not whole and any(tuple(words[i:i + len(name)]) == name for i in range(len(words))):
            return number
    return None


def select_by_name(path: str | os.PathLike) -> list[Exercise]:
    """The exercises of the chapter in the file's name; none if it names none."""
    number = chapter_in_name(without_suffix(Path(path).name))
    return of_chapter(number) if number else []


def select_by_content(notebook: Notebook | None, path: str | os.PathLike) -> tuple[list[Exercise], str]:
    """The exercises that a notebook is graded on where none were asked for, and how they were found: all exercises of the chapters
    that its metadata name, else of the chapter in its name (nothing is gained by leaving one out), else those of the
    functions that it defines. None for a file that cannot be read and whose name says no chapter."""
    named = chapters_of(exercise.id for exercise in select_by_name(path))
    declared = chapters_of(notebook.exercises) if notebook else set()
    if declared or named:
        other = f"; its name says {list_chapters(named)}. --chapter decides." if named and named != declared else "."
        how = f"Graded as {list_chapters(declared)}, as its metadata say{other}" if declared else f"Graded as {list_chapters(named)}, by its name."
        return [exercise for number in sorted(declared or named) for exercise in of_chapter(number)], how
    if notebook is None:
        return [], ""
    names = set(notebook.names)
    if defined := [exercise for number in sorted(chapters_of(names)) for exercise in of_chapter(number) if exercise.id in names]:
        return defined, ("Neither its metadata nor its name tells the chapter: it was graded by what it defines. --chapter "
                         "decides.")
    return [], NOTHING


def describe_mismatch(requested: Sequence[Exercise], notebook: Notebook, path: str | os.PathLike) -> str:
    """A note on a notebook that names other chapters than were asked for; empty if it does not."""
    wanted = {exercise.chapter for exercise in requested}
    by_name = chapters_of(exercise.id for exercise in select_by_name(path))
    others = [f"its {source} {list_chapters(numbers)}" for source, numbers in (("metadata say", chapters_of(notebook.exercises)), ("name says", by_name))
              if numbers and not numbers & wanted]
    return f"Graded by what was asked for, of {list_chapters(wanted)}; {' and '.join(others)}." if others else ""


def chapters_of(ids: Iterable[str]) -> set[str]:
    """The numbers of the chapters of these exercises, as far as there are such exercises."""
    return {EXERCISES[name].chapter for name in ids if name in EXERCISES}


def list_chapters(numbers: set[str]) -> str:
    """"chapter 13", or "chapters 13 and 14"."""
    return f"chapter{'s' if len(numbers) > 1 else ''} {' and '.join(sorted(numbers))}"
