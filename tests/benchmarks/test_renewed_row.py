"""A row of a record renewed alone: what is trained, what is kept, and what is refused."""
from __future__ import annotations

import inspect
from dataclasses import replace

import pytest

from benchmarks.reproduce import __main__ as command
from benchmarks.reproduce import recipes, record
from benchmarks.reproduce.run import Row, Run, over
from benchmarks.reproduce.table import RUNS, markov_chain

TRAINED = []


def counted(job, row, settings, name):
    TRAINED.append((row.label, settings["alpha"], settings["seeds"]))
    return recipes.by_counting(job, row, {"alpha": settings["alpha"]}, name)


def row(label, *alphas, **settings):
    return Row(label, markov_chain, counted, {"n": 64, "m": 0}, {"seeds": 1, **settings}, over("alpha", alphas), final={"seeds": 3})


OLD = Run("two", "digits", (row("one", 100.0, 1000.0), row("other", 1.0, 1000.0)))
NEW = replace(OLD, rows=(row("one", 1.0, 100.0, 1000.0), row("other", 1.0, 1000.0, 0.5)))


def carried_out(run, folder, **only):
    TRAINED.clear()
    return record.reproduce(run, folder, folder, folder / "scratch", "cpu", say=lambda line: None, **only)


def test_new_choices_of_one_row_are_tried_and_the_rest_stays(tmp_path, monkeypatch):
    monkeypatch.setattr(record.store, "environment", lambda device: {"commit": "a"})
    before = carried_out(OLD, tmp_path)
    monkeypatch.setattr(record.store, "environment", lambda device: {"commit": "b"})
    after = carried_out(NEW, tmp_path, only=["one"])
    assert TRAINED == [("one", 1.0, 1), ("one", 1.0, 3)]             # what is recorded of 100 and 1000 is not measured again
    renewed, kept = after["rows"]
    assert renewed["candidates"][1:] == before["rows"][0]["candidates"] and renewed["settings"]["alpha"] == 1.0
    assert renewed["valid"]["mean"] < before["rows"][0]["valid"]["mean"] and "environment" not in renewed
    assert kept == {"environment": {"commit": "a"}, **before["rows"][1]} and after["environment"]["commit"] == "b"
    monkeypatch.setattr(record.store, "environment", lambda device: {"commit": "c"})
    again = carried_out(NEW, tmp_path, only=["other"])
    assert TRAINED == [("other", 0.5, 1), ("other", again["rows"][1]["settings"]["alpha"], 3)]
    assert again["rows"][0]["environment"]["commit"] == "b" and "environment" not in again["rows"][1]


@pytest.mark.parametrize("own", [{"commit": "of old"}, {"environment": {"commit": "of old"}}])
def test_a_row_that_was_kept_before_keeps_what_it_says_of_itself(own):
    entry = {"model": "one", **own}
    assert record.recorded(OLD.rows[0], {"name": "two", "environment": {"commit": "b"}, "rows": [entry]}, kept=True) == entry


def test_a_recorded_choice_that_stays_the_best_is_trained_for_its_figure(tmp_path):
    before = carried_out(OLD, tmp_path)
    after = carried_out(replace(OLD, rows=(row("one", 1000.0, 100.0, 5000.0), OLD.rows[1])), tmp_path, only=["one"])
    assert TRAINED == [("one", 5000.0, 1), ("one", 100.0, 3)] and after["rows"][0]["test"] == before["rows"][0]["test"]


def judged_otherwise(model, part):
    return recipes.nats(model, part)


@pytest.mark.parametrize("changed", [
    row("one", 1.0, 100.0, smoothed=True), row("one", 1.0, 100.0, seeds=1.0 + 1), replace(row("one", 1.0, 100.0), final={}),
    replace(row("one", 1.0, 100.0), choose=judged_otherwise), replace(row("one", 1.0, 100.0), measure=judged_otherwise)])
def test_other_settings_or_a_candidate_that_is_kept_itself_are_trained_anew(tmp_path, changed):
    carried_out(OLD, tmp_path)
    carried_out(replace(OLD, rows=(changed, OLD.rows[1])), tmp_path, only=["one"])
    assert [alpha for _, alpha, seeds in TRAINED if seeds < 3] == [1.0, 100.0]


@pytest.mark.parametrize("recorded, asked, said", [
    (replace(OLD, rows=OLD.rows[:1]), replace(OLD, rows=OLD.rows[::-1]), "two is recorded without 'other'; expected a record of all rows"),
    (None, OLD, "two is not recorded; expected the whole run first"),
    (OLD, replace(OLD, rows=(*OLD.rows, Row("mixed", recipes.Mixture, recipes.by_mixing, settings={"of": ["one"]}))),
     "'mixed' of two is made of other rows; expected the whole run"),
    (OLD, replace(OLD, options={"split": "writers"}), "two is recorded on other data")])
def test_what_cannot_be_renewed_is_said_before_anything_is_trained(tmp_path, recorded, asked, said):
    if recorded:
        carried_out(recorded, tmp_path)
    TRAINED.clear()
    with pytest.raises(record.CannotRenew, match=said):
        record.reproduce(asked, tmp_path, tmp_path, tmp_path / "scratch", "cpu", say=lambda line: None, only=["one"])
    assert TRAINED == []


def test_every_recipe_that_reads_other_models_says_so():
    found = {row.recipe for run in RUNS.values() for row in run.rows}
    reading = {recipe for recipe in found if "job.models[" in inspect.getsource(inspect.unwrap(recipe))}
    assert reading == {recipe for recipe in found if getattr(recipe, "of_other_rows", False)} and len(reading) == 5


@pytest.mark.parametrize("arguments, said", [
    (["--row", "RNN", "as-many", "copying"], "--row is given with as-many, copying; expected the name of one run"),
    (["--row", "RNN"], "--row is given with no run"),
    (["--row", "RNN", "sheets"], "--row is given with sheets; expected the name of one run"),
    (["--row", "RNN", "--judge", "as-many"], "expected the name of one run, to be trained"),
    (["--row", "rnn", "as-many"], "as-many has no row 'rnn'; there are: 'bigram', 'RNN, 4 units', 'RNN, 16 units', 'LSTM, 4 units'")])
def test_what_does_not_name_rows_of_one_run_is_refused(capsys, arguments, said):
    with pytest.raises(SystemExit) as stopped:
        command.main(arguments)
    assert stopped.value.code == 2 and said in capsys.readouterr().err
