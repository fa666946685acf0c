"""Every exercise once: the solution is right, an empty answer earns nothing, each misconception is named as itself."""
from __future__ import annotations

import argparse
import subprocess
import sys

import pytest
import torch

from course_lib.exercises import chapters, get, of_chapter
from course_lib.grading import EXERCISES, evaluate
from course_lib.grading.assignments import build, form
from tests.conftest import ROOT
from tests.exercises.known import ANSWERS, SOLUTIONS

POINTS = {line.split("\t")[0] for line in (ROOT / "book" / "slide-map.tsv").read_text("utf-8").splitlines()[1:]}
LONG = ("OwnDecoder", "OwnDensity", "OwnPixelCNN", "OwnRecurrent", "fine_tune_bert", "train_translator", "train_vectors")
LONGER = ("OwnPixelCNN", "train_translator")


def is_graded_here(answer) -> bool:
    """Where an exercise trains, the solution, the stub and the misconceptions. What takes longer is graded in tests/thorough, and the
    solution also in its notebook."""
    if answer.exercise.trains:
        return answer.name == "stub" or answer.kind == "solution" and answer.exercise.id not in LONG \
            or answer.kind == "misconception" and answer.exercise.id not in LONGER
    return answer.kind in ("solution", "reference", "empty", "misconception")


@pytest.mark.usefixtures("once")
@pytest.mark.parametrize("answer", filter(is_graded_here, ANSWERS), ids=str)
def test_an_answer_gets_the_verdict_of_its_kind(answer):
    report = answer.report(seed=0)
    assert answer.expects(report), report


@pytest.mark.parametrize("id", EXERCISES)
def test_an_exercise_is_complete(id):
    exercise = EXERCISES[id]
    assert len(exercise.misconceptions) >= 5
    assert 2 <= len(exercise.hints) <= 4
    assert exercise.minutes > 0 and exercise.contract and exercise.title
    assert set(exercise.points) <= POINTS, "teaching points of the slide map"
    assert all(len(text.split()) >= 5 for text in exercise.misconceptions.values())
    assert all(hint.symptom.endswith(".") and hint.text for hint in exercise.hints)
    assert len(SOLUTIONS[id]["why"].split()) > 30


@pytest.mark.parametrize("chapter", sorted({exercise.chapter for exercise in EXERCISES.values()}))
def test_chapter_has_exercises(chapter):
    """At least two; of more than two, one is more than writing a function."""
    assert len(of_chapter(chapter)) >= 2
    assert len(of_chapter(chapter)) == 2 or any(exercise.kind != "write" for exercise in of_chapter(chapter))


def test_the_same_seed_gives_the_same_report_and_another_one_other_inputs():
    def first_column(x, W, c):
        return torch.sigmoid(x @ W.T + c) + 0.01 * x[:, :1]

    one, two, other = (evaluate("fvsbn_conditionals", first_column, seed) for seed in (1, 1, 2))
    assert one == two
    assert one.message != other.message or one.checks != other.checks
    generator = EXERCISES["fvsbn_conditionals"].generator
    assert not torch.equal(torch.rand(4, generator=generator(1, "values")), torch.rand(4, generator=generator(2, "values")))


def test_the_pages_are_built_from_the_solutions_and_store_what_the_checks_print(capsys, monkeypatch):
    monkeypatch.chdir(ROOT)
    parser = argparse.ArgumentParser()
    build.add_arguments(parser)
    status = build.run(parser.parse_args(["--check"]))
    assert status == 0, capsys.readouterr().err


@pytest.mark.parametrize("folder, prints", [("solutions", "right ("), ("exercises", "not attempted yet (0 of")])
def test_every_check_cell_stores_its_verdict(folder, prints):
    verdicts = {}
    for path in (ROOT / folder).glob("*.ipynb"):
        for cell in form.read(path)["cells"]:
            if form.role(cell) == "check":
                verdicts[form.exercise(cell)] = cell["outputs"][0]["text"]
    assert verdicts.keys() == EXERCISES.keys()
    assert all(text.startswith(f"{id}: {prints}") for id, text in verdicts.items()), verdicts


def test_every_exercise_is_found_in_its_chapters_folder_and_has_a_place_of_its_own():
    assert len(EXERCISES) == len(list(EXERCISES)) >= 118
    for slug in chapters():
        these = of_chapter(slug)
        assert [one.place for one in these] == list(range(1, len(these) + 1)) and {one.chapter for one in these} == {slug}
        for one in these:
            assert one.function.__module__.startswith(f"course_lib.exercises.{slug.replace('-', '_')}.")


@pytest.mark.thorough
def test_only_the_chapter_that_is_asked_for_is_imported():
    code = """import sys
from course_lib.exercises import EXERCISES, get
get("nade_loglik"), "some_function" in EXERCISES
print(*(name for name in sys.modules if name.startswith("course_lib.exercises.") and name.count(".") == 2 and hasattr(sys.modules[name], "__path__")))"""
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert found == ["course_lib.exercises.nade"]


def test_an_unknown_exercise_gets_the_nearest_name():
    with pytest.raises(KeyError, match="did you mean fvsbn_sample"):
        get("fvsbn_samples")
    assert "owngpt" not in EXERCISES and "OwnGPT" in EXERCISES
    with pytest.raises(TypeError, match="fn"):
        evaluate("fvsbn_sample", 3)
