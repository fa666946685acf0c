"""How speed is measured: in turns, by CPU time, between contenders that do the same."""
from __future__ import annotations

import sys
import time
from pathlib import Path

import pytest
import torch

from benchmarks.speed import density, from_source, timing, transformers
from benchmarks.speed.__main__ import main, measure
from benchmarks.speed.comparison import Comparison, peer, peer_from_source
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


@pytest.mark.parametrize("name", from_source.COMPARISONS)
def test_without_its_folder_a_peer_is_skipped_and_said(name, monkeypatch, capsys, tmp_path):
    for folder in (None, str(tmp_path)):
        monkeypatch.delenv("PEERS", raising=False)
        if folder:
            monkeypatch.setenv("PEERS", folder)
        assert main([name, "--results", str(tmp_path / "results")]) == 0
        assert f"{name}: skipped, PEERS is {folder!r}; expected a folder that holds" in capsys.readouterr().out
    assert not (tmp_path / "results").exists()


MASKED = """
import torch
from torch import nn

class MaskedLinear(nn.Linear):
    def __init__(self, inputs, outputs):
        super().__init__(inputs, outputs)
        self.register_buffer("mask", torch.ones(outputs, inputs))

    def forward(self, x):
        return x @ (SLIP * self.mask * self.weight).T + self.bias

class MADE(nn.Module):
    def __init__(self, inputs, hidden, outputs, natural_ordering):
        super().__init__()
        self.net = nn.Sequential(MaskedLinear(inputs, hidden[0]), nn.ReLU(), MaskedLinear(hidden[0], outputs))
        degree = torch.arange(hidden[0]) % (inputs - 1)
        self.net[0].mask.copy_(degree[:, None] >= torch.arange(inputs))
        self.net[2].mask.copy_(torch.arange(outputs)[:, None] > degree)

    def forward(self, x):
        return self.net(x)
"""


@pytest.mark.parametrize("slip, same", [("1.0", True), ("1.01", False)])
def test_a_peer_from_source_gets_the_same_weights_or_is_no_contender(slip, same, monkeypatch, tmp_path):
    (tmp_path / "pytorch-made").mkdir()
    (tmp_path / "pytorch-made" / "made.py").write_text(MASKED.replace("SLIP", slip))
    monkeypatch.setenv("PEERS", str(tmp_path))
    assert peer_from_source("pytorch-made", "made.py").MADE.__name__ == "MADE"
    if same:
        assert set(from_source.made_step().contenders) == {"course_lib", "pytorch-made"}
    else:
        with pytest.raises(AssertionError):
            from_source.made_step()


MASKED_CONVOLUTIONS = """
import torch
from torch import nn

from pytorch_generative.masked import Masked

class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self._net = nn.Sequential(nn.ReLU(), nn.Conv2d(width, width // 2, 1), nn.ReLU(), Masked(width // 2, width // 2, 3, 1),
                                  nn.ReLU(), nn.Conv2d(width // 2, width, 1))

    def forward(self, x):
        return x + self._net(x)

class PixelCNN(nn.Module):
    def __init__(self, n_residual, residual_channels, head_channels):
        super().__init__()
        width = 2 * residual_channels
        self._input = Masked(1, width, 7, 0)
        self._causal_layers = nn.ModuleList(Block(width) for _ in range(n_residual))
        self._head = nn.Sequential(nn.ReLU(), nn.Conv2d(width, head_channels, 1), nn.ReLU(), nn.Conv2d(head_channels, 1, 1))

    def forward(self, x):
        x = self._input(x)
        for layer in self._causal_layers:
            x = x + layer(x)
        return self._head(x)
"""
MASKED_CONVOLUTION = """
import torch
from torch import nn

class Masked(nn.Conv2d):
    def __init__(self, inputs, outputs, k, own):
        super().__init__(inputs, outputs, k, padding=k // 2)
        mask = torch.zeros(k, k)
        mask[:k // 2] = mask[k // 2, :k // 2 + own] = 1
        self.register_buffer("mask", SLIP)

    def forward(self, x):
        return self._conv_forward(x, self.weight * self.mask, self.bias)
"""


@pytest.fixture()
def imported_anew():
    def forget():
        for name in [name for name in sys.modules if name.partition(".")[0] == "pytorch_generative"]:
            del sys.modules[name]

    forget()
    yield
    forget()


@pytest.mark.parametrize("slip, same", [("mask", True), ("mask.T", False)])
def test_a_package_from_source_gets_the_same_function_or_is_no_contender(slip, same, imported_anew, monkeypatch, tmp_path):
    """The packages' own `__init__` are not run: they would need what nobody has here."""
    top = tmp_path / "pytorch-generative" / "pytorch_generative"
    (top / "models" / "autoregressive").mkdir(parents=True)
    for folder in (top, top / "models"):
        (folder / "__init__.py").write_text("import no_such_package")
    (top / "masked.py").write_text(MASKED_CONVOLUTION.replace("SLIP", slip))
    (top / "models" / "autoregressive" / "pixel_cnn.py").write_text(MASKED_CONVOLUTIONS)
    monkeypatch.setenv("PEERS", str(tmp_path))
    if same:
        assert set(from_source.pixelcnn_step().contenders) == {"course_lib", "pytorch-generative"}
    else:
        with pytest.raises(AssertionError):
            from_source.pixelcnn_step()


@pytest.mark.parametrize("name", [name for name in COMPARISONS if name != "speed-made-step" and name not in from_source.COMPARISONS])
def test_contenders_are_built_and_do_the_same(name):
    """Each comparison checks by itself that its contenders give the same, where they can. Other peers are extras."""
    comparison = COMPARISONS[name]()
    assert {comparison.fast, comparison.slow} <= set(comparison.contenders)
    assert (next(iter(comparison.contenders)) == comparison.fast == "course_lib"
            or comparison.fast in ("sample", "conditionals", "PixelCNN, 28 x 28"))
    assert set(comparison.parts) <= set(comparison.contenders)


def test_other_weights_are_no_contender(monkeypatch):
    theirs, ours = transformers.gpts()
    with torch.no_grad():
        ours.norm.gamma.neg_()
    monkeypatch.setattr(transformers, "gpts", lambda: (theirs, ours))
    with pytest.raises(AssertionError, match="different tokens"):
        transformers.gpt_greedy(1)()
    with pytest.raises(AssertionError):
        transformers.gpt_step()
