"""The exports: valid for nbgrader, otter and Gradescope, with the points of the registry. That those graders give the
same points is shown by book/_tools/peers.py, where they are installed."""
from __future__ import annotations

import argparse
import ast
import json
import os
import shutil
import subprocess
import sys
import types
import warnings

import nbformat
import pytest
import torch

from course_lib.exercises import EXERCISES, chapters, get, of_chapter
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


# what a check leaves behind

def loud(x, p):
    warnings.warn("careful")
    print("out")
    print("err", file=sys.stderr)
    os.write(2, b"raw")
    os.write(1, b"raw")
    return get("bernoulli_chain_loglik").solve(x, p)


def test_points_silence_streams(capfd):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        assert points.earned("bernoulli_chain_loglik", 0, {"bernoulli_chain_loglik": loud}) == 6
    out, err = capfd.readouterr()
    assert err == "" and not caught
    assert out.startswith("bernoulli_chain_loglik: right (6 of 6 points)") and "raw" not in out


def test_points_restore_streams(capfd):
    points.earned("bernoulli_chain_loglik", 1, {"bernoulli_chain_loglik": loud})
    capfd.readouterr()
    print("one")
    os.write(2, b"two")
    assert capfd.readouterr() == ("one\n", "two")


def test_points_find_function_by_name():
    code = ("import torch\nfrom course_lib.grading.assignments.points import earned\n"
            "def bernoulli_chain_loglik(x, p):\n    return torch.where(x == 1, p, 1 - p).log().sum(1)\n"
            "points = earned('bernoulli_chain_loglik', seed=0)")
    for changed, expected in ((code, 6), (code.replace(".log()", ""), 0), (code.replace("def b", "def c"), 0)):
        space: dict = {}
        exec(changed, space)
        assert space["points"] == expected


# otter

@pytest.fixture
def otter(exported, monkeypatch):
    """The exported folder, and a stand-in for the one name that the tests take from otter."""
    cases = []

    class test_case:
        def __init__(self, name, points):
            self.name, self.points = name, points

        def __call__(self, fn):
            self.fn = fn
            cases.append(self)
            return self

    module = types.ModuleType("otter.test_files")
    module.test_case = test_case
    monkeypatch.setitem(sys.modules, "otter", types.ModuleType("otter"))
    monkeypatch.setitem(sys.modules, "otter.test_files", module)
    return exported("otter"), cases


def score(folder, cases, name, fn):
    """What otter gives for `fn`: the points of the test cases that raise nothing."""
    cases.clear()
    space: dict = {}
    exec((folder / f"{chapters()[get(name).chapter]['number']}-made-up/tests/{name}.py").read_text(), space)
    assert space["OK_FORMAT"] is False and space["name"] == name
    passed = 0
    for case in cases:
        try:
            case.fn({name: fn})
            passed += case.points
        except AssertionError as problem:
            assert str(problem)
    return passed


@pytest.mark.parametrize("name", EXERCISES)
def test_otter_tests_each_check(otter, name):
    folder, cases = otter
    score(folder, cases, name, None)
    assert [(case.name, case.points) for case in cases] == [(check.name, check.points) for check in get(name).checks]


def detached(x, W, c):
    return get("fvsbn_conditionals").solve(x, W, c).detach()


def written_over(x, W, c):
    result = get("fvsbn_conditionals").solve(x, W, c)
    x.zero_()
    return result


@pytest.mark.parametrize("fn", [get("fvsbn_conditionals").solve, detached, written_over, torch.sigmoid, None, abs])
def test_otter_points(otter, fn):
    from course_lib.grading import evaluate

    ours = evaluate("fvsbn_conditionals", fn, seed=0).earned if fn else 0
    assert score(*otter, "fvsbn_conditionals", fn) == ours


def test_otter_notebook_calls_otter(otter):
    nb = read(otter[0] / "04-made-up/04-made-up.ipynb")
    sources = [cell.source for cell in nb.cells]
    assert sources.count('grader.check("find_leaks")') == 1 and not any(s.startswith("check(") for s in sources)
    assert sources.index('import otter\n\ngrader = otter.Notebook("04-made-up.ipynb")') == 3
    assert "total_" not in "".join(sources) and not (otter[0] / "04-made-up/tests/bigram_bits.py").exists()


# Gradescope

def test_gradescope_files(exported, tmp_path):
    folder = exported("gradescope", "--chapter", "1,04")
    for name in ("setup.sh", "run_autograder"):
        assert os.access(folder / name, os.X_OK)
        subprocess.run(["bash", "-n", str(folder / name)], check=True)
    assert any(line.startswith("torch") for line in (folder / "requirements.txt").read_text().splitlines())
    code = "import course_lib.grading as g; print(g.__file__, len(g.EXERCISES))"
    env = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
    done = subprocess.run([sys.executable, "-c", code], cwd=folder, capture_output=True, text=True, env=env)
    path, count = done.stdout.split()
    assert path.startswith(str(folder)) and int(count) == len(EXERCISES), done.stderr


@pytest.fixture
def gradescope(exported, tmp_path):
    """Gradescope's folders around the autograder; submit(name=text, ...) runs it and returns what it wrote."""
    folder = exported("gradescope", "--chapter", "1,04").rename(tmp_path / "source")

    def submit(**files):
        (tmp_path / "submission").mkdir()
        for name, text in files.items():
            (tmp_path / "submission" / name).parent.mkdir(exist_ok=True)
            (tmp_path / "submission" / name).write_text(text)
        flags = {} if shutil.which("bwrap") else {"AUTOGRADER_FLAGS": ""}
        env = {**os.environ, **flags, "AUTOGRADER_ROOT": str(tmp_path), "AUTOGRADER_PYTHON": sys.executable}
        subprocess.run([str(folder / "run_autograder")], check=True, env=env, capture_output=True)
        return json.loads((tmp_path / "results/results.json").read_text())

    return submit


def test_gradescope_grades_submission(gradescope):
    """One student, though there are two notebooks."""
    notebook = sample_course.notebook("04")
    sample_course.of(notebook, "answer").update(source=(
        "import torch\n\n\ndef fvsbn_conditionals(x, W, c):\n"
        "    return torch.sigmoid(x @ W.tril(-1).T + c).detach()"))
    other = sample_course.notebook("01")
    results = gradescope(**{"04-made-up.ipynb": json.dumps(notebook), "01-made-up.ipynb": json.dumps(other)})
    points = {each["name"]: (each["score"], each["max_score"]) for each in results["tests"]}
    assert points.pop("fvsbn_conditionals") == (5, 6) and results["score"] == 5
    assert points == {each.id: (0, each.possible) for each in EXERCISES.values()
                      if each.chapter in ("chain-rule", "fvsbn") and each.id != "fvsbn_conditionals"}


def test_gradescope_ignores_chapter_of_notebook(gradescope):
    """What is asked for is the autograder's to say, not the notebook's; copies in folders count once."""
    notebook = sample_course.notebook("24")
    results = gradescope(**{"a/24-bert.ipynb": json.dumps(notebook), "b/24-bert.ipynb": json.dumps(notebook)})
    asked = [each for each in EXERCISES.values() if each.chapter in ("chain-rule", "fvsbn")]
    assert [each["name"] for each in results["tests"]] == [each.id for each in asked] and results["score"] == 0
    assert sum(each["max_score"] for each in results["tests"]) == sum(each.possible for each in asked)
    assert "Graded by what was asked for" in results["output"]


def test_gradescope_needs_chapter(exported, capsys):
    exported("gradescope", code=1)
    assert "say with --chapter" in capsys.readouterr().err
    exported("gradescope", "--chapter", "1,99", code=1)
    assert "there is no chapter '99'; expected a number from 1 to 28" in capsys.readouterr().err


def test_export_one_chapter(exported):
    assert [path.name for path in (exported("nbgrader", "--chapter", "4") / "source").iterdir()] == ["04-made-up"]


def test_gradescope_reports_missing_notebook(gradescope):
    results = gradescope(**{"essay.txt": "{}"})
    assert results["score"] == 0 and "not a notebook" in results["output"]


def test_gradescope_reports_hidden_notebook(gradescope):
    results = gradescope(**{".ipynb_checkpoints/hw-checkpoint.ipynb": "{}"})
    assert results["score"] == 0 and "not a notebook" in results["output"]


@pytest.mark.parametrize("fault", ["case \"$*\" in *--require-isolation*) exit 2;; esac", "kill -9 $$"])
def test_gradescope_stopped_grader_writes_results(exported, tmp_path, fault):
    """They say that the 0 is not the student's."""
    folder = exported("gradescope", "--chapter", "1,04").rename(tmp_path / "source")
    (tmp_path / "submission").mkdir()
    (tmp_path / "submission/04-made-up.ipynb").write_text(json.dumps(sample_course.notebook("04")))
    (tmp_path / "refuses").write_text(f"#!/bin/sh\n{fault}\n")
    (tmp_path / "refuses").chmod(0o755)
    env = {**os.environ, "AUTOGRADER_ROOT": str(tmp_path), "AUTOGRADER_PYTHON": str(tmp_path / "refuses")}
    done = subprocess.run([str(folder / "run_autograder")], env=env, capture_output=True)
    results = json.loads((tmp_path / "results/results.json").read_text())
    assert done.returncode and results["score"] == 0 and "not a mark" in results["output"] and "tests" not in results


# writing

def test_export_refuses_to_overwrite(exported, capsys):
    folder = exported("otter")
    mine = folder / "04-made-up/tests/find_leaks.py"
    mine.write_text("mine")
    exported("otter", code=1)
    assert mine.read_text() == "mine" and "already there, and kept" in capsys.readouterr().err
    exported("otter", "--force")
    assert mine.read_text() != "mine"


@pytest.mark.parametrize("target", sorted(export.TARGETS))
def test_export_course(tmp_path, target):
    parser = argparse.ArgumentParser()
    export.add_arguments(parser)
    chapter = ["--chapter", "17"] if target == "gradescope" else []
    assert export.run(parser.parse_args([target, str(tmp_path / "x"), "--solutions", str(ROOT / "solutions"), *chapter])) == 0
