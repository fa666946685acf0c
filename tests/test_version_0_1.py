"""Models and a checkpoint that version 0.1 wrote are read as if nothing had been renamed since.

The files in support/version_0_1 were written by version 0.1 itself (commit 2247ca4), with what it said of them: the
log-probabilities of some rows, and the losses of the run that it went on with.
"""
from __future__ import annotations

import json
import zipfile
from pathlib import Path

import pytest
import torch

from course_lib import former, hub
from course_lib.training import CheckpointError, fit
from course_lib.transformer import Transformer, TransformerConfig
from tests.support import zoo

HERE = Path(__file__).resolve().parent / "support" / "version_0_1"
STORABLE = {"Tabular", "FVSBN", "NADE", "MADE", "Autoencoder", "Mixture", "MarkovChain", "NGram", "ClassNGram", "GPT",
            "BERT", "Translation"}                                   # by version 0.1


def unpacked(archive: str, folder: Path) -> dict:
    """The files of an archive in `folder`; what version 0.1 said of them."""
    with zipfile.ZipFile(HERE / archive) as files:
        files.extractall(folder)
    return json.loads((folder / "said.json").read_text())


@pytest.fixture(scope="module")
def old(tmp_path_factory):
    folder = tmp_path_factory.mktemp("version_0_1")
    return folder, unpacked("models.zip", folder)


def names() -> list[str]:
    with zipfile.ZipFile(HERE / "models.zip") as files:
        return [Path(name).stem for name in files.namelist() if name.endswith(".safetensors")]


@pytest.mark.parametrize("name", names())
@torch.no_grad()
def test_a_model_stored_by_version_0_1_says_what_it_said(old, name):
    folder, said = old
    model, inputs = hub.load(folder / name), [torch.tensor(t) for t in said[name]["input"]]
    if name == "autoencoder":
        found = model.reconstruction(*inputs)
    elif name == "bert":
        found = model.pretraining_logits(*inputs)[0].sum(dim=1).flatten()
    else:
        found = model.log_prob(*inputs)
    torch.testing.assert_close(found.double(), torch.tensor(said[name]["output"]).double(), rtol=0, atol=2e-5)


def test_every_class_that_version_0_1_could_store_is_among_them(old):
    folder, _ = old
    stored = [json.loads(path.read_text()) for path in folder.glob("*.json") if path.stem != "said"]
    assert {each["class"] for each in stored} == STORABLE
    arguments = {(each["class"], argument) for each in stored for argument in each["config"]}
    assert {("NGram", "order"), ("NGram", "vocabulary"), ("ClassNGram", "order")} <= arguments
    for each in stored:
        if each["class"] in ("GPT", "BERT"):
            assert "vocabulary" in each["config"]["config"]
        assert former.current(each["class"], each["config"])[0] in hub.MODULES


# --- checkpoints ------------------------------------------------------------------------------------------------------


def begun():
    """The model and the settings of the run that version 0.1 began, for 2 of 4 epochs."""
    torch.manual_seed(9)
    model = Transformer(TransformerConfig(5, 5, 0, 1, 2, d_model=4, heads=2, d_ff=4, encoder_layers=1, decoder_layers=1,
                                          tied="target", smoothing=0.1))
    return model, {"epochs": 4, "batch_size": 3, "lr": 0.05, "weight_decay": 0.1, "schedule": "constant", "warmup": 2,
                   "clip": 1.0, "seed": 3}


def test_a_run_that_version_0_1_began_goes_on_as_it_would_have(tmp_path):
    said = unpacked("checkpoint.zip", tmp_path)
    model, settings = begun()
    history = fit(model, tuple(torch.tensor(t) for t in said["data"]), checkpoint=tmp_path / "translation.ckpt", **settings)
    assert history.train == pytest.approx(said["train"], rel=0, abs=2e-5)
    assert sum(float(p.detach().abs().sum()) for p in model.parameters()) == pytest.approx(said["sum"], abs=2e-3)


@pytest.mark.parametrize("change, named", [
    ({"lr": 0.1}, "lr was 0.05, now 0.1"), ({"seed": 4}, "seed was 3, now 4"), ({"clip": None}, "clip was 1.0, now None"),
    ({"lengths": torch.arange(7)}, "by_length was None, now True")])
def test_other_settings_than_those_of_version_0_1_are_refused_by_name(tmp_path, change, named):
    said = unpacked("checkpoint.zip", tmp_path)
    model, settings = begun()
    with pytest.raises(CheckpointError, match=f"belongs to another run: {named}") as caught:
        fit(model, tuple(map(torch.tensor, said["data"])), checkpoint=tmp_path / "translation.ckpt", **settings | change)
    assert ";" not in str(caught.value)                              # nothing else is blamed


def test_other_data_and_models_than_those_of_version_0_1_are_refused_by_name(tmp_path):
    said = unpacked("checkpoint.zip", tmp_path)
    model, settings = begun()
    source, target = map(torch.tensor, said["data"])
    with pytest.raises(CheckpointError, match="belongs to another run: train differs"):
        fit(model, (source, target.flip(0)), checkpoint=tmp_path / "translation.ckpt", **settings)
    wider = Transformer(TransformerConfig(**vars(model.config) | {"d_ff": 6}))
    with pytest.raises(CheckpointError, match="belongs to another run: tensors differs"):
        fit(wider, (source, target), checkpoint=tmp_path / "translation.ckpt", **settings)
    with pytest.raises(CheckpointError, match="belongs to another run: model was Transformer, now GPT"):
        fit(zoo.make("GPT"), (source, target), checkpoint=tmp_path / "translation.ckpt", **settings)
