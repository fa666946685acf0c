"""The exercises, a module for each chapter."""
from __future__ import annotations

from course_lib.grading.bank import (
    attention,
    bert,
    beyond_binary,
    caches,
    chain_rule,
    decoding,
    fvsbn,
    gpt,
    heads,
    improper,
    made,
    masking,
    mixture_training,
    nade,
    nade_training,
    positions,
    transformer,
)
from course_lib.grading.exercise import Exercise

MODULES = (                                   # in the order of the chapters
    chain_rule,
    fvsbn,
    nade,
    nade_training,
    beyond_binary,
    improper,
    mixture_training,
    made,
    attention,
    heads,
    positions,
    transformer,
    gpt,
    caches,
    decoding,
    bert,
    masking,
)
EXERCISES: dict[str, Exercise] = {exercise.id: exercise for module in MODULES for exercise in module.EXERCISES}


def get(exercise_id: str) -> Exercise:
    """The exercise with this id. Raises KeyError, with the nearest names, if there is none."""
    if exercise_id in EXERCISES:
        return EXERCISES[exercise_id]
    from difflib import get_close_matches

    near = get_close_matches(str(exercise_id), EXERCISES, n=3, cutoff=0.4)
    raise KeyError(f"there is no exercise {exercise_id!r}" + (f"; did you mean {' or '.join(near)}?" if near else
                                                             f"; the exercises are {', '.join(EXERCISES)}"))


def of_chapter(chapter: str) -> list[Exercise]:
    """The exercises of one chapter ("03"), in their order."""
    return [exercise for exercise in EXERCISES.values() if exercise.chapter == chapter]
