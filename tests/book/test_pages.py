"""Every page of the built book in a browser: light and dark, wide and on a phone."""
from __future__ import annotations

import pytest

from tests.book.conftest import visitor
from tests.book.figures import of_notebook, undrawn, views
from tests.book.test_site import PAGES
from tests.book.widths import cut_off

pytestmark = pytest.mark.thorough

# WCAG 2.2 AA and what it builds on.
RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]
BROKEN_MATHS = """() => [...document.querySelectorAll('mjx-merror, [data-mjx-error]')]
    .map(e => e.getAttribute('data-mjx-error') || e.textContent.slice(0, 80))
    .concat([...document.querySelectorAll('.math')].filter(e => !e.querySelector('mjx-container'))
    .map(e => 'not set: ' + e.textContent.slice(0, 80)))"""
# A thousand words of code differ by their class alone: of each class one stays. A screen reader reads the MathML beside glyphs.
THIN_OUT = """() => {
    const seen = new Set();
    for (const e of document.querySelectorAll('.highlight span:not([id])'))
        if (!e.children.length && (seen.has(e.className + e.getAttribute('style')) || !seen.add(e.className + e.getAttribute('style'))))
            e.replaceWith(e.textContent);
    for (const glyphs of document.querySelectorAll('mjx-math')) glyphs.replaceChildren();
}"""
# A box that scrolls sideways and that the Tab key does not reach.
NO_STOP = """() => [...document.querySelectorAll('body *')].some(e => e.scrollWidth > e.clientWidth + 14 && e.tabIndex < 0
    && ['auto', 'scroll'].includes(getComputedStyle(e).overflowX) && !e.querySelector('a, button, input, [tabindex="0"]'))"""
# Who is too wide: what sticks out and has no box around it that scrolls.
WIDE = """() => document.documentElement.scrollWidth <= window.innerWidth ? [] :
    [...document.querySelectorAll('body *')].filter(e => e.getBoundingClientRect().right > window.innerWidth + 1)
    .slice(0, 5).map(e => e.tagName.toLowerCase() + '.' + e.className)"""
PHONE, SCREEN = {"width": 390, "height": 844}, {"width": 1280, "height": 900}


def axe(page, rules: list[str]) -> list[str]:
    """One line for each violation that axe finds, with the first place of it."""
    from axe_playwright_python.base import AXE_SCRIPT

    page.evaluate(AXE_SCRIPT)
    options = {"runOnly": rules, "preload": False, "resultTypes": ["violations"]}
    found = page.evaluate("options => axe.run(options)", options)["violations"]
    return [f"{v['id']} ({v['impact']}, {len(v['nodes'])} places): {v['nodes'][0]['target']} "
            f"{(v['nodes'][0].get('failureSummary') or '').splitlines()[1:2]}" for v in found]


def accessibility(page) -> list[str]:
    """What axe finds: every rule in the light theme, contrast in the dark one too. The page loses elements by it."""
    page.evaluate(THIN_OUT)
    found = []
    for scheme, rules in (("dark", ["color-contrast", "link-in-text-block"]), ("light", RULES)):
        page.emulate_media(color_scheme=scheme)
        page.wait_for_function(f"(document.documentElement.dataset.mode ?? 'fixed') !== 'auto' || "
                               f"document.documentElement.dataset.theme === '{scheme}'")
        page.evaluate("() => document.getAnimations().forEach(one => one.finish())")
        found += [f"{scheme}: {line}" for line in axe(page, rules)]
    return found


def shown(page) -> list[str]:
    """What is wrong with the page as the browser shows it."""
    return page.faults + [f"maths: {fault}" for fault in page.evaluate(BROKEN_MATHS)]


def on_a_phone(page) -> list[str]:
    """What is wrong with a page at the width of a phone. Boxes that scroll become tab stops some frames after they do."""
    from playwright.sync_api import TimeoutError

    try:
        page.wait_for_function(f"() => !({NO_STOP})()", timeout=5000)
    except TimeoutError:
        pass
    return [f"wider than the phone: {part}" for part in page.evaluate(WIDE)] + \
        axe(page, ["scrollable-region-focusable", "target-size"])


def faults(page) -> list[str]:
    """Everything that is wrong with a page: at all widths, on a phone, in both themes."""
    found = shown(page) + cut_off(page)
    page.set_viewport_size(PHONE)
    found += [f"on a phone: {fault}" for fault in on_a_phone(page)]
    page.set_viewport_size(SCREEN)
    return list(dict.fromkeys(found + accessibility(page) + page.faults))


@pytest.mark.parametrize("path", [*PAGES, "search.html", "genindex.html", "py-modindex.html"])
def test_page(visit, path):
    with visit(path, **PHONE) as page:
        found = (undrawn(page, len(views(path))) if of_notebook(path) else []) + faults(page)
        assert not found, "\n".join(found)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_page_opens_in_the_theme_of_the_system(visit, scheme):
    with visit(PAGES[0], scheme=scheme) as page:
        assert page.evaluate("document.documentElement.dataset.theme") == scheme and shown(page) == []


def test_front_door(visit):
    """index.html leads to the start page."""
    with visit("index.html", wait=False) as page:
        page.wait_for_url(f"**/{PAGES[0]}")


# --- each check is tried on a page with the fault it looks for -------------------------------------------------------

HEAD = '<!DOCTYPE html><html lang="en" data-theme="light"><head><meta charset="utf-8"><title>A page</title>' \
       '<link rel="icon" href="data:,"><meta name="viewport" content="width=device-width"></head><body><main><h1>T</h1>' \
       '<article class="bd-article">'
DARK = "<style>@media (prefers-color-scheme: dark) { .x { color: #222; background: #111 } }</style>"
TABLE = '<table style="width: 2000px"><tr><td>wide</td></tr></table>'
EQUATION = ('<div class="math" style="overflow: auto hidden; display: flex; justify-content: safe center">'
            '<mjx-container style="position: relative; flex: none; width: 2500px">'
            "<mjx-math>x</mjx-math></mjx-container></div>")
PLANTED = {
    "color-contrast": '<p style="color:#bbb;background:#fff">Too pale to read</p>',
    "color-contrast (serious, 1 places)": '<div class="highlight"><pre><span class="k">def</span> <span class="n" style="color:#ccc">'
                                          "forward</span></pre></div>",
    "dark: color-contrast": DARK + '<p class="x">Dark on dark</p>',
    "image-alt": '<img src="data:image/gif;base64,R0lGODlhAQABAAAAACw=">',
    "link-name": '<a href="#x"></a>',
    "maths": '<span class="math">\\frac{1}{2}</span>',
    "a request left the site": '<script src="http://127.0.0.1:9/mathjax.js"></script>',
    "status 404": '<script src="missing.js"></script>',
    "uncaught": "<script>undefinedFunction()</script>",
    "error": "<script>console.error('a widget failed')</script>",
    "wider than the phone: pre": '<pre style="width:900px">wide</pre>',
    "scrollable-region-focusable": f'<pre style="overflow-x: auto">{"long " * 50}</pre>',
    "code cut off by": f'<pre style="overflow-x: auto">{"code = wide " * 40}</pre>',
    "equation cut off by": EQUATION,
    "table cut off by": f'<div style="overflow-x: auto">{TABLE}</div>',
    "on a phone the table scrolls without a visible edge": f'<div style="overflow-x: auto">{TABLE.replace("2000", "700")}</div>',
    "on a phone the output does not wrap": f'<div class="cell_output"><pre style="overflow-x: auto">{"said " * 20}</pre></div>',
}


@pytest.fixture
def show(browser, tmp_path):
    """show(body): a context manager that serves and shows one page."""
    from tests.support.site_server import serve

    with serve(tmp_path) as url:
        def show(body, **options):
            (tmp_path / "page.html").write_text(HEAD + body + "</article></main></body></html>", "utf-8")
            return visitor(browser, url)("page.html", **options)

        yield show


@pytest.mark.parametrize("fault", PLANTED)
def test_planted_fault_is_found(show, fault):
    with show(PLANTED[fault], **PHONE) as page:
        found = faults(page)
        assert any(fault in line for line in found), found


def test_nothing_is_found_on_a_good_page(show):
    scrolls = '<div style="overflow-x: auto; border-right: 3px double; box-shadow: inset -9px 0 9px -9px" tabindex="0">'
    code = '<div class="highlight"><pre><span class="k">def</span> <span class="k">def</span></pre></div>'
    with show(f"<p>Good</p><pre>short</pre>{code}{scrolls}{TABLE.replace('2000', '700')}</div>", **PHONE) as page:
        assert faults(page) == []
