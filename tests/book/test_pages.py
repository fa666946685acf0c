"""Every page of the built book in a browser: light and dark, wide and on a phone."""
from __future__ import annotations

import pytest
import yaml

from tests.book.conftest import pages_of, visitor
from tests.conftest import ROOT

# WCAG 2.2 AA and what it builds on.
RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]
BROKEN_MATHS = """() => [...document.querySelectorAll('mjx-merror, [data-mjx-error]')]
    .map(e => e.getAttribute('data-mjx-error') || e.textContent.slice(0, 80))
    .concat([...document.querySelectorAll('.math')].filter(e => !e.querySelector('mjx-container'))
    .map(e => 'not set: ' + e.textContent.slice(0, 80)))"""
# Who is too wide: what sticks out and has no box around it that scrolls.
WIDE = """() => document.documentElement.scrollWidth <= window.innerWidth ? [] :
    [...document.querySelectorAll('body *')].filter(e => e.getBoundingClientRect().right > window.innerWidth + 1)
    .slice(0, 5).map(e => e.tagName.toLowerCase() + '.' + e.className)"""


def written_pages() -> list[str]:
    """The pages that the table of contents names."""
    def files(node):
        if isinstance(node, list):
            return [file for part in node for file in files(part)]
        if isinstance(node, dict):
            own = [node[key] for key in ("root", "file") if key in node]
            return own + [file for value in node.values() if isinstance(value, list) for file in files(value)]
        return []

    return files(yaml.safe_load((ROOT / "_toc.yml").read_text("utf-8")))


PAGES = [f"{name}.html" for name in written_pages()]


def accessibility(page) -> list[str]:
    """One line for each violation that axe finds, with the first place of it."""
    from axe_playwright_python.sync_playwright import Axe

    result = Axe().run(page, options={"runOnly": RULES}).response
    return [f"{v['id']} ({v['impact']}, {len(v['nodes'])} places): {v['nodes'][0]['target']} "
            f"{(v['nodes'][0].get('failureSummary') or '').splitlines()[1:2]}" for v in result["violations"]]


def faults(page) -> list[str]:
    """All that is wrong with the page as shown."""
    return page.faults + [f"maths: {fault}" for fault in page.evaluate(BROKEN_MATHS)] + accessibility(page)


def none_of(found: list[str]):
    assert not found, "\n".join(found)


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("path", PAGES)
def test_page(visit, path, scheme):
    with visit(path, scheme=scheme) as page:
        assert page.evaluate("document.documentElement.dataset.theme") == scheme
        none_of(faults(page))


@pytest.mark.parametrize("path", PAGES)
def test_page_on_a_phone(visit, path):
    with visit(path, width=390, height=844) as page:
        none_of([f"wider than the phone: {part}" for part in page.evaluate(WIDE)] + faults(page))


def test_pages_made_by_the_builder(visit, site):
    """The search page, the indices, the sources: not written by hand, shown all the same."""
    others = sorted(set(pages_of(site)) - set(PAGES) - {"index.html"})
    assert "search.html" in others
    found = []
    for path in others:
        for scheme in ("light", "dark"):
            with visit(path, scheme=scheme, width=390) as page:
                wide = [] if path.startswith("_modules") else page.evaluate(WIDE)
                found += [f"{path}, {scheme}: {fault}" for fault in wide + faults(page)]
    none_of(found)


def test_front_door(visit):
    """index.html leads to the start page."""
    with visit("index.html", wait=False) as page:
        page.wait_for_url(f"**/{PAGES[0]}")


# Each check is tried on a page with the fault it looks for.

HEAD = '<!DOCTYPE html><html lang="en" data-theme="light"><head><meta charset="utf-8"><title>A page</title>' \
       '<link rel="icon" href="data:,"><meta name="viewport" content="width=device-width"></head><body><main><h1>T</h1>'
PLANTED = {
    "color-contrast": '<p style="color:#bbb;background:#fff">Too pale to read</p>',
    "image-alt": '<img src="data:image/gif;base64,R0lGODlhAQABAAAAACw=">',
    "link-name": '<a href="#x"></a>',
    "maths": '<span class="math">\\frac{1}{2}</span>',
    "a request left the site": '<script src="http://127.0.0.1:9/mathjax.js"></script>',
    "status 404": '<script src="missing.js"></script>',
    "uncaught": "<script>undefinedFunction()</script>",
    "error": "<script>console.error('a widget failed')</script>",
}


@pytest.fixture
def show(browser, tmp_path):
    """show(body): a context manager that serves and shows one page."""
    from tests.support.site_server import serve

    with serve(tmp_path) as url:
        def show(body, **options):
            (tmp_path / "page.html").write_text(HEAD + body + "</main></body></html>", "utf-8")
            return visitor(browser, url)("page.html", **options)

        yield show


@pytest.mark.parametrize("fault", PLANTED)
def test_planted_fault_is_found(show, fault):
    with show(PLANTED[fault]) as page:
        assert any(fault in found for found in faults(page)), faults(page)


def test_nothing_is_found_on_a_good_page(show):
    with show("<p>Good</p>") as page:
        assert faults(page) == [] and page.evaluate(WIDE) == []


def test_wide_page_is_found(show):
    wide = '<pre style="width:900px">wide</pre>'
    with show(wide, width=390) as page:
        assert page.evaluate(WIDE) != []
    with show(f'<div style="overflow-x:auto">{wide}</div>', width=390) as page:
        assert page.evaluate(WIDE) == []
