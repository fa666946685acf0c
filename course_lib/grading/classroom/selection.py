"""The exercises that a class is graded on, and a note on a notebook of another chapter."""
from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path

from course_lib.exercises import chapter_slug, chapters, get, of_chapter
from course_lib.grading.exercise import Exercise

NAMES = {f"{row['number']}-{slug}": slug for slug, row in chapters().items()}        # of each chapter's notebook


def select_chapters(names: Sequence[str]) -> list[Exercise]:
    """The exercises of these chapters, by their slugs or numbers. Raises ValueError for a chapter that there is not."""
    return [exercise for slug in dict.fromkeys(map(chapter_slug, names)) for exercise in of_chapter(slug)]


def select_ids(ids: Iterable[str]) -> list[Exercise]:
    """The exercises with these ids, each once. Raises KeyError, with the nearest names, for one that there is not."""
    return [get(name) for name in dict.fromkeys(name.strip() for name in ids)]


def describe_mismatch(requested: Sequence[Exercise], path: str | os.PathLike) -> str:
    """A note on a notebook whose file is called as that of another chapter than was asked for; empty if it is not."""
    wanted = {exercise.chapter for exercise in requested}
    named = {slug for name, slug in NAMES.items() if name in Path(path).stem}
    return f"Graded by what was asked for, of {list_chapters(wanted)}; its name says {list_chapters(named)}." if named and not named & wanted else ""


def list_chapters(slugs: set[str]) -> str:
    """"chapter fvsbn", or "chapters fvsbn and nade", in the order of the course."""
    return f"chapter{'s' if len(slugs) > 1 else ''} {' and '.join(slug for slug in chapters() if slug in slugs)}"
