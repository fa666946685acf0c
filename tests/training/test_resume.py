"""A run that is killed and started again ends as if nothing had happened, bit for bit."""
from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from torch import nn

from course_lib.training import CheckpointError, checkpoint
from tests.support.training import Noisy, assert_same, killed, run

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def whole():
    return run(Noisy())


@pytest.mark.parametrize("every", [None, 1, 3])
@pytest.mark.parametrize("call", [2, 5, 11, 18, 24])
def test_resume_bit_for_bit(whole, tmp_path, every, call):
    path = tmp_path / "run.ckpt"
    killed(path, call, checkpoint_every=every)
    resumed = Noisy()
    nn.init.constant_(resumed.a, 7.0)                                # what it starts from must not matter
    assert path.exists() == (call > (every or 4))
    if not path.exists():                                            # too early for a checkpoint: it starts again
        resumed = Noisy()
    assert_same(run(resumed, path, checkpoint_every=every), whole)


def test_resume_finished_run(whole, tmp_path):
    path = tmp_path / "run.ckpt"
    assert_same(run(Noisy(), path), whole)
    written = path.read_bytes()
    again = run(Noisy(), path)
    assert again[0] == whole[0] and all(torch.equal(again[1][name], whole[1][name]) for name in whole[1])
    assert path.read_bytes() == written


def test_checkpoint_changes_nothing(whole, tmp_path):
    assert_same(run(Noisy(), tmp_path / "a" / "run.ckpt", checkpoint_every=2), whole)
    assert sorted(p.name for p in (tmp_path / "a").iterdir()) == ["run.ckpt", "run.ckpt.previous"]


def test_resume_more_epochs(tmp_path):
    settings = {"schedule": "constant", "patience": None}
    once = run(Noisy(), None, epochs=6, **settings)
    run(Noisy(), tmp_path / "run.ckpt", epochs=2, **settings)
    assert_same(run(Noisy(), tmp_path / "run.ckpt", epochs=6, **settings), once)
    with pytest.raises(CheckpointError, match="epochs is 4; expected at least 6, because .* is in epoch 6 already"):
        run(Noisy(), tmp_path / "run.ckpt", epochs=4, **settings)


@pytest.mark.parametrize("schedule, warmup", [("constant", 3), ("inverse_sqrt", 3), (lambda step: 1 / (1 + step), 0)])
def test_resume_more_epochs_scheduled(tmp_path, schedule, warmup):
    """A schedule whose factors of the steps completed are the same: whatever it does after them."""
    settings = {"schedule": schedule, "warmup": warmup, "patience": None}
    once = run(Noisy(), None, epochs=4, **settings)
    run(Noisy(), tmp_path / "run.ckpt", epochs=2, **settings)
    assert_same(run(Noisy(), tmp_path / "run.ckpt", epochs=4, **settings), once)


def test_resume_schedule_changed(tmp_path):
    settings = {"warmup": 0, "patience": None}
    run(Noisy(), tmp_path / "run.ckpt", epochs=2, schedule=lambda step: 1.0, **settings)
    for changed in (5, 8):                                           # of the eight steps completed
        with pytest.raises(CheckpointError, match="schedule has different factors for the 8 completed steps"):
            run(Noisy(), tmp_path / "run.ckpt", epochs=2, schedule=lambda step: 1.0 - (step == changed) / 2, **settings)
    run(Noisy(), tmp_path / "run.ckpt", epochs=3, schedule=lambda step: 1.0 - (step == 9) / 2, **settings)


SCRIPT = """
import sys
sys.path[:0] = [{root!r}]
import torch
torch.set_num_threads(1)
from tests.training import test_resume as here
{what}
"""


def in_another_process(what):
    """Run these lines after the imports; the exit status and what was written."""
    script = SCRIPT.format(root=str(ROOT), what=what)
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, cwd=ROOT, timeout=300,
                          check=False)
    return done.returncode, done.stdout, done.stderr


@pytest.mark.thorough
def test_resume_after_sigkill(whole, tmp_path):
    path = tmp_path / "run.ckpt"
    code, _, error = in_another_process(f"here.run(here.Noisy(die_in_call=15), {str(path)!r}, checkpoint_every=3)")
    assert code == -signal.SIGKILL, error
    _, state = checkpoint.read(path)
    assert (state["position"]["epoch"], state["position"]["batch"], state["position"]["step"]) == (4, 0, 12)
    assert_same(run(Noisy(), path, checkpoint_every=3), whole)
