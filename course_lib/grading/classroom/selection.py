"""The exercises that a class is graded on, and a note on a notebook of another chapter."""
from __future__ import annotations

import os
import re
from argparse import Namespace
from collections.abc import Iterable, Sequence
from pathlib import Path

from course_lib.exercises import EXERCISES, chapter_slug, chapters, get, of_chapter
from course_lib.grading.exercise import Exercise
from course_lib.grading.submissions.archives import without_suffix
from course_lib.grading.submissions.notebook import Notebook

# the words of the name of each chapter's notebook: {"self-attention": ("13", "self", "attention")}
NAMES = {slug: (row["number"], *slug.split("-")) for slug, row in chapters().items()}


def select_chapters(names: Sequence[str]) -> list[Exercise]:
    """The exercises of these chapters, by their slugs or numbers. Raises ValueError for a chapter that there is not."""
    return [exercise for slug in dict.fromkeys(map(chapter_slug, names)) for exercise in of_chapter(slug)]


def select_ids(ids: Iterable[str]) -> list[Exercise]:
    """The exercises with these ids, each once. Raises KeyError, with the nearest names, for one that there is not."""
    return [get(name) for name in dict.fromkeys(name.strip() for name in ids)]


def select_requested(args: Namespace) -> list[Exercise]:
    """The exercises that --chapter or --exercises name."""
    return select_chapters(args.chapter) if args.chapter else select_ids(args.exercises)


def chapter_in_name(stem: str, whole: bool = False) -> str | None:
    """The slug of the chapter whose number and name stand in the name of a file, with other words beside them unless `whole`:
    "self-attention" of "mo_13-self-attention (2)", and None of "13_mueller"."""
    words = [word for word in re.split(r"[\W_]+", stem.casefold()) if word]
    for slug, name in NAMES.items():
        if whole and tuple(words) == name:
            return slug
        if not whole and any(tuple(words[i:i + len(name)]) == name for i in range(len(words))):
            return slug
    return None


def describe_mismatch(requested: Sequence[Exercise], notebook: Notebook, path: str | os.PathLike) -> str:
    """A note on a notebook that names other chapters than were asked for; empty if it does not."""
    wanted = {exercise.chapter for exercise in requested}
    slug = chapter_in_name(without_suffix(Path(path).name))
    by_name = {slug} if slug else set()
    others = [f"its {source} {list_chapters(slugs)}" for source, slugs in (("metadata say", chapters_of(notebook.exercises)), ("name says", by_name))
              if slugs and not slugs & wanted]
    return f"Graded by what was asked for, of {list_chapters(wanted)}; {' and '.join(others)}." if others else ""


def chapters_of(ids: Iterable[str]) -> set[str]:
    """The slugs of the chapters of these exercises, as far as there are such exercises."""
    return {EXERCISES[name].chapter for name in ids if name in EXERCISES}


def in_order(slugs: set[str]) -> list[str]:
    """These chapters in the order of the course."""
    return [slug for slug in chapters() if slug in slugs]


def list_chapters(slugs: set[str]) -> str:
    """"chapter fvsbn", or "chapters fvsbn and nade"."""
    return f"chapter{'s' if len(slugs) > 1 else ''} {' and '.join(in_order(slugs))}"
