"""p-values among other writers: what is trained on, what is ranked, and what chapter 09 says of the record."""
from __future__ import annotations

import pytest
import torch
from scipy.stats import ks_2samp
from torch import nn

from benchmarks.reproduce import writers
from benchmarks.reproduce.recipes import Job
from course_lib import records
from course_lib.data import Splits


class Ink(nn.Module):
    """log p is minus the sum of the levels, times a number."""

    def __init__(self, factor: float):
        super().__init__()
        self.factor = factor

    def log_prob(self, x):
        return -self.factor * x.double().sum(dim=1)


def test_new_images_are_ranked_among_those_that_stand_aside_for_each_seed():
    aside, part = torch.arange(1, 40)[:, None], torch.arange(0, 80, 2)[:, None]
    got = writers.ranked(writers.Calibrated([Ink(1.0), Ink(-1.0)], aside), part)
    for seed, sign in enumerate((-1, 1)):
        p = [(1 + sum(sign * a <= sign * v for a in range(1, 40))) / 40 for v in range(0, 80, 2)]
        assert got["p"]["mean"][seed] == pytest.approx(sum(p) / 40, abs=1e-4)
        assert got["p"]["flagged"][seed] == pytest.approx(100 * sum(each <= 0.05 for each in p) / 40, abs=0.01)
        assert sum(got["p"]["bins"][seed]) == 40
        assert got["p"]["bins"][seed][9] == sum(each >= 0.9 for each in p)
        want = ks_2samp([sign * v for v in range(0, 80, 2)], [sign * a for a in range(1, 40)]).pvalue
        assert got["p"]["same"][seed] == pytest.approx(want, rel=0.05)
    assert got["seeds"] == [39, -39] and got["over"] == 40


def test_what_stands_aside_is_never_trained_on(tmp_path, monkeypatch):
    """Of the training images the last choose the epoch; the validation images are those that are ranked among."""
    seen = []

    def fit(model, train, valid, **settings):
        seen.append((train.shape, valid.shape, valid[0, 0].item(), settings["seed"], settings["patience"]))
        return type("History", (), {"seconds": [1.0], "epochs": 2, "best_epoch": 1})()

    monkeypatch.setattr(writers, "fit", fit)
    train = torch.zeros(400, 64, dtype=torch.uint8)
    train[250:] = 7
    splits = Splits("digits", train, torch.full((5, 64), 3), torch.full((5, 64), 4))
    (row,) = writers.RUNS["writers-digits"].rows
    settings = {**row.settings, "epochs": 2}
    trained = row.recipe(Job(splits, 0, torch.device("cpu"), tmp_path), row, settings, "x")
    assert seen == [((250, 64), (150, 64), 7, seed, 2) for seed in range(3)]
    assert len(trained.model) == 3 and torch.equal(trained.model.aside, splits.valid)
    assert settings == {**row.settings, "epochs": 2}, "the settings that were given stay"


def test_what_chapter_09_says_of_the_record_holds_for_every_seed():
    p = records.read("writers-digits")["rows"][0]["test"]["p"]
    assert {len(each) for each in p.values()} == {3}
    assert min(p["mean"]) > 0.55 and max(p["flagged"]) < 2.5, "fewer false alarms than the 5 % that were promised"
    assert max(p["same"]) < 0.001
    assert all(sum(bins[:5]) < sum(bins[5:]) and bins[0] < 30 for bins in p["bins"])
