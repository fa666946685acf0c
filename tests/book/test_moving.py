"""The page for those who come from version 0.1, and the addresses that it had."""
from __future__ import annotations

from types import SimpleNamespace

import pytest
import yaml
from sphinx.errors import ExtensionError

from book._ext import course_book
from course_lib import former
from tests.conftest import ROOT
from tools import moving
from tools.site_check import Site


def toc() -> set[str]:
    """Every page that the table of contents names."""
    def files(node):
        if isinstance(node, dict):
            yield from ([node["file"]] if "file" in node else [])
            node = list(node.values())
        if isinstance(node, list):
            for part in node:
                yield from files(part)
    return set(files(yaml.safe_load((ROOT / "_toc.yml").read_text("utf-8"))))


# --- the tables -------------------------------------------------------------------------------------------------------


def test_the_tables_are_those_of_the_library():
    page = moving.PAGE.read_text("utf-8")
    assert moving.filled(page) == page, "run python tools/moving.py"
    for name in (*former.MODULES, *former.NAMES, *former.WEIGHTS, "BERTConfig", "brown_classes"):
        assert f"| `{name}` |" in page


def test_a_table_that_is_stale_or_missing_is_noticed(monkeypatch):
    page = moving.PAGE.read_text("utf-8")
    monkeypatch.setitem(former.NAMES, "Before", "After")
    assert "| `Before` | `After` |" in moving.filled(page) and moving.filled(page) != page
    with pytest.raises(ValueError, match="has the tables modules, text, moved, names, arguments; expected"):
        moving.filled(page.replace("<!-- weights:begin -->", ""))


def test_the_page_is_in_the_book_and_linked():
    assert "book/moving-to-0.2" in toc()
    for place, link in (("book/api/index.md", "(../moving-to-0.2.md)"), ("README.md", "(book/moving-to-0.2.md)"),
                        ("book/api/former.md", "(../moving-to-0.2.md)")):
        assert link in (ROOT / place).read_text("utf-8"), place


# --- the addresses ----------------------------------------------------------------------------------------------------


def application(folder, docs, format="html"):
    """What the extension asks of Sphinx."""
    builder = SimpleNamespace(
        format=format, get_outfilename=lambda name: str(folder / f"{name}.html"),
        get_relative_uri=lambda here, there: "../" * here.count("/") + f"{there}.html",
        render_partial=lambda title: {"title": title})
    return SimpleNamespace(builder=builder, env=SimpleNamespace(found_docs=set(docs), titles={name: f"On {name}" for name in docs}))


def book(folder, docs):
    """Pages as a build would have written them."""
    for name in docs:
        (folder / f"{name}.html").parent.mkdir(parents=True, exist_ok=True)
        (folder / f"{name}.html").write_text(f"<html lang='en'><body><main><h1>{name}</h1></main></body></html>")


def test_former_addresses_are_no_pages_and_lead_to_pages_of_the_book():
    assert "book/api/text" in course_book.MOVED
    for before, now in course_book.MOVED.items():
        assert before not in toc() and now and set(now) <= toc()


def test_a_former_address_leads_on_and_the_site_is_sound(tmp_path):
    docs = {name for now in course_book.MOVED.values() for name in now}
    book(tmp_path, docs)
    course_book.signposts(application(tmp_path, docs), None)
    page = (tmp_path / "book/api/text.html").read_text("utf-8")
    assert '<meta http-equiv="refresh" content="0; url=../../book/moving-to-0.2.html">' in page
    for name in course_book.MOVED["book/api/text"]:
        assert f'<a href="../../{name}.html">On {name}</a>' in page
    assert Site(tmp_path).problems() == []
    (tmp_path / "book/api/counting.html").unlink()                   # a signpost to nowhere is found by the check of the site
    assert any("text.html: dead link ../../book/api/counting.html" in fault for fault in Site(tmp_path).problems())


def test_a_page_that_stands_there_again_is_an_error_and_a_small_book_needs_no_signpost(tmp_path):
    with pytest.raises(ExtensionError, match="book/api/text is a page of the book again"):
        course_book.signposts(application(tmp_path, {"book/api/text"}), None)
    docs = {name for now in course_book.MOVED.values() for name in now}
    course_book.signposts(application(tmp_path, {"book/intro"}), None)
    course_book.signposts(application(tmp_path, docs, format="latex"), None)
    course_book.signposts(application(tmp_path, docs), ValueError("the build failed"))
    assert not list(tmp_path.iterdir())
