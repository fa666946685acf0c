"""The built site, read from its files: every fault is one line."""
from __future__ import annotations

import re
from html import unescape
from pathlib import Path

import pytest
import yaml

from book._ext import course_book, course_site
from book._tools import chapters, print_book, setup_cell
from book._tools.site_check import LIGHT, Site, decoded, weight
from tests.conftest import ROOT

CHAPTERS = [row["notebook"].replace(".ipynb", ".html") for row in chapters.chapters().values()]


def written_pages() -> list[str]:
    """The pages that the table of contents names, in its order."""
    def files(node):
        if isinstance(node, list):
            return [file for part in node for file in files(part)]
        own = [node[key] for key in ("root", "file") if key in node]
        return own + [file for value in node.values() if isinstance(value, list) for file in files(value)]

    return files(yaml.safe_load((ROOT / "_toc.yml").read_text("utf-8")))


PAGES = [f"{name}.html" for name in written_pages()]


@pytest.fixture(scope="module")
def pages(site):
    return Site(site)


def test_site_faults(pages):
    found = pages.problems()
    assert not found, "\n".join(found)


@pytest.mark.thorough
def test_page_weight(pages):
    found = [f"{path.name} {fault}" for path, page in pages.pages.items() for fault in weight(page)]
    assert not found, "\n".join(found)


def test_chapter_weight(pages):
    """What a browser decodes to show a chapter, before the reader scrolls."""
    heavy = {chapter: size for chapter in CHAPTERS if (size := decoded(pages.pages[pages.root / "book" / chapter])) > LIGHT}
    assert not heavy, heavy


def test_one_style_sheet(pages):
    """A page waits for one style sheet and for no script before it is painted."""
    for path, page in pages.pages.items():
        sheets = page.tree.xpath("//link[@rel='stylesheet']/@href")
        waits = [script.get("src") for script in page.tree.xpath("//script[@src]") if script.get("defer") is None]
        assert waits == [] and len(sheets) <= 1, path


def test_late_parts_have_room(pages, site):
    """What is loaded late has its size in the page or in the style sheet."""
    sheet = (site / "_static/course.css").read_text("utf-8")
    for path, page in pages.pages.items():
        assert not page.tree.xpath("//img[@loading='lazy'][not(@width) or not(@height)]"), path
        assert all(f'[data-figure="{name}"]' in sheet for name in page.tree.xpath("//@data-figure")), path


def test_formulas_set(pages, site):
    """Where no Node and no npm registry could be reached, formulas are left to a public server."""
    raw = [path.name for path, page in pages.pages.items() for formula in page.tree.find_class("math") if formula.find("mjx-container") is None]
    assert not raw, "Formulas are not set: install Node (with npm), or let pip reach its index, and run make book again"
    sheet = (site / "_static/course.css").read_text("utf-8")
    faces = re.findall(r'url\("(vendor/[^"]+)"\)', sheet)
    assert len(faces) > 20 and all((site / "_static" / face).exists() for face in faces)


def test_published_files(site):
    assert not list(site.rglob("*.pyc")) and not list(site.rglob(".venv*"))
    assert {path.name for path in site.iterdir()} <= {
        "book", "exercises", "solutions", "_static", "_images", "_sources", "_downloads", "_sphinx_design_static",
        "index.html", "genindex.html", "py-modindex.html", "search.html", "searchindex.js", "objects.inv",
        ".buildinfo", ".nojekyll", "sitemap.xml", "404.html"}


# --- chapters and their exercises, in order --------------------------------------------------------------------------

def text(node) -> str:
    return " ".join(unescape(node.text_content()).split())


def leads(pages, name: str) -> list[tuple[str, str]]:
    """Where the links to the page before and after lead, and what they say."""
    tree = pages.pages[pages.root / name].tree
    return [(link.get("href"), text(link)) for link in tree.xpath("//a[@class='left-prev' or @class='right-next']")]


def test_title_numbers(pages):
    beginnings = {"book": "{} ", "exercises": "Exercises {}: ", "solutions": "Solutions {}: "}
    for folder, beginning in beginnings.items():
        for chapter in CHAPTERS:
            tree = pages.pages[pages.root / folder / chapter].tree
            expected = beginning.format(int(chapter[:2]))
            assert text(tree.find(".//h1")).startswith(expected) and text(tree.find(".//title")).startswith(expected), chapter


def test_chapter_links(pages):
    for k, chapter in enumerate(CHAPTERS):
        links = [link for link, _ in leads(pages, f"book/{chapter}")]
        if 0 < k < len(CHAPTERS) - 1:
            assert links == [CHAPTERS[k - 1], CHAPTERS[k + 1]]
        practice = pages.pages[pages.root / "book" / chapter].tree.xpath("//nav[@class='course-practice']/a/@href")
        assert practice == [f"../exercises/{chapter}"]
        assert [link for link, _ in leads(pages, f"exercises/{chapter}")] == [f"../book/{chapter}", f"../solutions/{chapter}"]


def test_side_bar_chapters(pages):
    links = pages.pages[pages.root / "book/intro.html"].tree.xpath("//*[contains(@class, 'bd-sidebar-primary')]//li/a/@href")
    assert [link for link in links if re.match(r"\d\d-", link)] == CHAPTERS


def test_start_page_cards(pages):
    tree = pages.pages[pages.root / "book/intro.html"].tree
    cards = tree.xpath("//ul[contains(@class, 'course-cards')]/li")
    assert [card.xpath(".//a/@href") for card in cards] == [[chapter] for chapter in CHAPTERS]
    assert all(len(card.xpath(".//img/@alt")[0]) > 40 for card in cards)
    assert 100 < len(tree.xpath("//meta[@name='description']/@content")[0]) < 200


def test_notebook_download_and_launch(pages, site):
    """Launch buttons follow the repository's public address; without one there are none."""
    for page in PAGES:
        if not (notebook := (ROOT / page).with_suffix(".ipynb")).exists():
            continue
        links = pages.pages[site.resolve() / page].tree.xpath("//a/@href")
        [download] = {link for link in links if link.endswith(".ipynb") and "_sources" in link}
        assert (site / page).parent.joinpath(download).resolve().read_bytes() == notebook.read_bytes()
        launched = [link for link in links if re.match("https://(colab.research.google.com|mybinder.org)/", link)]
        if course_book.address(setup_cell.repository(ROOT).get("url") or "", ROOT):
            assert len(launched) == 2 and all(notebook.name in link for link in launched)
        else:
            assert launched == []


def test_moved_chapters_redirect(site):
    moved = course_site.redirects(ROOT)
    assert len(moved) > 3 * 15
    assert [f"{Path(name).name}.html" for name in print_book.pages(site) if name not in print_book.LAST] == CHAPTERS      # printed once
    for old, new in moved.items():
        page = site / old
        assert f'url={new}"' in page.read_text("utf-8") and (page.parent / new).is_file()
