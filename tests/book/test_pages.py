"""Every page of the built book in a browser: light and dark, wide and on a phone."""
from __future__ import annotations

import pytest

from book._tools.site_check import Page, decoded
from tests.book.figures import of_notebook, undrawn, views
from tests.book.test_site import CHAPTERS, PAGES
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


# What the page and its parts weigh, decoded, how far it shifted, and what moved.
LOADED = """() => new Promise(done => {
    let shift = 0;
    const moved = [];
    new PerformanceObserver(list => list.getEntries().forEach(one => {
        shift += one.value;
        moved.push(...one.sources.map(({ node }) => node?.outerHTML?.slice(0, 120)));
    })).observe({ type: 'layout-shift', buffered: true });
    setTimeout(() => done([['navigation', 'resource'].flatMap(kind => performance.getEntriesByType(kind))
        .reduce((sum, one) => sum + one.decodedBodySize, 0), shift, moved]), 1000);
})"""


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


@pytest.mark.parametrize("size", [SCREEN, PHONE])
def test_heaviest_chapters(visit, site, size):
    """The three heaviest chapters have at most 1.2 MB before they are scrolled, and nothing in them shifts."""
    chapters = [Page(site / "book" / name) for name in CHAPTERS]
    for chapter in sorted(chapters, key=decoded)[-3:]:
        with visit(f"book/{chapter.path.name}", **size, wait=False) as page:
            weight, shift, moved = page.evaluate(LOADED)
            assert weight <= 1_200_000 and shift == 0, (chapter.path.name, weight, shift, moved)


@pytest.mark.parametrize("size", [SCREEN, PHONE])
def test_figures_have_their_height(visit, size):
    """The room that the style sheet keeps for each interactive figure is the room that it takes."""
    for path in [path for path in PAGES if of_notebook(path) and views(path)]:
        with visit(path, **size) as page:
            rooms = page.evaluate("""() => [...document.querySelectorAll('.course-explorable')].map(e => [e.dataset.figure,
                parseFloat(getComputedStyle(e).minHeight), e.getBoundingClientRect().height])""")
            assert rooms and not [room for room in rooms if not room[1] <= room[2] <= 1.1 * room[1]], rooms


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_page_theme_of_system(visit, scheme):
    with visit(PAGES[0], scheme=scheme) as page:
        assert page.evaluate("document.documentElement.dataset.theme") == scheme and shown(page) == []


def test_index_leads_to_start_page(visit):
    """index.html leads to the start page."""
    with visit("index.html", wait=False) as page:
        page.wait_for_url(f"**/{PAGES[0]}")
