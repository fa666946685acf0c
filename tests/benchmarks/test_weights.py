"""The weights that ship: each has a card, is small, and gives the figure that the card and the record tell."""
from __future__ import annotations

import pytest
import torch

from benchmarks import store, word_vectors
from benchmarks.reproduce import agreement, english
from benchmarks.reproduce.table import RUNS
from course_lib import data, hub

pytestmark = pytest.mark.thorough

MEBIBYTE = 2 ** 20
DRAWN = {"toy_agreement": agreement.INFO, "english": english.INFO}              # what is not in the registry
SHIPPED = {row.weights: (run, row) for run in RUNS.values() for row in run.rows
           if row.weights and run.name in store.read()}


def recorded(name):
    run, row = SHIPPED[name]
    return next(entry for entry in store.read()[run.name]["rows"] if entry["model"] == row.label)


def test_what_ships_is_what_the_table_says():
    vectors = word_vectors.NAME                                      # no run of the table: see words/test_stored_vectors.py
    assert set(hub.available()) == {*SHIPPED, vectors}


def test_sizes():
    sizes = {path.name: path.stat().st_size / MEBIBYTE for path in hub.WEIGHTS.iterdir()}
    assert max(sizes.values()) <= 6 and sum(sizes.values()) <= 25


@pytest.mark.parametrize("name", SHIPPED)
def test_the_card_names_data_licence_and_the_recorded_figures(name):
    card, (run, _), entry = hub.card(name), SHIPPED[name], recorded(name)
    assert card.data == run.data
    info = DRAWN[run.data] if run.draw else vars(data.REGISTRY[run.data])
    assert card.licence == info["licence"] and card.citation == info["citation"]
    for part in ("valid", "test"):
        figure = f"{entry[part]['mean']:.3f} ± {entry[part]['standard_error']:.3f}"
        assert card.results[f"{part} {run.unit}"] == figure
        assert figure in (hub.WEIGHTS / f"{name}.md").read_text(encoding="utf-8")


@pytest.mark.data
@pytest.mark.parametrize("name", SHIPPED)
def test_the_stored_weights_give_the_recorded_test_figure(name):
    run, row = SHIPPED[name]
    splits = run.prepare(run.draw() if run.draw else data.load_data(run.data, **run.options))
    measured = row.measure(hub.load(name), splits.test)
    assert measured["mean"] == pytest.approx(recorded(name)["test"]["mean"], abs=0.005)
    assert measured["over"] == recorded(name)["test"]["over"]


@pytest.mark.parametrize("name", [name for name in SHIPPED if name.startswith("fvsbn")])
def test_the_stored_weights_use_nothing_above_the_diagonal(name):
    model = hub.load(name)
    assert not model.weight[model.earlier == 0].any()
    assert torch.isfinite(model.weight).all() and model.weight.any()
