"""The file of a checkpoint: written whole, read whole, and refused where it is another run's."""
from __future__ import annotations

import os

import pytest
import torch
from safetensors.torch import save_file

from course_lib.training import CheckpointError, checkpoint, fit
from tests.support.training import SETTINGS, SPLIT, Killed, Noisy, assert_same, killed, run


@pytest.fixture(scope="module")
def whole():
    return run(Noisy())


@pytest.mark.parametrize("failing, nth, kept", [
    ("replace", 1, 0), ("replace", 2, 2), ("replace", 3, 2), ("replace", 4, 4), ("replace", 5, 4),
    ("fsync", 1, 0), ("fsync", 3, 2), ("fsync", 5, 4)])
def test_write_interrupted(whole, tmp_path, monkeypatch, failing, nth, kept):
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
    found = checkpoint.read(path)
    assert (found[1]["position"]["step"] if found else 0) == kept
    assert_same(run(Noisy(), path, checkpoint_every=2), whole)


def test_write_full_disk(tmp_path, monkeypatch):
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
def test_damaged_falls_back(whole, tmp_path, how):
    path = tmp_path / "run.ckpt"
    killed(path, 14)
    spoil(path, how)
    with pytest.warns(UserWarning, match="run.ckpt is damaged.*continues from run.ckpt.previous"):
        assert_same(run(Noisy(), path), whole)
    assert path.with_name("run.ckpt.damaged").exists()


@pytest.mark.parametrize("how", ["truncated", "flipped", "empty", "header", "other"])
def test_damaged_alone(tmp_path, how):
    path = tmp_path / "run.ckpt"
    killed(path, 6)
    assert not path.with_name("run.ckpt.previous").exists()
    spoil(path, how)
    with pytest.raises(CheckpointError, match="run.ckpt is damaged.*delete .*run.ckpt to start again"):
        run(Noisy(), path)


def test_other_file_refused(tmp_path):
    save_file({"a": torch.ones(2)}, tmp_path / "run.ckpt")
    with pytest.raises(CheckpointError, match="has format None; expected 'course_lib checkpoint 1'"):
        run(Noisy(), tmp_path / "run.ckpt")


# --- another run's checkpoint -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name, value", [
    ("lr", 0.1), ("batch_size", 11), ("seed", 1), ("weight_decay", 0.2), ("clip", None), ("patience", 3),
    ("accumulate", 2), ("bf16", True), ("schedule", "linear"), ("warmup", 2), ("epochs", 13), ("betas", (0.9, 0.99))])
def test_other_configuration_refused(tmp_path, name, value):
    path = tmp_path / "run.ckpt"
    killed(path, 6)
    before = path.read_bytes()
    named = "schedule" if name in ("warmup", "epochs") else name     # both move the schedule
    with pytest.raises(CheckpointError, match=f"belongs to another run: {named} ") as caught:
        run(Noisy(), path, **{name: value})
    assert ";" not in str(caught.value)                              # nothing else is blamed
    assert path.read_bytes() == before


def test_other_data_or_model_refused(tmp_path):
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
    with pytest.raises(CheckpointError, match="config.*; tensors differs"):
        wider = Noisy(hidden=9)
        wider.config = {"hidden": 9}
        fit(wider, *SPLIT, checkpoint=path, **SETTINGS)
    other = Noisy()
    other.drop.p = 0.4
    with pytest.raises(CheckpointError, match="config differs|config was"):
        fit(other, *SPLIT, checkpoint=path, **SETTINGS)

    class Renamed(Noisy):
        pass

    with pytest.raises(CheckpointError, match="model was Noisy, now Renamed"):
        fit(Renamed(), *SPLIT, checkpoint=path, **SETTINGS)
