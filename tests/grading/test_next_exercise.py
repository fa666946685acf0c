"""next_exercise: what is begun goes on, then the easiest unsolved exercise, after the chapters that it needs."""
from __future__ import annotations

from course_lib.exercises import chapters, of_chapter
from course_lib.grading import EXERCISES, check, next_exercise, progress_file
from course_lib.grading.progress_file import choose_next, prerequisites
from tests.grading.test_progress import NAME, reported, said, solve


def fail(name, times=1, earned=2):
    for _ in range(times):
        progress_file.record(reported(name, "wrong_value", earned))


def step():
    exercise, why = choose_next(progress_file.all_records())
    return exercise.id, why


def of(number):
    """The exercises of a chapter."""
    return of_chapter(number)


def number(exercise):
    """The number of its chapter."""
    return chapters()[exercise.chapter]["number"]


def easiest(number, without=()):
    return min((one for one in of(number) if one.id not in without), key=lambda one: one.difficulty).id


def test_choose_next_first(folder, capsys):
    one = EXERCISES[easiest("01")]
    assert said(capsys, next_exercise) == (
        f"{one.id}: {one.title}\nChapter chain-rule, difficulty 1 of 5, about {one.minutes} minutes, {one.possible} points.\n"
        "It is the easiest unsolved exercise of chapter chain-rule.\n")


def test_choose_next_begun_until_stuck(folder):
    for tries in range(1, progress_file.STUCK):
        fail(NAME)
        assert step() == (NAME, "You have begun it and have 2 of its 6 points.")
        assert progress_file.read()["exercises"][NAME]["tries"] == tries
    fail(NAME)
    assert step() == (easiest("01"), "Chapter fvsbn needs chapter chain-rule, in which you have solved nothing yet.")
    solve(*(one.id for one in of("01")))
    assert step()[0] == easiest("02")


def test_choose_next_order(folder, capsys):
    solve(*(one.id for one in of("made")))
    assert step()[0] == easiest("counting-text")
    solve(easiest("counting-text"))
    assert step()[0] == easiest("counting-text", without=[easiest("counting-text")])
    solve(*(one.id for one in EXERCISES.values() if number(one) >= "08"))
    assert step()[0] == easiest("01")
    solve(*(one.id for one in EXERCISES.values() if number(one) <= "07"))
    assert said(capsys, next_exercise) == f"All {len(EXERCISES)} exercises are solved.\n"


def test_choose_next_prerequisites(folder):
    """Chapter transformer needs backpropagation, of which nothing is solved."""
    assert prerequisites("nade") == {"chain-rule", "linear-models", "fvsbn", "backpropagation"}
    solve(*(one.id for one in EXERCISES.values() if number(one) <= "18" and "backpropagation" not in prerequisites(one.chapter) | {one.chapter}))
    assert step() == (easiest("backpropagation"), "Chapter transformer needs chapter backpropagation, in which you have solved nothing yet.")


def test_check_mentions_next_exercise(folder, capsys):
    right = EXERCISES[NAME].solve

    def fvsbn_conditionals(x, W, c):
        return x @ W.tril(-1).T + c

    for _ in range(progress_file.STUCK - 1):
        assert "next_exercise" not in said(capsys, check, fvsbn_conditionals)
    assert said(capsys, check, fvsbn_conditionals).endswith("next_exercise() suggests another exercise for now.\n")

    def fvsbn_conditionals(x, W, c):                                 # noqa: F811
        raise NotImplementedError

    assert "next_exercise" not in said(capsys, check, fvsbn_conditionals)

    def fvsbn_conditionals(x, W, c):                                 # noqa: F811
        return right(x, W, c)

    assert said(capsys, check, fvsbn_conditionals).endswith("next_exercise() says what is worth doing next.\n")
