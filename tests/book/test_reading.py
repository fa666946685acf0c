"""The time to read a chapter follows its rule, and the minutes of exercises are those of the bank."""
from __future__ import annotations

import json

import pytest

from course_lib.grading import EXERCISES
from tests.conftest import ROOT
from tools import reading


def notebook(tmp_path, *cells):
    """A notebook of Markdown cells (text) and code cells (text, tags, outputs)."""
    path = tmp_path / "01-toy.ipynb"
    stored = [{"cell_type": "markdown", "source": [cell], "metadata": {}} if isinstance(cell, str) else
              {"cell_type": "code", "source": [cell[0]], "metadata": {"tags": list(cell[1])},
               "outputs": [{"data": data} for data in cell[2]]} for cell in cells]
    path.write_text(json.dumps({"cells": stored}))
    return path


@pytest.mark.parametrize("text, words", [
    ("# Two words", 2), ("one, two - three", 3), ("a [link to it](https://a.example/b c) here", 5),
    ("<!-- no word --> *one* <b>two</b>", 2), ("$p(x) = 1$ is a formula", 4), ("| a | b |\n|---|---|\n| c | d |", 4),
    ("<details><summary>A question</summary>\n\nIts answer.</details>", 4), ("", 0)])
def test_words_are_those_that_are_read(tmp_path, text, words):
    assert reading.amount(notebook(tmp_path, text)) == reading.Amount(words, 0, 0, 0)


def test_equations_code_and_figures_are_counted_apart(tmp_path):
    svg, view = {"image/svg+xml": "<svg/>"}, {reading.WIDGET: {}}
    path = notebook(tmp_path, "Look:\n\n$$a\n= b$$\n\nand $$c$$\n\n```python\nx = 1\n\ny = 2\n```\n",
                    ("a = 1\n\nb = 2", (), [svg, view]), ("drawing()", ("hide-input",), [{"text/html": '<img src="x">'}]),
                    ("import course_lib", ("setup",), [{"text/plain": "0.2"}]), ("print(1)", (), [{"text/html": "<p>1</p>"}]))
    assert reading.amount(path) == reading.Amount(words=2, lines=2 + 2 + 1, equations=2, figures=3)


@pytest.mark.parametrize("amount, minutes", [
    (reading.Amount(1000, 0, 0, 0), 5), (reading.Amount(1001, 0, 0, 0), 10), (reading.Amount(0, 50, 0, 0), 5),
    (reading.Amount(0, 51, 0, 0), 10), (reading.Amount(0, 0, 6, 4), 5), (reading.Amount(0, 0, 6, 5), 10),
    (reading.Amount(400, 10, 2, 2), 5), (reading.Amount(401, 10, 2, 2), 10), (reading.Amount(0, 0, 0, 0), 0)])
def test_minutes_are_the_rule_rounded_up(amount, minutes):
    assert amount.minutes == minutes


def test_exercises_have_the_minutes_of_the_bank():
    found = [task for path in sorted((ROOT / "exercises").glob("*.ipynb")) for task in reading.tasks(path)]
    assert [task.id for task in found] == list(EXERCISES)
    for task in found:
        asked = EXERCISES[task.id]
        assert (task.minutes, task.difficulty) == (asked.minutes, asked.difficulty), task


def test_an_exercise_without_its_line_is_an_error(tmp_path):
    path = notebook(tmp_path, "## A task")
    page = json.loads(path.read_text())
    page["cells"][0]["metadata"] = {"course": {"role": "task", "exercise": "toy"}}
    path.write_text(json.dumps(page))
    with pytest.raises(ValueError, match="01-toy.ipynb: the exercise toy has no heading, or not the line"):
        reading.tasks(path)


def test_a_chapter_without_exercises_has_none(tmp_path):
    assert reading.tasks(tmp_path / "99-none.ipynb") == []
