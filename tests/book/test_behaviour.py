"""What a reader does with the book: search, switch to dark, print, use the keyboard, move a figure."""
from __future__ import annotations

import re

import pytest

from book._tools import nb_form, slide_map
from tests.book.conftest import settle
from tests.book.figures import of_notebook
from tests.book.test_site import PAGES

pytestmark = pytest.mark.thorough

NOTEBOOKS = [path for path in PAGES if of_notebook(path)]
CHROME = [".bd-sidebar-primary", ".bd-sidebar-secondary", ".bd-header-article", ".prev-next-footer"]
INTRO = "book/intro.html"


# What a student asks, and a part of the address of a right section.
QUESTIONS = {
    "what is teacher forcing": "#teacher-forcing", "why divide by sqrt d": "square-root", "cross entropy vs log likelihood": "likelihood",
    "perplexitty": "#perplexity", "how to install": "install", "Colab": "install", "PDF": "install", "BPE": "tokens",
    "kv cache": "cache", "how does beam search work": "22-decoding.html#beam-search", "pre-norm or post-norm": "20-training|19-transformer",
    "why do my gradients vanish": "10-recurrent", "what is perplexity": "#perplexity", "why mask the future": "17-self-attention",
    "what is a residual connection": "residual-connection", "how to fine-tune BERT": "25-fine-tuning", "word2vec negative sampling": "14-word-vectors",
    "how are positions encoded": "18-positions", "how to sample from NADE": "05-nade", "layer norms": "layer-norm"}
HITS = "query => courseRanked(query).slice(0, 3).map(([address]) => address)"


@pytest.fixture
def search(visit):
    with visit("search.html?q=attention") as page:
        page.wait_for_selector("#search-results[data-ready] li", timeout=10_000)
        yield page
        assert page.faults == []


def test_search_questions(search):
    hits = {query: search.evaluate(HITS, query) for query in QUESTIONS}
    wrong = {query: hits[query] for query, place in QUESTIONS.items() if not any(re.search(place, hit) for hit in hits[query])}
    assert len(QUESTIONS) == 20 and len(wrong) <= 2, wrong


def test_search_glossary_terms(search):
    """The section that defines a term, in italics, is among the first three hits; where none does, the glossary's entry is."""
    defines: dict[str, set[str]] = {}
    for address, terms in search.evaluate("courseSections.pages.flatMap(([, sections]) => sections.map(s => [s[0], s[3]]))"):
        for term in terms:
            defines.setdefault(term.lower(), set()).add(address)
    missed = {}
    for term, places in defines.items():
        entry = {place for place in places if place.startswith("book/glossary")}
        chapters = {place for place in places - entry if re.match(r"book/\d\d-", place)}
        if entry and not (chapters or entry) & set(hits := search.evaluate(HITS, term)):
            missed[term] = hits
    assert len(defines) > 100 and not missed, missed


def test_search_hit_opens_at_section(search):
    link = search.locator("#search-results li > a").nth(1)
    assert search.locator("#search-results li").nth(1).locator("mark").count() > 0
    link.click()
    search.wait_for_load_state()
    assert "#" in search.url or search.url.endswith(".html")


@pytest.mark.parametrize("query, says", [("qwertyuiopasdf", "did not match"), ("perplexitty", "Did you mean perplexity")])
def test_search_without_results(visit, query, says):
    with visit(f"search.html?q={query}") as page:
        page.wait_for_function("says => document.querySelector('#search-results').innerText.includes(says)", arg=says)


def test_arrow_keys_lead_to_pages(visit):
    with visit("book/02-linear-models.html") as page:
        title = page.title()
        page.locator("input[type=range], select").first.focus()
        page.keyboard.press("ArrowRight")
        assert page.title() == title                          # a control keeps its keys
        page.evaluate("document.activeElement.blur()")
        page.keyboard.press("ArrowRight")
        page.wait_for_function("before => document.title !== before && document.readyState === 'complete'", arg=title)
        page.keyboard.press("ArrowLeft")                          # the page answers keys once it is loaded
        page.wait_for_function("before => document.title === before", arg=title)


def test_start_page_picture_still(visit):
    with visit(INTRO) as page:
        page.emulate_media(reduced_motion="reduce")
        text = page.evaluate("fetch(document.querySelector('.course-hero img').src).then(got => got.text())")
        assert "prefers-reduced-motion:no-preference" in text and ".cover{display:none}" in text


def test_chapters_fit_sidebar(visit):
    with visit("book/05-nade.html", width=1440) as page:
        links = page.locator(".bd-sidebar-primary ul:not(.bd-sidenav__home-link) > li.toctree-l1 > a")
        boxes = [links.nth(k).bounding_box() for k in range(28)]
        assert all(box["height"] <= 26 and box["y"] + box["height"] <= 900 for box in boxes)


@pytest.mark.parametrize("faces", ["the book's", "the system's"])
def test_text_measure(visit, faces):
    """Lines of text hold 68 to 77 characters; code, tables and figures begin where the text does and end by 860 pixels.

    A page that has waited too long for the book's faces keeps those of the system.
    """
    with visit("book/05-nade.html", width=1440) as page:
        if faces == "the system's":
            page.route("**/*.woff2", lambda route: route.abort())
        page.reload(wait_until="load")                            # with the faces at hand, or without them
        settle(page)
        lines = page.evaluate("""() => [...document.querySelectorAll('.bd-article section > p')].flatMap(p => {
            const rows = Math.round(p.clientHeight / parseFloat(getComputedStyle(p).lineHeight)), last = rows - 0.5;
            return rows > 3 && !p.querySelector('.math') ? [p.textContent.length / last] : [];
        })""")
        assert lines and 68 <= sum(lines) / len(lines) <= 77, lines
        edges = page.evaluate("""() => [...document.querySelectorAll('.bd-article section > p, .cell_input, .cell_output table, .cell_output img')]
            .filter(e => e.checkVisibility()).map(e => e.getBoundingClientRect()).map(r => [Math.round(r.left), Math.round(r.width)])""")
        assert max(left for left, _ in edges) - min(left for left, _ in edges) <= 2 and max(width for _, width in edges) <= 860, edges


def test_bar_and_contents_follow(visit):
    """The bar names the page and the section that is read, and the list of contents marks it, also after a jump."""
    with visit("book/02-linear-models.html", width=1440) as page:
        where = page.locator(".course-where")
        assert where.text_content() == ""
        page.evaluate("document.querySelector('#momentum-and-adam h2').scrollIntoView()")
        page.wait_for_function("document.querySelector('.course-where').textContent.endsWith('› Momentum and Adam')")
        assert where.text_content().startswith("2 Linear models")
        assert page.locator("#pst-page-toc-nav a[aria-current=true]").text_content().strip() == "Momentum and Adam"


def test_numbers_lead_to_formulas(visit):
    with visit("book/02-linear-models.html") as page:
        link = page.locator('.bd-article p a[href="#equation-2.4"]').first
        assert link.text_content() == "(2.4)"
        assert page.locator("[id='equation-2.4'] mjx-container").count() == 1


def test_magnifier_beside_the_words(visit):
    with visit("search.html?q=likelihood", width=1440) as page:
        field = page.locator(".bd-article-container .bd-search input")
        text = field.bounding_box()["x"] + field.evaluate("field => parseFloat(getComputedStyle(field).paddingLeft)")
        icon = page.locator(".bd-article-container .bd-search svg").first.bounding_box()
        assert icon["x"] + icon["width"] <= text
        assert "\\" not in page.locator("#search-results").text_content()          # formulas are shown without TeX's commands


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
        assert missing == [] and page.locator(":is(i, span)[class*='fa-']:visible").count() == 0


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
        words = "() => [...document.querySelectorAll('[data-written]')].map(e => e.textContent).join(' ')"
        assert page.evaluate(words) == "la macchina rossa vede il gatto bianco"
        page.locator(".cl-tr-only input").focus()
        page.keyboard.press("Space")
        assert page.evaluate(words).startswith("la montagna rossa")
        assert page.faults == []


def corner(page, picture) -> tuple[int, int, int]:
    """The color at the upper right corner of a picture, as the browser paints it."""
    import io

    from PIL import Image

    picture.scroll_into_view_if_needed()
    page.wait_for_function("e => e.complete && e.naturalWidth", arg=picture.element_handle())
    image = Image.open(io.BytesIO(picture.screenshot())).convert("RGB")
    return image.getpixel((image.width - 20, 20))


@pytest.mark.parametrize("scheme, ground", [("light", (255, 255, 255)), ("dark", (20, 24, 30))])
def test_drawings_theme(visit, scheme, ground):
    with visit(INTRO, scheme=scheme) as page:
        assert corner(page, page.locator(".course-strip img").last) == ground


def test_charts_theme(visit):
    """In the dark theme a chart has the ground of the page and readable lines; black pixels, of which the text speaks, stay black."""
    with visit("book/01-chain-rule.html", scheme="dark") as page:
        chart, digits = (page.locator(f"img[alt^='{words}']") for words in ("Training, validation and test loss", "Six handwritten digits"))
        assert corner(page, chart) == (18, 18, 18) and min(corner(page, digits)) > 200
    with visit("book/02-linear-models.html") as page:
        assert corner(page, page.locator("img.course-chart").first) == (255, 255, 255)
