"""exercises/ from solutions/: what is taken out, what stays, what is stale."""
from __future__ import annotations

import argparse
import ast
import json
import shutil

import nbformat
import pytest

from course_lib.exercises import EXERCISES, of_chapter
from course_lib.grading.assignments import build, form, regions
from tests.conftest import ROOT
from tests.grading import sample_course
from tests.grading.sample_course import one


@pytest.fixture
def course(tmp_path):
    return sample_course.course(tmp_path)


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """A folder with a course that is built and run."""
    folder = tmp_path_factory.mktemp("finished")
    course = sample_course.course(folder)
    build.run(course)
    run_as_if(course)
    return folder


@pytest.fixture
def whole(finished, tmp_path):
    """A copy of the finished course, to be spoilt."""
    shutil.copytree(finished, tmp_path, dirs_exist_ok=True)
    return sample_course.options(tmp_path)


def check(course):
    return build.run(argparse.Namespace(**{**vars(course), "check": True}))


def run_as_if(course, text="not attempted yet"):
    """Store an output in every check cell, as running the notebooks does."""
    for path in [*course.solutions.glob("*.ipynb"), *course.exercises.glob("*.ipynb")]:
        nb = nbformat.read(path, 4)
        for cell in nb.cells:
            if cell.cell_type == "code" and cell.source.startswith("check("):
                cell.outputs = [nbformat.v4.new_output("stream", name="stdout", text=f"{cell.source}: {text}\n")]
                cell.execution_count = 1
        path.write_text(form.dumps(form.normal(form.parse(nbformat.writes(nb)), path.stem)), "utf-8")


# what is built

def test_stub_keeps_indentation(course):
    assert build.run(course) == 0
    for chapter in ("01", "04"):
        for each in of_chapter(chapter):
            [cell] = sample_course.cells(one(course, chapter), "answer", each.id)
            assert sample_course.text(cell) == (f'LIMIT_{each.id} = 3\n\n\ndef {each.id}(x, y=None):\n'
                                          f'    """What {each.id} returns."""\n    raise NotImplementedError')
            names: dict = {}
            exec(sample_course.text(cell), names)
            with pytest.raises(NotImplementedError):
                names[each.id](1)


def test_exercise_page_holds_no_solution(course):
    build.run(course)
    text = one(course).read_text()
    assert "Because" not in text and "For teachers" not in text and "BEGIN SOLUTION" not in text
    assert "total_" not in text and sample_course.cells(one(course), "why") == []
    assert "# play with fvsbn_sample" in text and "# Set-up" in text                # the others are there


def test_task_lines_come_from_exercise(course, monkeypatch):
    build.run(course)
    lines = sample_course.text(sample_course.cells(one(course), "task", "find_leaks")[0]).splitlines()
    assert lines[0] == "## Find the leak" and lines[6] == "Write `find_leaks`."
    assert lines[2] == "*Difficulty 4 of 5, about 25 minutes, 5 points. Find the fault. Practices fvsbn.*"
    assert lines[4] == "*You may use [any library function](../book/what-is-judged.md). Gradients through your function are not tested.*"
    monkeypatch.setattr(EXERCISES["find_leaks"], "minutes", 40)
    monkeypatch.setattr(EXERCISES["find_leaks"], "forbid", ("torch.flip",))
    assert check(course) == 1
    build.run(course)
    for folder in ("exercises", "solutions"):
        text = sample_course.text(sample_course.cells(one(course, folder=folder), "task", "find_leaks")[0])
        assert text.count("Difficulty") == 1 and "about 40 minutes" in text
        assert text.count("You may use") == 1 and "except `torch.flip`. Gradients" in text


def test_store_holds_every_solution(course):
    build.run(course)
    stored = json.loads(course.store.read_text())
    assert list(stored) == list(EXERCISES)
    for name, entry in stored.items():
        assert entry["source"] == regions.without_marks(sample_course.answer(name)) and "SOLUTION" not in entry["source"]
        assert entry["why"] == sample_course.why(name)
        ast.parse(entry["source"])


# the same bytes

def test_build_is_idempotent(course):
    build.run(course)
    run_as_if(course)
    before = {path: path.read_bytes() for path in course.solutions.parent.rglob("*") if path.is_file()}
    assert build.run(course) == 0 and check(course) == 0
    assert before == {path: path.read_bytes() for path in course.solutions.parent.rglob("*") if path.is_file()}


def test_build_keeps_outputs_of_unchanged_cells(course):
    build.run(course)
    run_as_if(course, "run one")
    source = one(course, folder="solutions")
    sample_course.change(source, lambda nb: sample_course.of(nb, "answer").update(
        source=sample_course.answer("fvsbn_conditionals").replace("LIMIT", "BOUND")))
    sample_course.change(source, lambda nb: nb["cells"].insert(3, sample_course.cell("markdown", "A new remark.")))
    build.run(course)
    cells = sample_course.cells(one(course), "check")
    assert all("run one" in "".join(cell["outputs"][0]["text"]) for cell in cells)
    sample_course.change(one(course), lambda nb: sample_course.of(nb, "check").update(source="check(1)"))
    build.run(course)
    assert [bool(cell["outputs"]) for cell in sample_course.cells(one(course), "check")] == [False] + [True] * (len(cells) - 1)


# what is stale

def edited(nb):
    sample_course.of(nb, "answer", 1)["source"] += "  # by hand"


STALE = {
    "a cell": ("04-made-up.ipynb is stale", lambda course: sample_course.change(one(course), edited)),
    "fewer cells": ("04-made-up.ipynb is stale", lambda course: sample_course.change(one(course), lambda nb: nb["cells"].pop())),
    "metadata of a cell": ("04-made-up.ipynb is stale", lambda course: sample_course.change(
        one(course), lambda nb: nb["cells"][3]["metadata"].update(tags=["x"]))),
    "metadata": ("04-made-up.ipynb is stale", lambda course: sample_course.change(
        one(course), lambda nb: nb["metadata"]["course"]["exercises"].pop())),
    "no exercises": ("04-made-up.ipynb is missing", lambda course: one(course).unlink()),
    "other solutions": ("solutions.json is stale", lambda course: course.store.write_text("{}")),
    "no solutions": ("solutions.json is missing", lambda course: course.store.unlink()),
    "another task": ("04-made-up.ipynb is stale", lambda course: sample_course.change(
        one(course, folder="solutions"), lambda nb: sample_course.of(nb, "task", 1).update(source="## Other\n\nTask."))),
    "no source": ("07-old.ipynb has no source", lambda course: (course.exercises / "07-old.ipynb").write_text(one(course).read_text())),
    "no output": ("calls check and stores no output", lambda course: sample_course.change(
        one(course), lambda nb: sample_course.of(nb, "check").update(outputs=[], execution_count=None))),
    "another form": ("04-made-up.ipynb is stale", lambda course: one(course).write_text(one(course).read_text() + "\n")),
}


@pytest.mark.parametrize("fault", STALE)
def test_check_names_stale_files(whole, capsys, fault):
    words, change = STALE[fault]
    assert check(whole) == 0
    change(whole)
    before = {path: path.read_bytes() for path in whole.solutions.parent.rglob("*") if path.is_file()}
    assert check(whole) == 1
    assert words in capsys.readouterr().err
    assert before == {path: path.read_bytes() for path in whole.solutions.parent.rglob("*") if path.is_file()}


@pytest.mark.skipif(not list((ROOT / "exercises").glob("*.ipynb")), reason="the exercises are not built yet")
def test_check_course_is_fresh(capsys, monkeypatch):
    monkeypatch.chdir(ROOT)
    parser = argparse.ArgumentParser()
    build.add_arguments(parser)
    assert build.run(parser.parse_args(["--check"])) == 0, capsys.readouterr().err
