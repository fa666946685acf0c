"""The time to read a chapter follows its rule, and the minutes of exercises are those of the exercises."""
from __future__ import annotations

import json

import pytest

from book._tools import reading
from course_lib.grading import EXERCISES
from tests.conftest import ROOT


def test_words_code_equations_and_figures_are_counted(tmp_path):
    def code(source, tags=(), *outputs):
        return {"cell_type": "code", "source": [source], "metadata": {"tags": tags}, "outputs": [{"data": data} for data in outputs]}

    text = ("Look at a [link to it](https://a.example/b c):\n\n$$a\n= b$$\n\n<!-- no word --> *one* $x = 1$, two - three\n\n"
            "```python\nx = 1\n\ny = 2\n```\n")
    cells = [{"cell_type": "markdown", "source": [text], "metadata": {}},
             code("a = 1\n\nb = 2", (), {"image/svg+xml": "<svg/>"}, {reading.WIDGET: {}}),
             code("drawing()", ("hide-input",), {"text/html": '<img src="x">'}), code("import course_lib", ("setup",)),
             code("print(1)", (), {"text/html": "<p>1</p>"})]
    (tmp_path / "01.ipynb").write_text(json.dumps({"cells": cells}))
    assert reading.amount(tmp_path / "01.ipynb") == reading.Amount(words=10, lines=2 + 2 + 1, equations=1, figures=3)


@pytest.mark.parametrize("amount, minutes", [
    (reading.Amount(1000, 0, 0, 0), 5), (reading.Amount(1001, 0, 0, 0), 10), (reading.Amount(0, 51, 0, 0), 10),
    (reading.Amount(0, 0, 6, 5), 10), (reading.Amount(400, 10, 2, 2), 5), (reading.Amount(0, 0, 0, 0), 0)])
def test_minutes_are_the_rule_rounded_up(amount, minutes):
    assert amount.minutes == minutes


def test_exercises_have_the_minutes_of_the_library():
    found = [task for path in sorted((ROOT / "exercises").glob("*.ipynb")) for task in reading.tasks(path)]
    assert [(task.id, task.minutes, task.difficulty) for task in found] == [
        (one.id, one.minutes, one.difficulty) for one in EXERCISES.values()]
