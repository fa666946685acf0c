"""Cause and effect on one screen of 1366 by 768: what a control changes is seen while the control is."""
from __future__ import annotations

import json

import pytest

from course_lib import explorables
from course_lib.explorables.sinusoids import frequencies
from tests.conftest import ROOT

WIDTH = 863 + 32                                             # the column of a page at 1366, and the margins of the test's page
ROOM = 768 - 64                                              # the header of the book is 52 pixels high; a line of text
STATE = "application/vnd.jupyter.widget-state+json"
FIGURES = sorted(name for name in explorables.__all__ if name != "Explorable")
# Of the figures that are higher than the room: what is operated, and what changes by it.
PAIRS = {
    "AttentionHeads": [("[data-switch]", "[aria-label='Predictions']"), ("[data-head]", "[aria-label^='Attention weights']"),
                       ("[data-word]:not([hidden])", "[aria-label='Predictions']")],
    "Alignment": [(".cl-buttons button", ".cl-al-lines"), (".cl-top select", ".cl-al-said")],
    "Sinusoids": [(".cl-words button, [type=range]", ".cl-sinusoids table"), (".cl-top select", ".cl-clocks"),
                  (".cl-clocks button", ".cl-wave"), (".cl-top select", ".cl-wave")],
    "CacheSteps": [(".cl-buttons button, [type=range]", "[aria-label='Counts']"),
                   ("fieldset :is(input, select)", "[aria-label='The bill']")],
    "DecodingTree": [(".cl-buttons button", "svg"), (".cl-buttons button", "table"), (".cl-top select", "svg")],
    "MaskingForBert": [(".cl-buttons :is(button, input)", "[aria-label='Tokens']"),
                       ("fieldset [type=range]", "[aria-label='Tokens']"),
                       ("fieldset [type=range]", "[aria-label='Counts']")],
    "Translator": [(".cl-tr-sentence select, .cl-tr-buttons button, .cl-tr-cols input[type=checkbox]", ".cl-tr-said"),
                   (".cl-tr-cols button", ".cl-tr-detail")],
}
# [what it is, from the top of the one to the bottom of the other] for all that are operated and the first that changes
SPANS = """([controls, changed]) => {
    const box = e => e.getBoundingClientRect(), far = box(document.querySelector(changed));
    return [...document.querySelectorAll(controls)].filter(e => e.checkVisibility()).map(e =>
        [e.getAttribute('aria-label') ?? e.textContent.slice(0, 30),
         Math.round(Math.max(box(e).bottom, far.bottom) - Math.min(box(e).top, far.top))]);
}"""
HEIGHT = "document.querySelector('.cl-x').getBoundingClientRect().height"


def shown_in_the_book() -> set[str]:
    return {model["state"]["_anywidget_id"].rpartition(".")[2] for path in ROOT.glob("book/*.ipynb") for model in json.loads(
        path.read_text("utf-8"))["metadata"].get("widgets", {}).get(STATE, {"state": {}})["state"].values()
        if "_anywidget_id" in model["state"]}


def test_every_figure_of_the_book_is_measured():
    assert shown_in_the_book() <= set(FIGURES) and set(PAIRS) <= set(FIGURES)


@pytest.mark.parametrize("name", FIGURES)
def test_a_control_and_what_it_changes_are_seen_together(show, name):
    page = show(getattr(explorables, name)(), width=WIDTH)
    height = page.evaluate(HEIGHT)
    if name not in PAIRS:
        assert height <= ROOM, f"{name} is {height:.0f} pixels high: name in PAIRS what changes what"
        return
    for pair in PAIRS[name]:
        spans = page.evaluate(SPANS, list(pair))
        assert spans and [one for one in spans if one[1] > ROOM] == [], pair


def test_what_is_too_far_apart_is_found(show):
    page = show(explorables.AttentionHeads(), width=WIDTH)
    page.add_style_tag(content="[aria-label='Predictions'] { padding-bottom: 900px }")
    assert max(far for _, far in page.evaluate(SPANS, list(PAIRS["AttentionHeads"][0]))) > ROOM


def test_long_and_short_waves_are_seen_at_once(show):
    """The sines of all clocks, each with its own frequency."""
    w = explorables.Sinusoids()
    page = show(w, width=WIDTH)
    others = page.eval_on_selector_all(".cl-others", "all => all.map(e => +e.dataset.omega)")
    expected = [v for k, v in enumerate(frequencies(w.width, w.base).tolist()) if k != w.pair]
    assert others == pytest.approx(expected, abs=1e-9) and max(others) / min(others) >= 9
