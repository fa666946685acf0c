"""The stock of wrong answers is sound: each runs as a cell and defines what its exercise asks for."""
from __future__ import annotations

import json
import re
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from course_lib.grading import EXERCISES
from course_lib.grading.judge.judge import in_this_process, judge
from tests.grading.stock import chapters

ROOT = Path(__file__).parents[3]
STOCK = chapters()
EVERY = [one for entries in STOCK.values() for one in entries]
SECOND = chapters("second")
LATEST = [one for entries in SECOND.values() for one in entries]
THIRD = chapters("third")
BLIND = [(SECOND, chapter) for chapter in SECOND] + [(THIRD, chapter) for chapter in THIRD]
ALL = [one for stock in (STOCK, SECOND, THIRD) for entries in stock.values() for one in entries]
LATER = ("generate_beam", "stochastic_beam", "train_translator", "word_feature")


def asked(chapter: str) -> list[str]:
    """The functions that a chapter's page asks for, as its cells check them. Classes came after the stock was written, and so
    did what is `LATER`."""
    path = ROOT / "exercises" / f"{chapter[2:].replace('_', '-')}.ipynb"
    cells = json.loads(path.read_text("utf-8"))["cells"]
    code = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]
    found = [name for source in code for name in re.findall(r'^check\("(\w+)"\)$', source, re.M)]
    return [name for name in found if not EXERCISES[name].of_class and name not in LATER]


def test_every_chapter_with_exercises_has_its_file():
    assert [name[2:].replace("_", "-") for name in STOCK] == sorted(
        path.stem for path in (ROOT / "exercises").glob("[0-9]*.ipynb"))


@pytest.mark.parametrize("chapter", STOCK)
def test_every_exercise_has_two_to_five_entries(chapter):
    counts = {name: sum(one.exercise == name for one in STOCK[chapter]) for name in asked(chapter)}
    assert counts and all(2 <= count <= 5 for count in counts.values()), counts
    assert {one.exercise for one in STOCK[chapter]} == set(counts)


def defined(one):
    """The function that an entry's cell defines."""
    cell: dict = {}
    exec(compile(one.code, f"<{one.exercise}: {one.what}>", "exec"), cell)
    return cell.get(one.exercise)


@pytest.mark.parametrize("chapter", STOCK)
def test_every_code_defines_its_exercise(chapter):
    for one in [*STOCK[chapter], *SECOND.get(chapter, ()), *THIRD.get(chapter, ())]:
        assert callable(defined(one)), one


def test_the_second_stock_has_three_entries_of_each_of_its_exercises_and_all_that_came_later():
    counts = Counter(one.exercise for one in LATEST)
    assert set(counts.values()) == {3} and len(LATEST) == 138 and set(LATER) <= set(counts)
    assert SECOND.keys() <= STOCK.keys() and all(one.half == "second" for one in LATEST)


def test_the_third_stock_has_two_entries_of_each_function_that_does_not_train():
    counts = Counter(one.exercise for entries in THIRD.values() for one in entries)
    assert THIRD.keys() == STOCK.keys() and all(one.half == "third" for entries in THIRD.values() for one in entries)
    assert counts == {id: 2 for id, exercise in EXERCISES.items() if not exercise.of_class and not exercise.trains}


@pytest.mark.slow
@pytest.mark.parametrize("stock, chapter", BLIND, ids=lambda one: one if isinstance(one, str) else "")
def test_no_entry_of_a_stock_that_was_written_blind_earns_all_points(stock, chapter):
    for one in stock[chapter]:
        exercise = replace(EXERCISES[one.exercise], deadline=120.0)
        if not exercise.trains:
            assert judge(exercise, in_this_process(exercise, defined(one)), 0).score < 1, one


def test_the_state_that_is_left_out_is_seen_on_the_seed_on_which_it_was_not():
    [one] = [one for one in THIRD["ch04_nade"] if "leaves out the first, all zeros" in one.what]
    exercise = EXERCISES[one.exercise]
    assert judge(exercise, in_this_process(exercise, defined(one)), 7).score < 1


@pytest.mark.parametrize("chapter", STOCK)
def test_the_halves_alternate(chapter):
    halves = [one.half for one in STOCK[chapter]]
    assert halves == ["open", "sealed"] * (len(halves) // 2)


def test_the_stock_is_large_enough():
    assert sum(one.half == "open" for one in EVERY) >= 60 and sum(one.half == "sealed" for one in EVERY) >= 60
    assert len(EVERY) >= 130


def test_no_code_and_no_fault_twice():
    codes = [re.sub(r"\s+", " ", one.code) for one in ALL]
    assert len(set(codes)) == len(codes)
    faults = [(one.exercise, one.what) for one in ALL]
    assert len(set(faults)) == len(faults)
