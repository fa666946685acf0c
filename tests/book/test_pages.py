"""Every page of the built book in a browser: light and dark, wide and on a phone."""
from __future__ import annotations

import pytest
import yaml

from tests.book.conftest import visitor
from tests.conftest import ROOT

# WCAG 2.2 AA and what it builds on.
RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]
BROKEN_MATHS = """() => [...document.querySelectorAll('mjx-merror, [data-mjx-error]')]
    .map(e => e.getAttribute('data-mjx-error') || e.textContent.slice(0, 80))
    .concat([...document.querySelectorAll('.math')].filter(e => !e.querySelector('mjx-container'))
    .map(e => 'not set: ' + e.textContent.slice(0, 80)))"""
THIN_OUT = """() => {
    const seen = new Set();
    const repeated = [];
    for (const piece of document.querySelectorAll('.highlight span')) {
        const style = getComputedStyle(piece), ground = getComputedStyle(piece.closest('pre, .highlight'));
        const key = [piece.className, style.color, style.backgroundColor, style.fontWeight, ground.backgroundColor];
        if (seen.has(key.join()) && !piece.children.length && !piece.id) repeated.push(piece);
        seen.add(key.join());
    }
    for (const piece of repeated) piece.replaceWith(piece.textContent);
    for (const glyphs of document.querySelectorAll('mjx-math')) glyphs.replaceChildren();
}"""
# A box that scrolls sideways and that the Tab key does not reach.
NO_STOP = """() => [...document.querySelectorAll('body *')].some(e => e.scrollWidth > e.clientWidth + 14 && e.tabIndex < 0
    && ['auto', 'scroll'].includes(getComputedStyle(e).overflowX) && !e.querySelector('a, button, input, [tabindex="0"]'))"""
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


def accessibility(page, rules=RULES, thin=True) -> list[str]:
    """One line for each violation that axe finds, with the first place of it.

    Taken out of the page before are the glyphs of formulas (in the colour of the text around them; a screen reader
    reads the MathML beside them), and of the pieces of code with the same class and colours all but the first:
    thousands of elements that say nothing new and take axe a minute. So this is the last look at a page.
    """
    from axe_playwright_python.sync_playwright import Axe

    if thin:
        page.evaluate(THIN_OUT)
    result = Axe().run(page, options={"runOnly": rules, "preload": False, "resultTypes": ["violations"]}).response
    return [f"{v['id']} ({v['impact']}, {len(v['nodes'])} places): {v['nodes'][0]['target']} "
            f"{(v['nodes'][0].get('failureSummary') or '').splitlines()[1:2]}" for v in result["violations"]]


def shown(page) -> list[str]:
    """What is wrong with the page as the browser shows it."""
    return page.faults + [f"maths: {fault}" for fault in page.evaluate(BROKEN_MATHS)]


def on_a_phone(page) -> list[str]:
    """What is wrong with a page that was opened at the width of a phone.

    Boxes that scroll are marked some frames after they do; one that never is, is waited for in vain and found by axe.
    """
    from playwright.sync_api import TimeoutError

    try:
        page.wait_for_function(f"() => !({NO_STOP})()", timeout=5000)
    except TimeoutError:
        pass
    found = [f"wider than the phone: {part}" for part in page.evaluate(WIDE)]
    return found + accessibility(page, ["scrollable-region-focusable", "target-size"], thin=False)


PHONE = {"width": 390, "height": 844}


def none_of(found: list[str]):
    assert not found, "\n".join(found)


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("path", PAGES)
def test_page(visit, path, scheme):
    with visit(path, scheme=scheme) as page:
        assert page.evaluate("document.documentElement.dataset.theme") == scheme
        none_of(shown(page) + accessibility(page))


@pytest.mark.parametrize("path", PAGES)
def test_page_on_a_phone(visit, path):
    with visit(path, **PHONE) as page:
        none_of(on_a_phone(page))


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
        found = shown(page) + accessibility(page)
        assert any(fault in line for line in found), found


def test_a_box_that_no_key_reaches_is_found_on_a_phone(show):
    line = f'<pre style="overflow-x: auto{{}}">{"long " * 50}</pre>'
    with show(line.format(""), **PHONE) as page:
        assert any("scrollable-region-focusable" in fault for fault in on_a_phone(page))
    with show(line.format('" tabindex="0'), **PHONE) as page:
        assert on_a_phone(page) == []


def test_nothing_is_found_on_a_good_page(show):
    with show("<p>Good</p>", **PHONE) as page:
        assert shown(page) + on_a_phone(page) + accessibility(page) == []


def test_pale_code_is_found_though_repeated_code_is_left_out(show):
    pieces = '<span class="k">def</span> ' * 3 + '<span class="n" style="color:#ccc">frame</span>' * 3
    with show(f'<div class="highlight"><pre>{pieces}</pre></div>') as page:
        found = accessibility(page)
        assert any("color-contrast (serious, 1 places)" in line for line in found), found


def test_wide_page_is_found(show):
    wide = '<pre style="width:900px">wide</pre>'
    with show(wide, **PHONE) as page:
        assert any("wider than the phone: pre" in line for line in on_a_phone(page))
    box = '<div style="overflow-x:auto" {}><pre>' + "wide, in a box of its own; " * 9 + "</pre></div>"
    with show(box.format(""), **PHONE) as page:
        found = on_a_phone(page)
        assert any("scrollable-region-focusable" in line for line in found), found
    with show(box.format('tabindex="0"'), **PHONE) as page:
        assert on_a_phone(page) == []
