"""Every figure: drawn with words, readable, operated by mouse and by keyboard, changed from Python, refusing bad input."""
from __future__ import annotations

import json
from functools import cache
from importlib import import_module

import pytest

from book._tools.nb import STATE
from course_lib import explorables
from tests.explorables.conftest import CHANGED, ROOT, state_of

WIDTHS = (1920, 1000, 930, 700, 630, 390, 320)
COLUMN = 863 + 32                                            # of a page at 1366, and the margins of the test's page
ROOM = 768 - 64                                              # the header of the book is 52 pixels high; a line of text
LIMIT = 100_000                                              # bytes of data that a page carries for a figure
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
    "Translator": [(".cl-tr-sentence select, .cl-tr-buttons button, .cl-tr-cols input[type=checkbox]", ".cl-tr-look"),
                   (".cl-tr-cols button", ".cl-tr-detail")],
}
# From the top of the one to the bottom of the other, for all that are operated and the first that changes.
SPANS = """([controls, changed]) => {
  const box = e => e.getBoundingClientRect(), far = box(document.querySelector(changed));
  return [...document.querySelectorAll(controls)].filter(e => e.checkVisibility()).map(e =>
    Math.round(Math.max(box(e).bottom, far.bottom) - Math.min(box(e).top, far.top)));
}"""
HEIGHT = "document.querySelector('.cl-x').getBoundingClientRect().height"
SHOWN = "document.querySelector('.cl-x').innerHTML"


def figure_of(name: str):
    module = getattr(explorables, name).__module__.rpartition(".")[2]
    return import_module(f"tests.explorables.test_{module}").FIGURE


FIGURES = {name: figure_of(name) for name in explorables.__all__}
all_figures = pytest.mark.parametrize("name", FIGURES)


def accessible(page) -> str:
    """The violations of WCAG 2.2 A and AA that axe finds, as text; empty if there is none."""
    from axe_playwright_python.sync_playwright import Axe

    options = {"runOnly": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"], "preload": False,
               "resultTypes": ["violations"]}
    found = Axe().run(page, options=options).response["violations"]
    return "\n".join(f"{v['id']}: {v['nodes'][0]['target']} {v['nodes'][0]['failureSummary']}" for v in found)


# --- in Python -------------------------------------------------------------------------------------------------------


@cache
def made(name: str):
    return getattr(explorables, name)()


@all_figures
def test_stored_state(name):
    w = made(name)
    bundle = w._repr_mimebundle_()
    text = (bundle[0] if isinstance(bundle, tuple) else bundle)["text/plain"]
    assert repr(w) == f"{name}()" and text == w.text() and w.alt.strip()
    assert [said for said in FIGURES[name].says if said not in text] == []
    data = {k: v for k, v in w.get_state().items() if k not in ("_esm", "_css")}
    assert len(json.dumps(data).encode()) <= LIMIT


@pytest.mark.parametrize("name, make, message", [
    pytest.param(name, make, message, id=f"{name}-{k}")
    for name, figure in FIGURES.items() for k, (make, message) in enumerate(figure.bad)])
def test_bad_input(name, make, message):
    with pytest.raises(ValueError, match=message):
        if callable(make):
            make()
        elif len(make) == 1:
            made(name).set_trait(*next(iter(make.items())))
        else:
            getattr(explorables, name)(**make)


def test_figures_of_book_tested():
    stored = {model["state"].get("_anywidget_id", "").rpartition(".")[2] for path in ROOT.glob("book/*.ipynb")
              for model in json.loads(path.read_text("utf-8"))["metadata"].get("widgets", {}).get(
                  STATE, {"state": {}})["state"].values()}
    assert stored - {""} <= set(FIGURES) and set(PAIRS) <= set(FIGURES)


# --- in the browser --------------------------------------------------------------------------------------------------


@all_figures
def test_figure_in_browser(stage, name):
    """One page load: as the book shows it; readable; on one screen; operated; and changed from Python."""
    figure = FIGURES[name]
    readable(stage, figure, name)
    on_one_screen(stage, name)
    by_hand(stage, figure)
    changed_from_python(stage, figure)


def unfold(page) -> None:
    for closed in page.locator("details:not([open]) > summary").all():
        closed.click()


def readable(stage, figure, name) -> None:
    """In both themes, on a phone and wide, with a text alternative; nothing is wider than the page."""
    w = getattr(explorables, name)(**figure.rich)
    page = stage.load(w)
    if figure.make is type(w):
        figure.agrees(page, w)
    box = page.locator(".cl-x > [role=group]")
    assert box.get_attribute("aria-label") == w.alt != ""
    assert page.locator(".cl-live[aria-live=polite]").count() == 1
    for theme, width in (("light", 1000), ("dark", 390)):
        page.evaluate("theme => { document.documentElement.dataset.theme = theme; }", theme)
        page.set_viewport_size({"width": width, "height": 900})
        unfold(page)
        assert accessible(page) == "", theme
    for width in WIDTHS:
        page.set_viewport_size({"width": width, "height": 900})
        assert page.evaluate("document.documentElement.scrollWidth") <= width
    page.evaluate("document.documentElement.dataset.theme = 'light'")


def on_one_screen(stage, name) -> None:
    """What a control changes is seen while the control is."""
    page = stage.draw(getattr(explorables, name)())
    page.set_viewport_size({"width": COLUMN, "height": 900})
    unfold(page)
    for pair in PAIRS.get(name, ()):
        spans = page.evaluate(SPANS, list(pair))
        assert spans and max(spans) <= ROOM, pair
    assert name in PAIRS or page.evaluate(HEIGHT) <= ROOM
    page.set_viewport_size({"width": 800, "height": 900})
    most = FIGURES[name].height
    assert most is None or page.evaluate(HEIGHT) <= most
    page.set_viewport_size({"width": 1000, "height": 900})


def by_hand(stage, figure) -> None:
    """After each move the page shows what Python computes from the traits that the move should set."""
    w = figure.make()
    page = stage.draw(w)
    unfold(page)
    figure.agrees(page, w)
    at_first = state_of(w)
    for number, (act, traits) in enumerate(figure.moves):
        told, saves = f"move {number}, {traits}", page.evaluate("saves")
        act(page)
        traits = traits(w) if callable(traits) else traits
        before = state_of(w)
        w.set_state(traits)
        changed, want = page.evaluate(CHANGED), {k: v for k, v in state_of(w).items() if v != at_first[k]}
        assert changed.keys() == want.keys() and all(near(changed[k], want[k]) for k in want), (told, changed, want)
        assert state_of(w) == before or page.evaluate("saves") > saves, told
        try:
            figure.agrees(page, w)
        except AssertionError as error:
            raise AssertionError(f"after {told}: {error}") from error


def changed_from_python(stage, figure) -> None:
    """It redraws and says so; it writes nothing back; when it is taken away it no longer listens."""
    w = figure.make()
    page = stage.draw(w)
    unfold(page)
    before, live = page.evaluate(SHOWN), page.locator(".cl-live").text_content()
    for trait, value in figure.change.items():
        page.evaluate("([trait, value]) => model.set(trait, value)", [trait, value])
    w.set_state(figure.change)
    figure.agrees(page, w)
    after = page.evaluate(SHOWN)
    assert after != before and page.locator(".cl-live").text_content() not in ("", live)
    assert page.evaluate("saves") == 0
    first = state_of(figure.make())
    page.evaluate("end()")
    for trait in figure.change:
        page.evaluate("([trait, value]) => model.set(trait, value)", [trait, first[trait]])
    assert page.evaluate(SHOWN) == after


def near(got, want) -> bool:
    """Equal as JSON, numbers to 1e-9."""
    if isinstance(want, (list, tuple)):
        return len(got) == len(want) and all(map(near, got, want))
    if isinstance(want, dict):
        return got.keys() == want.keys() and all(near(got[k], want[k]) for k in want)
    return abs(got - want) <= 1e-9 if isinstance(want, float) else got == want
