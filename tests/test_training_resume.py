"""A run that is killed and started again ends as if nothing had happened, bit for bit."""
from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import nn

from course_lib.training import CheckpointError, checkpoint, fit

ROOT = Path(__file__).resolve().parent.parent


class Noisy(nn.Module):
    """Its loss draws from torch's and numpy's global generators; it keeps statistics, one outside its state dict."""

    def __init__(self, hidden=8, die_in_call=None):
        super().__init__()
        generator = torch.Generator().manual_seed(3)
        self.a = nn.Parameter(torch.randn(hidden, 6, generator=generator))
        self.b = nn.Parameter(torch.randn(6, hidden, generator=generator))
        self.bias = nn.Parameter(torch.zeros(6))
        self.drop = nn.Dropout(0.3)
        self.register_buffer("mean", torch.zeros(6))
        self.register_buffer("calls", torch.zeros((), dtype=torch.long), persistent=False)
        self.die_in_call = die_in_call

    def logits(self, x):
        seen = (x - self.mean) * (torch.arange(6) < 3)               # the rest is noise, to be learnt by heart
        return F.linear(self.drop(torch.tanh(F.linear(seen, self.a))), self.b, self.bias)

    def log_prob(self, x):
        x = x.float()
        return -F.binary_cross_entropy_with_logits(self.logits(x), x, reduction="none").sum(1)

    def loss(self, batch):
        self.calls += 1
        if self.die_in_call == int(self.calls):
            os.kill(os.getpid(), signal.SIGKILL)
        with torch.no_grad():
            self.mean.mul_(0.9).add_(batch.float().mean(0), alpha=0.1)
        jitter = 1 + 0.2 * float(np.random.rand())                   # Python's own is drawn from by the type checker
        return -self.log_prob(batch).mean() * jitter * (1 + self.calls % 3)


DATA = (torch.rand(47, 6, generator=torch.Generator().manual_seed(5)) < 0.4).to(torch.uint8)
SETTINGS = {"epochs": 12, "batch_size": 10, "lr": 0.2, "weight_decay": 0.1, "schedule": "cosine", "warmup": 3,
            "clip": 3.0, "patience": 2}
SPLIT = DATA[:37], DATA[37:]                                         # 4 batches an epoch


def seed_all():
    torch.manual_seed(1)
    np.random.seed(1)


def run(model, path=None, **settings):
    """Train and return what must be equal: history but for the time, tensors, generators."""
    seed_all()
    history = fit(model, *SPLIT, checkpoint=path, **SETTINGS | settings).to_dict()
    seconds = history.pop("seconds")
    assert len(seconds) == len(history["train"]) and min(seconds) > 0
    return history, checkpoint.tensors_of(model), (torch.get_rng_state(), float(np.random.rand()))


def assert_same(one, two):
    assert one[0] == two[0]
    assert all(torch.equal(one[1][name], two[1][name]) for name in one[1])
    assert torch.equal(one[2][0], two[2][0]) and one[2][1:] == two[2][1:]


@pytest.fixture(scope="module")
def whole():
    return run(Noisy())


class Killed(BaseException):
    """Stands for the signal where a test stays in its process."""


def killed(path, call, **settings):
    """A run that ends without warning in the loss of that step."""

    class Mortal(Noisy):
        def loss(self, batch):
            if int(self.calls) + 1 == call:
                raise Killed
            return super().loss(batch)

    Mortal.__name__ = "Noisy"
    with pytest.raises(Killed):
        run(Mortal(), path, **settings)


# --- killed and resumed -----------------------------------------------------------------------------------------------


def test_the_run_under_test_exercises_what_a_checkpoint_must_hold(whole):
    history = whole[0]
    assert history["stopped"] and history["restored"] and 1 < history["best_epoch"] < len(history["train"]) < 12


@pytest.mark.parametrize("every", [None, 1, 3])
@pytest.mark.parametrize("call", [2, 5, 11, 18, 24])
def test_a_run_that_dies_and_is_resumed_equals_one_that_lived(whole, tmp_path, every, call):
    path = tmp_path / "run.ckpt"
    killed(path, call, checkpoint_every=every)
    resumed = Noisy()
    nn.init.constant_(resumed.a, 7.0)                                # what it starts from must not matter
    assert path.exists() == (call > (every or 4))
    if not path.exists():                                            # too early for a checkpoint: it starts again
        resumed = Noisy()
    assert_same(run(resumed, path, checkpoint_every=every), whole)


def test_a_checkpoint_in_mid_epoch_saves_the_steps_that_were_made(tmp_path):
    path = tmp_path / "run.ckpt"
    killed(path, 12, checkpoint_every=1)                             # epoch 3 has 2 steps behind it, and a third
    steps = []

    class Counting(Noisy):
        def loss(self, batch):
            steps.append(int(self.calls) + 1)
            return super().loss(batch)

    Counting.__name__ = "Noisy"
    run(Counting(), path, checkpoint_every=1)
    assert steps[0] == 12


def test_killed_many_times_over(whole, tmp_path):
    path = tmp_path / "run.ckpt"
    for call in range(2, 26):
        killed(path, call, checkpoint_every=1)
    assert_same(run(Noisy(), path, checkpoint_every=1), whole)


def test_a_finished_run_is_given_back_as_it_ended(whole, tmp_path):
    path = tmp_path / "run.ckpt"
    assert_same(run(Noisy(), path), whole)
    written = path.read_bytes()
    again = run(Noisy(), path)
    assert again[0] == whole[0] and all(torch.equal(again[1][name], whole[1][name]) for name in whole[1])
    assert path.read_bytes() == written


def test_a_run_without_a_checkpoint_is_not_changed_by_one(whole, tmp_path):
    assert_same(run(Noisy(), tmp_path / "a" / "run.ckpt", checkpoint_every=2), whole)
    assert sorted(p.name for p in (tmp_path / "a").iterdir()) == ["run.ckpt", "run.ckpt.previous"]


def test_more_epochs_continue_a_run_whose_schedule_is_the_same(tmp_path):
    settings = {"schedule": "constant", "patience": None}
    once = run(Noisy(), None, epochs=6, **settings)
    run(Noisy(), tmp_path / "run.ckpt", epochs=2, **settings)
    assert_same(run(Noisy(), tmp_path / "run.ckpt", epochs=6, **settings), once)
    with pytest.raises(CheckpointError, match="is in epoch 6 already; epochs is 4"):
        run(Noisy(), tmp_path / "run.ckpt", epochs=4, **settings)


SCRIPT = """
import sys
sys.path[:0] = [{root!r}]
import torch
torch.set_num_threads(1)
from tests import test_training_resume as here
{what}
"""


def in_another_process(what):
    """Run these lines after the imports; the exit status and what was written."""
    script = SCRIPT.format(root=str(ROOT), what=what)
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, cwd=ROOT, timeout=300,
                          check=False)
    return done.returncode, done.stdout, done.stderr


def test_kill_minus_nine_in_mid_epoch(whole, tmp_path):
    path = tmp_path / "run.ckpt"
    code, _, error = in_another_process(f"here.run(here.Noisy(die_in_call=15), {str(path)!r}, checkpoint_every=3)")
    assert code == -signal.SIGKILL, error
    _, state = checkpoint.read(path)
    assert (state["position"]["epoch"], state["position"]["batch"], state["position"]["step"]) == (4, 0, 12)
    assert_same(run(Noisy(), path, checkpoint_every=3), whole)


def die_at_any_moment(path, times):
    """Children that write all the time, killed by their parent's clock; the number that did not live to the end."""
    chance, deaths = random.Random(0), 0
    for _ in range(times):
        written = path.stat().st_mtime_ns if path.exists() else 0
        child = os.fork()
        if child == 0:
            try:
                run(Noisy(), path, checkpoint_every=1)
            finally:
                os._exit(0)
        ended = 0
        while not ended and not (path.exists() and path.stat().st_mtime_ns > written):
            ended = os.waitpid(child, os.WNOHANG)[0]
            time.sleep(0.001)
        time.sleep(0.05 * chance.random())
        if not ended:
            os.kill(child, signal.SIGKILL)
            deaths += os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL
    return deaths


@pytest.mark.slow
def test_kill_minus_nine_at_any_moment(whole, tmp_path):
    path = tmp_path / "run.ckpt"
    code, out, error = in_another_process(f"print(here.die_at_any_moment(here.Path({str(path)!r}), 6))")
    assert code == 0 and int(out) >= 2, error
    assert_same(run(Noisy(), path, checkpoint_every=1), whole)


def test_the_states_of_all_global_generators_come_back():
    states = checkpoint.random_states(torch.device("cpu"))
    drawn = torch.rand(3).tolist(), np.random.rand(3).tolist(), np.random.randn(), random.random(), random.gauss(0, 1)
    checkpoint.set_random_states(states, torch.device("cpu"))
    again = torch.rand(3).tolist(), np.random.rand(3).tolist(), np.random.randn(), random.random(), random.gauss(0, 1)
    assert again == drawn


# --- writing and reading ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("failing, nth", [*(("replace", nth) for nth in range(1, 6)),
                                          ("fsync", 1), ("fsync", 3), ("fsync", 5)])
def test_death_while_a_checkpoint_is_written(whole, tmp_path, monkeypatch, failing, nth):
    path, calls, real = tmp_path / "run.ckpt", [], getattr(os, failing)

    def dying(*args):
        calls.append(args)
        if len(calls) == nth:
            raise Killed
        return real(*args)

    with monkeypatch.context() as patch:
        patch.setattr(os, failing, dying)
        with pytest.raises(Killed):
            run(Noisy(), path, checkpoint_every=2)
    assert_same(run(Noisy(), path, checkpoint_every=2), whole)


def test_a_half_written_file_is_never_read(whole, tmp_path):
    path = tmp_path / "run.ckpt"
    killed(path, 9)
    part = path.with_name("run.ckpt.part")
    part.write_bytes(path.read_bytes()[:1000])
    assert_same(run(Noisy(), path), whole)
    assert not part.exists()


def test_a_full_disk_leaves_the_last_checkpoint_and_no_rest(tmp_path, monkeypatch):
    path = tmp_path / "run.ckpt"
    killed(path, 9)
    before = path.read_bytes()

    def full(handle):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        with pytest.raises(OSError, match="No space left"):
            run(Noisy(), path)
    assert path.read_bytes() == before and not path.with_name("run.ckpt.part").exists()


def spoil(path, how):
    content = bytearray(path.read_bytes())
    if how == "truncated":
        content = content[: len(content) // 2]
    elif how == "flipped":
        content[-5] ^= 1                                             # in the last tensor: it still parses
    elif how == "empty":
        content = b""
    elif how == "header":
        at = content.index(b"position")
        content[at:at + 8] = b"positiom"
    else:
        content = b"not a checkpoint at all"
    path.write_bytes(bytes(content))


@pytest.mark.parametrize("how", ["truncated", "flipped", "empty", "header", "other"])
def test_a_damaged_checkpoint_falls_back_on_the_one_before_it(whole, tmp_path, how):
    path = tmp_path / "run.ckpt"
    killed(path, 14)
    spoil(path, how)
    with pytest.warns(UserWarning, match="run.ckpt is damaged.*goes on from run.ckpt.previous"):
        assert_same(run(Noisy(), path), whole)
    assert path.with_name("run.ckpt.damaged").exists()


@pytest.mark.parametrize("how", ["truncated", "flipped", "empty", "header", "other"])
def test_a_damaged_checkpoint_alone_is_a_clear_error(tmp_path, how):
    path = tmp_path / "run.ckpt"
    killed(path, 6)
    assert not path.with_name("run.ckpt.previous").exists()
    spoil(path, how)
    with pytest.raises(CheckpointError, match="run.ckpt is damaged.*delete the file to start again"):
        run(Noisy(), path)


def test_another_safetensors_file_is_no_checkpoint(tmp_path):
    from safetensors.torch import save_file

    save_file({"a": torch.ones(2)}, tmp_path / "run.ckpt")
    with pytest.raises(CheckpointError, match="has format None; needed is 'course_lib checkpoint 1'"):
        run(Noisy(), tmp_path / "run.ckpt")


# --- another run's checkpoint -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name, value", [
    ("lr", 0.1), ("batch_size", 11), ("seed", 1), ("weight_decay", 0.2), ("clip", None), ("patience", 3),
    ("accumulate", 2), ("bf16", True), ("schedule", "linear"), ("warmup", 2), ("epochs", 13), ("betas", (0.9, 0.99))])
def test_another_configuration_is_refused_by_name(tmp_path, name, value):
    path = tmp_path / "run.ckpt"
    killed(path, 6)
    before = path.read_bytes()
    named = "schedule" if name in ("warmup", "epochs") else name     # both move the schedule
    with pytest.raises(CheckpointError, match=f"belongs to another run: {named} ") as caught:
        run(Noisy(), path, **{name: value})
    assert ";" not in str(caught.value)                              # nothing else is blamed
    assert path.read_bytes() == before


def test_other_data_and_other_models_are_refused_by_name(tmp_path):
    path = tmp_path / "run.ckpt"
    killed(path, 6)
    train, valid = SPLIT
    flipped = train.clone()
    flipped[3, 3] ^= 1
    for data, named in (((flipped, valid), "train"), ((train, valid[:-1]), "valid"), ((train.int(), valid), "train"),
                        ((train.flip(0), valid), "train")):
        with pytest.raises(CheckpointError, match=f"belongs to another run: {named} differs") as caught:
            fit(Noisy(), *data, checkpoint=path, **SETTINGS)
        assert ";" not in str(caught.value)
    with pytest.raises(CheckpointError, match="structure.*; tensors differs"):
        wider = Noisy(hidden=9)
        wider.config = {"hidden": 9}
        fit(wider, *SPLIT, checkpoint=path, **SETTINGS)
    other = Noisy()
    other.drop.p = 0.4
    with pytest.raises(CheckpointError, match="structure"):
        fit(other, *SPLIT, checkpoint=path, **SETTINGS)

    class Renamed(Noisy):
        pass

    with pytest.raises(CheckpointError, match="model was Noisy, now Renamed"):
        fit(Renamed(), *SPLIT, checkpoint=path, **SETTINGS)
