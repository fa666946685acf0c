"""The time to read a chapter follows its rule, and the minutes of exercises are those of the exercises."""
from __future__ import annotations

from book._tools import reading
from course_lib.grading import EXERCISES
from tests.conftest import ROOT


def test_exercise_minutes():
    found = [task for path in sorted((ROOT / "exercises").glob("*.ipynb")) for task in reading.tasks(path)]
    assert [(task.id, task.minutes, task.difficulty) for task in found] == [
        (one.id, one.minutes, one.difficulty) for one in EXERCISES.values()]
