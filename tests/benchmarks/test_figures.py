"""Means and errors of records, and scripts that measure in steps."""
from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import sem

from benchmarks import steps, store
from benchmarks.figures import of_seeds, of_trainings, standard_error


def test_the_standard_error_is_that_of_scipy():
    values = np.random.default_rng(0).normal(50, 3, 7)
    assert standard_error(values) == pytest.approx(sem(values), abs=1e-12) and standard_error([3.0]) == 0
    assert of_seeds(values.tolist(), 400) == {
        "mean": round(values.mean(), 2), "standard_error": round(sem(values), 2), "over": 400,
        "seeds": [round(value, 2) for value in values]}
    assert of_seeds(values.tolist(), 400, digits=4) == {
        "mean": round(values.mean(), 4), "standard_error": round(sem(values), 4), "over": 400,
        "seeds": [round(value, 4) for value in values]}


def test_the_steps_that_are_named_run_in_their_order(capsys):
    done = []
    several = {name: lambda name=name: done.append(name) for name in ("a", "b", "c")}
    steps.run("benchmarks.example", "An example.", several, ["c", "a"])
    assert done == ["c", "a"]
    with pytest.raises(SystemExit):
        steps.run("benchmarks.example", "An example.", several, ["d"])
    assert "choose from" in capsys.readouterr().err and done == ["c", "a"]


def test_a_record_names_the_command_that_made_it(monkeypatch):
    written = []
    monkeypatch.setattr(store, "write", written.append)
    steps.record("benchmarks.example", "kind", "example-last", "%", [{"model": "m"}], "A note.", {"name": "data"})
    assert written[0]["command"] == "python -m benchmarks.example last" and written[0]["rows"] == [{"model": "m"}]
    assert {"name", "kind", "unit", "seed", "note", "data", "environment"} <= set(written[0])


def test_trainings_have_the_error_over_rows_of_the_first_and_the_deviation_over_seeds():
    each = [{"mean": mean, "standard_error": error, "over": 7} for mean, error in ((1.0, 0.5), (2.0, 0.6), (6.0, 0.7))]
    assert of_trainings(each) == {"mean": 3.0, "standard_error": 0.5, "over": 7, "seeds": [1.0, 2.0, 6.0],
                                          "deviation_over_seeds": 2.6458}
    assert of_trainings(each[1:2]) == {**each[1], "seeds": [2.0], "deviation_over_seeds": None}
