"""Weights that are unknown, damaged, of another model, or cannot be stored."""
from __future__ import annotations

import importlib
import json
import os

import pytest
import torch
from torch import nn

from course_lib import hub
from tests.support.weights import CARD, Tied, make, same


@pytest.fixture
def saved(tmp_path):
    hub.save(make(), tmp_path, "tied", CARD)
    return tmp_path


def test_unknown_name(monkeypatch, saved):
    hub.save(make(), saved, "fvsbn-mnist", CARD)
    monkeypatch.setattr(hub, "WEIGHTS", saved)
    assert hub.available(saved) == ["fvsbn-mnist", "tied"]
    with pytest.raises(ValueError, match="no trained weights are called 'fvsbn_mnst'; did you mean 'fvsbn-mnist'"):
        hub.load("fvsbn_mnst")
    with pytest.raises(ValueError, match="no trained weights are called 'zzz'; there are: fvsbn-mnist, tied"):
        hub.card("zzz")
    with pytest.raises(ValueError, match="did you mean 'tied'"):
        hub.load(saved / "teid")
    with pytest.raises(ValueError, match="contains 2 models"):
        hub.load(saved)
    assert same(hub.load("tied"), make())


@pytest.mark.parametrize("how", ["truncated", "flipped", "missing", "longer"])
def test_damaged_weights(saved, how):
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
    with pytest.raises(hub.HubError, match=f"tied.safetensors has {got} bytes.*expected {needed['bytes']} bytes, "
                                           f"sha256 {needed['sha256'][:12]}"):
        hub.load(saved)


@pytest.mark.parametrize("content", ["", "{", "[]", "{}", '{"format": "course_lib model 1"}'])
def test_damaged_description(saved, content):
    (saved / "tied.json").write_text(content)
    with pytest.raises(hub.HubError, match="tied.json (is damaged|does not describe a model)"):
        hub.load(saved)
    with pytest.raises(hub.HubError, match="tied.json"):
        hub.card(saved)


def edit(folder, **changes):
    file = folder / "tied.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | changes))


def test_description_runs_no_code(saved, monkeypatch):
    seen = []
    monkeypatch.setattr(importlib, "import_module", lambda name: seen.append(name))
    for name in ("os.system", "os", "course_lib.hub", "nn.Linear", "__import__", "subprocess.Popen"):
        edit(saved, **{"class": name, "config": {}})
        with pytest.raises(hub.HubError, match="is not a class that can be stored"):
            hub.load(saved)
        edit(saved, **{"class": "Tied", "config": {"size": 5, "conditional": {"class": name, "config": {}}}})
        with pytest.raises(hub.HubError, match="is not a class that can be stored"):
            hub.load(saved)
    assert seen == []


def test_weights_of_other_model(saved):
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
    with pytest.raises(hub.HubError, match="contains an incomplete card"):
        hub.card(saved)


def test_save_refused(tmp_path):
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
        with pytest.raises(hub.HubError, match="'Stranger' is not a class that can be stored"):
            hub.save(Stranger(2, 2), tmp_path, "x", CARD)
        with pytest.raises(ValueError, match="Shy has no config"):
            hub.save(Shy(5), tmp_path, "x", CARD)
        with pytest.raises(TypeError, match=r"state_dict\(\) of State contains _extra_state of type dict"):
            hub.save(State(5), tmp_path, "x", CARD)
    finally:
        for cls in (Shy, State):
            del hub._registered[cls.__name__]
    for name in ("", "a/b", "../x", ".hidden"):
        with pytest.raises(ValueError, match="expected a plain file name"):
            hub.save(make(), tmp_path, name, CARD)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("changes", [
    {"tied": ["a"]}, {"tied": {"a": "nothing"}}, {"tied": None}, {"dtype": "float99"}, {"dtype": 3}, {"config": None},
    {"config": []}, {"class": ["Tied"]}, {"bytes": "many"}, {"config": {"size": -5}},
    {"config": {"size": 5, "conditional": {"class": "Categorical"}}},
    {"class": "NADE", "config": {"n": 4, "hidden": -3}}, {"class": "FVSBN", "config": {"n": 4, "order": {"tensor": 3, "dtype": "x"}}}])
def test_damaged_fields(saved, changes):
    edit(saved, **changes)
    with pytest.raises(hub.HubError, match="tied"):
        hub.load(saved)


def test_register_once():
    assert hub.register(Tied) is Tied
    for name in ("FVSBN", "Bernoulli", "Tied"):
        with pytest.raises(ValueError, match=f"cls is named {name}, but another class is registered already"):
            hub.register(type(name, (nn.Module,), {}))


@pytest.mark.parametrize("nth", range(1, 4))
def test_save_interrupted(saved, monkeypatch, nth):
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
