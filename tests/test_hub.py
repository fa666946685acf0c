"""Trained weights: stored whole, described, checked before they are believed."""
from __future__ import annotations

import importlib
import json
import os

import pytest
import torch
from torch import nn

from course_lib import hub
from course_lib.conditional import Categorical, DiscretizedLogisticMixture, MixtureOfGaussians
from course_lib.density import FVSBN, Tabular
from course_lib.text import MarkovChain, NGram

CARD = hub.Card(model="A test model", data="letters", licence="CC0 1.0", citation="made up for the tests",
                training={"lr": 0.01, "epochs": 3}, results={"test nats": 1.25, "test nats, error": 0.01 / 3},
                notes="A note | with a bar.")
LIMIT, LIMIT_ALL = 6 * 10 ** 6, 25 * 10 ** 6                         # bytes: one model, all of them


@hub.register
class Tied(nn.Module):
    """An embedding that is also the output, an integer buffer, one that is not stored, and a part of its own."""

    def __init__(self, size, conditional=None, offsets=None, parts=()):
        super().__init__()
        self.size, self.conditional, self.offsets = size, conditional, offsets
        self.embedding = nn.Embedding(size, 3)
        self.head = nn.Linear(3, size, bias=False)
        self.head.weight = self.embedding.weight
        self.gain = nn.Parameter(torch.ones(size))
        self.register_buffer("counts", torch.arange(size))
        self.register_buffer("mask", torch.ones(100, 100), persistent=False)
        self.parts = nn.ModuleList(parts)

    @property
    def config(self):
        return {"size": self.size, "conditional": self.conditional, "offsets": self.offsets, "parts": self.parts}


def make(**more):
    torch.manual_seed(4)
    model = Tied(5, **more)
    with torch.no_grad():
        model.gain.normal_()
        model.counts.add_(7)
    return model


def same(one, two):
    a, b = one.state_dict(), two.state_dict()
    return a.keys() == b.keys() and all(torch.equal(a[k], b[k]) and a[k].dtype == b[k].dtype for k in a)


# --- there and back ---------------------------------------------------------------------------------------------------


def test_parameters_buffers_and_ties_come_back(tmp_path):
    model = make()
    path = hub.save(model, tmp_path, "tied", CARD)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["tied.json", "tied.md", "tied.safetensors"]
    for name in (tmp_path, str(tmp_path), tmp_path / "tied", str(tmp_path / "tied")):
        again = hub.load(name)
        assert same(again, model) and not again.training
    assert again.head.weight is again.embedding.weight
    assert path.stat().st_size < 4 * 4 * 5 + 8 * 5 + 4 * 5 + 400     # the tied matrix once, the mask never


def test_a_config_may_hold_families_tensors_and_models(tmp_path):
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


def test_models_of_the_course_give_the_same_likelihoods(tmp_path):
    text = torch.randint(1, 6, (400,), generator=torch.Generator().manual_seed(2))
    bits = torch.randint(2, (50, 6), generator=torch.Generator().manual_seed(3))
    chain = MarkovChain(6)
    chain.randomize(torch.Generator().manual_seed(5))
    fvsbn = FVSBN(6, order=[3, 1, 5, 0, 2, 4])
    fvsbn.randomize(torch.Generator().manual_seed(6))
    models = {
        "fvsbn": (fvsbn, bits),
        "tabular": (Tabular(6, parents=[[], [0], [0, 1], [2], [0, 3], []]).fit_counts(bits, alpha=1.0), bits),
        "chain": (chain, text.view(40, 10)),
        "ngram": (NGram(2, 6, bos_id=0, smoothing="kneser-ney").fit_counts(text), text.view(40, 10)),
    }
    for name, (model, x) in models.items():
        hub.save(model, tmp_path, name, CARD)
        again = hub.load(tmp_path / name)
        assert type(again) is type(model) and torch.equal(again.log_prob(x), model.eval().log_prob(x)), name
    assert hub.available(tmp_path) == sorted(models)


def test_half_precision_takes_half_the_room_and_comes_back_as_float32(tmp_path):
    model = FVSBN(64)
    model.randomize(torch.Generator().manual_seed(1))
    whole = hub.save(model, tmp_path, "whole", CARD).stat().st_size
    half = hub.save(model, tmp_path, "half", CARD, dtype=torch.float16).stat().st_size
    assert half < 0.55 * whole
    again = hub.load(tmp_path / "half")
    assert again.weight.dtype == torch.float32 and torch.equal(again.weight, model.weight.half().float())
    tied = make()
    hub.save(tied, tmp_path, "tied", CARD, dtype=torch.float16)
    assert torch.equal(hub.load(tmp_path / "tied").counts, tied.counts)            # integers are left alone
    with torch.no_grad():
        model.bias[3] = 1e5
    with pytest.raises(ValueError, match=r"bias reaches 1e\+05; torch.float16 holds 6.55e\+04"):
        hub.save(model, tmp_path, "half", CARD, dtype=torch.float16)


def test_a_float64_model_comes_back_as_one(tmp_path):
    model = FVSBN(4).double()
    model.randomize(torch.Generator().manual_seed(1))
    hub.save(model, tmp_path, "double", CARD)
    assert same(hub.load(tmp_path), model)


@pytest.mark.gpu
def test_loading_onto_a_gpu_and_saving_from_it(tmp_path):
    model = make().cuda()
    hub.save(model, tmp_path, "tied", CARD)
    again = hub.load(tmp_path, device="cuda")
    assert again.gain.is_cuda and same(again, model)


# --- cards ------------------------------------------------------------------------------------------------------------


def test_the_card_says_what_one_must_know(tmp_path):
    hub.save(make(), tmp_path, "tied", CARD)
    assert hub.card(tmp_path / "tied") == CARD
    page = (tmp_path / "tied.md").read_text(encoding="utf-8")
    for said in ("# tied", "A test model", "| data set | letters |", "| licence | CC0 1.0 |", "made up for the tests",
                 "| lr | 0.01 |", "| test nats | 1.25 |", "| test nats, error | 0.00333333 |", "A note | with a bar."):
        assert said in page


@pytest.mark.parametrize("missing", ["model", "data", "licence", "citation"])
def test_no_weights_without_a_card_that_names_the_data_and_their_licence(tmp_path, missing):
    card = hub.Card(**{**vars(CARD), missing: " "})
    with pytest.raises(ValueError, match=f"card.{missing} is empty"):
        hub.save(make(), tmp_path, "tied", card)
    assert not list(tmp_path.iterdir())


def test_a_card_that_json_cannot_hold_is_refused_before_anything_is_written(tmp_path):
    for value in (float("nan"), torch.ones(2)):
        card = hub.Card(**{**vars(CARD), "results": {"nats": value}})
        with pytest.raises(ValueError, match="cannot be stored as JSON"):
            hub.save(make(), tmp_path, "tied", card)
    assert not list(tmp_path.iterdir())


# --- what goes wrong --------------------------------------------------------------------------------------------------


@pytest.fixture
def saved(tmp_path):
    hub.save(make(), tmp_path, "tied", CARD)
    return tmp_path


def test_an_unknown_name_is_told_the_nearest(monkeypatch, saved):
    hub.save(make(), saved, "fvsbn-mnist", CARD)
    monkeypatch.setattr(hub, "WEIGHTS", saved)
    assert hub.available(saved) == ["fvsbn-mnist", "tied"]
    with pytest.raises(ValueError, match="no trained weights are called 'fvsbn_mnst'; did you mean 'fvsbn-mnist'"):
        hub.load("fvsbn_mnst")
    with pytest.raises(ValueError, match="no trained weights are called 'zzz'; there are: fvsbn-mnist, tied"):
        hub.card("zzz")
    with pytest.raises(ValueError, match="did you mean 'tied'"):
        hub.load(saved / "teid")
    with pytest.raises(ValueError, match="holds 2 models"):
        hub.load(saved)
    assert same(hub.load("tied"), make())


@pytest.mark.parametrize("how", ["truncated", "flipped", "missing", "longer"])
def test_damaged_weights_are_named_with_what_was_got_and_needed(saved, how):
    file = saved / "tied.safetensors"
    content = bytearray(file.read_bytes())
    if how == "truncated":
        content = content[:100]
    elif how == "flipped":
        content[-1] ^= 1
    elif how == "longer":
        content += b"\0"
    file.unlink() if how == "missing" else file.write_bytes(content)
    needed = json.loads((saved / "tied.json").read_text())
    got = 0 if how == "missing" else len(content)
    with pytest.raises(hub.HubError, match=f"tied.safetensors has {got} bytes.*needed are {needed['bytes']} bytes, "
                                           f"sha256 {needed['sha256'][:12]}"):
        hub.load(saved)


@pytest.mark.parametrize("content", ["", "{", "[]", "{}", '{"format": "course_lib model 1"}'])
def test_a_damaged_description_is_named(saved, content):
    (saved / "tied.json").write_text(content)
    with pytest.raises(hub.HubError, match="tied.json (is damaged|does not describe a model)"):
        hub.load(saved)
    with pytest.raises(hub.HubError, match="tied.json"):
        hub.card(saved)


def edit(folder, **changes):
    file = folder / "tied.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | changes))


def test_a_description_cannot_name_code_to_run(saved, monkeypatch):
    seen = []
    monkeypatch.setattr(importlib, "import_module", lambda name: seen.append(name))
    for name in ("os.system", "os", "course_lib.hub", "nn.Linear", "__import__", "subprocess.Popen"):
        edit(saved, **{"class": name, "config": {}})
        with pytest.raises(hub.HubError, match="is no class that can be stored"):
            hub.load(saved)
        edit(saved, **{"class": "Tied", "config": {"size": 5, "conditional": {"class": name, "config": {}}}})
        with pytest.raises(hub.HubError, match="is no class that can be stored"):
            hub.load(saved)
    assert seen == []


def test_weights_of_another_model_are_refused_with_names(saved):
    edit(saved, **{"class": "FVSBN", "config": {"n": 5}})
    with pytest.raises(hub.HubError, match="does not fit FVSBN: missing are bias, .*weight.*unexpected are counts, "):
        hub.load(saved)
    edit(saved, **{"class": "Tied", "config": {"size": 6}})
    with pytest.raises(hub.HubError, match="does not fit Tied: .*gain"):
        hub.load(saved)
    edit(saved, config={"sizes": 5})
    with pytest.raises(hub.HubError, match="describes a Tied that cannot be built: .*sizes"):
        hub.load(saved)
    edit(saved, card={"model": "half a card"})
    with pytest.raises(hub.HubError, match="holds no complete card"):
        hub.card(saved)


def test_what_cannot_be_saved(tmp_path):
    class Stranger(nn.Linear):
        config = property(lambda self: {"in_features": 2, "out_features": 2})

    class Shy(Tied):
        config = None

    class State(Tied):
        config = property(lambda self: {"size": 5})

        def get_extra_state(self):
            return {"anything": 1}

        def set_extra_state(self, state):
            pass

    for cls in (Shy, State):
        hub.register(cls)
    try:
        with pytest.raises(hub.HubError, match="'Stranger' is no class that can be stored"):
            hub.save(Stranger(2, 2), tmp_path, "x", CARD)
        with pytest.raises(ValueError, match="Shy has no config"):
            hub.save(Shy(5), tmp_path, "x", CARD)
        with pytest.raises(TypeError, match="State keeps _extra_state in its state, a dict"):
            hub.save(State(5), tmp_path, "x", CARD)
    finally:
        for cls in (Shy, State):
            del hub._registered[cls.__name__]
    for name in ("", "a/b", "../x", ".hidden"):
        with pytest.raises(ValueError, match="needed is a plain file name"):
            hub.save(make(), tmp_path, name, CARD)
    assert not list(tmp_path.iterdir())


def test_a_name_is_registered_for_one_class_only():
    assert hub.register(Tied) is Tied
    for name in ("FVSBN", "Bernoulli", "Tied"):
        with pytest.raises(ValueError, match=f"a class {name} is registered already"):
            hub.register(type(name, (nn.Module,), {}))


@pytest.mark.parametrize("nth", range(1, 4))
def test_a_kill_while_saving_leaves_the_old_weights_or_a_clear_error(saved, monkeypatch, nth):
    calls, real = [], os.replace

    def dying(*args):
        calls.append(args)
        if len(calls) == nth:
            raise KeyboardInterrupt
        real(*args)

    other = make()
    with torch.no_grad():
        other.gain.zero_()
    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", dying)
        with pytest.raises(KeyboardInterrupt):
            hub.save(other, saved, "tied", CARD)
        calls.clear()
        with pytest.raises(KeyboardInterrupt):
            hub.save(other, saved, "new", CARD)
    assert hub.available(saved) == ["tied"] and not list(saved.glob("*.part"))
    if nth == 1:
        assert same(hub.load(saved / "tied"), make())
    else:
        with pytest.raises(hub.HubError, match="of another version"):
            hub.load(saved / "tied")


# --- what ships -------------------------------------------------------------------------------------------------------


def too_large(folder):
    """Names over the limit, and "all" if the sum is."""
    sizes = {path.stem: path.stat().st_size for path in folder.glob("*.safetensors")}
    return [name for name, size in sizes.items() if size > LIMIT] + ["all"] * (sum(sizes.values()) > LIMIT_ALL)


def test_shipped_weights_keep_the_limits():
    assert not too_large(hub.WEIGHTS)


def test_the_limits_are_noticed(tmp_path):
    for name, size in (("small", LIMIT), ("large", LIMIT + 1), ("b", LIMIT), ("c", LIMIT)):
        with open(tmp_path / f"{name}.safetensors", "wb") as file:
            file.truncate(size)
    assert too_large(tmp_path) == ["large"]
    with open(tmp_path / "d.safetensors", "wb") as file:
        file.truncate(LIMIT)
    assert too_large(tmp_path) == ["large", "all"]


def test_shipped_weights_load_and_their_cards_are_those_of_the_description():
    for name in hub.available():
        model, card = hub.load(name), hub.card(name)
        assert all(t.isfinite().all() for t in model.parameters()), name
        assert card.licence.strip() and card.data.strip() and card.citation.strip() and card.results, name
        assert (hub.WEIGHTS / f"{name}.md").read_text(encoding="utf-8") == card.markdown(name), name
    stems = {path.stem for path in hub.WEIGHTS.glob("*.*") if path.suffix in (".safetensors", ".md", ".json")}
    assert stems == set(hub.available())


def test_every_class_on_the_list_is_there():
    for name in hub.MODULES | hub.PARTS:
        assert isinstance(hub._class(name), type) and hub._class(name).__module__.startswith("course_lib.")
