"""A solution notebook that is not in form is named, with its cell and what is needed; nothing is built from it."""
from __future__ import annotations

import pytest

from course_lib.grading.assignments import build, form, regions
from tests.grading import sample_course
from tests.grading.sample_course import one


@pytest.fixture
def course(tmp_path):
    return sample_course.course(tmp_path)



def role(name, number=0, **new):
    return lambda nb: sample_course.of(nb, name, number).update(new)


def source_of(name, edit, number=0):
    return lambda nb: sample_course.of(nb, name, number).update(source=edit(sample_course.of(nb, name, number)["source"]))


def removed(name, number=0):
    return lambda nb: nb["cells"].remove(sample_course.of(nb, name, number))


FAULTS = {
    "cell 1: the title must begin with": lambda nb: nb["cells"][0].update(source="# Chapter 3"),
    "cell 4 is a task and must open with a heading": role("task", source="Text without a heading"),
    "of the exercise 'fvsbn_conditionals' there is answer (cell 4), check (cell 5), why (cell 7)": removed("task"),
    "of the exercise 'fvsbn_sample' there is task (cell 10), check (cell 11), why (cell 13)": removed("answer", 1),
    "there is task (cell 4), answer (cell 5), check (cell 6), why (cell 8), why": lambda nb: nb["cells"].append(sample_course.of(nb, "why")),
    "there is check (cell 4), task (cell 5), answer (cell 6), why": lambda nb: nb["cells"].insert(3, nb["cells"].pop(5)),
    "of the exercise 'bigram_bits' there is task (cell 4)": lambda nb: sample_course.of(nb, "task")["metadata"]["course"].update(exercise="bigram_bits"),
    "cell 5 must define fvsbn_conditionals once, at the top level; its docstring": source_of("answer", lambda s: s.replace(
        '    """What fvsbn_conditionals returns."""\n', "")),
    "and its answer between them": source_of("answer", lambda s: s.split("    ###")[0] + "    return 1"),
    "cell 5 is not Python, with the answer or without it": source_of("answer", lambda s: s.replace("return None", "return (")),
    'cell 6 must be the one line check("fvsbn_conditionals")': role("check", source='check("fvsbn_sample")'),
    "cell 8 says nothing": role("why", source=" "),
    "cell 7 holds an answer and has no role": lambda nb: nb["cells"][6].update(source="### BEGIN SOLUTION\n1"),
    "a mark is a line": source_of("answer", lambda s: s.replace("### END SOLUTION", "## end solution")),
    "the answer is not closed": source_of("answer", lambda s: s.replace("    ### END SOLUTION", "")),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_find_faults_names_cell(course, capsys, fault):
    path = one(course, folder="solutions")
    sample_course.change(path, FAULTS[fault])
    before = path.read_bytes()
    assert build.run(course) == 1
    said = capsys.readouterr().err
    assert fault in said and "04-made-up.ipynb" in said and "01-made-up" not in said
    assert path.read_bytes() == before and not course.exercises.exists() and not course.store.exists()


def test_read_sources_reports_all_faults(course, capsys):
    for chapter in ("01", "04"):
        sample_course.change(one(course, chapter, "solutions"), FAULTS["cell 8 says nothing"])
    build.run(course)
    assert len(capsys.readouterr().err.splitlines()) == 2


def test_read_sources_names_missing_chapter(course, capsys):
    one(course, "01", "solutions").unlink()
    assert build.run(course) == 1
    assert "no notebook for the exercises of chapter chain-rule: 01-chain-rule.ipynb is needed" in capsys.readouterr().err


@pytest.mark.parametrize("name, text, said", [
    ("three.ipynb", None, "is called NN-name.ipynb"),
    ("04-other.ipynb", None, "are both of chapter fvsbn"),
    ("98-new.ipynb", "{", "cannot be read as a notebook"),
    ("98-new.ipynb", '{"nbformat": 4, "metadata": {}, "cells": [{"source": ""}]}', "a cell has no type"),
    ("98-new.ipynb", '{"nbformat": 3, "worksheets": []}', "it is not of format 4"),
])
def test_read_sources_names_invalid_file(course, capsys, name, text, said):
    (course.solutions / name).write_text(text or one(course, folder="solutions").read_text())
    assert build.run(course) == 1
    assert said in capsys.readouterr().err


# the answer in a cell

def test_stub_replaces_each_answer():
    source = ("def f(x):\n    a = 1\n    ### BEGIN SOLUTION\n    b = 2\n    ### END SOLUTION\n"
              "    for _ in range(a):\n        ### BEGIN SOLUTION\n        b += 1\n        ### END SOLUTION\n"
              "    return b")
    assert regions.stub(source) == ("def f(x):\n    a = 1\n    raise NotImplementedError\n    for _ in range(a):\n"
                                    "        raise NotImplementedError\n    return b")
    assert [line for inside, lines in regions.split(source) if inside for line in lines] == ["    b = 2", "        b += 1"]


# outputs that a comparison would pass over

def outputs(text="not attempted yet", **changes):
    output = {"output_type": "stream", "name": "stdout", "text": text, **changes}
    cell = sample_course.cell("code", 'check("find_leaks")', "check", "find_leaks")
    return {"cells": [{**cell, "outputs": [output]}], "metadata": {}}


def test_check_cell_needs_output(tmp_path):
    path = tmp_path / "exercises" / "03-x.ipynb"
    assert form.cells_without_output(outputs(), path) == []
    for nb in (outputs(" \n"), outputs(name="stderr"), {"cells": [{**outputs()["cells"][0], "outputs": []}]},
               {"cells": [sample_course.cell("code", "check(my_function)")]}):
        [fault] = form.cells_without_output(nb, path)
        assert fault == "exercises/03-x.ipynb, cell 1 calls check and stores no output: run the notebook"
