"""The stored records: one for each run, settings of the table, the environment without a machine's name."""
from __future__ import annotations

import math
import re

import numpy as np
import pytest
from sklearn.datasets import load_digits

from benchmarks import store
from benchmarks.reproduce.table import RUNS
from benchmarks.speed.comparisons import COMPARISONS

RECORDS = store.read()
RESULTS = {name: r for name, r in RECORDS.items() if r["kind"] == "result"}
SPEEDS = {name: r for name, r in RECORDS.items() if r["kind"] == "speed"}


def test_every_run_and_every_comparison_is_recorded():
    assert set(RESULTS) == set(RUNS) and set(SPEEDS) == set(COMPARISONS)


def test_the_environment_is_recorded_without_the_name_of_a_machine():
    for name, record in RECORDS.items():
        environment = record["environment"]
        assert set(environment) - {"instructions"} == {"device", "threads", "torch", "course_lib", "commit"}, name
        assert re.fullmatch(r"\d+-core CPU|NVIDIA .+", environment["device"]) and re.fullmatch(r"[0-9a-f]{12}", environment["commit"])


def test_the_recorded_settings_are_those_of_the_table():
    """A figure is that of the configuration in the table; changing the table asks for a new run."""
    for name, record in RESULTS.items():
        run = RUNS[name]
        assert record["command"] == f"python -m benchmarks.reproduce {name}"
        assert (record["unit"], record["seed"], record["data"]["name"], record["data"]["options"]) == (
            run.unit, run.seed, run.data, run.options), name
        assert [entry["model"] for entry in record["rows"]] == [row.label for row in run.rows], name
        for entry, row in zip(record["rows"], run.rows):
            best = run.best(entry["candidates"], key=lambda c: c["valid"]) if entry["candidates"] else {**row.candidates[0]}
            best.pop("valid", None)
            assert entry["settings"] == {**row.settings, **best, **row.final}, name
            assert (entry["arguments"], entry["weights"]) == (row.arguments, row.weights), name


def test_a_row_has_its_figures():
    for name, record in RESULTS.items():
        for row in record["rows"]:
            assert math.isfinite(row["test"]["mean"]) and row["test"]["standard_error"] >= 0 and row["seconds"] >= 0, name


def test_a_ratio_of_speeds_is_that_of_its_contenders():
    for name, record in SPEEDS.items():
        target, seconds = record["target"], {c["name"]: c["seconds"] for c in record["contenders"]}
        slow, fast = target["between"]
        assert seconds[slow] / seconds[fast] == pytest.approx(target["measured"], rel=0.25), name


def test_known_figures_check_the_pipeline():
    """Independent pixels of the digits, counted here from the file; the Chow-Liu trees that others print, 6.759 and 16.524."""
    def figure(name, label):
        return next(row["test"]["mean"] for row in RESULTS[name]["rows"] if row["model"] == label)

    (alone,) = RESULTS["independent-digits"]["rows"]
    x = (load_digits().data >= 8)[np.random.RandomState(0).permutation(1797)]
    p = (x[:1000].sum(axis=0) + alone["settings"]["alpha"]) / (1000 + 2 * alone["settings"]["alpha"])
    for part, rows in (("valid", x[1000:1350]), ("test", x[1350:])):
        assert alone[part]["mean"] == pytest.approx(-np.log(np.where(rows, p, 1 - p)).sum(axis=1).mean(), abs=0.001)
    assert figure("nltcs", "best tree") == pytest.approx(6.7590, abs=0.002)
    assert figure("plants", "best tree") == pytest.approx(16.5240, abs=0.02)
    assert figure("rnade-red-wine", "one Gaussian") == pytest.approx(13.18, abs=0.3)                # within its error
