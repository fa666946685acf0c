"""What a reader does with the book: search, switch to dark, download, print, launch, use the keyboard."""
from __future__ import annotations

import pytest

from book._ext import course_book
from tests.book.figures import of_notebook
from tests.book.test_pages import PAGES
from tests.conftest import ROOT
from tools import nb_form, setup_cell, slides
from tools.site_check import Page

NOTEBOOKS = [path for path in PAGES if of_notebook(path)]
CHROME = [".bd-sidebar-primary", ".bd-sidebar-secondary", ".bd-header-article", ".prev-next-footer"]


def hrefs(site, path) -> list[str]:
    """Where the links of a built page lead, as its file has them."""
    return Page(site / path).tree.xpath("//a/@href")


def test_there_are_chapters():
    assert len(NOTEBOOKS) >= 2


def test_search_finds_a_term(visit):
    with visit("search.html?q=factorisation") as page:
        page.wait_for_selector("#search-results li", timeout=10_000)
        hits = page.locator("#search-results li").all_inner_texts()
        assert any("chain rule" in hit.lower() for hit in hits), hits
        assert page.faults == []


def test_search_says_when_it_finds_nothing(visit):
    with visit("search.html?q=qwertyuiopasdf") as page:
        page.wait_for_function("document.querySelector('#search-results').innerText.includes('did not match')")


def test_search_by_keyboard(visit):
    with visit(PAGES[0]) as page:
        page.keyboard.press("Control+k")
        page.keyboard.type("likelihood")
        page.keyboard.press("Enter")
        page.wait_for_url("**/search.html?q=likelihood")
        page.wait_for_selector("#search-results li", timeout=10_000)


def test_dark_mode_is_switched_and_kept(visit):
    theme = "document.documentElement.dataset.theme"
    ground = "getComputedStyle(document.body).backgroundColor"
    with visit(PAGES[0]) as page:
        light = page.evaluate(ground)
        button = page.locator(".theme-switch-button:visible").first
        for _ in range(3):                                    # the button goes round light, dark, automatic
            button.click()
            if page.evaluate(theme) == "dark":
                break
        assert page.evaluate(theme) == "dark" and page.evaluate(ground) != light
        page.reload()
        assert page.evaluate(theme) == "dark"


@pytest.mark.parametrize("path", NOTEBOOKS)
def test_notebook_can_be_downloaded(site, path):
    """By the link of the page's own file: no script is needed."""
    links = [link for link in hrefs(site, path) if link.endswith(".ipynb") and "_sources" in link]
    assert links
    assert (site / path).parent.joinpath(links[0]).resolve().read_bytes() == (ROOT / path).with_suffix(".ipynb").read_bytes()


@pytest.mark.parametrize("path", NOTEBOOKS[:1])
def test_print_shows_the_text_alone(visit, path):
    with visit(path) as page:
        assert page.locator(CHROME[0]).is_visible()
        page.emulate_media(media="print")
        assert [part for part in CHROME if page.locator(part).first.is_visible()] == []
        assert page.locator("article p").first.is_visible()
        assert page.locator("h1:visible").count() == 1
        assert page.pdf().startswith(b"%PDF")


@pytest.mark.parametrize("path", NOTEBOOKS)
def test_launch_buttons_follow_the_address(site, path):
    """With a public address they lead to Colab and Binder with this notebook; without one there are none."""
    launched(hrefs(site, path), path)


def test_launch_buttons_are_what_the_browser_shows(visit):
    with visit(NOTEBOOKS[0]) as page:
        launched(page.eval_on_selector_all("a[href]", "all => all.map(a => a.href)"), NOTEBOOKS[0])


def launched(links, path):
    colab = [link for link in links if link.startswith("https://colab.research.google.com/github/")]
    binder = [link for link in links if link.startswith("https://mybinder.org/v2/")]
    if course_book.address(setup_cell.repository(ROOT).get("url") or "", ROOT):
        notebook = path.replace(".html", ".ipynb")
        assert any(link.endswith(notebook) for link in colab) and any(notebook in link for link in binder)
    else:
        assert colab == [] and binder == []


def test_first_stop_of_the_keyboard_skips_to_the_text(visit):
    with visit(NOTEBOOKS[0]) as page:
        page.keyboard.press("Tab")
        assert "skip" in page.evaluate("document.activeElement.textContent").lower()
        page.keyboard.press("Enter")
        assert page.evaluate("location.hash") == "#main-content"


def test_focus_is_seen(visit):
    looks = ("(() => { const e = document.activeElement, s = getComputedStyle(e);"
             " return [e.outerHTML.slice(0, 120), s.outlineStyle, parseFloat(s.outlineWidth)]; })()")
    unseen = []
    with visit(NOTEBOOKS[0]) as page:
        for _ in range(60):
            page.keyboard.press("Tab")
            name, style, width = page.evaluate(looks)
            if style == "none" or width < 1:
                unseen.append(name)
    assert unseen == []


@pytest.mark.parametrize("path", ["book/04-nade.html", "exercises/04-nade.html", "solutions/04-nade.html"])
def test_the_widest_line_that_a_notebook_may_have_is_read_whole(visit, path):
    with visit(path, width=1280) as page:
        cut = page.evaluate("""(width) => {
            for (const fold of document.querySelectorAll('.bd-article details')) fold.open = true;
            const boxes = [...document.querySelectorAll('.cell_input pre')];
            return boxes.filter(box => {
                box.textContent = 'm'.repeat(width);
                return box.scrollWidth > box.clientWidth;
            }).length / boxes.length;
        }""", nb_form.WIDTH)
        assert cut == 0


def test_the_map_is_short_on_a_phone_and_open_where_there_is_room(visit):
    lists, opened = "details.course-slides", "details.course-slides[open]"
    with visit("book/slide-map.html", width=390, height=844) as page:
        assert page.locator(lists).count() == len(slides.LISTS) and page.locator(opened).count() == 0
        assert page.locator(".bd-article details[open]").count() == 0
        assert page.evaluate("document.documentElement.scrollHeight") < 6000
        page.locator(f"{lists} > summary").first.click()
        own = [slide.title for slide in slides.slides() if slide.deck == next(iter(slides.LISTS))]
        assert [text.split("\n")[0] for text in page.locator(f"{opened} li").all_inner_texts()] == own
    with visit("book/slide-map.html", width=1280) as page:
        assert page.locator(opened).count() == len(slides.LISTS)
        assert page.locator("details.course-points[open]").count() == 0


def test_the_plan_shows_its_slides_where_there_is_room(visit):
    for width, shown in ((390, 0), (1280, 13)):
        with visit("book/teaching-plan.html", width=width) as page:
            assert page.locator(".bd-article details").count() == 13
            assert page.locator(".bd-article details[open]").count() == shown


def test_a_chapter_says_how_long_it_takes(visit):
    with visit("book/04-nade.html") as page:
        assert page.locator("h1 + p.course-times").inner_text().startswith("Reading ")
