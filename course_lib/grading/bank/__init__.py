"""The exercises: a folder for each chapter, a file for each exercise. A chapter is imported when it is asked for.

Who grades one chapter so waits for no other. An exercise lies in the file of its name: `OwnGPT` in own_gpt.py.
"""
from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib import import_module
from pkgutil import iter_modules
from types import ModuleType

from course_lib.grading.exercise.exercise import Exercise

FOLDERS = tuple(sorted(one.name for one in iter_modules(__path__) if one.name.startswith("ch")))       # "ch04_nade", ...


def _plain(name: str) -> str:
    return name.replace("_", "").lower()


class Bank(Mapping[str, Exercise]):
    """All exercises by their ids, in their order; only what is looked up is imported, by the chapter."""

    def __init__(self, folders: tuple[str, ...]):
        self._folders = {_plain(file.name): folder for folder in folders
                         for path in __path__ for file in iter_modules([f"{path}/{folder}"]) if file.name[0] != "_"}

    def __getitem__(self, exercise_id: object) -> Exercise:
        folder = self._folders.get(_plain(exercise_id)) if isinstance(exercise_id, str) else None
        for exercise in chapter(folder).EXERCISES if folder else ():
            if exercise.id == exercise_id:
                return exercise
        raise KeyError(exercise_id)

    def __iter__(self) -> Iterator[str]:
        return (exercise.id for folder in FOLDERS for exercise in chapter(folder).EXERCISES)

    def __len__(self) -> int:
        return sum(len(chapter(folder).EXERCISES) for folder in FOLDERS)


EXERCISES: Mapping[str, Exercise] = Bank(FOLDERS)


def chapter(folder: str) -> ModuleType:
    """The exercises of one chapter, as a module."""
    return import_module(f"{__name__}.{folder}")


def __getattr__(name: str) -> tuple[ModuleType, ...]:
    if name == "CHAPTERS":                                            # all of them
        return tuple(map(chapter, FOLDERS))
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def get(exercise_id: str) -> Exercise:
    """The exercise with this id. Raises KeyError, with the nearest names, if there is none."""
    if exercise_id in EXERCISES:
        return EXERCISES[exercise_id]
    from difflib import get_close_matches

    if own := of_chapter(str(exercise_id)):
        raise KeyError(f"there is no exercise {exercise_id!r}; those of chapter {exercise_id} are {', '.join(one.id for one in own)}")
    near = get_close_matches(str(exercise_id), EXERCISES, n=3, cutoff=0.4)
    raise KeyError(f"there is no exercise {exercise_id!r}" + (f"; did you mean {' or '.join(near)}?" if near else
                                                             f"; the exercises are {', '.join(EXERCISES)}"))


def of_chapter(number: str) -> list[Exercise]:
    """The exercises of one chapter ("03"), in their order."""
    return [exercise for folder in FOLDERS if folder.startswith(f"ch{number}_") for exercise in chapter(folder).EXERCISES]
