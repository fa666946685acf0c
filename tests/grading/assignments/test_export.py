"""The export: a valid nbgrader course, with the points of the registry. That nbgrader gives the same points is shown by
book/_tools/peers.py, where it is installed."""
from __future__ import annotations

import argparse
import ast
import sys
import warnings

import nbformat
import pytest

from course_lib.exercises import get, of_chapter
from course_lib.grading.assignments import export, points
from course_lib.grading.assignments.form import exercise, role
from tests.conftest import ROOT
from tests.grading import sample_course


@pytest.fixture
def exported(tmp_path):
    """Exports made-up notebooks for one grader and returns the folder."""
    sample_course.write(tmp_path / "solutions")

    def to(target, *more, code=0):
        parser = argparse.ArgumentParser()
        export.add_arguments(parser)
        folder = tmp_path / target
        assert export.run(parser.parse_args(
            [target, str(folder), "--solutions", str(tmp_path / "solutions"), *more])) == code
        return folder

    return to


def read(path):
    nb = nbformat.read(path, 4)
    nbformat.validate(nb)
    return nb


# nbgrader

@pytest.fixture
def source(exported):
    return read(exported("nbgrader") / "source/04-made-up/04-made-up.ipynb")


def marked(nb, key):
    return [cell for cell in nb.cells if cell.metadata.get("nbgrader", {}).get(key)]


def test_nbgrader_marks_solutions_and_tests(source):
    assert [cell.metadata.nbgrader.grade_id for cell in marked(source, "solution")] == [
        each.id for each in of_chapter("fvsbn")]
    for cell in marked(source, "solution"):
        assert "### BEGIN SOLUTION" in cell.source and not cell.metadata.nbgrader.locked
        assert not cell.metadata.nbgrader.grade
    for cell in marked(source, "grade"):
        assert cell.metadata.nbgrader.locked and not cell.metadata.nbgrader.solution


def test_nbgrader_points(source):
    points = {exercise(cell): cell.metadata.nbgrader.points for cell in marked(source, "grade")}
    assert points == {each.id: each.possible for each in of_chapter("fvsbn")}


def test_nbgrader_ids_are_unique(source):
    found = [cell.metadata.nbgrader for cell in source.cells if "nbgrader" in cell.metadata]
    assert len({each.grade_id for each in found}) == len(found)
    for each in found:
        assert each.schema_version == 3 and {"grade", "solution", "locked", "task"} <= set(each)
        assert ("points" in each) == each.grade


def test_nbgrader_test_cell_ends_in_points(source):
    [cell] = [cell for cell in marked(source, "grade") if exercise(cell) == "fvsbn_conditionals"]
    assert isinstance(ast.parse(cell.source).body[-1], ast.Expr)
    for fn, expected in ((get("fvsbn_conditionals").solve, 6), (None, 0), (lambda *_: None, 0)):
        names = {"fvsbn_conditionals": fn} if fn else {}
        *before, last = ast.parse(cell.source).body
        exec(compile(ast.Module(before, []), "cell", "exec"), names)
        assert eval(compile(ast.Expression(last.value), "cell", "eval"), names) == expected


def test_nbgrader_holds_no_reason(source):
    text = "".join(cell.source for cell in source.cells)
    assert "Because" not in text and "For teachers" not in text and "](../" not in text
    assert text.startswith("# Exercises")


def test_nbgrader_locks_setup(source):
    first = next(i for i, cell in enumerate(source.cells) if role(cell) == "task")
    assert all(cell.metadata.nbgrader.locked for cell in source.cells[:first] if cell.cell_type == "code")
    assert marked(source, "locked")[0].source == sample_course.SETUP


def test_points_silence_streams(capfd):
    def bernoulli_chain_loglik(x, p):
        warnings.warn("careful")
        print("out")
        print("err", file=sys.stderr)
        return get("bernoulli_chain_loglik").solve(x, p)

    space = {"earned": points.earned, "bernoulli_chain_loglik": bernoulli_chain_loglik}
    exec("found = earned('bernoulli_chain_loglik', 0)", space)
    out, err = capfd.readouterr()
    assert space["found"] == 6 and err == "" and out.startswith("bernoulli_chain_loglik: right (6 of 6 points)") and "out" not in out


def test_export_one_chapter(exported):
    assert [path.name for path in (exported("nbgrader", "--chapter", "4") / "source").iterdir()] == ["04-made-up"]


def test_export_refuses_to_overwrite(exported, capsys):
    folder = exported("nbgrader")
    mine = folder / "nbgrader_config.py"
    mine.write_text("mine")
    exported("nbgrader", code=1)
    assert mine.read_text() == "mine" and "already there, and kept" in capsys.readouterr().err
    exported("nbgrader", "--force")
    assert mine.read_text() != "mine"


def test_export_course(tmp_path):
    parser = argparse.ArgumentParser()
    export.add_arguments(parser)
    assert export.run(parser.parse_args(["nbgrader", str(tmp_path / "x"), "--solutions", str(ROOT / "solutions")])) == 0
