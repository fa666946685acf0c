"""The teaching plan is what the chapters, slides and exercises give, and its check sees when they contradict each other."""
from __future__ import annotations

import copy
import re

import pytest

from course_lib.grading import EXERCISES
from tools import slide_map, slides, teaching_plan
from tools.chapters import chapters

LISTED, POINTS, SHOWN = chapters(), slide_map.points(), slides.slides()


def changed(number, **fields):
    listed = copy.deepcopy(LISTED)
    listed[number].update(fields)
    return listed


def week_of(number):
    """The section of the page about this week."""
    return re.search(rf"^## Week {number}: .*?(?=^## |\Z)", teaching_plan.PAGE.read_text("utf-8"), re.M | re.S)[0]


def test_the_plan_and_the_chapters_agree():
    assert teaching_plan.problems(LISTED) == []


def test_the_page_is_what_they_give():
    text = teaching_plan.page(LISTED, POINTS, SHOWN)
    assert teaching_plan.PAGE.read_text("utf-8") == text, "run `python tools/teaching_plan.py`"


def test_every_slide_and_every_exercise_has_one_week():
    text = "".join(week_of(week) for week in teaching_plan.WEEKS)
    assert sum(map(int, re.findall(r"<summary>(\d+) slides?</summary>", text))) == len(SHOWN)
    for chapter, c in LISTED.items():
        for id, title in slide_map.exercises(chapter).items():
            line = rf"^  - \[{re.escape(title)}\]\(\.\./exercises/{chapter}-\S+\): .*, {EXERCISES[id].minutes} min$"
            assert len(re.findall(line, week_of(c["week"]), re.M)) == 1 == len(re.findall(line, text, re.M)), id
    assert len(re.findall(r"^  - \[", text, re.M)) == len(EXERCISES)


@pytest.mark.parametrize("week", teaching_plan.WEEKS)
def test_minutes_add_up(week):
    row = re.search(rf"^\| \[{week}\]\(.*$", teaching_plan.PAGE.read_text("utf-8"), re.M)[0]
    total, _, work, practise = [cell.strip() for cell in row.split("|")[3:7]]
    there = [c for c in LISTED.values() if c["week"] == week and "notebook" in c]
    if not there:
        assert (total, work, practise) == ("*to come*", "", "")
        return
    asked = [e for e in EXERCISES.values() if LISTED[e.chapter]["week"] == week]
    assert int(practise) == sum(e.minutes for e in asked) and int(work) == sum(c["minutes"] for c in there)
    awaited = any(c["week"] == week and "notebook" not in c for c in LISTED.values())
    assert total == f"{int(work) + int(practise)}{'+' * awaited}"


def test_what_is_to_come_is_no_link():
    for number, c in LISTED.items():
        text = week_of(c["week"])
        if "notebook" in c:
            assert f"**[{int(number)} {c['title']}]({c['notebook']})**" in text
        else:
            assert f"**{int(number)} {c['title']}**, *to come*." in text


@pytest.mark.parametrize("listed, complaint", [
    (changed("04", week=14), "chapter 04 is in week 14; expected 2 to 13"),
    (changed("04", week=1), "chapter 04 is in week 1; expected 2 to 13"),
    (changed("04", week=2), "week 3 has no chapter"),
    (changed("12", needs=["13"]), "chapter 12 needs 13, which is no chapter before it"),
    (changed("12", needs=["00"]), "chapter 12 needs 00, which is no chapter before it"),
    (changed("04", needs=["01", "03"]), "04-nade.ipynb: it says that you need ['03']; the list says needs ['01', '03']"),
    (changed("06", helps=[]), "06-made.ipynb: it says that you need ['01', '03', '04']"),
    (changed("04", minutes=65), "04-nade.ipynb: it says 60 minutes; the list says 65"),
    (changed("04", minutes=5), "04-nade.ipynb: reading alone takes"),
], ids=lambda given: "" if isinstance(given, dict) else given[:40])
def test_a_contradiction_is_reported(listed, complaint):
    assert any(complaint in line for line in teaching_plan.problems(listed)), teaching_plan.problems(listed)


def test_a_chapter_that_does_not_say_what_it_needs_is_reported(monkeypatch):
    monkeypatch.setattr(teaching_plan.reading, "cells", lambda path: [{"source": "# A chapter", "cell_type": "markdown"}])
    assert teaching_plan.said_otherwise("04", LISTED["04"]) == [
        "04-nade.ipynb: its first cell does not say **You need** ... **Time** about ... minutes"]
