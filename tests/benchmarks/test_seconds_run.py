"""Nats by the second: the watch, and what chapter 8 says of the record."""
from __future__ import annotations

import time

import pytest
import torch

from benchmarks.reproduce.pixels import by_seconds, nats_over_seeds
from benchmarks.reproduce.recipes import Job
from benchmarks.reproduce.run import Row
from course_lib import data, records
from course_lib.pixels import PixelCNN
from course_lib.training import fit


def test_a_curve_is_that_of_fit_with_the_seconds_of_this_process(tmp_path):
    splits = data.load_data("digits")
    small = data.Splits("digits", splits.train[:100], splits.valid[:50], splits.test, info=splits.info)
    settings = {"batch_size": 50, "lr": 0.01, "epochs": 2, "seeds": 2}
    row = Row("small", PixelCNN, by_seconds, {"shape": [8, 8], "width": 4, "depth": 1, "first": 3})
    began = time.process_time()
    trained = by_seconds(Job(small, 0, torch.device("cpu"), tmp_path), row, dict(settings), "small")
    spent = time.process_time() - began
    assert len(trained.curve) == len(trained.model) == 2 and trained.epochs == 2
    assert sum(curve[-1][0] for curve in trained.curve) <= spent + 0.02
    for seed, curve in enumerate(trained.curve):
        torch.manual_seed(seed)
        model = PixelCNN(**row.arguments).initialize(small.train)
        history = fit(model, small.train, small.valid, epochs=2, batch_size=50, lr=0.01, seed=seed, progress=False)
        assert [nats for _, nats in curve] == pytest.approx(history.valid, abs=1e-4)
        assert 0 < curve[0][0] < curve[1][0]
    assert not list(tmp_path.iterdir()), "a checkpoint would hide seconds"
    assert len(nats_over_seeds(trained.model, small.valid)["seeds"]) == 2


def test_what_chapter_8_says_of_the_record_holds_for_every_seed():
    rows = records.read("pixels-digits-seconds")["rows"]
    plain, gated, by_row, diagonal = (
        {limit: [min(nats for seconds, nats in curve if seconds <= limit) for curve in row["curve"]] for limit in (5, 10, 20)}
        for row in rows)
    assert all(len(row["curve"]) == 3 for row in rows)
    for limit in (5, 10):
        assert min(diagonal[limit]) > max(plain[limit] + gated[limit] + by_row[limit]), "last under every seed"
    for limit in (10, 20):
        assert max(by_row[limit]) < min(plain[limit] + gated[limit] + diagonal[limit]), "lowest under every seed"
    longer = {row["model"]: row["test"]["seeds"] for row in records.read("pixels-digits")["rows"]}
    others = longer["PixelCNN"] + longer["gated PixelCNN"] + longer["Row LSTM"]
    assert max(longer["Diagonal BiLSTM"]) < min(others), "the best of the four when trained longer"


def test_what_chapter_8_says_of_one_log_likelihood_holds_at_each_size():
    seconds = {row["model"]: row["seconds"] for row in records.read("speed-pixels-scoring")["rows"]}
    plain, gated, by_row, diagonal = ([seconds[f"{name}, {side} x {side}"] for side in (8, 16, 28)]
                                      for name in ("PixelCNN", "gated PixelCNN", "Row LSTM", "Diagonal BiLSTM"))
    for of_side in zip(plain, by_row, gated, diagonal, strict=True):
        assert sorted(of_side) == list(of_side), "PixelCNN, Row LSTM, gated PixelCNN, Diagonal BiLSTM: from fast to slow"
    behind = [slow / fast for slow, fast in zip(diagonal, plain, strict=True)]
    assert behind == sorted(behind), "the gap widens with the image"
    weights = {row["model"]: row["parameters"] for row in records.read("pixels-digits")["rows"]}
    assert weights["gated PixelCNN"] > 2 * weights["Row LSTM"]
    assert 0.45 < weights["Diagonal BiLSTM"] / weights["gated PixelCNN"] < 0.56
