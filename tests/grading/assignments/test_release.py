"""The bundle for students holds not one line of a solution; nothing is written over."""
from __future__ import annotations

import argparse
import json

import pytest

from course_lib.exercises import chapters, of_chapter
from course_lib.grading.assignments import build, release
from tests.conftest import ROOT
from tests.grading import sample_course
from tests.support import leaks


@pytest.fixture
def course(tmp_path):
    """The options of a release of made-up notebooks."""
    sample_course.write(tmp_path / "solutions")
    return options(tmp_path)


def options(folder, *more):
    parser = argparse.ArgumentParser()
    release.add_arguments(parser)
    return parser.parse_args(["--to", str(folder / "out"), "--solutions", str(folder / "solutions"),
                              "--exercises", str(folder / "exercises"), *more])


def everything(folder):
    return {str(path.relative_to(folder)): path.read_text() for path in sorted(folder.rglob("*")) if path.is_file()}


def test_release_writes_two_bundles(course, capsys):
    assert release.run(course) == 0
    student, teacher = everything(course.to / "student"), everything(course.to / "solutions")
    notebooks = [f"{row['number']}-made-up.ipynb" for row in chapters().values()]
    assert sorted(student) == ["README.md", *(f"exercises/{name}" for name in notebooks), "requirements.txt"]
    assert sorted(teacher) == ["README.md", "requirements.txt", *(f"solutions/{name}" for name in notebooks)]
    assert "raise NotImplementedError" in student["exercises/04-made-up.ipynb"]
    assert "total_find_leaks" in teacher["solutions/04-made-up.ipynb"]
    assert "exercises/04-made-up.ipynb`: chapter fvsbn" in student["README.md"]
    assert "contains the references" in capsys.readouterr().out


def test_release_holds_no_solution(course):
    release.run(course)
    text = "".join(everything(course.to / "student").values())
    for chapter in ("01", "04"):
        for each in of_chapter(chapter):
            for line in sample_course.answer(each.id).split("SOLUTION\n")[1].splitlines()[:-1]:
                assert not line.strip() or line.strip() == "return None" or line.strip() not in text
            assert "Because " + each.id not in text and "For teachers" not in text


def test_release_removes_links(course):
    release.run(course)
    for name, text in everything(course.to / "student").items():
        assert "](../" not in text and "Solution and explanation" not in text, name
    first = json.loads((course.to / "student/exercises/04-made-up.ipynb").read_text())["cells"][0]
    assert sample_course.text(first).endswith("To the chapter.")


def test_release_refuses_to_overwrite(course, capsys):
    release.run(course)
    mine = course.to / "student/exercises/04-made-up.ipynb"
    mine.write_text("{}")
    assert release.run(course) == 1 and mine.read_text() == "{}"
    assert "already there, and kept" in capsys.readouterr().err
    course.force = True
    assert release.run(course) == 0 and mine.read_text() != "{}"


def test_release_needs_clone(course, capsys, tmp_path):
    course.solutions = tmp_path / "nowhere"
    assert release.run(course) == 1 and not course.to.exists()
    assert capsys.readouterr().err == (f"There is no folder {tmp_path / 'nowhere'} here: release hands out the notebooks of a clone "
                                       "of the course. Run it in one, or name its folder by --solutions.\n")


def test_fault_stops_release(course, capsys):
    sample_course.change(course.solutions / "04-made-up.ipynb", lambda nb: nb["cells"].remove(sample_course.of(nb, "check")))
    assert release.run(course) == 1 and not course.to.exists()
    assert "needs one cell each of task, answer, check, why" in capsys.readouterr().err


def test_requirements_without_address(course, capsys):
    release.run(course)
    assert "no public address" in capsys.readouterr().out
    lines = (course.to / "student/requirements.txt").read_text().splitlines()
    assert lines[0].startswith("# course_lib itself") and any(line.startswith("torch") for line in lines)
    assert "course-lib" not in lines


def test_course_leaks_nothing():
    pages = build.read_sources(ROOT / "solutions")
    student, _ = release.make_bundles(pages, ROOT / "exercises")
    assert leaks.find_leaks(pages.values(), student.items()) == []
    assert len(list(leaks.secrets(pages.values()))) > 40


def test_release_one_chapter(course, capsys):
    course.chapter = ["4", "self-attention"]
    assert release.run(course) == 0
    student, teacher = everything(course.to / "student"), everything(course.to / "solutions")
    assert sorted(student) == ["README.md", "exercises/04-made-up.ipynb", "exercises/17-made-up.ipynb", "requirements.txt"]
    assert sorted(name for name in teacher if "/" in name) == ["solutions/04-made-up.ipynb", "solutions/17-made-up.ipynb"]
    assert "17-made-up" in student["README.md"] and "05-made-up" not in student["README.md"]
    course.chapter, course.to = ["99"], course.to / "other"
    assert release.run(course) == 1 and "there is no chapter '99'" in capsys.readouterr().err and not course.to.exists()
