"""Which exercises a notebook is judged by: those that were asked for, or those of the chapter that it says it is."""
from __future__ import annotations

import os
import re
from argparse import Namespace
from collections.abc import Iterable, Sequence
from pathlib import Path

from course_lib.exercises import EXERCISES, chapters, get, of_chapter
from course_lib.grading.exercise.exercise import Exercise
from course_lib.grading.reading.archives import without_suffix
from course_lib.grading.reading.extract import Notebook

# the number and the words of each chapter's notebook: {"13": ("13", "self", "attention")}
NAMES = {row["number"]: (row["number"], *slug.split("-")) for slug, row in chapters().items()}
NOTHING = ("No exercise was found: neither the notebook's metadata nor its name says which chapter it is, and it defines no "
           "function of that name. --chapter decides.")


def of_chapters(numbers: Sequence[str]) -> list[Exercise]:
    """The exercises of these chapters ("13", or "3" for "03"). Raises ValueError for one that has none."""
    found = []
    for number in dict.fromkeys(one.strip().zfill(2) for one in numbers):
        exercises = of_chapter(number)
        if not exercises:
            raise ValueError(f"chapter {number} has no exercises; those with exercises are {', '.join(NAMES)}")
        found += exercises
    return found


def of_ids(ids: Iterable[str]) -> list[Exercise]:
    """The exercises with these ids, each once. Raises KeyError, with the nearest names, for one that there is not."""
    return [get(one) for one in dict.fromkeys(one.strip() for one in ids)]


def of_args(args: Namespace) -> list[Exercise] | None:
    """What --chapter or --exercises ask for; None where neither is given."""
    return of_chapters(args.chapter) if args.chapter else of_ids(args.exercises) if args.exercises else None


def chapter_named(stem: str, whole: bool = False) -> str | None:
    """The chapter whose number and name stand in the name of a file, with others beside them unless `whole`: "13" of
    "mo_13-self-attention (2)", and None of "13_mueller"."""
    words = [word for word in re.split(r"[\W_]+", stem.casefold()) if word]
    for number, name in NAMES.items():
        if whole and tuple(words) == name:
            return number
        if not whole and any(tuple(words[i:i + len(name)]) == name for i in range(len(words))):
            return number
    return None


def of_name(path: str | os.PathLike) -> list[Exercise]:
    """The exercises of the chapter in the file's name; none if it names none."""
    number = chapter_named(without_suffix(Path(path).name))
    return of_chapter(number) if number else []


def of_file(notebook: Notebook | None, path: str | os.PathLike) -> tuple[list[Exercise], str]:
    """What a notebook is judged by where nothing was asked for, and how that was found: all exercises of the chapters
    that its metadata speak of, else of the chapter in its name (nothing is gained by leaving one out), else those of the
    functions that it defines. None for a file that cannot be read and whose name says no chapter."""
    named = chapters(one.id for one in of_name(path))
    declared = chapters(notebook.exercises) if notebook else set()
    if declared or named:
        other = f"; its name says {listed(named)}. --chapter decides." if named and named != declared else "."
        how = f"Judged as {listed(declared)}, as its metadata say{other}" if declared else f"Judged as {listed(named)}, by its name."
        return [one for number in sorted(declared or named) for one in of_chapter(number)], how
    if notebook is None:
        return [], ""
    names = set(notebook.names)
    if defined := [one for number in sorted(chapters(names)) for one in of_chapter(number) if one.id in names]:
        return defined, ("Neither its metadata nor its name tells the chapter: it was judged by what it defines. --chapter "
                         "decides.")
    return [], NOTHING


def against(asked: Sequence[Exercise], notebook: Notebook, path: str | os.PathLike) -> str:
    """What there is to say about a notebook that speaks of other chapters than were asked for; nothing as a rule."""
    wanted = {one.chapter for one in asked}
    said = [f"its {what} {listed(found)}" for what, found in (("metadata say", chapters(notebook.exercises)),
                                                              ("name says", chapters(one.id for one in of_name(path))))
            if found and not found & wanted]
    return f"Judged by what was asked for, of {listed(wanted)}; {' and '.join(said)}." if said else ""


def chapters(ids: Iterable[str]) -> set[str]:
    """The numbers of the chapters of these exercises, as far as there are such exercises."""
    return {EXERCISES[one].chapter for one in ids if one in EXERCISES}


def listed(numbers: set[str]) -> str:
    """"chapter 13", or "chapters 13 and 14"."""
    return f"chapter{'s' if len(numbers) > 1 else ''} {' and '.join(sorted(numbers))}"
