"""A run carried out at a small size: what is chosen, measured, recorded and shipped."""
from __future__ import annotations

import time
from dataclasses import replace
from types import SimpleNamespace

import pytest
import torch

from benchmarks.reproduce import __main__ as command
from benchmarks.reproduce import recipes, record
from benchmarks.reproduce.density import markov_chain
from benchmarks.reproduce.run import Row, Run, over
from benchmarks.reproduce.table import RUNS
from course_lib import data, hub
from course_lib.density import FVSBN, Mixture, Tabular
from course_lib.training import checkpoint as clock
from course_lib.training import evaluate

SETTINGS = {"epochs": 2, "batch_size": 100, "lr": 0.02, "progress": False}
SMALL = Run("small", "digits", (
    Row("FVSBN", FVSBN, recipes.by_gradient, {"n": 64}, SETTINGS, over("lr", (1e-6, 0.02)),
        weights="small"),
    Row("independent", markov_chain, recipes.by_counting, {"n": 64, "m": 0}, candidates=over("alpha", (1.0, 1000.0))),
    Row("tree", Tabular, recipes.by_tree, settings={"alpha": 1.0}),
    Row("both", Mixture, recipes.by_mixing, settings={"of": ["FVSBN", "independent"]}),
))


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    folder = tmp_path_factory.mktemp("small")
    made = record.reproduce(SMALL, folder / "results", folder / "weights", folder / "scratch", "cpu", say=lambda line: None)
    return folder, made


def row(made, label):
    return next(entry for entry in made["rows"] if entry["model"] == label)


def test_the_candidate_with_the_lowest_validation_figure_is_kept(small):
    for label, setting, value in (("FVSBN", "lr", 0.02), ("independent", "alpha", 1.0)):
        entry = row(small[1], label)
        assert entry["settings"][setting] == value
        assert min(entry["candidates"], key=lambda c: c["valid"])[setting] == value
        assert len(entry["candidates"]) == 2


def test_the_choice_never_sees_the_test_set(tmp_path, monkeypatch):
    """With a test set that tells the opposite of validation, the choice stays that of validation."""
    splits = data.load_data("digits")
    monkeypatch.setattr(record.data, "load_data", lambda name: replace(splits, test=torch.ones_like(splits.test)))
    run = replace(SMALL, rows=SMALL.rows[1:2])
    made = record.reproduce(run, tmp_path, tmp_path, tmp_path / "scratch", "cpu", say=lambda line: None)
    assert made["rows"][0]["settings"]["alpha"] == 1.0
    assert made["rows"][0]["test"]["mean"] > 64                       # the true test figure is about 25


def test_what_is_shipped_gives_the_recorded_figure_and_the_card_says_so(small):
    folder, made = small
    model = hub.load(folder / "weights" / "small")
    entry = row(made, "FVSBN")
    for part in ("valid", "test"):
        mean, error = evaluate(model, getattr(data.load_data("digits"), part), batch_size=500)
        assert mean == pytest.approx(entry[part]["mean"], abs=1e-4)
        assert error == pytest.approx(entry[part]["standard_error"], abs=1e-4)
    card = hub.card(folder / "weights" / "small")
    assert card.results["test nats"].startswith(f"{entry['test']['mean']:.3f}")
    assert card.licence == made["data"]["licence"]
    assert "not comparable with papers" in card.notes


def without_time(entry):
    return {key: value for key, value in entry.items() if "seconds" not in key}


def test_a_killed_run_goes_on_where_it_was(small, tmp_path, monkeypatch):
    """Its clock runs a thousand times as fast, so that the few milliseconds of its trainings are seconds that can be lost."""
    spent = []

    def fit_and_die(model, *parts, **settings):
        history = recipes_fit(model, *parts, **settings)
        spent.append(sum(history.seconds))
        if len(spent) == 2:
            raise KeyboardInterrupt
        return history

    recipes_fit = recipes.fit
    with monkeypatch.context() as patch:
        patch.setattr(recipes, "fit", fit_and_die)
        patch.setattr(clock, "time", SimpleNamespace(perf_counter=lambda: 1000 * time.perf_counter()))
        with pytest.raises(KeyboardInterrupt):
            record.reproduce(SMALL, tmp_path, tmp_path, tmp_path / "scratch", "cpu", say=lambda line: None)
    assert not list(tmp_path.glob("*.json"))                          # no record of half a run
    kept = sorted(path.name for path in (tmp_path / "scratch" / "small").glob("*.safetensors"))
    assert kept == ["fvsbn-0.safetensors", "fvsbn-1.safetensors"]
    resumed = record.reproduce(SMALL, tmp_path, tmp_path, tmp_path / "scratch", "cpu", say=lambda line: None)
    for old, new in zip(small[1]["rows"], resumed["rows"]):
        assert without_time(old) == without_time(new)
    trained = resumed["rows"][0]
    assert trained["seconds"] > 1 and trained["seconds"] == pytest.approx(sum(spent), abs=0.06)
    assert trained["cpu_seconds"] is None                             # it was spent by a process that is gone


def test_commands_list_the_runs_refuse_an_unknown_one_and_report_a_failed_download(capsys, tmp_path, monkeypatch):
    assert command.main(["--results", str(tmp_path)]) == 0
    listed = capsys.readouterr().out
    assert all(name in listed for name in RUNS)
    with pytest.raises(SystemExit):
        command.main(["fvsbn-binarised"])
    assert "no run is called fvsbn-binarised; there are: " in capsys.readouterr().err

    def missing(name):
        raise data.DataError(f"{name}: nothing arrived")

    monkeypatch.setattr(record.data, "load_data", missing)
    assert command.main(["nltcs", "--results", str(tmp_path)]) == 1
    assert capsys.readouterr().err == "nltcs: nltcs: nothing arrived\n" and not list(tmp_path.iterdir())
