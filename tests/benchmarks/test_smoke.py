"""Every experiment runs from its data to its record, at a tiny size on made-up data. What comes out means nothing."""
from __future__ import annotations

import importlib
import json
import math
import shutil
import sys
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pytest

from benchmarks import store
from benchmarks.reproduce import denoising, record, word_texts
from benchmarks.reproduce.run import Row, Run
from benchmarks.reproduce.table import RUNS
from course_lib import data, hub
from course_lib.data import Splits, sample_images
from tests.benchmarks import made_up

# Of settings and arguments: what each becomes. A number of seeds stays 2, where it was more, for a spread.
TINY = {"epochs": 1, "updates": 2, "steps": 2, "seconds": 0.02, "batch_size": 8, "warmup": 1, "watch_every": 1, "every": 1,
        "restored": 2, "pairs": 8, "held_out": 20, "streams": 4, "piece": 16, "starts": 1, "seeds": 2,
        "hidden": 8, "width": 12, "d_model": 16, "d_ff": 16, "embedding": 8, "depth": 1, "inner": 4, "masks": 2}
REPRODUCE = {                                                        # constants of the modules, at their tiny size
    "agreement": {"SIZES": {"train": 60, "valid": 20, "test": 20}, "SEEDS": (0, 1)},
    "bert_english": {"WATCHED": 10}, "clothes": {"HELD_OUT": 15, "STRANGERS": 6}, "cloze": {"GAPS": 6, "PASSAGES": 3},
    "denoising": {"OBJECTIVES": {name: (start, 2) for name, (start, _) in denoising.OBJECTIVES.items()}},
    "depth": {"WATCHED": 1}, "english": {"HELD_OUT": 30, "RARE": 1},
    "habits": {"PIECES": 300}, "language": {"PIECES": 300, "STEPS": 2, "LONG": {"window": 128, "batch": 4, "steps": 2}, "SEEDS": (0, 1)},
    "levels": {"TRAINED": 40, "HELD_OUT": 20}, "looking_back": {"SEEDS": (0, 1)}, "small_habits": {"PAIRS": 30}, "voices": {"EACH": 8}}
LONG = ("objectives-stories", "masks-stories", "noises-stories", "conditional-stories")          # of which the first texts are enough
PENALTIES, FEW = (1.0,), (20, 40)
TUNING = {"batch_size": 8, "progress": False}
SCRIPTS: dict[str, dict[str, Any]] = {
    "word_vectors": {"KEPT": 30, "REPEATS": 20, "WIDTH": 6, "MIN_COUNT": 1, "LABELS": (30, None), "DRAWS": 2, "PENALTIES": PENALTIES,
                     "SKIP_GRAM": {"epochs": 1, "window": 2, "negatives": 2, "batch_size": 512, "lr": 0.005, "threshold": 0.01},
                     "SMALL": {"sentences": 300, "width": 6, "window": 3},
                     "GLOVE": {"maximum": (100.0,), "lr": (0.1,), "updates": (1, 2)}},
    "contextual": {"TUNING": TUNING, "PENALTIES": PENALTIES, "DRAWS": 2, "SIZES": FEW, "SEEDS": 2, "UPDATES": 2,
                   "ARMS": {"head only": (0, (1e-2,)), "head and top layer": (1, (1e-3,)), "all layers": (None, (1e-3,))}},
    "few_labels": {"SIZES": (5, 10), "DRAWS": 2, "PENALTIES": PENALTIES, "SHORT": 20, "RATES": (1e-3,), "UPDATES": 2},
    "reading_on": {"TUNING": TUNING, "READING": TUNING, "SIZES": FEW, "SOME": 20, "SEEDS": 2, "UPDATES": 2, "RATES": (1e-3,), "OTHERS": {"train": 20, "test": 20}},
    "reviews": {"TUNING": TUNING, "UPDATES": {20: 2}, "SEEDS": 2, "RATES": (1e-3,)},
    "using": {"SEEDS": 2, "RANKS": (2, 3), "MLM": {"updates": 2, "batch": 8, "lr": 1e-3, "rate": 0.2}},
    "explorables": {"DIGITS": {"epochs": 1, "batch_size": 50, "lr": 0.01}, "LETTERS": {"epochs": 1, "lr": 0.01},
                    "TRANSLATORS": {"epochs": 1, "batch_size": 50, "lr": 0.01}, "STREAMS": 8, "PIECE": 16, "READ": 500},
    "translators": {"PAIRS": 100, "HELD": 8, "TRAINING": {"epochs": 1, "batch_size": 50, "lr": 0.01}}}
RECORDS = store.read()


@pytest.fixture(scope="module")
def tiny(tmp_path_factory):
    """Made-up data and small constants; what they left in caches is forgotten at the end."""
    folder = tmp_path_factory.mktemp("texts")
    paths = made_up.word_texts(folder)
    forget()
    with pytest.MonkeyPatch.context() as patch:
        for prefix, tables in (("benchmarks.reproduce.", REPRODUCE), ("benchmarks.", SCRIPTS)):
            for name, constants in tables.items():
                module = importlib.import_module(prefix + name)
                for constant, value in constants.items():
                    patch.setattr(module, constant, value)
        for name, module in list(sys.modules.items()):
            if name.startswith("benchmarks") and getattr(module, "load_data", None) is data.load_data:
                patch.setattr(module, "load_data", made_up.load_data)
        patch.setattr(data, "load_data", made_up.load_data)
        patch.setattr(word_texts, "path", paths.__getitem__)
        patch.setattr(importlib.import_module("course_lib.words.lsa"), "DENSE", 300)      # the full SVD of 4,000 pieces takes 19 s
        clothes = importlib.import_module("benchmarks.reproduce.clothes")
        patch.setattr(clothes, "fetch", lambda *_: None)
        patch.setattr(clothes, "read_idx", lambda _: np.random.default_rng(0).integers(256, size=(90, 28, 28), dtype=np.uint8))
        yield patch
    forget()


def forget() -> None:
    for name, module in list(sys.modules.items()):
        if name.startswith("benchmarks"):
            for value in list(vars(module).values()):
                if hasattr(value, "cache_clear"):
                    value.cache_clear()
    denoising.PRETRAINED.clear()


def small(settings: dict[str, Any]) -> dict[str, Any]:
    """Settings or arguments with the values of TINY, where they are larger."""
    def of(name: str, value: Any) -> Any:
        if isinstance(value, dict):
            return small(value)
        if isinstance(value, list):                                  # types are checked in tests: betas are a pair
            return [TINY[name]] * len(value) if name in TINY else tuple(value) if name == "betas" else value
        return min(value, TINY[name]) if name in TINY and value is not None else value

    return {name: of(name, value) for name, value in settings.items()}


def kind(row: Row) -> str:
    """What a row is but for its numbers: of rows that differ by numbers alone, one is enough."""
    words = [(name, value) for name, value in (row.arguments | row.settings).items() if type(value) not in (int, float)]
    return repr((row.model, row.recipe, row.measure, words))


def few(draw: Callable[[], Splits]) -> Splits:
    return replace(draw(), **{part: getattr(draw(), part)[:num] for part, num in made_up.ROWS.items()})


def shrunk(run: Run) -> Run:
    """The run with a row of each kind, or all where a row is made of others, and two candidates at most, at a tiny size."""
    rows = {kind(row) + row.label * any("of" in each.settings for each in run.rows): row for row in reversed(run.rows)}
    draw = partial(few, run.draw) if run.name in LONG else run.draw
    return replace(run, draw=draw, rows=tuple(
        replace(row, arguments=small(row.arguments), final=small(row.final), candidates=tuple(map(small, row.candidates[:2])),
                settings=small(row.settings | ({"steps": 1} if "attack" in row.settings else {})))
        for row in run.rows if row in rows.values()))


def finite(found: Any) -> bool:
    """No number at any depth is infinite or nan; store.write refuses these too."""
    if isinstance(found, dict):
        return all(map(finite, found.values()))
    if isinstance(found, list):
        return all(map(finite, found))
    return not isinstance(found, float) or math.isfinite(found)


@pytest.mark.parametrize("name", [pytest.param(name, marks=() if name == "nade-digits" else pytest.mark.thorough) for name in RUNS])
def test_a_run_is_carried_out_and_recorded(name, tiny, tmp_path):
    run = shrunk(RUNS[name])
    made = record.reproduce(run, tmp_path / "results", tmp_path / "weights", tmp_path / "scratch", "cpu", say=lambda line: None)
    assert store.read(tmp_path / "results") == {name: json.loads(json.dumps(made))} and finite(made["rows"])
    stored = RECORDS[name]
    assert set(made) == set(stored)
    for row, entry in zip(run.rows, made["rows"], strict=True):
        old = next(one for one in stored["rows"] if one["model"] == row.label)
        assert (entry["model"], entry["recipe"]) == (row.label, row.recipe.__name__) == (old["model"], old["recipe"])
        assert set(old) - set(entry) <= {"target", "tried", "environment", "commit"}               # of older records
        assert set(entry) - set(old) <= {"cpu_seconds", "curve"}
        for part in ("valid", "test"):
            assert set(entry[part]) == set(old[part]), f"{row.label}: the figures of {part}"
        if row.weights:
            assert type(hub.load(tmp_path / "weights" / row.weights)).__name__ == entry["class"]
    assert not list((tmp_path / "scratch").glob(f"{name}/*"))        # the next run starts afresh


@pytest.fixture(scope="module")
def results(tiny, tmp_path_factory):
    """A copy of the records, which the scripts write into and read from."""
    folder = tmp_path_factory.mktemp("benchmarks") / "results"
    shutil.copytree(store.RESULTS, folder)
    tiny.setattr(store, "RESULTS", folder)
    return folder


@pytest.mark.thorough
@pytest.mark.parametrize("script", [name for name in SCRIPTS if name not in ("explorables", "translators")])
def test_a_script_measures_and_records(script, results, monkeypatch):
    module = importlib.import_module(f"benchmarks.{script}")
    if script == "reviews":
        monkeypatch.setattr(module, "REGRESSIONS", {name: (way, settings[:2]) for name, (way, settings) in module.REGRESSIONS.items()})
    if script == "reading_on":                                       # it takes the rates that `contextual` has recorded
        tuning = RECORDS["using-tuning"]
        row = next(row for row in tuning["rows"] if row["model"].startswith("all layers, "))
        rows = [row | {"model": f"all layers, {labels:,} labels"} for labels in FEW]
        (results / "using-tuning.json").write_text(json.dumps(tuning | {"rows": tuning["rows"] + rows}))
    for step, make in module.STEPS.items():
        if step == "vectors":                                        # which it stores
            with monkeypatch.context() as patch:
                patch.setattr(hub, "WEIGHTS", results.parent)
                make()
        else:
            make()
        (old, path), = [(one, results / f"{name}.json") for name, one in RECORDS.items()
                        if one["command"] == f"python -m benchmarks.{script} {step}"]
        new = json.loads(path.read_text())
        assert new != old and set(new) == set(old) and finite(new["rows"])
        assert {tuple(row) for row in new["rows"]} == {tuple(row)[:3] for row in old["rows"]}
        assert not path.with_suffix(".scratch.json").exists()


@pytest.mark.thorough
def test_the_networks_of_the_figures_are_made(tiny, tmp_path):
    for script in ("explorables", "translators"):
        module = importlib.import_module(f"benchmarks.{script}")
        for make in module.STEPS.values():
            make(tmp_path)
    assert {path.suffix for path in tmp_path.iterdir()} >= {".json", ".md"} and len(list(tmp_path.glob("*.md"))) == 7


@pytest.mark.thorough
def test_the_sheets_are_made(tiny, tmp_path, monkeypatch):
    from benchmarks.reproduce import sheets

    monkeypatch.setattr(sheets, "NUMBER", 5)
    sheets.make(tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == {f"{name}.npz" for name in (*sheets.SETS, *sheets.GREY)}
    assert {path.name for path in sample_images.FOLDER.glob("*.npz")} == {path.name for path in tmp_path.iterdir()}
