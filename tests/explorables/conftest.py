"""A tiny static page for a widget: its stored state, the book's host script, a server on localhost, a browser."""
from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from tests.book.conftest import watch
from tests.support.browser import FLAGS
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
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=browser_path, args=FLAGS)
        yield browser
        browser.close()


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
def accessible():
    """accessible(page): the violations of WCAG 2.2 A and AA that axe finds, as text; empty if there is none."""
    from axe_playwright_python.sync_playwright import Axe

    tags = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]

    def accessible(page) -> str:
        found = Axe().run(page, options={"runOnly": tags}).response["violations"]
        return "\n".join(f"{v['id']}: {v['nodes'][0]['target']} {v['nodes'][0]['failureSummary']}" for v in found)

    return accessible
