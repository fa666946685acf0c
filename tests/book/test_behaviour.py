"""What a reader does with the book: search, switch to dark, print, use the keyboard, move a figure."""
from __future__ import annotations

import re

import pytest

from book._tools import nb_form, slide_map
from tests.book.figures import of_notebook
from tests.book.test_site import PAGES

pytestmark = pytest.mark.thorough

NOTEBOOKS = [path for path in PAGES if of_notebook(path)]
CHROME = [".bd-sidebar-primary", ".bd-sidebar-secondary", ".bd-header-article", ".prev-next-footer"]
INTRO = "book/intro.html"


@pytest.mark.parametrize("query, first", [
    ("n-gram", ["09"]), ("attention", ["16", "17"]), ("masking", ["08", "11", "17", "24"]), ("kv cache", ["21"])])
def test_search_chapters_first(visit, query, first):
    with visit(f"search.html?q={query.replace(' ', '+')}") as page:
        page.wait_for_selector("#search-results li", timeout=10_000)
        page.wait_for_function("() => Search.output && !document.querySelector('#search-results .dots:not(:empty)')")
        page.wait_for_timeout(1000)
        links = page.evaluate("[...document.querySelectorAll('#search-results li > a')].map(a => a.getAttribute('href'))")
        chapters = [match and match[1] for match in (re.match(r"book/(\d\d)-", link) for link in links)]
        assert chapters[0] in first, links[:5]
        assert [bool(number) for number in chapters] == sorted(map(bool, chapters), reverse=True), links
        assert page.faults == []


def test_search_without_results(visit):
    with visit("search.html?q=qwertyuiopasdf") as page:
        page.wait_for_function("document.querySelector('#search-results').innerText.includes('did not match')")


def test_search_by_keyboard(visit):
    with visit(PAGES[0]) as page:
        page.keyboard.press("Control+k")
        page.keyboard.type("likelihood")
        page.keyboard.press("Enter")
        page.wait_for_url("**/search.html?q=likelihood")
        page.wait_for_selector("#search-results li", timeout=10_000)


def test_dark_mode_kept(visit):
    theme = "document.documentElement.dataset.theme"
    with visit(PAGES[0]) as page:
        button = page.locator(".theme-switch-button:visible").first
        for _ in range(3):                                    # the button goes round light, dark, automatic
            button.click()
            if page.evaluate(theme) == "dark":
                break
        assert page.evaluate(theme) == "dark"
        page.reload()
        assert page.evaluate(theme) == "dark"


def test_icons(visit):
    with visit(NOTEBOOKS[0]) as page:
        page.wait_for_function("document.querySelector('svg.svg-inline--fa')")
        missing = page.evaluate("[...document.querySelectorAll('svg.svg-inline--fa')].filter(e => !e.querySelector('path')"
                                " || e.dataset.icon === 'question').map(e => e.outerHTML)")
        assert missing == [] and page.locator("i[class*='fa-']:visible").count() == 0


def test_print_text_only(visit):
    with visit(NOTEBOOKS[0]) as page:
        assert page.locator(CHROME[0]).is_visible()
        page.emulate_media(media="print")
        assert [part for part in CHROME if page.locator(part).first.is_visible()] == []
        assert page.locator("article p").first.is_visible() and page.locator("h1:visible").count() == 1


def test_keyboard_skip_link_and_focus(visit):
    looks = ("(() => { const e = document.activeElement, s = getComputedStyle(e);"
             " return [e.outerHTML.slice(0, 120), s.outlineStyle, parseFloat(s.outlineWidth)]; })()")
    with visit(NOTEBOOKS[0]) as page:
        page.keyboard.press("Tab")
        assert "skip" in page.evaluate("document.activeElement.textContent").lower()
        unseen = []
        for _ in range(60):
            page.keyboard.press("Tab")
            name, style, width = page.evaluate(looks)
            unseen += [name] * (style == "none" or width < 1)
        assert unseen == []


@pytest.mark.parametrize("folder", ["book", "exercises", "solutions"])
def test_widest_line_visible(visit, folder):
    with visit(f"{folder}/05-nade.html", width=1280) as page:
        cut = page.evaluate("""(width) => {
            for (const fold of document.querySelectorAll('.bd-article details')) fold.open = true;
            return [...document.querySelectorAll('.cell_input pre')].filter(box => {
                box.textContent = 'm'.repeat(width);
                return box.scrollWidth > box.clientWidth;
            }).length;
        }""", nb_form.WIDTH)
        assert cut == 0


@pytest.mark.parametrize("path, lists", [("book/slide-map.html", len(slide_map.LISTS)), ("book/teaching-plan.html", 13)])
def test_long_lists_folded_on_phone(visit, path, lists):
    for width, opened in ((390, 0), (1280, lists)):
        with visit(path, width=width) as page:
            assert page.locator("details.course-slides").count() == lists
            assert page.locator(".bd-article details[open]").count() == opened


@pytest.mark.parametrize("width", [1280, 390])
def test_start_page_figures_by_keyboard(visit, width):
    """NADE draws the pixels that are not set, then again; one head of cross-attention is off and a word is wrong."""
    with visit(INTRO, width=width) as page:
        assert page.locator(".afm-view:not(.afm-note)").count() == 2
        figure = page.locator(".course-explorable").filter(has=page.get_by_role("button", name="draw the rest"))
        figure.get_by_role("button", name="draw the rest").focus()
        page.keyboard.press("Enter")
        figure.get_by_text("All 64 pixels are known").wait_for(timeout=5000)
        sampled = figure.inner_text()
        page.keyboard.press("Tab")
        page.keyboard.press("Enter")                                 # "sample again"
        page.wait_for_function("before => document.querySelectorAll('.course-explorable')[1].innerText !== before", arg=sampled)
        translation = page.locator(".course-explorable [data-says='0']")
        assert translation.inner_text().startswith("la montagna rossa")
        page.locator("[data-head='cross,2']").focus()
        page.keyboard.press("Space")
        assert translation.inner_text() == "la macchina rossa vede il gatto bianco"
        assert page.faults == []


@pytest.mark.parametrize("scheme, ground", [("light", "rgb(255, 255, 255)"), ("dark", "rgb(20, 24, 30)")])
def test_drawings_theme(visit, scheme, ground):
    """A corner of the picture has the ground of its theme, as the browser paints it."""
    import io

    from PIL import Image

    with visit(INTRO, scheme=scheme) as page:
        picture = page.locator(".course-strip img").last
        picture.scroll_into_view_if_needed()
        page.wait_for_function("e => e.complete && e.naturalWidth", arg=picture.element_handle())
        image = Image.open(io.BytesIO(picture.screenshot())).convert("RGB")
        assert f"rgb{image.getpixel((image.width - 20, 20))}" == ground
