"""The exercises that a class is graded on, and a note on a notebook of another chapter."""
from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence
from pathlib import Path

from course_lib.exercises import EXERCISES, chapter_slug, chapters, get, of_chapter
from course_lib.grading.exercise import Exercise
from course_lib.grading.submissions.archives import without_suffix
from course_lib.grading.submissions.notebook import Notebook

# the words of the name of each chapter's notebook: {"self-attention": ("17", "self", "attention")}
NAMES = {slug: (row["number"], *slug.split("-")) for slug, row in chapters().items()}


def select_chapters(names: Sequence[str]) -> list[Exercise]:
    """The exercises of these chapters, by their slugs or numbers. Raises ValueError for a chapter that there is not."""
    return [exercise for slug in dict.fromkeys(map(chapter_slug, names)) for exercise in of_chapter(slug)]


def select_ids(ids: Iterable[str]) -> list[Exercise]:
    """The exercises with these ids, each once. Raises KeyError, with the nearest names, for one that there is not."""
    return [get(name) for name in dict.fromkeys(name.strip() for name in ids)]


def chapter_in_name(stem: str, whole: bool = False) -> str | None:
    """The slug of the chapter whose number and name stand in the name of a file, with other words beside them unless `whole`:
    "self-attention" of "mo_17-self-attention (2)", and None of "17_mueller"."""
    words = tuple(word for word in re.split(r"[\W_]+", stem.casefold()) if word)
    for slug, name in NAMES.items():
        if words == name or not whole and any(words[i:i + len(name)] == name for i in range(len(words))):
            return slug
    return None


def describe_mismatch(requested: Sequence[Exercise], notebook: Notebook, path: str | os.PathLike) -> str:
    """A note on a notebook that names other chapters than were asked for; empty if it does not."""
    wanted = {exercise.chapter for exercise in requested}
    by_metadata = {EXERCISES[name].chapter for name in notebook.exercises if name in EXERCISES}
    by_name = {chapter_in_name(without_suffix(Path(path).name))} - {None}
    others = [f"its {source} {list_chapters(slugs)}" for source, slugs in (("metadata say", by_metadata), ("name says", by_name))
              if slugs and not slugs & wanted]
    return f"Graded by what was asked for, of {list_chapters(wanted)}; {' and '.join(others)}." if others else ""


def list_chapters(slugs: set[str]) -> str:
    """"chapter fvsbn", or "chapters fvsbn and nade", in the order of the course."""
    return f"chapter{'s' if len(slugs) > 1 else ''} {' and '.join(slug for slug in chapters() if slug in slugs)}"
