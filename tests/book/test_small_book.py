"""A book of two chapters, built with an address: the reader's marks, light pages, what search engines read, paper, a zip."""
from __future__ import annotations

import base64
import json
import re
import shutil
import types
import zipfile
from pathlib import Path
from xml.etree import ElementTree

import nbformat
import pytest
from lxml import html as lxml_html

from book._ext import course_light, course_site
from tests.book.conftest import settle, visitor, watch
from tests.book.test_extension import build
from tests.book.test_pages import accessibility
from tests.conftest import ROOT
from tests.support.site_server import serve
from tools import make_book, print_book
from tools.nb import KERNELSPEC
from tools.site_check import Page, Site

pytestmark = pytest.mark.slow

ADDRESS = "https://book.example/course/"
KEY = "from-the-chain-rule-to-bert/marks/1"
STATE = {"m1": {"model_module": "anywidget", "model_name": "AnyModel", "model_module_version": "~0.9", "state": {
    "_anywidget_id": "toy.Toy", "_esm": "export default { render({ el }) { el.textContent = 'drawn by its module'; } }"}}}
VIEW = "application/vnd.jupyter.widget-view+json"
CHAPTER = ["# The first\n\nA chapter with two sections and a picture, so that there is something to tick and to print.",
           "## Counting and sums\n\n$$x = 1 \\tag{1.1}$$\n\n" + "Words to fill a page. " * 300,
           "$$" + " + ".join(f"x_{{{k}}}" for k in range(60)) + " \\tag{1.2}$$",
           "## Check yourself\n\n<details><summary>1. Is x<sub>1</sub> one?</summary>\n\nIt is, by $x = 1$.\n\n</details>\n\n"
           "<details><summary>On the slide</summary>\n\nNothing to answer.\n\n</details>\n\n"
           "<details><summary>2. And two?</summary>\n\nNo.\n\n</details>"]


def notebook(folder: Path, name: str, texts: list[str], widget: bool = False) -> None:
    cells = [nbformat.v4.new_markdown_cell(text, id=f"m{k}") for k, text in enumerate(texts)]
    meta = {"language_info": {"name": "python"}, "kernelspec": KERNELSPEC}
    if widget:
        png = (ROOT / "book/_assets/favicon.png").read_bytes()
        outputs = [nbformat.v4.new_output("display_data", {"image/png": base64.b64encode(png).decode()}),
                   nbformat.v4.new_output("display_data", {VIEW: {"model_id": "m1", "version_major": 2, "version_minor": 0}})]
        for k, output in enumerate(outputs):
            cells.append(nbformat.v4.new_code_cell("x = 'm" + "m" * 80 + "'", id=f"c{k}", outputs=[output], execution_count=k + 1,
                                                   metadata={"mystnb": {"image": {"alt": "A small picture"}}}))
        meta["widgets"] = {"application/vnd.jupyter.widget-state+json": {"state": STATE, "version_major": 2, "version_minor": 0}}
    nbformat.write(nbformat.v4.new_notebook(metadata=meta, cells=cells), str(folder / "book" / name))


@pytest.fixture(scope="module")
def site(tmp_path_factory) -> Path:
    mathjax = ROOT / "build" / "static"
    assert mathjax.exists(), "MathJax was not fetched yet: run make book"
    folder = tmp_path_factory.mktemp("small")
    for name in ("book/_ext", "book/_assets", "build/static"):
        shutil.copytree(ROOT / name, folder / name)
    config = (ROOT / "_config.yml").read_text("utf-8")
    (folder / "_config.yml").write_text(re.sub(r"(?m)^  url: .*", '  url: ""', config))
    (folder / "_toc.yml").write_text("format: jb-book\nroot: book/intro\nchapters:\n" + "".join(
        f"- file: book/{name}\n" for name in ("01-first", "02-second", "your-marks")))
    (folder / "book/intro.md").write_text("# A book\n\nThe first page of a small book says what it is about, in a sentence or two.\n")
    (folder / "book/your-marks.md").write_text("# Your marks\n\n```{marks}\n```\n")
    (folder / "book/references.bib").write_text("")
    notebook(folder, "01-first.ipynb", CHAPTER, widget=True)
    notebook(folder, "02-second.ipynb", ["# The second\n\nSee [counting](01-first.ipynb#counting-and-sums).", "## Only one\n\nText."])
    made, site = build(folder, "out", BOOK_SITE_URL=ADDRESS, SOURCE_DATE_EPOCH="1767225600")
    assert made.returncode == 0, made.stdout + made.stderr
    return site


@pytest.fixture(scope="module")
def at(site):
    with serve(site) as url:
        yield url


@pytest.fixture
def visit(browser, at):
    return visitor(browser, at)


FIRST, SECOND, MINE = "book/01-first.html", "book/02-second.html", "book/your-marks.html"


# --- marks -----------------------------------------------------------------------------------------------------------

def said(page) -> str:
    return page.locator(".course-progress [role=status]").inner_text()


def says_after_reload(page, beginning: str) -> None:
    """A page writes a mark at once and the browser stores it in its own time: a page loaded meanwhile is told when it has."""
    from playwright.sync_api import expect

    page.reload()
    expect(page.locator(".course-progress [role=status]")).to_have_text(re.compile(re.escape(beginning)), timeout=10_000)


def kept(page):
    return json.loads(page.evaluate(f"localStorage.getItem('{KEY}')") or "null")


def test_marks_by_keyboard_stay_are_shown_and_can_be_deleted(visit, at):
    with visit(FIRST) as page:
        assert said(page) == "0 of 2 sections read, 0 of 2 questions answered" and kept(page) is None
        boxes = page.get_by_role("checkbox")
        assert boxes.count() == 2                              # those in folded answers are not met by keyboard or reader
        page.get_by_role("checkbox", name="Read: Counting and sums").focus()
        page.keyboard.press("Space")
        page.locator("summary", has_text="And two").click()
        page.get_by_role("checkbox", name="Answered: 2. And two?").check()
        assert said(page) == "1 of 2 sections read, 1 of 2 questions answered"
        assert kept(page)["book/01-first"]["s"] == ["counting-and-sums"] and kept(page)["book/01-first"]["of"] == [2, 2]
        says_after_reload(page, "1 of 2 sections read, 1 of 2")
        assert page.get_by_role("checkbox").first.is_checked()
        page.goto(at + SECOND)
        own = page.locator(".bd-sidebar-primary a", has_text="The first")
        assert own.inner_text().endswith("(1 of 2 sections read)") and own.bounding_box()["height"] < 60
        assert said(page) == "0 of 1 sections read"
        page.goto(at + MINE)
        assert page.locator("table.course-marks td").all_inner_texts()[1:3] == ["1 of 2", "1 of 2"]
        button = page.locator(".course-forget button")
        button.press("Enter")
        assert kept(page) is None and page.locator("table.course-marks td").all_inner_texts()[1] == "0 of 2"
        button.press("Enter")
        assert button.inner_text() == "Delete all marks" and kept(page)["book/01-first"]["s"] == ["counting-and-sums"]
        button.press("Enter")
        page.goto(at + FIRST)
        assert said(page).startswith("0 of 2") and page.faults == []


BLOCKED = "Object.defineProperty(window, 'localStorage', {configurable: true, get() { throw new DOMException('no', 'SecurityError') }})"
FULL = f"""const set = Storage.prototype.setItem; Storage.prototype.setItem = function (key, text) {{
    if (key === '{KEY}') throw new DOMException('full', 'QuotaExceededError'); set.call(this, key, text); }}"""


@pytest.mark.parametrize("script", [BLOCKED, FULL])
def test_without_storage_marks_last_as_long_as_the_page_and_nothing_fails(browser, at, script):
    page = browser.new_page()
    page.faults = watch(page, at)
    page.add_init_script(script)
    page.goto(at + FIRST)
    page.get_by_role("checkbox").first.check()
    assert said(page) == "1 of 2 sections read, 0 of 2 questions answered; this browser keeps no marks: they end with this page"
    page.get_by_role("checkbox").last.check()
    assert said(page).startswith("2 of 2") and page.faults == []
    page.close()


@pytest.fixture(scope="module")
def page_of_marks(browser, at):
    """One page for many texts in its storage."""
    page = browser.new_page()
    page.faults = watch(page, at)
    page.goto(at + FIRST)
    yield page
    page.close()


@pytest.mark.parametrize("text", ["{", "[1]", '{"book/01-first": {"s": 3}}', "null", '{"book/01-first": null}',
                                  '{"book/01-first": {"s": ["former"], "q": [], "of": [2, 2]}}'])
def test_what_is_no_list_of_marks_or_names_a_former_section_counts_as_none(page_of_marks, text):
    page = page_of_marks
    page.evaluate("([key, text]) => { localStorage.setItem(key, text); dispatchEvent(new Event('storage')); }", [KEY, text])
    assert said(page).startswith("0 of 2") and page.faults == []
    page.evaluate("""([key]) => { localStorage.setItem(key, '{"book/01-first": {"s": ["counting-and-sums"], "q": [], "of": [2, 2]}}');
                     dispatchEvent(new Event('storage')); }""", [KEY])
    assert said(page).startswith("1 of 2")


def test_nothing_moves_when_marks_come(visit):
    """Where every heading stands with the script and without it."""
    places = "[...document.querySelectorAll('article :is(h1, h2, summary), nav a')].map(e => e.getBoundingClientRect().top)"
    with visit(FIRST) as page:
        page.get_by_role("checkbox").first.check()
        page.reload()
        settle(page)
        marked = page.evaluate(places)
        page.evaluate("localStorage.clear()")
        page.reload()
        settle(page)
        assert page.evaluate(places) == marked
        page.route("**/course.js*", lambda route: route.fulfill(body=""))
        page.reload()
        settle(page)
        assert page.evaluate(places) == marked


@pytest.mark.parametrize("path", [FIRST, MINE])
def test_marks_are_readable_in_both_themes_and_absent_on_paper(visit, path):
    with visit(path) as page:
        for fold in page.locator("article summary").all():
            fold.click()
        page.emulate_media(media="print")
        assert page.locator(":is(.course-mark, .course-progress, .course-forget):visible").count() == 0
        page.emulate_media(media="screen")
        assert page.locator(":is(.course-mark, .course-forget):visible").count() > 0
        assert accessibility(page, ("dark", "light")) == []


def test_the_whole_book_has_marks():
    """The chapters of the course, read from their notebooks: every question has a key of its own."""
    for path in sorted((ROOT / "book").glob("[0-9]*.ipynb")):
        texts = "\n".join("".join(cell["source"]) for cell in json.loads(path.read_text("utf-8"))["cells"]
                          if cell["cell_type"] == "markdown")
        asked = re.findall(r"<details>\s*<summary>\s*(\d+\. .*?)</summary>", texts, re.S)
        assert len(set(asked)) == len(asked) >= 5 and len(re.findall(r"(?m)^## ", texts)) >= 5, path.name


# --- light pages -----------------------------------------------------------------------------------------------------

def test_a_page_asks_for_little(visit, at):
    with visit(FIRST) as page:
        page.goto("about:blank")                              # what the first visit still asks for is none of the second's
        names = []
        page.on("request", lambda sent: names.append(sent.url.rpartition("/")[2].split("?")[0]))
        page.goto(at + FIRST, wait_until="load")
        settle(page)
    assert not {"fontawesome.js", "searchindex.js", "searchtools.js", "sphinx-thebe.js", "tex-mml-chtml.js"} & set(names)
    assert [name for name in names if name.endswith(".css")] == ["course.css"]
    assert len([name for name in names if not name.endswith(".woff")]) <= 8, names


def test_pictures_have_their_size_and_come_late(site):
    (image,) = [tag for tag in Page(site / FIRST).tree.iter("img") if tag.get("alt") == "A small picture"]
    assert (image.get("width"), image.get("height")) == ("32", "32") or int(image.get("width")) > 0
    assert image.get("loading") is None                        # the first of a page is there at once


def test_every_icon_is_drawn(visit):
    with visit(FIRST) as page:
        masks = page.evaluate("[...document.querySelectorAll('i[class*=fa-], span[class*=fa-]')]"
                              ".map(e => [e.className, getComputedStyle(e).maskImage])")
        assert masks and [name for name, mask in masks if not mask.startswith('url("data:image/svg+xml')] == []


def test_the_search_still_finds(visit):
    with visit("search.html?q=counting") as page:
        page.wait_for_selector("#search-results li", timeout=10_000)
        assert "first" in page.locator("#search-results li").first.inner_text() and page.faults == []


@pytest.mark.parametrize("sheet, left", [
    (".a { x: 1 } .b { x: 2 }", ".a{ x: 1 }"),
    (".a, .b:hover > .a { x: 1 }", ".a{ x: 1 }"),
    ("@media print { .b { x: 1 } } @media screen { .a { x: 1 } }", "@media screen{.a{ x: 1 }}"),
    (".a:not(.b) { x: 1 }", ".a:not(.b){ x: 1 }"),
    ("#b .a { x: 1 } [class*='b'] { x: '}' } p { x: 2 }", "[class*='b']{ x: '}' }\np{ x: 2 }"),
    ("@keyframes k { from { x: 1 } } .b { x: 1 }", "@keyframes k{ from { x: 1 } }")])
def test_rules_for_what_no_page_has_are_left_out(sheet, left):
    assert course_light.used(sheet, {"a"}) == left


THEMES = """html[data-theme="light"] .highlight{ background: #fff; color: #080808 }
html[data-theme="light"] .highlight .n{ color: #080808 }
html[data-theme="light"] .highlight .p{ color: #080808; font-weight: bold }
html[data-theme="light"] .highlight .k{ color: #7928a1 }
html[data-theme="dark"] .highlight{ background: #000; color: #F8F8F2 }
html[data-theme="dark"] .highlight .n{ color: #f8f8f2 }
html[data-theme="dark"] .highlight .p{ color: #F8F8F2 }
html[data-theme="dark"] .highlight .k{ color: #F8F8F2 }"""


def test_code_keeps_the_marks_that_are_seen():
    unmarked, rules = course_light.colourless(THEMES)
    assert unmarked == {"n"} and rules == ('html[data-theme="light"] .highlight pre{ color: #080808 }\n'
                                           'html[data-theme="dark"] .highlight pre{ color: #F8F8F2 }\n')
    code = '<div class="highlight"><pre><span class="k">def</span> <span class="n">f</span><span class="p">(</span></pre></div>'
    text = '<p><span class="n">n</span></p>'
    assert course_light.plain(code + text, unmarked) == code.replace('<span class="n">f</span>', "f") + text
    assert course_light.colourless(".highlight .n { color: red }") == (set(), "")


def test_code_has_the_same_colours_as_before(visit, site):
    """Of a name: that of the code around it, in both themes."""
    for scheme in ("light", "dark"):
        with visit(FIRST, scheme=scheme) as page:
            colours = page.evaluate("""() => { const pre = document.querySelector('.highlight pre'), box = pre.parentElement;
                return [getComputedStyle(pre).color, getComputedStyle(box).color, pre.querySelectorAll('.n').length]; }""")
        assert colours[0] == colours[1] and colours[2] == 0


# --- search engines --------------------------------------------------------------------------------------------------

def metas(site, path) -> dict[str, str]:
    return {tag.get("name") or tag.get("property"): tag.get("content") for tag in Page(site / path).tree.iter("meta")}


def test_with_an_address_there_are_a_map_canonical_addresses_cards_and_a_page_for_what_is_missing(site):
    places = [url.text for url in ElementTree.parse(site / "sitemap.xml").iter("{http://www.sitemaps.org/schemas/sitemap/0.9}loc")]
    assert places == [ADDRESS + path for path in (FIRST, SECOND, "book/intro.html", MINE)]
    (canonical,) = Page(site / FIRST).tree.xpath("//link[@rel='canonical']/@href")
    tags = metas(site, FIRST)
    assert canonical == tags["og:url"] == ADDRESS + FIRST and tags["og:title"] == "1 The first"
    assert tags["description"] == tags["og:description"] == CHAPTER[0].split("\n")[2]
    assert (site / tags["og:image"].removeprefix(ADDRESS)).is_file()
    links = Page(site / "404.html").tree.xpath("//a/@href")    # it is shown at any depth: no link hangs on the address
    assert links and all(link.startswith(ADDRESS) and (site / link.removeprefix(ADDRESS)).is_file() for link in links)
    assert Site(site).problems() == []


def test_without_an_address_there_is_none_of_it(tmp_path):
    config = types.SimpleNamespace(html_baseurl="")
    course_site.site_address(None, config)
    app = types.SimpleNamespace(config=config, outdir=str(tmp_path), builder=types.SimpleNamespace(format="html"))
    course_site.whole(app, None)
    assert config.html_baseurl == "" and list(tmp_path.iterdir()) == []


# --- paper and zip ---------------------------------------------------------------------------------------------------

def test_the_book_is_printed_whole(site, browser, tmp_path):
    target = tmp_path / "book.pdf"
    assert print_book.printed(site, target, browser) == []     # the long formula is made smaller, not cut off
    pdf = target.read_bytes()
    numbers = print_book.numbers_of(pdf)
    assert pdf.startswith(b"%PDF") and [path.name for path in tmp_path.iterdir()] == ["book.pdf"]
    assert numbers["book-01-first"] == 3 and numbers["book-02-second"] > 4
    assert "book-01-first-counting-and-sums" in numbers            # links lead within the file


def test_what_is_printed_has_no_navigation_and_no_second_name(site, tmp_path):
    text = print_book.joined(site, tmp_path, {"book-02-second": 7})
    tree = lxml_html.document_fromstring(text)
    ids = tree.xpath("//@id")
    assert len(ids) == len(set(ids)) and not tree.xpath("//nav | //input[@data-mark]")
    assert {link[1:] for link in tree.xpath("//a/@href") if link.startswith("#")} <= set(ids)
    assert "The second</a><span>7</span>" in text and text.count(VIEW) == 1
    assert not [src for src in tree.xpath("//img/@src") if not (tmp_path / src).resolve().is_file()]


def test_every_chapter_has_its_title_on_paper(site, browser, tmp_path):
    (tmp_path / "one.html").write_text(print_book.joined(site, tmp_path), "utf-8")
    page = browser.new_page()
    page.emulate_media(media="print")
    page.goto((tmp_path / "one.html").as_uri())
    titles = page.locator("h1:visible").all_inner_texts()
    page.close()
    assert titles == ["From the chain rule to BERT", "1 The first", "2 The second"]


def test_a_box_wider_than_the_sheet_is_seen(browser):
    page = browser.new_page(viewport={"width": print_book.WIDTH, "height": 500})
    page.set_content("<article style='margin:0'><table style='min-width: 99999px'><tr><td>wide</td></tr></table></article>")
    assert len(page.evaluate(print_book.FIT)) == 1             # nothing makes it small enough
    page.set_content("<article style='margin:0'><div class='math'>short</div></article>")
    assert page.evaluate(print_book.FIT) == []
    page.close()


def test_the_zip_is_read_from_a_folder(site, browser, tmp_path):
    first, second = tmp_path / "book.zip", tmp_path / "again" / "book.zip"
    second.parent.mkdir()
    make_book.packed(site, first)
    make_book.packed(site, second)
    assert first.read_bytes() == second.read_bytes()
    with zipfile.ZipFile(first) as archive:
        archive.extractall(tmp_path)
    page = browser.new_page()
    faults = watch(page, "http://nowhere.invalid/")
    page.goto((tmp_path / "book" / FIRST).as_uri())
    settle(page)
    assert page.locator("mjx-container").count() >= 2 and page.locator(".afm-view").inner_text() == "drawn by its module"
    page.get_by_role("checkbox").first.check()
    assert said(page).startswith("1 of 2")
    says_after_reload(page, "1 of 2 sections read")
    page.goto((tmp_path / "book/search.html").as_uri() + "?q=counting")
    page.wait_for_selector("#search-results li", timeout=10_000)
    page.wait_for_function("Search.output && !document.querySelector('#search-results .dots:not(:empty)')")
    assert faults == []
    page.close()
