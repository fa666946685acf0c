"""The minutes of a chapter follow the formula, and those of exercises are those of the exercises."""
from __future__ import annotations

import json

import pytest

from book._tools import reading_time
from course_lib.grading import EXERCISES
from tests.conftest import ROOT


def test_amount(tmp_path):
    def code(source, tags=(), *outputs):
        return {"cell_type": "code", "source": [source], "metadata": {"tags": tags}, "outputs": [{"data": data} for data in outputs]}

    def text(source):
        return {"cell_type": "markdown", "source": [source], "metadata": {}}

    cells = [
        text("# Title\n\nLook at a [link to it](https://a.example/b):\n\n$$a\n= b$$\n\n<!-- no word --> *one* two.\n\n```python\nx = 1\n\ny = 2\n```\n"),
        code("a = 1\n\nb = 2", (), {"image/svg+xml": "<svg/>"}), code("drawing()", ("hide-input",), {"text/html": '<img src="x">'}),
        code("import course_lib", ("setup",), {"text/plain": "cpu"}), code("Figure()", (), {reading_time.WIDGET: {}}),
        text("> **Predict.** How many?\n\n## Check yourself\n\n<details><summary>1. Why?</summary>So.</details>\n\n"
             "### On paper\n\n<details><summary>1. Prove it.</summary>Done.</details>")]
    (tmp_path / "01.ipynb").write_text(json.dumps({"cells": cells}))
    words = "Look at a link to it X one two Predict How many Why So Prove it Done".split()
    assert reading_time.amount(tmp_path / "01.ipynb") == reading_time.Amount(words=len(words), lines=2 + 2 + 1, outputs=2, questions=2, proofs=2)


@pytest.mark.parametrize("amount, minutes", [
    (reading_time.Amount(1100, 0, 0, 0, 0), 10), (reading_time.Amount(0, 50, 0, 0, 0), 10), (reading_time.Amount(0, 0, 5, 0, 0), 3),
    (reading_time.Amount(0, 0, 0, 4, 0), 10), (reading_time.Amount(0, 0, 0, 0, 2), 12), (reading_time.Amount(2800, 140, 25, 6, 3), 101)])
def test_formula(amount, minutes):
    assert amount.minutes == minutes


def test_exercise_minutes():
    found = [task for path in sorted((ROOT / "exercises").glob("*.ipynb")) for task in reading_time.tasks(path)]
    assert [(task.id, task.minutes, task.difficulty) for task in found] == [
        (exercise.id, exercise.minutes, exercise.difficulty) for exercise in EXERCISES.values()]
