"""A book of two chapters, built with an address: what search engines read, paper, a zip."""
from __future__ import annotations

import base64
import re
import shutil
import types
import zipfile
from pathlib import Path
from xml.etree import ElementTree

import nbformat
import pytest
from lxml import html as lxml_html

from book._ext import course_site
from book._tools import make_book, print_book
from book._tools.nb import KERNELSPEC
from book._tools.site_check import Page, Site
from tests.book.conftest import settle, watch
from tests.book.test_extension import build
from tests.conftest import ROOT

pytestmark = pytest.mark.thorough

ADDRESS = "https://book.example/course/"
FIRST, SECOND = "book/01-first.html", "book/02-second.html"
STATE = {"m1": {"model_module": "anywidget", "model_name": "AnyModel", "model_module_version": "~0.9", "state": {
    "_anywidget_id": "toy.Toy", "_esm": "export default { render({ el }) { el.textContent = 'drawn by its module'; } }"}}}
VIEW = "application/vnd.jupyter.widget-view+json"
CHAPTER = ["# The first\n\nA chapter with two sections and a picture, so that there is something to find and to print.",
           "## Counting and sums\n\n$$x = 1 \\tag{1.1}$$\n\n" + "Words to fill a page. " * 300,
           "$$" + " + ".join(f"x_{{{k}}}" for k in range(60)) + " \\tag{1.2}$$",
           "## Check yourself\n\n<details><summary>1. Is x<sub>1</sub> one?</summary>\n\nIt is, by $x = 1$.\n\n</details>"]


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
    assert (ROOT / "build" / "mathjax").exists(), "MathJax was not fetched yet: run make book"
    folder = tmp_path_factory.mktemp("small")
    for name in ("book/_ext", "book/_assets", "build/static", "build/mathjax"):
        shutil.copytree(ROOT / name, folder / name)
    config = (ROOT / "_config.yml").read_text("utf-8")
    (folder / "_config.yml").write_text(re.sub(r"(?m)^  url: .*", '  url: ""', config))
    (folder / "_toc.yml").write_text("format: jb-book\nroot: book/intro\nchapters:\n- file: book/01-first\n- file: book/02-second\n")
    (folder / "book/intro.md").write_text("# A book\n\nThe first page of a small book says what it is about, in a sentence or two.\n")
    (folder / "book/references.bib").write_text("")
    notebook(folder, "01-first.ipynb", CHAPTER, widget=True)
    notebook(folder, "02-second.ipynb", ["# The second\n\nSee [counting](01-first.ipynb#counting-and-sums).", "## Only one\n\nText."])
    made, site = build(folder, "out", BOOK_SITE_URL=ADDRESS, SOURCE_DATE_EPOCH="1767225600")
    assert made.returncode == 0, made.stdout + made.stderr
    return site


def test_site_with_address(site):
    places = [url.text for url in ElementTree.parse(site / "sitemap.xml").iter("{http://www.sitemaps.org/schemas/sitemap/0.9}loc")]
    assert places == [ADDRESS + path for path in (FIRST, SECOND, "book/intro.html")]
    tree = Page(site / FIRST).tree
    tags = {tag.get("name") or tag.get("property"): tag.get("content") for tag in tree.iter("meta")}
    assert tree.xpath("//link[@rel='canonical']/@href") == [tags["og:url"]] == [ADDRESS + FIRST] and tags["og:title"] == "1 The first"
    assert tags["description"] == tags["og:description"] == CHAPTER[0].split("\n")[2]
    assert (site / tags["og:image"].removeprefix(ADDRESS)).is_file()
    links = Page(site / "404.html").tree.xpath("//a/@href")    # it is shown at any depth: its links are absolute
    assert links and all(link.startswith(ADDRESS) and (site / link.removeprefix(ADDRESS)).is_file() for link in links)
    assert Site(site).problems() == []


def test_site_without_address(tmp_path):
    config = types.SimpleNamespace(html_baseurl="")
    course_site.site_address(None, config)
    app = types.SimpleNamespace(config=config, outdir=str(tmp_path), builder=types.SimpleNamespace(format="html"))
    course_site.whole(app, None)
    assert config.html_baseurl == "" and list(tmp_path.iterdir()) == []


def test_print_pdf(site, browser, tmp_path):
    assert print_book.printed(site, tmp_path / "book.pdf", browser) == []     # the long formula is made smaller, not cut off
    assert (tmp_path / "book.pdf").read_bytes().startswith(b"%PDF") and [path.name for path in tmp_path.iterdir()] == ["book.pdf"]


def test_print_html(site, browser, tmp_path):
    text = print_book.joined(site, tmp_path)
    tree = lxml_html.document_fromstring(text)
    ids = tree.xpath("//@id")
    assert len(ids) == len(set(ids)) and not tree.xpath("//nav") and text.count(VIEW) == 1
    assert {link[1:] for link in tree.xpath("//a/@href") if link.startswith("#")} <= set(ids)
    assert not [src for src in tree.xpath("//img/@src | //link/@href") if not (tmp_path / src).resolve().is_file()]
    (tmp_path / "one.html").write_text(text, "utf-8")
    page = browser.new_page()
    page.emulate_media(media="print")
    page.goto((tmp_path / "one.html").as_uri())
    assert page.locator("h1:visible").all_inner_texts() == ["From the chain rule to BERT", "1 The first", "2 The second"]
    page.close()


def test_zip_from_folder(site, browser, tmp_path):
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
    page.goto((tmp_path / "book/search.html").as_uri() + "?q=counting")
    page.wait_for_selector("#search-results li", timeout=10_000)
    assert faults == []
    page.close()
