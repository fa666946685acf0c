"""A tiny static page for a widget: its stored state, the book's host script, a server on localhost, a browser."""
from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from tests.book.conftest import watch
from tests.support.browser import launched
from tests.support.site_server import serve

ROOT = Path(__file__).resolve().parents[2]
# The book's colours and dark mode, as its theme sets them on the root element.
PAGE = """<!DOCTYPE html>
<html lang="en" data-theme="{theme}"><head><meta charset="utf-8"><title>Explorable</title>
<link rel="icon" href="data:,"><meta name="viewport" content="width=device-width, initial-scale=1">
<style>body {{ margin: 16px; font: 16px system-ui, sans-serif; color: #222832; background: #fff }}
html[data-theme="dark"] body {{ color: #ced6dd; background: #14181e }}
html[data-theme="dark"] a {{ color: #7aa8f5 }}</style>
<script defer src="afm-host.js"></script></head><body><main><h1>A page</h1>
<script type="application/vnd.jupyter.widget-view+json">{view}</script>
<script type="application/vnd.jupyter.widget-state+json">{state}</script></main></body></html>
"""


def static_page(widget, theme: str = "light") -> str:
    """What the book's page holds of a notebook with this widget, and no more."""
    from ipywidgets.embed import embed_data

    data = embed_data([widget], drop_defaults=False)
    view, state = (json.dumps(data[k]).replace("</", "<\\/") for k in ("view_specs", "manager_state"))
    return PAGE.format(theme=theme, view=view[1:-1], state=state)


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    """A folder with the host script and the modules, and the address on localhost under which it is served."""
    folder = tmp_path_factory.mktemp("explorables")
    for script in [ROOT / "book" / "_assets" / "afm-host.js", *(ROOT / "course_lib" / "explorables").glob("*.js")]:
        shutil.copy(script, folder)
    with serve(folder) as address:
        yield folder, address


@pytest.fixture(scope="module")
def chromium(browser_path):
    with launched(browser_path) as browser:
        yield browser


@pytest.fixture
def show(served, chromium):
    """show(widget, theme=, width=) -> page, drawn. No request leaves localhost and no error is logged."""
    folder, address = served
    contexts, watched = [], []

    def show(widget, theme="light", width=1000, **options):
        context = chromium.new_context(viewport={"width": width, "height": 900}, **options)
        contexts.append(context)
        page = context.new_page()
        watched.append(watch(page, address))
        (folder / "index.html").write_text(static_page(widget, theme), "utf-8")
        page.goto(address + "index.html")
        page.wait_for_function("document.documentElement.dataset.afm === 'ready'")
        return page

    yield show
    for context in contexts:
        context.close()
    assert [fault for faults in watched for fault in faults] == []


@pytest.fixture
def from_python(show):
    """from_python(widget, (name, value), (name, value)): the figure's spoken line after Python sets the first, and after it
    sets the second when the figure has been taken away. With `field`, between them what stands in that field."""
    def ask(widget, change, too_late, field=None):
        page = show(widget)
        state = {k: v for k, v in widget.get_state().items() if not k.startswith("_")}
        return page.evaluate("""async ({ module, state, change, too_late, field }) => {
          const { default: widget } = await import(`./${module}.js`), heard = {};
          const el = document.createElement("div");
          const model = { get: k => state[k], set(k, v) { state[k] = v; (heard["change:" + k] || []).forEach(f => f()); },
            on(k, f) { (heard[k] ||= []).push(f); }, off(k, f) { heard[k] = heard[k].filter(g => g !== f); },
            save_changes() {} };
          document.body.append(el);
          const end = widget.render({ model, el }), said = () => el.querySelector(".cl-live").textContent, out = [];
          model.set(...change);
          out.push(said(), ...(field ? [el.querySelector(field).value] : []));
          end();
          model.set(...too_late);
          out.push(said());
          el.remove();
          return out;
        }""", {"module": type(widget).__module__.rpartition(".")[2], "state": state, "change": change, "too_late": too_late,
               "field": field})

    return ask


@pytest.fixture
def readable(show, accessible):
    """readable(widget, theme, width): asserts that axe finds nothing and that nothing is wider than the page, also when the
    page is made narrower."""
    def look(widget, theme, width):
        page = show(widget, theme=theme, width=width)
        assert accessible(page) == ""
        for narrower in (width, width - 70):
            page.set_viewport_size({"width": narrower, "height": 900})
            assert page.evaluate("document.documentElement.scrollWidth") <= narrower

    return look


@pytest.fixture
def accessible():
    """accessible(page): the violations of WCAG 2.2 A and AA that axe finds, as text; empty if there is none."""
    from axe_playwright_python.sync_playwright import Axe

    tags = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]

    def accessible(page) -> str:
        options = {"runOnly": tags, "preload": False, "resultTypes": ["violations"]}
        found = Axe().run(page, options=options).response["violations"]
        return "\n".join(f"{v['id']}: {v['nodes'][0]['target']} {v['nodes'][0]['failureSummary']}" for v in found)

    return accessible
