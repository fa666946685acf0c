"""The stored records: complete, of the runs that the table has, and judged by their own figures."""
from __future__ import annotations

import json
import math
import re
import tomllib

import numpy as np
import pytest
import torch
from sklearn.datasets import load_digits

from benchmarks import store
from benchmarks.reproduce import (
    agreement,
    as_many,
    copying,
    denoising,
    disentangled,
    english,
    levels,
    small_habits,
    tagging,
    voices,
)
from benchmarks.reproduce.record import describe_data
from benchmarks.reproduce.table import RUNS
from benchmarks.speed.comparisons import COMPARISONS
from course_lib import data

RECORDS = store.read()
RESULTS = {name: r for name, r in RECORDS.items() if r["kind"] == "result"}
SPEEDS = {name: r for name, r in RECORDS.items() if r["kind"] == "speed"}
ROWS = [pytest.param(name, row, id=f"{name}: {row['model']}") for name, r in RESULTS.items() for row in r["rows"]]

DRAWN = {"toy_agreement": agreement.INFO, "ud_english_ewt": tagging.INFO, "english": english.INFO,
         "toy_stories": denoising.INFO, "disentangled": disentangled.INFO, "copying": copying.INFO,
         "as_many": as_many.INFO,
         "flower_patches": levels.INFO, "toy_translation": small_habits.INFO,
         "toy_voice": voices.INFO}                                   # what is not in the registry


# Runs that nobody has had the hours for yet. Nothing may be added here once it was recorded.
TO_COME = {"made-binarized-mnist-32-masks"}


def test_every_run_and_every_comparison_is_recorded_and_nothing_else():
    assert set(RESULTS) == set(RUNS) - TO_COME and TO_COME <= set(RUNS)
    assert set(SPEEDS) == set(COMPARISONS)
    assert {path.stem for path in store.RESULTS.glob("*")} == set(RECORDS)


def test_the_results_page_names_what_was_not_run():
    waiting = {entry["name"]: entry for entry in tomllib.loads((store.RESULTS.parent / "papers.toml").read_text())["waiting"]}
    assert set(waiting) == TO_COME


def test_no_row_has_one_of_several():
    labels = [row["model"] for record in RESULTS.values() for row in record["rows"]]
    assert len(labels) > 100 and not [label for label in labels if re.search(r"\b1 [a-z]+s\b", label)]


def test_a_new_record_tells_the_widest_instructions_of_its_processor():
    assert store.environment(torch.device("cpu"))["instructions"] == torch.backends.cpu.get_cpu_capability()


@pytest.mark.parametrize("name", RECORDS)
def test_the_environment_is_told_without_naming_a_machine(name):
    environment = RECORDS[name]["environment"]
    assert set(environment) - {"instructions"} == {"device", "threads", "torch", "course_lib", "commit"}
    assert re.fullmatch(r"(NO )?[A-Z][A-Z0-9]+", environment.get("instructions", "AVX2"))
    assert re.fullmatch(r"\d+-core CPU|NVIDIA .+", environment["device"])
    assert environment["threads"] >= 1
    assert re.fullmatch(r"[0-9a-f]{12}", environment["commit"])


@pytest.mark.parametrize("name", RESULTS)
def test_a_result_says_what_it_was_measured_on_and_by_what_command(name):
    record, run = RESULTS[name], RUNS[name]
    assert record["command"] == f"python -m benchmarks.reproduce {name}"
    assert (record["unit"], record["seed"], record["note"]) == (run.unit, run.seed, run.note)
    info = DRAWN[run.data] if run.data in DRAWN else vars(data.REGISTRY[run.data])
    assert (record["data"]["name"], record["data"]["options"]) == (run.data, run.options)
    assert record["data"]["licence"] == info["licence"] and record["data"]["key"] == info["key"]
    assert re.fullmatch(r"[0-9a-f]{64}", record["data"]["sha256"])
    assert record["data"]["comparable_with_papers"] is (
        run.data not in ("digits", "caltech101_silhouettes", "sst2", "toy_agreement", "ud_english_ewt", "english", "toy_stories", "disentangled",
                         "fashion_mnist", "cifar10_small", "copying", "as_many", "flower_patches", "toy_translation",
                         "toy_voice"))


@pytest.mark.parametrize("name", [name for name, run in RUNS.items() if run.data == "digits"])
def test_a_record_on_digits_is_of_the_split_that_the_loader_gives(name):
    """Other parts, or the same images in another order, ask for a new run."""
    splits = data.load_data("digits", **RUNS[name].options)
    assert RESULTS[name]["data"] == json.loads(json.dumps(describe_data(splits, RUNS[name].options)))


@pytest.mark.parametrize("name", RESULTS)
def test_the_recorded_settings_are_those_of_the_table(name):
    """A figure is that of the configuration in the table; changing the table asks for a new run."""
    run, rows = RUNS[name], RESULTS[name]["rows"]
    assert [entry["model"] for entry in rows] == [row.label for row in run.rows]
    for entry, row in zip(rows, run.rows):
        tried = [{key: value for key, value in c.items() if key != "valid"} for c in entry["candidates"]] or [{}]
        assert tried == [dict(c) for c in row.candidates] or len(row.candidates) == 1
        assert entry["arguments"] == row.arguments
        best = run.best(entry["candidates"], key=lambda c: c["valid"]) if entry["candidates"] else {**row.candidates[0]}
        best.pop("valid", None)
        assert entry["settings"] == {**row.settings, **best, **row.final}
        assert (entry["recipe"], entry["weights"]) == (row.recipe.__name__, row.weights)


@pytest.mark.parametrize("name, row", ROWS)
def test_a_row_has_its_figures(name, row):
    least = 20 if name == "as-many" else 350                         # words of that language: there is one of each length
    for part in ("valid", "test"):
        mean, error, over = (row[part][key] for key in ("mean", "standard_error", "over"))
        if row["recipe"] == "by_rule":                               # nothing is trained: computed again in its own test
            assert 0 <= error <= mean <= 100 and over >= least
        elif RUNS[name].unit.startswith("%") and mean in (0, 100):     # none or all of it, with every seed: there is no spread
            assert error == 0 and set(row[part]["seeds"]) == {mean} and over >= least
        elif RUNS[name].unit.startswith("%") and sum(seed > 0 for seed in row[part].get("seeds", ())) == 1:      # one of them has all
            assert error == pytest.approx(mean, abs=0.01) and over >= least
        elif over == 1:                                              # one picture: no spread over pictures, one over seeds
            assert error == 0 and mean > 0 and row[part]["deviation_over_seeds"] > 0
        else:
            assert math.isfinite(mean) and mean > 0 and 0 < error < mean and over >= least
    assert row["parameters"] > 0 or row["recipe"] == "by_rule"
    assert row["seconds"] >= 0


def test_the_short_translation_stays_within_its_time():
    (row,) = RESULTS["translation-multi30k-800"]["rows"]
    assert 0 < row["cpu_seconds"] <= 800 and row["parameters"] <= 3_200_000


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


def test_a_mixture_of_orders_gains_and_nothing_is_too_good_to_be_true():
    rows = {row["model"]: row["test"]["mean"] for row in RESULTS["made-digits"]["rows"]}
    assert rows["mixture of the eight"] <= rows["MADE, order 0"] - 0.5
    assert min(*rows.values(), RESULTS["nade-digits"]["rows"][0]["test"]["mean"]) > 16.5            # below that: a leak


@pytest.mark.parametrize("name", SPEEDS)
def test_a_speed_has_every_contender_and_its_target_is_judged_by_the_ratio(name):
    record = SPEEDS[name]
    names = [c["name"] for c in record["contenders"]]
    target = record["target"]
    assert set(target["between"]) <= set(names) and record["rounds"] >= 5
    assert target["reached"] is (target["measured"] >= target["at_least"])
    seconds = {c["name"]: c["seconds"] for c in record["contenders"]}
    slow, fast = target["between"]
    assert seconds[slow] / seconds[fast] == pytest.approx(target["measured"], rel=0.25)
    assert record["environment"]["threads"] == 1
    for c in record["contenders"]:
        assert c["quartiles"][0] <= c["seconds"] <= c["quartiles"][1]
