"""Within `unchecked` no value is read: models become one graph, and `fit` has looked at all of its data before."""
from __future__ import annotations

import json
import shutil
import subprocess
import sys

import pytest
import torch
from torch.utils.data import DataLoader

from course_lib.conditional import Bernoulli, Categorical, DiscretizedLogisticMixture, MixtureOfGaussians
from course_lib.density import FVSBN
from course_lib.training import fit
from course_lib.transformer import BERT, GPT, PretrainingBatch, Transformer
from course_lib.validation import unchecked, values_checked
from tests.conftest import ROOT
from tests.support.types import untyped

BITS = (torch.rand(40, 4, generator=torch.Generator().manual_seed(0)) < 0.5).float()


# --- the context ------------------------------------------------------------------------------------------------------


def test_unchecked_values():
    wrong = torch.full((2, 4), 7.0)
    with unchecked():
        FVSBN(4).log_prob(wrong)
        with pytest.raises(ValueError, match="x has 3 variables; this model has 4"):        # shapes as ever
            FVSBN(4).log_prob(wrong[:, :3])
    with pytest.raises(ValueError, match=r"x contains 7 at \[0, 0\]; a Bernoulli variable takes 0 or 1"):
        FVSBN(4).log_prob(wrong)


@pytest.mark.parametrize("family, wrong", [(Bernoulli(), 2.0), (Categorical(3), 3), (MixtureOfGaussians(2), torch.nan),
                                           (DiscretizedLogisticMixture(2, 4), -1)], ids=str)
def test_unchecked_family_check(family, wrong):
    right, wrong = torch.ones(2), torch.tensor([1, wrong])
    with unchecked():
        inside = family.check(right)
        family.check(wrong)
    assert torch.equal(inside, family.check(right)) and inside.dtype == family.check(right).dtype
    with pytest.raises(ValueError, match="x contains .* at "):
        family.check(wrong)


# --- fit --------------------------------------------------------------------------------------------------------------


class Looks(FVSBN):
    """Notes whether values are checked while it trains."""

    def conditionals(self, x, context=None):
        self.seen = [*getattr(self, "seen", []), values_checked()]
        return super().conditionals(x, context)


class WithLoss(Looks):
    def loss(self, batch):
        return -self.log_prob(batch).mean()


def test_fit_checks_data_once():
    model, told = Looks(4), []
    fit(model, BITS, BITS[:10], epochs=2, batch_size=20, progress=False,
        callback=lambda _: told.append(values_checked()))
    assert set(model.seen) == {False} and len(model.seen) == 6 and set(told) == {True} and values_checked()


@pytest.mark.parametrize("model, data, where", [
    (WithLoss(4), BITS, "a loss of which nothing is known"),
    (Looks(4), DataLoader(BITS, batch_size=20), "a loader, whose batches come one by one"),
], ids=["loss", "loader"])
def test_fit_checks_while_training(model, data, where):
    options = {} if isinstance(data, DataLoader) else {"batch_size": 20}
    fit(model, data, epochs=1, progress=False, **options)
    assert set(model.seen) == {True}, where


@pytest.mark.parametrize("place", ["train", "valid"])
def test_fit_refuses_bad_value(place):
    model, wrong, told = FVSBN(4), BITS.clone(), []
    wrong[39, 2] = 5
    with pytest.raises(ValueError, match=r"x contains 5 at \[39, 2\]"):
        fit(model, *((wrong, BITS) if place == "train" else (BITS, wrong)), epochs=1, batch_size=5, progress=False,
            callback=told.append)
    assert not told and not model.weight.any()


ROWS = torch.randint(3, 7, (8, 5), generator=torch.Generator().manual_seed(0))
TINY = {"heads": 1, "d_model": 4}
ALL = torch.ones_like(ROWS, dtype=torch.bool)


def gpt() -> GPT:
    return GPT({"vocab_size": 7, "window": 5, "layers": 1, "bos_id": 0, **TINY})


def translator() -> Transformer:
    return Transformer({"source": 7, "target": 7, "pad_id": 0, "bos_id": 1, "eos_id": 2, "d_ff": 4, "encoder_layers": 1,
                        "decoder_layers": 1, **TINY})


def spoiled(rows: torch.Tensor) -> torch.Tensor:
    return torch.cat([rows[:-1], torch.full_like(rows[-1:], 9)])


MODELS = {
    "GPT": (gpt, lambda rows: rows),
    "GPT, padding": (gpt, lambda rows: (rows, ALL)),
    "BERT": (lambda: BERT({"vocab_size": 7, "window": 5, "layers": 1, **TINY}),
             lambda rows: PretrainingBatch(rows, ALL.long(), ALL, ALL, ROWS, ALL[:, 0])),
    "Transformer, source": (translator, lambda rows: (rows, ROWS)),
    "Transformer, target": (translator, lambda rows: (ROWS, rows)),
}


@pytest.mark.parametrize("name", MODELS)
def test_fit_loss_with_check(name, monkeypatch):
    make, data = MODELS[name]
    model, seen = make(), []
    plain = type(model).loss

    def loss(self, batch):
        seen.append(values_checked())
        return plain(self, batch)

    monkeypatch.setattr(type(model), "loss", loss)
    with untyped():                                                  # fit hands on plain tuples
        fit(model, data(ROWS), epochs=1, batch_size=4, progress=False)
    assert seen == [False, False]
    with pytest.raises(ValueError, match="9"):
        fit(model, data(spoiled(ROWS)), epochs=1, batch_size=4, progress=False)
    assert len(seen) == 2                                            # no step was begun


# --- one graph --------------------------------------------------------------------------------------------------------


def graphs(backend: str, *names: str) -> dict[str, dict]:
    command = [sys.executable, "-m", "tests.support.graphs", backend, *names]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, timeout=500, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


COMPILED = ("FVSBN", "MADE", "GPT, loss", "BERT", "Transformer")


@pytest.mark.parametrize("names", [COMPILED, pytest.param((), marks=pytest.mark.thorough)], ids=["loss", "all"])
def test_compile_one_graph(names):
    """`torch.compile(fullgraph=True)` and `torch.export` within `unchecked`, after a compilation outside, which is refused."""
    report = graphs("eager", *names)
    assert len(report) == len(names or range(8))
    for name, said in report.items():
        assert max(said["value"], said["gradient"], said["export"]) < 1e-12 < said["moves"], name
        assert "9" in said["outside"], name


@pytest.mark.thorough
@pytest.mark.skipif(shutil.which("g++") is None, reason="no compiler")
def test_compile_one_kernel():
    for name, said in graphs("inductor", "MADE", "GPT, loss").items():
        assert max(said["value"], said["gradient"]) < 1e-12 < said["moves"], name
