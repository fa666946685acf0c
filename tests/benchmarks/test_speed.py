"""`make bench`: every comparison whose peers are installed is built, measured and recorded. Contenders that do not do the same raise."""
from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import sys

import pytest

from benchmarks import store
from benchmarks.speed import __main__ as bench
from benchmarks.speed import gpu
from benchmarks.speed.comparisons import COMPARISONS
from course_lib.data.download import course_data
from tests.conftest import ROOT

NEEDED = {"speed-made-step": ("zuko", "nflows"), "speed-skip-gram": ("gensim",), "speed-cbow": ("gensim",)}
ON_DATA = ("speed-byte-pairs-fit", "speed-byte-pairs-encode", "speed-skip-gram", "speed-cbow")


def is_measurable(name: str) -> bool:
    """Whether the peers of a comparison are installed, and its data are at hand."""
    return all(map(importlib.util.find_spec, NEEDED.get(name, ()))) and (name not in ON_DATA or course_data() is not None)


@pytest.mark.thorough
def test_comparisons_are_measured_and_recorded(tmp_path, monkeypatch, capsys):
    """Two rounds of a fast one are timed; of the others one call is made, when they are built, and no time is taken."""
    monkeypatch.delenv("PEERS", raising=False)
    assert bench.main(["speed-nade-step", "--rounds", "2", "--results", str(tmp_path)]) == 0
    monkeypatch.setattr(bench, "interleaved", lambda contenders, rounds: {name: [1.0] * rounds for name in contenders})
    monkeypatch.setattr(bench, "extra_memory", lambda call: 0.0)
    names = [name for name in COMPARISONS if is_measurable(name) and name != "speed-nade-step"]
    assert bench.main([*names, "--rounds", "2", "--results", str(tmp_path)]) == 0
    said, made, records = capsys.readouterr().out, store.read(tmp_path), store.read()
    assert set(made) | {name for name in names if f"{name}: skipped, PEERS is None" in said} == {*names, "speed-nade-step"}
    for name, record in made.items():
        old = records[name]
        assert set(record) == set(old) and record["text"] == old["text"] and record["target"]["between"] == old["target"]["between"]
        assert [c["name"] for c in record["contenders"]] == [c["name"] for c in old["contenders"]]


@pytest.mark.thorough
def test_gpu_script_on_cpu():
    """The script for one CUDA card, at tiny size on the CPU: every model in both dtypes, and GPT-2."""
    environment = os.environ | {"PYTHON": sys.executable, "DEVICE": "cpu", "TINY": "1", "FULL": "1"}
    done = subprocess.run(["sh", "benchmarks/gpu.sh"], capture_output=True, text=True, cwd=ROOT, env=environment, timeout=300,
                          check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    for name in ("peak", *gpu.STEPS, "GPT-2"):
        for dtype in ("float32", "bfloat16"):
            assert re.search(rf"^{name} +{dtype} +[\d.]+ ", done.stdout, flags=re.MULTILINE), (name, dtype)
