"""The page on what is judged says what the exercises and the grader do."""
from __future__ import annotations

import re

import pytest

from course_lib.grading import EXERCISES
from course_lib.grading.exercise.checks import Property
from course_lib.grading.notebooks import form
from course_lib.grading.sandbox.inside import ground, worker
from course_lib.grading.sandbox.sandbox import Limits
from tests.conftest import ROOT

PAGE = " ".join((ROOT / "book" / "what-is-judged.md").read_text("utf-8").split())


def table(text: str) -> dict[str, tuple[str, ...]]:
    """The rows of the page's list: exercise -> what may not be used."""
    return {name: tuple(re.findall(r"`([^`]+)`", names)) for name, names in re.findall(r"^\| `(\w+)` \| (.*) \|$", text, re.M)}


def test_the_list_of_what_may_not_be_used_is_the_exercises():
    listed = table((ROOT / "book" / "what-is-judged.md").read_text("utf-8"))
    assert listed == {one.id: tuple(one.forbid) for one in EXERCISES.values() if one.forbid}


def test_the_ground_floor_is_named():
    assert "ground floor:** " + " and ".join(f"`course_lib.{name}`" for name in ground.NAMED) in PAGE


def test_figures():
    limits = Limits()
    usual = {one.deadline for one in EXERCISES.values() if not one.trains}
    longer = {one.deadline for one in EXERCISES.values() if one.trains and one.id != "train_translator"}
    longest = EXERCISES["train_translator"].deadline
    assert (f"{usual.pop():g} seconds for one call, {longer.pop():g} where you train to a score or write a class, "
            f"{longest:g} for `train_translator`") in PAGE and not usual | longer
    assert f"In a class, {limits.submission:g} seconds for a notebook" in PAGE
    assert f"may take {limits.memory // 10**9} GB above what torch takes, all of an answer's together twice that" in PAGE
    assert worker.SHARE == 2 and f"and {worker.FILES} files and folders" in PAGE
    assert f"| {limits.processes} | {limits.processes} more than there are |" in PAGE and worker.WATCH == 0.1
    others = {one.id: (check.rtol, check.atol) for one in EXERCISES.values() for check in one.checks
              if not isinstance(check, Property) and (check.rtol, check.atol) != (1e-4, 1e-5)}
    assert others.pop("generation_work") == (1e-9, 0.1)                        # counts: the nearest whole number
    more, less = ("stable_log_softmax", "attention", "lsa"), ("dropped_parent_cost", "noam_lr")
    assert all(max(others.pop(one)) <= 1e-3 for one in more) and all(others.pop(one)[1] < 1e-5 for one in less) and not others
    for group in (more, less):
        assert f"(`{'`, `'.join(group)}`)" in PAGE


@pytest.mark.parametrize("folder", ["exercises", "solutions"])
def test_the_rules_stand_above_every_exercise_with_a_link_to_the_page(folder):
    found = {}
    for path in (ROOT / folder).glob("*.ipynb"):
        for cell in form.read(path)["cells"]:
            if form.role(cell) == "task":
                found[form.exercise(cell)] = cell["source"].splitlines()[4]
    link = "[Ready-made](../book/what-is-judged.md): "
    assert found == {one.id: f"*{one.rules.replace('Ready-made: ', link)}*" for one in EXERCISES.values()}


def test_the_page_is_found_from_the_pages_for_instructors():
    for place, link in (("book/intro.md", "(what-is-judged.md)"), ("README.md", "(book/what-is-judged.md)"),
                        ("book/api/grading.md", "(../what-is-judged.md)"), ("_toc.yml", "book/what-is-judged")):
        assert link in (ROOT / place).read_text("utf-8"), place
