"""Every page of the built book in a browser: light and dark, wide and on a phone."""
from __future__ import annotations

import pytest
import yaml

from tests.book.conftest import visitor
from tests.book.figures import of_notebook, undrawn, views
from tests.book.widths import cut_off
from tests.conftest import ROOT

# WCAG 2.2 AA and what it builds on.
RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]
COLOURS = ["color-contrast", "link-in-text-block", "image-alt", "link-name", "button-name"]   # and what one theme may hide
BROKEN_MATHS = """() => [...document.querySelectorAll('mjx-merror, [data-mjx-error]')]
    .map(e => e.getAttribute('data-mjx-error') || e.textContent.slice(0, 80))
    .concat([...document.querySelectorAll('.math')].filter(e => !e.querySelector('mjx-container'))
    .map(e => 'not set: ' + e.textContent.slice(0, 80)))"""
# What an element with text looks like, written down on it once a theme: all that its contrast can depend on.
LOOKS = """() => {
    const grounds = new Map([[null, '']]);
    const ground = e => {
        if (!grounds.has(e)) {
            const s = getComputedStyle(e), clear = s.backgroundColor === 'rgba(0, 0, 0, 0)' && s.backgroundImage === 'none';
            grounds.set(e, ground(e.parentElement) + (clear && s.opacity === '1' ? ''
                : [s.backgroundColor, s.backgroundImage, s.opacity].join() + '/'));
        }
        return grounds.get(e);
    };
    for (const e of document.querySelectorAll('body *')) {
        if (![...e.childNodes].some(n => n.nodeType === Node.TEXT_NODE && n.nodeValue.trim())
            && !e.matches('input, select, textarea')) continue;
        const s = getComputedStyle(e);
        e.looks = (e.looks ?? e.tagName + e.className) + (!e.checkVisibility({visibilityProperty: true}) ? 'hidden'
            : [s.color, s.fontSize, s.fontWeight, s.textShadow, ground(e)].join()) + ';';
    }
}"""
# One element of each look that is not known is marked for the rule of contrast; their looks are returned. Taken out are
# pieces of code that look like one before them, and the glyphs of formulas: they have the colour of the text around, and a
# screen reader reads the MathML beside.
THIN_OUT = """known => {
    const seen = new Set(known);
    for (const e of [...document.querySelectorAll('body *')].filter(e => e.looks)) {
        if (!seen.has(e.looks)) e.setAttribute('data-look', '');
        else if (e.matches('.highlight span') && !e.children.length && !e.id) e.replaceWith(e.textContent);
        seen.add(e.looks);
    }
    for (const glyphs of document.querySelectorAll('mjx-math')) glyphs.replaceChildren();
    axe.configure({rules: [{id: 'color-contrast', selector: '[data-look]'}]});
    return [...seen].slice(known.length);
}"""
# Formulas in a line never scroll, so on a phone their glyphs say nothing either.
THIN_LINES = """() => { for (const glyphs of document.querySelectorAll('span.math mjx-math')) glyphs.replaceChildren(); }"""
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


def axe(page, rules: list[str]) -> list[str]:
    """One line for each violation that axe finds, with the first place of it."""
    options = {"runOnly": rules, "preload": False, "resultTypes": ["violations"]}
    found = page.evaluate("options => axe.run(options)", options)["violations"]
    return [f"{v['id']} ({v['impact']}, {len(v['nodes'])} places): {v['nodes'][0]['target']} "
            f"{(v['nodes'][0].get('failureSummary') or '').splitlines()[1:2]}" for v in found]


def accessibility(page, schemes=("light",), known: dict[str, None] | None = None) -> list[str]:
    """What axe finds in each theme: every rule in the last one, in those before it what depends on colours.

    Contrast is looked at once for each look (of a thousand words of code, or links, all but a few are alike), and not for
    those in `known`, which pages without a fault had; if there is none here, this page's join them. The page loses elements
    by it, so this is the last look at it.
    """
    from axe_playwright_python.base import AXE_SCRIPT

    known = {} if known is None else known
    page.evaluate(AXE_SCRIPT)
    for scheme in reversed(schemes):
        switch(page, scheme)
        page.evaluate(LOOKS)
    fresh = page.evaluate(THIN_OUT, list(known))
    found = under_axe(page, schemes)
    if not found:
        known.update(dict.fromkeys(fresh))
    return found


def under_axe(page, schemes) -> list[str]:
    found = []
    for scheme in schemes[:-1]:
        switch(page, scheme)
        found += [f"{scheme}: {line}" for line in axe(page, COLOURS)]
    switch(page, schemes[-1])
    return found + axe(page, RULES)


def switch(page, scheme):
    """To the other theme, as the reader's system asks for it; waits until every colour has changed."""
    page.emulate_media(color_scheme=scheme)
    page.wait_for_function(f"(document.documentElement.dataset.mode ?? 'fixed') !== 'auto' || "
                           f"document.documentElement.dataset.theme === '{scheme}'")
    page.evaluate("() => document.getAnimations().forEach(one => one.finish())")


def shown(page) -> list[str]:
    """What is wrong with the page as the browser shows it."""
    return page.faults + [f"maths: {fault}" for fault in page.evaluate(BROKEN_MATHS)]


def on_a_phone(page) -> list[str]:
    """What is wrong with a page that was opened at the width of a phone.

    Boxes that scroll are marked some frames after they do; one that never is, is waited for in vain and found by axe.
    """
    from axe_playwright_python.base import AXE_SCRIPT
    from playwright.sync_api import TimeoutError

    try:
        page.wait_for_function(f"() => !({NO_STOP})()", timeout=5000)
    except TimeoutError:
        pass
    found = [f"wider than the phone: {part}" for part in page.evaluate(WIDE)]
    page.evaluate(THIN_LINES)
    page.evaluate(AXE_SCRIPT)
    return found + axe(page, ["scrollable-region-focusable", "target-size"])


PHONE, SCREEN = {"width": 390, "height": 844}, {"width": 1280, "height": 900}
SCHEMES = ("dark", "light")
KNOWN: dict[str, None] = {}                                          # looks that the pages so far had, without a fault


def all_of(page) -> list[str]:
    """Everything that is wrong with a page that was opened on a phone in light: there, then wide, in both themes."""
    found = shown(page) + cut_off(page)
    page.set_viewport_size(PHONE)
    found += [f"on a phone: {fault}" for fault in on_a_phone(page)]
    page.set_viewport_size(SCREEN)
    return found + accessibility(page, SCHEMES, KNOWN) + page.faults


def none_of(found: list[str]):
    found = list(dict.fromkeys(found))
    assert not found, "\n".join(found)


@pytest.mark.parametrize("path", PAGES)
def test_page(visit, path):
    with visit(path, **PHONE) as page:
        none_of((undrawn(page, len(views(path))) if of_notebook(path) else []) + all_of(page))


@pytest.mark.parametrize("path", PAGES[:3])
def test_page_opens_in_the_theme_of_the_system(visit, path):
    for scheme in SCHEMES:
        with visit(path, scheme=scheme) as page:
            assert page.evaluate("document.documentElement.dataset.theme") == scheme
            none_of(shown(page))


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


def test_one_pale_word_among_many_is_found(show):
    words = "<p>Good</p>" * 50
    with show(words + '<div style="background:#777"><p style="color:#888">Pale</p></div>' + words) as page:
        assert any("color-contrast (serious, 1 places)" in line for line in accessibility(page))


def test_what_is_pale_in_the_dark_alone_is_found(show):
    style = "<style>@media (prefers-color-scheme: dark) { .x { color: #222; background: #111 } }</style>"
    with show(style + '<p>Good</p><p class="x">Dark on dark</p>') as page:
        found = accessibility(page, SCHEMES)
        assert len(found) == 1 and found[0].startswith("dark: color-contrast"), found


def test_a_pale_word_is_found_on_each_page_that_has_it_and_a_look_that_passed_is_known(show):
    known, pale = {}, '<p style="color:#bbb">Pale</p>'
    for body, faults in (("<p>Good</p>", 0), ("<p>Good</p>" + pale, 1), (pale, 1), ("<p>Good</p>", 0)):
        with show(body) as page:
            found = accessibility(page, known=known)
            assert len(found) == faults and all("color-contrast" in line for line in found), (body, found)
        assert len(known) == 2, known                                # the heading's and the paragraph's


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
