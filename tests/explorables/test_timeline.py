"""The timeline: the table behind the figure, its axis, its links and its words."""
from __future__ import annotations

import json
import math
import re

import pytest

from course_lib.explorables import Timeline
from course_lib.explorables.timeline import KINDS, NOW, SYSTEMS, axis_position
from tests.conftest import ROOT
from tools.slide_map import titles

DATES = {"markov": 1913, "shannon": 1948, "osgood": 1957, "switzer": 1965, "jelinek": 1976, "lsa": 1990, "brown": 1992,
         "bengio": 2003, "lda": 2003, "collobert": 2008, "rnnlm": 2010, "word2vec": 2013, "transformer": 2017,
         "elmo": 2018, "gpt": 2018, "bert": 2018, "roberta": 2019, "xlnet": 2019, "gpt3": 2020, "gpt35": 2022,
         "gpt4": 2023}


def test_the_systems_of_the_slide_are_there_in_order_of_time():
    assert {s["id"]: s["year"] for s in SYSTEMS} == DATES
    assert [s["year"] for s in SYSTEMS] == sorted(DATES.values())


@pytest.mark.parametrize("system", SYSTEMS, ids=lambda s: s["id"])
def test_each_system_says_who_what_where_and_one_sentence(system):
    assert system["kind"] in KINDS and re.fullmatch(r"0[1-9]|1\d|20", system["chapter"])
    assert system["who"] and system["title"]
    assert str(system["year"]) in system["source"], "the date is that of the publication cited"
    assert system["idea"].endswith(".") and ". " not in system["idea"]


def test_the_axis_is_logarithmic_in_the_years_before_now():
    """Equal ratios of years before now are equal distances."""
    assert axis_position(1913) == 0 and axis_position(2023) == 1
    near, far = axis_position(NOW - 8) - axis_position(NOW - 16), axis_position(NOW - 40) - axis_position(NOW - 80)
    assert near == pytest.approx(far) == pytest.approx(math.log(2) / math.log(113 / 3))
    positions = [s["position"] for s in SYSTEMS]
    assert positions == sorted(positions) and 0 <= positions[0] and positions[-1] <= 1


def test_what_is_stored_is_small_stable_and_lists_every_system():
    w = Timeline(existing={"01": "01-chain-rule.ipynb"})
    assert repr(w) == "Timeline()"
    bundle = w._repr_mimebundle_()
    text = (bundle[0] if isinstance(bundle, tuple) else bundle)["text/plain"]
    for s in SYSTEMS:
        assert f"{s['year']} {s['label']}" in text and s["idea"] in text
    assert len(json.dumps(w.get_state()).encode()) <= 100_000


STATE = "application/vnd.jupyter.widget-state+json"
MODELS = json.loads((ROOT / "book/01-chain-rule.ipynb").read_text("utf-8"))["metadata"]["widgets"][STATE]["state"].values()
LINKS, = (model["state"]["existing"] for model in MODELS if model["state"].get("_anywidget_id", "").endswith(".Timeline"))


def unreachable(address: str) -> str:
    """What is missing at the end of a link of chapter 01: "" where file and section are there."""
    name, _, anchor = address.partition("#")
    path = ROOT / "book" / name
    if not path.is_file():
        return f"there is no {name}"
    return "" if not anchor or anchor in titles(path) else f"{name} has no section #{anchor}"


@pytest.mark.parametrize("system", SYSTEMS, ids=lambda s: s["id"])
def test_each_system_of_chapter_01_leads_to_something_that_is_there(system):
    """The link that the figure takes: the system's own before that of its chapter."""
    address = LINKS.get(system["id"], LINKS.get(system["chapter"]))
    assert address, f"{system['label']} leads nowhere: chapter 01 names neither it nor chapter {system['chapter']}"
    assert unreachable(address) == ""


def test_a_link_to_nothing_is_seen():
    assert unreachable("01-chain-rule.ipynb") == "" and unreachable("01-chain-rule.ipynb#shannon-reads-further-back") == ""
    assert unreachable("30-none.ipynb") == "there is no 30-none.ipynb"
    assert unreachable("01-chain-rule.ipynb#eliza") == "01-chain-rule.ipynb has no section #eliza"


@pytest.mark.parametrize("arguments, message", [
    ({"existing": {"1": "01-chain-rule.ipynb"}}, "existing has the key '1'; expected a chapter, '01' to '20'"),
    ({"existing": {"01": "https://example.org/"}}, "expected a relative address"),
    ({"existing": {"01": "javascript:alert(1)"}}, "expected a relative address"),
    ({"selected": "eliza"}, "selected is 'eliza'; expected the id of a system"),
    ({"shown": ["models"]}, r"shown is \['models'\]; its entries are lm, vectors, both"),
])
def test_bad_input_is_named(arguments, message):
    with pytest.raises(ValueError, match=message):
        Timeline(**arguments)
