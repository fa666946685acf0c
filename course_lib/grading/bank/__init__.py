"""The exercises: a folder for each chapter, a file for each exercise."""
from __future__ import annotations

from course_lib.grading.bank import (
    ch01_chain_rule,
    ch02_how_a_machine_learns,
    ch03_fvsbn,
    ch04_nade,
    ch05_beyond_binary,
    ch06_made,
    ch07_recurrent,
    ch08_pixelcnn,
    ch09_likelihood,
    ch10_words,
    ch11_fill_the_gap,
    ch12_attention,
    ch13_self_attention,
    ch14_positions,
    ch15_transformer,
    ch16_gpt,
    ch17_decoding,
    ch18_bert,
    ch19_corrupt_restore,
    ch20_using,
)
from course_lib.grading.exercise.exercise import Exercise

CHAPTERS = (
    ch01_chain_rule,
    ch02_how_a_machine_learns,
    ch03_fvsbn,
    ch04_nade,
    ch05_beyond_binary,
    ch06_made,
    ch07_recurrent,
    ch08_pixelcnn,
    ch09_likelihood,
    ch10_words,
    ch11_fill_the_gap,
    ch12_attention,
    ch13_self_attention,
    ch14_positions,
    ch15_transformer,
    ch16_gpt,
    ch17_decoding,
    ch18_bert,
    ch19_corrupt_restore,
    ch20_using,
)
EXERCISES: dict[str, Exercise] = {exercise.id: exercise for chapter in CHAPTERS for exercise in chapter.EXERCISES}


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


def of_chapter(chapter: str) -> list[Exercise]:
    """The exercises of one chapter ("03"), in their order."""
    return [exercise for exercise in EXERCISES.values() if exercise.chapter == chapter]
