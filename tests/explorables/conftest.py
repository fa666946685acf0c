"""One Chromium and one small page a figure: the page that a book holds of it, and in the same page a model like JupyterLab's."""
from __future__ import annotations

import json
import shutil
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.book.conftest import watch
from tests.support.browser import launched
from tests.support.site_server import serve

ROOT = Path(__file__).resolve().parents[2]
# The book's colors and dark mode, as its theme sets them on the root element.
PAGE = """<!DOCTYPE html>
<html lang="en" data-theme="light"><head><meta charset="utf-8"><title>Explorable</title>
<link rel="icon" href="data:,"><meta name="viewport" content="width=device-width, initial-scale=1">
<style>body {{ margin: 16px; font: 16px system-ui, sans-serif; color: #222832; background: #fff }}
html[data-theme="dark"] body {{ color: #ced6dd; background: #14181e }}
html[data-theme="dark"] a {{ color: #7aa8f5 }}</style>
<script defer src="afm-host.js"></script></head><body><main><h1>A page</h1>
<script type="application/vnd.jupyter.widget-view+json">{view}</script>
<script type="application/vnd.jupyter.widget-state+json">{state}</script></main></body></html>
"""
# Takes the figure that is shown out of the page, and draws one from this state: `now` is its state, `saves` what it saved.
DRAW = """async ([name, state]) => {
  const { default: widget } = await import(`./${name}.js`), heard = {}, el = document.createElement("div");
  window.end?.();
  window.end = null;
  document.querySelectorAll(".afm-view, .drawn").forEach(e => e.remove());
  el.className = "drawn";
  document.querySelector("main").append(el);
  Object.assign(window, { now: state, at_first: structuredClone(state), saves: 0 });
  window.model = { get: k => state[k], save_changes() { window.saves++; },
    set(k, v) { state[k] = v; (heard["change:" + k] || []).forEach(f => f()); },
    on(k, f) { (heard[k] ||= []).push(f); }, off(k, f) { heard[k] = heard[k].filter(g => g !== f); } };
  window.end = widget.render({ model: window.model, el });
}"""
CHANGED = """() => Object.fromEntries(Object.entries(now).filter(([k, v]) =>
  JSON.stringify(v) !== JSON.stringify(at_first[k])))"""


def module_of(widget) -> str:
    return type(widget).__module__.rpartition(".")[2]


def state_of(widget) -> dict:
    return {k: v for k, v in widget.get_state().items() if not k.startswith("_") and k != "layout"}


class Stage:
    """A tab of the browser that shows one figure after another."""

    def __init__(self, page, folder: Path, address: str):
        self.page, self.folder, self.address, self.loaded = page, folder, address, None

    def load(self, widget):
        """The page that the book holds of a notebook with this widget, and no more."""
        from ipywidgets.embed import embed_data

        data = embed_data([widget], drop_defaults=False)
        view, state = (json.dumps(data[k]).replace("</", "<\\/") for k in ("view_specs", "manager_state"))
        (self.folder / "index.html").write_text(PAGE.format(view=view[1:-1], state=state), "utf-8")
        self.page.set_viewport_size({"width": 1000, "height": 900})
        self.page.goto(self.address + "index.html")
        self.page.wait_for_function("document.documentElement.dataset.afm === 'ready'")
        self.loaded = type(widget)
        return self.page

    def draw(self, widget):
        """A figure with a model like JupyterLab's: from any state without loading the page anew."""
        if self.loaded is not type(widget):
            self.load(widget)                                        # for the style sheet
        self.page.evaluate(DRAW, [module_of(widget), state_of(widget)])
        return self.page


@pytest.fixture(scope="package")
def served(tmp_path_factory):
    """A folder with the host script and the modules, and the address on localhost under which it is served."""
    folder = tmp_path_factory.mktemp("explorables")
    for script in [ROOT / "book" / "_assets" / "afm-host.js", *(ROOT / "course_lib" / "explorables").glob("*.js")]:
        shutil.copy(script, folder)
    with serve(folder) as address:
        yield folder, address


@pytest.fixture(scope="package")
def chromium(browser_path):
    with launched(browser_path) as browser:
        yield browser


@contextmanager
def watched(chromium, address: str):
    """A tab of its own. No request leaves localhost and no error is logged while it is open."""
    page = chromium.new_context(viewport={"width": 1000, "height": 900}).new_page()
    faults = watch(page, address)
    yield page
    page.context.close()
    assert faults == []


@pytest.fixture
def stage(served, chromium):
    with watched(chromium, served[1]) as page:
        yield Stage(page, *served)


@pytest.fixture(scope="package")
def modules(served, chromium):
    """An empty page that can import the scripts: for tests of the functions in them."""
    folder, address = served
    (folder / "empty.html").write_text('<link rel="icon" href="data:,"><main></main>', "utf-8")
    with watched(chromium, address) as page:
        page.goto(address + "empty.html")
        yield page
