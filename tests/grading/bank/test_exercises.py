"""Every exercise proves itself: the solution is right, nothing else is, and each misconception is called by its name."""
from __future__ import annotations

import argparse
import json
import re

import pytest
import torch

from course_lib.grading import EXERCISES, evaluate
from course_lib.grading.bank import get, of_chapter
from course_lib.grading.judge.hints import heading
from course_lib.grading.notebooks import build, form
from tests.conftest import ROOT
from tests.grading.answers import CALLED, RIGHT, WRONG
from tools import seeds

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("once")]

TWINS = [(id, name) for id, exercise in EXERCISES.items() for name in exercise.misconceptions]
MANY = range(10)
POINTS = {line.split("\t")[0] for line in (ROOT / "book" / "slide-map.tsv").read_text("utf-8").splitlines()[1:]}


def seeds_of(id, seeds):
    """These seeds, or the first two of them for a class, which takes a proof of the contract and a training, and for a translator
    and a BERT, which take several trainings of seconds. The table has more."""
    return seeds[:2] if EXERCISES[id].of_class or id in ("train_translator", "fine_tune_bert") else seeds


def stub(*args):
    raise NotImplementedError


def nothing(*args):
    return None


def identity(*args):
    return args[0]


def broken(*args):
    return 1 / 0


def id_of(name):
    return name.split(":")[0]


@pytest.mark.parametrize("id", EXERCISES)
def test_the_reference_is_right_on_ten_seeds(id):
    for seed in seeds_of(id, MANY):
        report = evaluate(id, EXERCISES[id].solve, seed)
        assert (report.state, report.score) == ("right", 1.0), report
        assert report.earned == report.possible == EXERCISES[id].possible > 0


@pytest.mark.parametrize("id", EXERCISES)
def test_the_model_solution_is_right(id):
    stored = json.loads((ROOT / "course_lib" / "grading" / "solutions.json").read_text("utf-8"))[id]
    assert evaluate(id, seeds.solution(stored["source"], id), seed=0).score == 1.0
    assert len(stored["why"].split()) > 30


@pytest.mark.parametrize("id", EXERCISES)
def test_stub_none_identity_and_error_earn_nothing(id):
    for seed in seeds_of(id, MANY):
        reports = {fn.__name__: evaluate(id, fn, seed) for fn in (stub, nothing, broken, identity)}
        assert {name: report.earned for name, report in reports.items()} == dict.fromkeys(reports, 0)
        assert [reports[name].state for name in ("stub", "nothing", "broken")] == ["not_attempted", "wrong_shape", "error"]
        assert not any(report.misconception for report in reports.values())


@pytest.mark.parametrize("id, name", TWINS, ids=[f"{id}-{name}" for id, name in TWINS])
def test_a_misconception_is_caught_and_named_as_itself(id, name):
    exercise = EXERCISES[id]

    def twin(*args):
        return exercise.solve(*args, bugs=[name])

    for seed in range(2 if exercise.trains else 4):
        report = evaluate(id, twin, seed)
        assert report.score < 1, f"seed {seed}: {name} passes"
        assert report.misconception == name, f"seed {seed}: {name} is called {report.misconception}: {report}"
        assert report.message == exercise.misconceptions[name]


@pytest.mark.filterwarnings("ignore:careful")
@pytest.mark.parametrize("answer", RIGHT)
def test_a_right_answer_in_other_words_is_right(answer):
    for seed in seeds_of(id_of(answer), range(3)):
        report = evaluate(id_of(answer), RIGHT[answer], seed)
        assert report.state == "right", report


@pytest.mark.parametrize("answer", WRONG)
def test_a_wrong_answer_is_wrong_and_called_by_its_name_or_by_none(answer):
    for seed in seeds_of(id_of(answer), range(3)):
        report = evaluate(id_of(answer), WRONG[answer], seed)
        assert report.score < 1, f"{answer} passes"
        assert report.misconception in CALLED[answer], f"{answer} is called {report.misconception}: {report}"
        assert report.message


@pytest.mark.parametrize("id", EXERCISES)
def test_an_exercise_is_complete(id):
    exercise = EXERCISES[id]
    assert len(exercise.misconceptions) >= 5
    assert 2 <= len(exercise.hints) <= 4
    assert exercise.minutes > 0 and exercise.contract and exercise.title
    assert set(exercise.points) <= POINTS, "teaching points of the slide map"
    assert all(len(text.split()) >= 5 for text in exercise.misconceptions.values())
    assert all(hint.symptom.endswith(".") and hint.text for hint in exercise.hints)


def test_the_title_of_a_hint_is_a_clause_after_if_or_a_thing_that_stands_alone():
    titles = [heading(one, 1, 1).removeprefix("Hint 1 of 1. ") for exercise in EXERCISES.values() for one in exercise.hints]
    questions = [title for title in titles if re.match(r"If (to )?(what|where|which|how)\b", title)]
    assert not questions
    assert {title for title in titles if not title.startswith("If ")} == {
        "A formula, or a loop:", "A test of your own:", "From the place in the S * S numbers to the pair:", "The masks:",
        "The shape of the curve:"}


@pytest.mark.parametrize("chapter", sorted({exercise.chapter for exercise in EXERCISES.values()}))
def test_a_chapter_has_three_exercises_and_one_that_is_more_than_filling_in(chapter):
    assert len(of_chapter(chapter)) >= 3
    assert any(exercise.kind != "write" for exercise in of_chapter(chapter))


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


def test_an_unknown_exercise_gets_the_nearest_name():
    with pytest.raises(KeyError, match="did you mean fvsbn_sample"):
        get("fvsbn_samples")
    with pytest.raises(TypeError, match="fn"):
        evaluate("fvsbn_sample", 3)


def test_an_honest_fit_of_a_mixture_is_right_or_told_why_it_is_not():
    from tests.grading.answers.ch05_beyond_binary import adam

    def from_quantiles(x, K):
        m, s = x.mean(), x.std()
        z = (x - m) / s
        _, (logits, mu, log_sigma) = adam(z, z.quantile(torch.linspace(0, 1, K + 2)[1:-1]))
        return logits, m + s * mu, log_sigma + s.log()

    said = []
    for seed in range(12):
        report = evaluate("train_mog", from_quantiles, seed)
        said.append("right" if report.state == "right" else report.misconception or "advice")
        assert said[-1] in ("right", "shared_peak") or "has no component" in report.message \
            or "a component of its own" in report.message, report
    assert "shared_peak" in said and "right" in said
