"""Every class that the hub lists is stored and loaded; one that cannot be, is not on the list."""
from __future__ import annotations

import json

import pytest
import torch
from torch import nn
from torch.distributions import Distribution

from course_lib import hub
from course_lib.conditional import Conditional
from course_lib.density import NADE
from tests.support import zoo
from tests.support.weights import CARD


def said(model: nn.Module, name: str):
    """What a model answers, as tensors."""
    with torch.no_grad():
        out = model(*zoo.inputs(name))
    if isinstance(out, Distribution):
        return [out.log_prob(model.conditional.check(zoo.inputs(name)[0], dtype=torch.float32))]
    return list(out) if isinstance(out, tuple) else [out]


def test_zoo_complete():
    assert set(zoo.MAKE) == set(hub.MODULES)
    for name in hub.MODULES:
        assert type(zoo.make(name)) is hub._class(name) and type(zoo.make(name)).__module__ == hub.MODULES[name]


@pytest.mark.parametrize("name", hub.MODULES)
def test_round_trip_every_class(tmp_path, name):
    thing = zoo.make(name)
    if isinstance(thing, Conditional):                               # a family is stored as a part of a model
        hub.save(NADE(4, 3, thing), tmp_path, "stored", CARD)
        again = hub.load(tmp_path).conditional
        assert type(again) is type(thing) and vars(again) == vars(thing)
        return
    hub.save(thing, tmp_path, "stored", CARD)
    again = hub.load(tmp_path)
    assert type(again) is type(thing) and repr(again) == repr(thing)
    ours, theirs = thing.state_dict(), again.state_dict()
    assert list(ours) == list(theirs) and all(torch.equal(ours[key], theirs[key]) for key in ours)
    assert all(torch.equal(a, b) for a, b in zip(said(thing, name), said(again, name), strict=True))


def test_load_refuses_family(tmp_path):
    hub.save(NADE(4, 3), tmp_path, "stored", CARD)
    file = tmp_path / "stored.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | {"class": "Categorical", "config": {"k": 3}}))
    with pytest.raises(hub.HubError, match="describes a Categorical, which is a distribution; expected a model"):
        hub.load(tmp_path)
