"""How speed is measured: in turns, by CPU time, between contenders that do the same."""
from __future__ import annotations

import time
from pathlib import Path

import pytest
import torch

from benchmarks.speed import density, timing, transformers
from benchmarks.speed.__main__ import measure
from benchmarks.speed.comparison import Comparison, peer
from benchmarks.speed.comparisons import COMPARISONS
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

    least = min(timing.cpu_time(work, repeats=2) for _ in range(3))  # the machine may hold one of them up
    assert least == pytest.approx(0.05, rel=0.3)


def test_one_slow_call_does_not_decide_how_often_a_fast_one_is_called(monkeypatch):
    seconds = iter([0.1, 0.001, 0.002])
    monkeypatch.setattr(timing, "cpu_time", lambda call: next(seconds))
    assert timing._repeats(lambda: None) == 50


def test_the_ratio_is_the_median_over_rounds():
    assert timing.ratio([2.0, 30.0, 8.0], [1.0, 10.0, 2.0]) == 3.0
    assert timing.summary([1.0, 2.0, 3.0]) == {"seconds": 2.0, "quartiles": [1.5, 2.5]}


def test_the_samplers_that_are_compared_draw_the_same_images(monkeypatch):
    model = FVSBN(30)
    model.randomize(torch.Generator().manual_seed(0))
    monkeypatch.setattr(density.hub, "load", lambda name: model)
    comparison = density.fvsbn_sampling()
    drawn = [call() for name, call in comparison.contenders.items() if "full forward" not in name]
    assert len(drawn) == 3 and all(torch.equal(d, drawn[0]) for d in drawn)
    assert {comparison.fast, comparison.slow} <= set(comparison.contenders)


def test_a_sampler_that_draws_other_images_is_no_contender(monkeypatch):
    class Wrong(FVSBN):
        def draw_all(self, u, given, known, context):
            return 1 - super().draw_all(u, given, known, context)

    model = Wrong(30)
    monkeypatch.setattr(density.hub, "load", lambda name: model)
    with pytest.raises(AssertionError, match="draws other images"):
        density.fvsbn_sampling()


def test_a_part_is_multiplied_and_memory_is_that_of_the_call(tmp_path, monkeypatch):
    def spin():
        end = time.process_time() + 0.06
        while time.process_time() < end:
            pass

    def both() -> Comparison:
        return Comparison("t", "x", {"whole": spin, "a third": spin}, fast="whole", slow="a third", at_least=2.0,
                          parts={"a third": 3})

    monkeypatch.setitem(COMPARISONS, "both", both)
    record = measure("both", 3, tmp_path)
    assert record["target"]["measured"] == pytest.approx(3, rel=0.2) and record["target"]["reached"]
    assert [c["seconds"] for c in record["contenders"]] == pytest.approx([0.06, 0.18], rel=0.2)


@pytest.mark.skipif(not Path("/proc/self/clear_refs").exists(), reason="the kernel of this system does not say")
def test_memory_is_the_most_that_a_call_needs_and_its_traces_are_gone():
    mebibyte = 2**20 // 4
    torch.ones(60 * mebibyte)                                        # freed: not to be found again by the next

    def call():
        torch.ones(40 * mebibyte).sum()
        return torch.ones(24 * mebibyte).sum()

    assert timing.extra_memory(call) == pytest.approx(40, abs=4)
    assert timing.extra_memory(lambda: None) < 4
    torch.ones(31 * mebibyte)                                        # from here on blocks of this size lie in the heap
    held = sorted((torch.ones(28 * mebibyte) for _ in range(10)), key=torch.Tensor.data_ptr)
    del held[7], held[4], held[3]                                    # holes of 28 and of 56: 40 fit into one, 24 into both
    assert timing.extra_memory(call) == pytest.approx(40, abs=4)


def test_a_peer_that_is_missing_is_named_with_what_to_do():
    with pytest.raises(ModuleNotFoundError, match="no_such_flows is not installed.*make bench"):
        peer("no_such_flows.transforms")


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in COMPARISONS if name != "speed-made-step"])     # its peers are an extra
def test_contenders_are_built_and_do_the_same(name):
    """Each comparison checks by itself that its contenders give the same, where they can."""
    comparison = COMPARISONS[name]()
    assert {comparison.fast, comparison.slow} <= set(comparison.contenders)
    assert next(iter(comparison.contenders)) == comparison.fast == "course_lib" or comparison.fast in ("sample", "conditionals")
    assert set(comparison.parts) <= set(comparison.contenders)


@pytest.mark.slow
def test_other_weights_are_no_contender(monkeypatch):
    theirs, ours = transformers.gpts()
    with torch.no_grad():
        ours.norm.gamma.neg_()
    monkeypatch.setattr(transformers, "gpts", lambda: (theirs, ours))
    with pytest.raises(AssertionError, match="different tokens"):
        transformers.gpt_greedy(1)()
    with pytest.raises(AssertionError):
        transformers.gpt_step()
