"""How speed is measured: in turns, by CPU time, between contenders that do the same."""
from __future__ import annotations

import time

import pytest
import torch

from benchmarks.speed import comparisons, timing
from course_lib.density import FVSBN


def test_contenders_take_turns_and_the_first_changes(monkeypatch):
    calls = []
    monkeypatch.setattr(timing, "_repeats", lambda call: 1)
    contenders = {name: (lambda name=name: calls.append(name)) for name in "abc"}
    seconds = timing.interleaved(contenders, rounds=3)
    assert calls == ["a", "b", "c", "b", "c", "a", "c", "a", "b"]
    assert {name: len(values) for name, values in seconds.items()} == {"a": 3, "b": 3, "c": 3}


def test_the_clock_counts_work_and_not_waiting():
    assert timing.cpu_time(lambda: time.sleep(0.1)) < 0.05

    def work():
        end = time.process_time() + 0.05
        while time.process_time() < end:
            pass

    assert timing.cpu_time(work, repeats=2) == pytest.approx(0.05, rel=0.3)


def test_the_ratio_is_the_median_over_rounds():
    assert timing.ratio([2.0, 30.0, 8.0], [1.0, 10.0, 2.0]) == 3.0
    assert timing.summary([1.0, 2.0, 3.0]) == {"seconds": 2.0, "quartiles": [1.5, 2.5]}


def test_the_samplers_that_are_compared_draw_the_same_images(monkeypatch):
    model = FVSBN(30)
    model.randomize(torch.Generator().manual_seed(0))
    monkeypatch.setattr(comparisons.hub, "load", lambda name: model)
    comparison = comparisons.fvsbn_sampling()
    drawn = [call() for name, call in comparison.contenders.items() if "full forward" not in name]
    assert len(drawn) == 3 and all(torch.equal(d, drawn[0]) for d in drawn)
    assert {comparison.fast, comparison.slow} <= set(comparison.contenders)


def test_a_sampler_that_draws_other_images_is_no_contender(monkeypatch):
    class Wrong(FVSBN):
        def _ancestral(self, u, given, known, context):
            return 1 - super()._ancestral(u, given, known, context)

    model = Wrong(30)
    monkeypatch.setattr(comparisons.hub, "load", lambda name: model)
    with pytest.raises(AssertionError, match="draws other images"):
        comparisons.fvsbn_sampling()
