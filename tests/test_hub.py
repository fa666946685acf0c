"""Trained weights: stored whole, described by a card, small enough to ship."""
from __future__ import annotations

import pytest
import torch
from safetensors.torch import load_file

from course_lib import hub
from course_lib.conditional import Categorical, DiscretizedLogisticMixture, MixtureOfGaussians
from course_lib.density import FVSBN
from tests.support.weights import CARD, make, same

LIMIT, LIMIT_ALL = 6 * 10 ** 6, 25 * 10 ** 6                         # bytes: one model, all of them


# --- there and back ---------------------------------------------------------------------------------------------------


def test_round_trip_ties(tmp_path):
    model = make()
    path = hub.save(model, tmp_path, "tied", CARD)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["tied.json", "tied.md", "tied.safetensors"]
    for name in (tmp_path, str(tmp_path), tmp_path / "tied", str(tmp_path / "tied")):
        again = hub.load(name)
        assert same(again, model) and not again.training
    assert again.head.weight is again.embedding.weight
    assert sorted(load_file(path)) == ["counts", "embedding.weight", "gain"]       # the tied matrix once, no mask


def test_round_trip_nested_config(tmp_path):
    inner = FVSBN(4, order=[2, 0, 3, 1])
    inner.randomize(torch.Generator().manual_seed(1))
    model = make(conditional=DiscretizedLogisticMixture(3, 16), offsets=torch.tensor([2, 0, 1]), parts=[inner])
    hub.save(model, tmp_path, "nested", CARD)
    again = hub.load(tmp_path)
    assert same(again, model)
    assert repr(again.conditional) == repr(model.conditional) and torch.equal(again.offsets, model.offsets)
    assert again.parts[0].order.tolist() == [2, 0, 3, 1]
    for family in (Categorical(7), MixtureOfGaussians(2, min_sigma=0.25)):
        hub.save(make(conditional=family), tmp_path / "families", "family", CARD)
        again = hub.load(tmp_path / "families").conditional
        assert vars(again) == vars(family) and type(again) is type(family)


def test_save_half_precision(tmp_path):
    model = FVSBN(64)
    model.randomize(torch.Generator().manual_seed(1))
    whole = hub.save(model, tmp_path, "whole", CARD).stat().st_size
    half = hub.save(model, tmp_path, "half", CARD, dtype=torch.float16).stat().st_size
    assert half < 0.55 * whole
    again = hub.load(tmp_path / "half")
    assert again.weight.dtype == torch.float32 and torch.equal(again.weight, model.weight.half().float())
    tied = make()
    with torch.no_grad():
        tied.counts.add_(4097)                                       # half precision counts in fours up there
    path = hub.save(tied, tmp_path, "tied", CARD, dtype=torch.float16)
    assert torch.equal(hub.load(tmp_path / "tied").counts, tied.counts)
    assert {t.dtype for t in load_file(path).values()} == {torch.float16, torch.int64}
    with torch.no_grad():
        model.bias[3] = 1e5
    with pytest.raises(ValueError, match=r"bias reaches 1e\+05; expected at most 6.55e\+04"):
        hub.save(model, tmp_path, "half", CARD, dtype=torch.float16)


def test_round_trip_float64(tmp_path):
    model = FVSBN(4).double()
    model.randomize(torch.Generator().manual_seed(1))
    hub.save(model, tmp_path, "double", CARD)
    assert same(hub.load(tmp_path), model)


@pytest.mark.gpu
def test_round_trip_gpu(tmp_path):
    model = make().cuda()
    hub.save(model, tmp_path, "tied", CARD)
    again = hub.load(tmp_path, device="cuda")
    assert again.gain.is_cuda and same(again, model)


# --- cards ------------------------------------------------------------------------------------------------------------


def test_card_page(tmp_path):
    hub.save(make(), tmp_path, "tied", CARD)
    assert hub.card(tmp_path / "tied") == CARD
    page = (tmp_path / "tied.md").read_text(encoding="utf-8")
    for said in ("# tied", "A test model", "| data set | letters |", "| licence | CC0 1.0 |", "made up for the tests",
                 "| lr | 0.01 |", "| test nats | 1.25 |", "| test nats, error | 0.00333333 |", "A note | with a bar."):
        assert said in page


@pytest.mark.parametrize("missing", ["model", "data", "licence", "citation"])
def test_save_incomplete_card(tmp_path, missing):
    card = hub.Card(**{**vars(CARD), missing: " "})
    with pytest.raises(ValueError, match=f"card.{missing} is ' '; expected a text"):
        hub.save(make(), tmp_path, "tied", card)
    assert not list(tmp_path.iterdir())


def test_save_card_not_json(tmp_path):
    for value in (float("nan"), torch.ones(2)):
        card = hub.Card(**{**vars(CARD), "results": {"nats": value}})
        with pytest.raises(ValueError, match="cannot be stored as JSON"):
            hub.save(make(), tmp_path, "tied", card)
    assert not list(tmp_path.iterdir())


# --- what ships -------------------------------------------------------------------------------------------------------


def too_large(folder):
    """Names over the limit, and "all" if the sum is."""
    sizes = {path.stem: path.stat().st_size for path in folder.glob("*.safetensors")}
    return [name for name, size in sizes.items() if size > LIMIT] + ["all"] * (sum(sizes.values()) > LIMIT_ALL)


def test_shipped_weights_size():
    assert not too_large(hub.WEIGHTS)


def test_shipped_weights_load():
    for name in hub.available():
        model, card = hub.load(name), hub.card(name)
        assert all(t.isfinite().all() for t in model.parameters()), name
        assert card.licence.strip() and card.data.strip() and card.citation.strip() and card.results, name
        assert (hub.WEIGHTS / f"{name}.md").read_text(encoding="utf-8") == card.markdown(name), name
        assert len(card.markdown(name)) < 4000, f"{name}.md is too long to be read"
    stems = {path.stem for path in hub.WEIGHTS.glob("*.*") if path.suffix in (".safetensors", ".md", ".json")}
    assert stems == set(hub.available())
