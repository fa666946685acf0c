"""The exercises: a folder for each chapter, a file for each exercise. A chapter is imported when it is asked for.

A file that defines `exercise` is found by its place: `OwnGPT` of the chapter gpt is course_lib/exercises/gpt/own_gpt.py.
"""
from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from functools import cache
from importlib import import_module
from importlib.resources import files
from pkgutil import iter_modules
from typing import TYPE_CHECKING, Any

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

if TYPE_CHECKING:                        # the book reads the table without torch
    from course_lib.grading.exercise import Exercise


@cache
def chapters() -> dict[str, dict[str, Any]]:
    """The table of chapters by their slugs, in their order: title, week, needs, ... and `number`, "01" for the first."""
    return numbered(files(__name__).joinpath("chapters.toml").read_text("utf-8"))


def numbered(text: str) -> dict[str, dict[str, Any]]:
    """The rows of a table of chapters by their slugs, each with its number."""
    return {slug: row | {"number": f"{i:02}"} for i, (slug, row) in enumerate(tomllib.loads(text).items(), 1)}


def _plain(name: str) -> str:
    return name.replace("_", "").lower()


def _files(slug: str) -> list[str]:
    """The names of the modules of a chapter's exercises."""
    folder = slug.replace("-", "_")
    return [file.name for path in __path__ for file in iter_modules([f"{path}/{folder}"]) if file.name[0] != "_"]


def chapter_slug(name: str | int) -> str:
    """The slug of a chapter. name: the slug, or the chapter's number in this edition, 3 or "03". Raises ValueError for another."""
    text = str(name).strip()
    number = f"{int(text):02}" if text.isdecimal() else ""
    for slug, row in chapters().items():
        if text == slug or number == row["number"]:
            return slug
    raise ValueError(f"there is no chapter {text!r}; expected a number from 1 to {len(chapters())}, or one of {', '.join(chapters())}")


@cache
def of_chapter(name: str) -> tuple[Exercise, ...]:
    """The exercises of a chapter, in their order; none for a chapter that is not there. name: its slug or its number."""
    try:
        slug = chapter_slug(name)
    except ValueError:
        return ()
    modules = [import_module(f"{__name__}.{slug.replace('-', '_')}.{file}") for file in _files(slug)]
    return tuple(sorted((module.exercise for module in modules), key=lambda one: (one.place, one.id)))


class Exercises(Mapping[str, "Exercise"]):
    """All exercises by their ids, in their order. Only the chapter of what is looked up is imported."""

    def __init__(self):
        self._chapters = {_plain(file): slug for slug in chapters() for file in _files(slug)}

    def __getitem__(self, exercise_id: object) -> Exercise:
        slug = self._chapters.get(_plain(exercise_id)) if isinstance(exercise_id, str) else None
        for exercise in of_chapter(slug) if slug else ():
            if exercise.id == exercise_id:
                return exercise
        raise KeyError(exercise_id)

    def __iter__(self) -> Iterator[str]:
        return (exercise.id for slug in chapters() for exercise in of_chapter(slug))

    def __len__(self) -> int:
        return len(self._chapters)


EXERCISES: Mapping[str, Exercise] = Exercises()


def get(exercise_id: str) -> Exercise:
    """The exercise with this id. Raises KeyError, with the nearest names, if there is none."""
    if exercise_id in EXERCISES:
        return EXERCISES[exercise_id]
    from difflib import get_close_matches

    if own := of_chapter(str(exercise_id)):
        raise KeyError(f"there is no exercise {exercise_id!r}; those of chapter {own[0].chapter} are {', '.join(one.id for one in own)}")
    near = get_close_matches(str(exercise_id), EXERCISES, n=3, cutoff=0.4)
    raise KeyError(f"there is no exercise {exercise_id!r}" + (f"; did you mean {' or '.join(near)}?" if near else
                                                             "; progress() lists the chapters, progress(\"gpt\") the exercises of one"))
