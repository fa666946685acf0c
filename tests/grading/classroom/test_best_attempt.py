"""Each exercise of a student counts once; which chapter a file says it is."""
from pathlib import Path

import pytest

from course_lib.grading.classroom.grading import NAMES, Graded, describe_mismatch
from course_lib.grading.classroom.marks import merge_by_student, short_names
from course_lib.grading.classroom.run import select_exercises
from course_lib.grading.verdict import Report

ROOT = Path(__file__).parents[3]


def record(student, file, *reports, **more):
    return Graded(student, file, reports=[Report(*one) for one in reports], code={one[0]: file for one in reports}, **more)


def test_merge_takes_most_points():
    first = record("ada", "x/a.ipynb", ("f", "wrong_value", 2, 7), ("g", "right", 3, 3), isolation="bubblewrap", seconds=1.0)
    second = record("ada", "x/b.ipynb", ("f", "right", 7, 7), ("g", "missing", 0, 3), isolation="bubblewrap+cgroup", seconds=2.0)
    for order in ([first, second], [second, first]):
        [found] = merge_by_student(order)
        assert (found.earned, found.possible, found.isolation.split("; ")) == (10, 10, [one.isolation for one in order])
        assert found.code == {"f": "x/b.ipynb", "g": "x/a.ipynb"} and found.seconds == 3
        assert len(found.notes) == 1 and "7 of 7 in b.ipynb, which counts" in found.notes[0] and "g (" not in found.notes[0]


@pytest.mark.parametrize("one, other", [
    ("missing", "unreadable"), ("missing", "not_attempted"), ("unreadable", "wrong_value"), ("not_graded", "error"),
    ("missing", "not_graded")])
def test_merge_prefers_graded_answer(one, other):
    for states in ((one, other), (other, one)):
        [found] = merge_by_student([record("ada", f"{i}.ipynb", ("f", state, 0, 7)) for i, state in enumerate(states)])
        assert found.reports[0].state == other and not found.notes and found.possible == 7


def test_merge_takes_first_of_equal():
    [found] = merge_by_student([record("ada", name, ("f", "right", 7, 7)) for name in ("a.ipynb", "b.ipynb", "c.ipynb")])
    assert found.code == {"f": "a.ipynb"} and found.earned == 7
    assert found.notes == ["Handed in more than once; each counts once, with the most points: f (7 of 7 in a.ipynb, which "
                           "counts; 7 of 7 in b.ipynb; 7 of 7 in c.ipynb)."]


def test_merge_by_student_keeps_order():
    records = [record("bo", "bo/1.ipynb", ("f", "right", 7, 7)), record("ada", "ada/1.ipynb", ("f", "error", 0, 7)),
               record("bo", "bo/2.ipynb", ("g", "right", 1, 1), notes=["so"])]
    found = merge_by_student(records)
    assert [(one.student, one.earned) for one in found] == [("bo", 8), ("ada", 0)] and found[1] is records[1]
    assert found[0].notes == ["2.ipynb: so"] and found[0].file == "1.ipynb; 2.ipynb"


def test_short_names_show_folders():
    assert short_names(["c/ada/1/hw.ipynb", "c/ada/2/hw.ipynb"]) == ["c/ada/1/hw.ipynb", "c/ada/2/hw.ipynb"]
    assert short_names(["", "x/a.ipynb"]) == ["", "a.ipynb"]


def test_chapter_names_match_notebooks():
    assert set(NAMES) == {path.stem for path in (ROOT / "exercises").glob("*.ipynb")}
    assert "its name says chapter bert" in describe_mismatch(select_exercises(["1"]), "x/leemo_24-bert (2).ipynb")
    assert not describe_mismatch(select_exercises(["1"]), "01-chain-rule.ipynb") + describe_mismatch(select_exercises(["1"]), "hw.ipynb")


def test_select_requested():
    assert [one.id for one in select_exercises(["4", "04", "1"])] == [one.id for one in select_exercises(["fvsbn"]) + select_exercises(["01"])]
    assert [one.id for one in select_exercises(None, ["find_leaks", " find_leaks", "attention"])] == ["find_leaks", "attention"]
    with pytest.raises(ValueError, match="there is no chapter '99'"):
        select_exercises(["99"])
    with pytest.raises(KeyError, match="did you mean find_leaks"):
        select_exercises(None, ["find_leak"])
    with pytest.raises(KeyError, match="there is no exercise '05'; those of chapter nade are nade_loglik, "):
        select_exercises(None, ["find_leaks", "05"])
