"""A run carried out at a small size: what is chosen, measured, recorded and shipped."""
from __future__ import annotations

import json
import math
import time
from dataclasses import replace
from types import SimpleNamespace

import pytest
import torch

from benchmarks import store
from benchmarks.reproduce import __main__ as command
from benchmarks.reproduce import recipes, record
from benchmarks.reproduce.run import Row, Run, Target, over
from benchmarks.reproduce.table import RUNS, markov_chain
from course_lib import data, hub
from course_lib.density import FVSBN, Mixture, Tabular
from course_lib.density.tabular import all_states
from course_lib.training import evaluate
from course_lib.training import run as clock

pytestmark = pytest.mark.slow

SETTINGS = {"epochs": 2, "batch_size": 100, "lr": 0.02, "progress": False}
SMALL = Run("small", "digits", (
    Row("FVSBN", FVSBN, recipes.by_gradient, {"n": 64}, SETTINGS, over("lr", (1e-6, 0.02)), target=Target(24.0, 1.0),
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


def test_the_target_is_judged_by_the_test_figure(small):
    entry = row(small[1], "FVSBN")
    assert entry["target"] == {"at_most": 24.0, "reached": entry["test"]["mean"] <= 24.0, "aim": 1.0,
                               "aim_reached": False}
    assert record.judge(Target(24.0), 24.01)["reached"] is False
    assert record.judge(Target(24.0), 24.0)["reached"] is True
    assert record.judge(None, 1.0) is None


def test_a_record_is_judged_again_by_what_is_asked_now_and_keeps_its_figures(small, tmp_path):
    store.write(small[1], tmp_path)
    rows = (replace(SMALL.rows[0], target=None), replace(SMALL.rows[1], target=Target(at_least=0.5)), *SMALL.rows[2:])
    again = record.judge_again(replace(SMALL, rows=rows), tmp_path)
    assert again == store.read(tmp_path)["small"]
    assert [entry["target"] for entry in again["rows"]] == [
        None, {"at_least": 0.5, "reached": True, "aim": None, "aim_reached": None}, None, None]
    assert [{**entry, "target": None} for entry in again["rows"]] == [{**entry, "target": None} for entry in small[1]["rows"]]


def without_time(entry):
    return {key: value for key, value in entry.items() if "seconds" not in key}


def test_the_record_is_whole_json_and_a_second_run_gives_the_same_figures(small, tmp_path):
    folder, made = small
    assert json.loads((folder / "results" / "small.json").read_text()) == json.loads(json.dumps(made))
    assert store.read(folder / "results") == {"small": json.loads(json.dumps(made))}
    again = record.reproduce(SMALL, tmp_path, tmp_path, tmp_path / "scratch", "cpu", say=lambda line: None)
    for old, new in zip(made["rows"], again["rows"]):
        assert without_time(old) == without_time(new) and new["cpu_seconds"] >= 0
    assert not (tmp_path / "scratch" / "small").exists()              # or a third run would find finished work


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


@pytest.mark.parametrize("seconds, resumed, known", [(0.2, False, True), (0.2, True, False), (1000.0, False, False)])
def test_cpu_seconds_are_those_of_training(tmp_path, seconds, resumed, known):
    """Not known where a killed run left work, nor where more seconds were spent than this process has spent."""
    def train(*_):
        began = time.process_time()
        while time.process_time() < began + 0.2:
            pass
        return recipes.Trained(torch.nn.Identity(), seconds)

    job = recipes.Job(None, 0, torch.device("cpu"), tmp_path, resumed=resumed)
    used = record.timed(job, Row("one", torch.nn.Identity, train), {}, "one-0")[1]
    assert used == pytest.approx(0.2, abs=0.1) if known else math.isnan(used)


def test_the_mixture_is_of_the_rows_before_it(small):
    models = {label: row(small[1], label)["parameters"] for label in ("FVSBN", "independent", "both")}
    assert models == {"FVSBN": 64 * 65 // 2, "independent": 64, "both": 64 * 65 // 2 + 64}


def test_the_best_tree_is_the_best_of_all_trees():
    """Against every parent vector of four variables: none with one parent each has a larger likelihood."""
    generator = torch.Generator().manual_seed(3)
    joint = torch.rand(2, 2, 2, 2, generator=generator, dtype=torch.float64) ** 4
    counts = (joint.flatten() / joint.sum() * 3000).round().long()
    x = all_states(4).repeat_interleave(counts, dim=0)
    order, parents = recipes.best_tree(x.double())
    best = evaluate(Tabular(4, parents, order).double().fit_counts(x), x)[0]
    assert sorted(map(len, parents)) == [0, 1, 1, 1]
    for code in range(4 ** 4):
        listed = [code // 4 ** i % 4 for i in range(4)]
        for root in range(4):
            other = [[] if i == root else [listed[i]] for i in range(4)]
            if (walk := reached(other, root)) is not None:
                assert best <= evaluate(Tabular(4, other, walk).double().fit_counts(x), x)[0] + 1e-9


def reached(parents, root):
    """An order in which every parent comes first, None if the graph is no tree with this root."""
    order = [root]
    while len(order) < len(parents):
        new = [i for i in range(len(parents)) if i not in order and parents[i] and parents[i][0] in order]
        if not new:
            return None
        order += new
    return order


def test_every_run_names_a_data_set_and_no_weights_twice():
    shipped = [entry.weights for run in RUNS.values() for entry in run.rows if entry.weights]
    assert len(shipped) == len(set(shipped))
    assert {run.data for run in RUNS.values() if run.draw is None} <= set(data.available())
    for run in RUNS.values():
        labels = [entry.label for entry in run.rows]
        assert len(labels) == len(set(labels))


def test_an_unknown_name_is_refused_with_the_names_there_are(capsys):
    with pytest.raises(SystemExit) as stopped:
        command.main(["fvsbn-binarised"])
    assert stopped.value.code == 2
    assert "no run is called fvsbn-binarised; there are: independent-digits" in capsys.readouterr().err


def test_without_a_name_the_runs_are_listed(capsys, tmp_path, small):
    assert command.main(["--results", str(tmp_path)]) == 0
    lines = capsys.readouterr().out
    assert all(name in lines for name in RUNS)
    assert "not recorded yet" in lines


def test_a_failed_download_is_one_sentence_and_no_record(capsys, tmp_path, monkeypatch):
    def missing(name):
        raise data.DataError(f"{name}: nothing arrived")

    monkeypatch.setattr(record.data, "load_data", missing)
    assert command.main(["nltcs", "--results", str(tmp_path)]) == 1
    assert capsys.readouterr().err == "nltcs: nltcs: nothing arrived\n"
    assert not list(tmp_path.iterdir())
