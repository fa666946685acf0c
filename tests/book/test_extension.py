"""The book's Sphinx extension: the repository's address, the launch buttons, docstrings, and builds that repeat."""
from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest
from docutils import nodes

from book._ext import course_book, course_docstrings, course_page
from book._tools import setup_cell
from book._tools.nb import KERNELSPEC
from tests.conftest import ROOT

ADDRESS = "https://git.example/org/course"


@pytest.mark.parametrize("given, public", [
    ("https://git.example/org/course.git", ADDRESS),
    ("https://someone:secret@git.example/org/course", ADDRESS),
    ("git@git.example:org/course.git", ADDRESS),
    ("ssh://git@git.example/org/course/", ADDRESS),
    ("/srv/mirrors/course.git", ""),
    ("file:///srv/course.git", ""),
    ("../course", ""),
    ("", ""),
])
def test_public_address(given, public):
    assert course_book.public_address(given) == public


def test_address_precedence(monkeypatch, tmp_path):
    git = ["git", "-C", str(tmp_path)]
    subprocess.run([*git, "init", "-q"], check=True)
    monkeypatch.delenv("BOOK_REPOSITORY_URL", raising=False)
    assert course_book.address("", tmp_path) == ""
    subprocess.run([*git, "remote", "add", "origin", "git@git.example:org/remote.git"], check=True)
    assert course_book.address("", tmp_path) == "https://git.example/org/remote"
    assert course_book.address(ADDRESS, tmp_path) == ADDRESS
    assert course_book.address("https://github.com/executablebooks/jupyter-book", tmp_path).endswith("/remote")
    monkeypatch.setenv("BOOK_REPOSITORY_URL", "https://git.example/org/fork")
    assert course_book.address(ADDRESS, tmp_path) == "https://git.example/org/fork"


def test_punctuation_moves_to_its_own_formula():
    """A text like another one before it, here the comma after `x`, stays."""
    line = nodes.paragraph("", "", nodes.literal("", "x"), nodes.Text(", "), nodes.math("", "a"), nodes.Text(", "), nodes.literal("", "y"))
    document = nodes.section("", line)
    course_page.punctuation_stays(None, document)
    assert line.astext() == "x, a, y" and line[2].astext() == "a,"


@pytest.mark.parametrize("plain, rst", [
    ("`x` has B rows", "``x`` has B rows"),
    ("$p(x)$ and $q$", ":math:`p(x)` and :math:`q`"),
    ("already ``literal`` and :class:`Role`", "already ``literal`` and :class:`Role`"),
    ("costs 5$ or 6$", "costs 5$ or 6$"),
])
def test_docstring_to_rst(plain, rst):
    lines = [plain]
    course_docstrings.docstring_to_rst(None, "function", "f", None, None, lines)
    assert lines == [rst]


def test_docstring_displayed_math():
    lines = ["Two lines:", "", "  $$a = b,", "    c = `d`$$", "", "and $x$."]
    course_docstrings.docstring_to_rst(None, "class", "C", None, None, lines)
    assert [line for line in lines if line.strip()] == ["Two lines:", ".. math:: a = b, c = `d`", "and :math:`x`."]


def test_docstring_indented_blocks():
    assert course_docstrings.separated(["Returns:", "    the sum", "of all"]) == ["Returns:", "", "    the sum", "", "of all"]
    assert course_docstrings.separated(["- one", "  more", "- two"]) == ["- one", "  more", "", "- two"]
    assert course_docstrings.separated(["a", "b", "", "c"]) == ["a", "b", "", "c"]


def as_rst(docstring: str) -> str:
    lines = docstring.split("\n")
    course_docstrings.docstring_to_rst(None, "function", "f", None, None, lines)
    return "\n".join(lines)


def test_docstring_aligned_arguments():
    from docutils.core import publish_doctree

    text = as_rst("One line.\n\nn, m     sizes, with `code` and\n         $maths$ below\n`x`      the rest\n**more   all  others\n\nThe end.")
    tree = publish_doctree(text.replace(":math:", ""), settings_overrides={"report_level": 2, "halt_level": 2})
    items = [(item[0].astext(), item[1].astext()) for item in tree.findall(nodes.definition_list_item)]
    assert items == [("n, m", "sizes, with code and\nmaths below"), ("x", "the rest"), ("**more", "all  others")]
    assert [p.astext() for p in tree if isinstance(p, nodes.paragraph)] == ["One line.", "The end."]
    assert not list(tree.findall(nodes.block_quote))


def test_docstring_indented_list():
    assert as_rst("Two ways:\n\n  greedy  the likeliest\n  sample  a draw") == \
        "Two ways:\n\n``greedy``\n    the likeliest\n``sample``\n    a draw"


def test_docstring_indented_code():
    assert as_rst("Like so:\n\n    f(x)  # `x`\n\nDone.") == "Like so:\n\n::\n\n    f(x)  # `x`\n\nDone."


@pytest.mark.parametrize("docname, before, after", [
    ("book/04-fvsbn", "FVSBN: pixels", "4 FVSBN: pixels"), ("exercises/21-gpt", "Exercises: GPT", "Exercises 21: GPT"),
    ("solutions/21-gpt", "Solutions: GPT", "Solutions 21: GPT"), ("book/intro", "A book", "A book")])
def test_title_number(docname, before, after):
    from types import SimpleNamespace

    tree = nodes.document(None, None)
    tree += nodes.section("", nodes.title("", before), nodes.title("", "Below"), ids=["anchor"])
    course_book.numbered(SimpleNamespace(env=SimpleNamespace(docname=docname)), tree)
    assert [title.astext() for title in tree.findall(nodes.title)] == [after, "Below"] and tree[0]["ids"] == ["anchor"]


ROWS = r"$$m = \begin{pmatrix} 1 \\ 2 \end{pmatrix} \tag{1.2}$$"


@pytest.fixture(scope="module")
def small_book(tmp_path_factory) -> Path:
    """A book of one page and one notebook with this book's configuration, extension and assets."""
    folder = tmp_path_factory.mktemp("small")
    for name in ("_config.yml", "book/_ext", "book/_assets"):
        source, target = ROOT / name, folder / name
        target.parent.mkdir(exist_ok=True)
        (shutil.copytree if source.is_dir() else shutil.copy)(source, target)
    config = folder / "_config.yml"
    config.write_text(re.sub(r"(?m)^  url: .*", '  url: ""', config.read_text("utf-8")))       # a fork's address would be one
    (folder / "_toc.yml").write_text("format: jb-book\nroot: book/intro\nchapters:\n- file: book/01-toy\n")
    (folder / "book/intro.md").write_text("# A book\n\nSee [the chapter](01-toy.ipynb) and $x^2$.\n")
    (folder / "book/references.bib").write_text("")
    notebook = nbformat.v4.new_notebook(
        metadata={"language_info": {"name": "python"}, "kernelspec": KERNELSPEC},
        cells=[nbformat.v4.new_markdown_cell("# A chapter\n\n$$x = 1 \\tag{1.1}$$\n\n" + ROWS, id="a"),
               nbformat.v4.new_code_cell("print(1)", id="b")])
    nbformat.write(notebook, str(folder / "book/01-toy.ipynb"))
    return folder


def build(folder: Path, output: str, **environment):
    """Build as `make book` does; returns the process and the folder of the site."""
    clean = {k: v for k, v in os.environ.items() if not k.startswith("BOOK_")}
    command = [str(Path(sys.executable).with_name("jupyter-book")), "build", str(folder), "--path-output",
               str(folder / output), "-W", "-n", "--keep-going", "--quiet"]
    made = subprocess.run(command, capture_output=True, text=True, cwd=folder, env={**clean, **environment})
    return made, folder / output / "_build" / "html"


def launch_links(site: Path) -> list[str]:
    page = (site / "book/01-toy.html").read_text("utf-8")
    return re.findall(r'href="(https://(?:colab|mybinder)[^"]*)"', page)


@pytest.mark.thorough
def test_build_without_address(small_book):
    made, site = build(small_book, "plain")
    assert made.returncode == 0, made.stdout + made.stderr
    assert launch_links(site) == []
    page = (site / "book/01-toy.html").read_text("utf-8")
    assert r"\[m = \begin{pmatrix} 1 \\ 2 \end{pmatrix} \tag{1.2}\]" in page and "begin{split}" not in page
    assert "executablebooks/jupyter-book" not in page and 'class="btn btn-sm btn-source-' not in page


@pytest.mark.thorough
def test_build_with_address(small_book):
    made, site = build(small_book, "public", BOOK_REPOSITORY_URL="git@github.com:org/course.git")
    assert made.returncode == 0, made.stdout + made.stderr
    links = launch_links(site)
    assert "https://colab.research.google.com/github/org/course/blob/main/book/01-toy.ipynb" in links
    assert any(link.startswith("https://mybinder.org/v2/gh/org/course/main?") and "book/01-toy.ipynb" in link
               for link in links), links
    page = (site / "book/01-toy.html").read_text("utf-8")
    assert "https://github.com/org/course/issues/new" in page
    assert "secret" not in page


@pytest.mark.thorough
def test_build_other_setup_address(small_book, tmp_path):
    folder = tmp_path / "fork"
    shutil.copytree(small_book, folder, ignore=shutil.ignore_patterns("_build", "plain", "public", "one", "two"))
    chapter = folder / "book/01-toy.ipynb"
    nb = nbformat.read(chapter, 4)
    nb.cells[1].source = setup_cell.text({"url": "https://github.com/former/course"})
    nb.cells[1].metadata["tags"] = list(setup_cell.TAGS)
    nbformat.write(nb, str(chapter))
    made, site = build(folder, "public", BOOK_REPOSITORY_URL="https://github.com/org/course")
    assert made.returncode == 0, made.stdout + made.stderr
    assert [link for link in launch_links(site) if "colab" in link] == []
    assert any("mybinder.org/v2/gh/org/course/main?" in link for link in launch_links(site))


@pytest.mark.thorough
def test_build_repeatable(small_book):
    sites = [build(small_book, name, SOURCE_DATE_EPOCH="1767225600", TZ=zone)[1]
             for name, zone in (("one", "UTC"), ("two", "Asia/Tokyo"))]
    first, second = ({file.relative_to(site): file.read_bytes() for file in site.rglob("*") if file.is_file()}
                     for site in sites)
    assert first.keys() == second.keys()
    assert [name for name in first if first[name] != second[name]] == []


@pytest.mark.thorough
@pytest.mark.parametrize("text, warning", [
    ("[nowhere](02-missing.ipynb)", "02-missing.ipynb"),
    ("{ref}`nothing`", "nothing"),
    ("{cite}`nobody2020`", "nobody2020"),
    ("{func}`course_lib.missing`", "course_lib.missing"),
    ("```{explorable} 01-toy.ipynb NadePixels\n```", "01-toy.ipynb stores 0 figures of the class NadePixels; expected 1"),
])
def test_build_broken_reference(small_book, tmp_path, text, warning):
    folder = tmp_path / "broken"
    shutil.copytree(small_book, folder, ignore=shutil.ignore_patterns("_build", "plain", "public", "one", "two"))
    (folder / "book/intro.md").write_text(f"# A book\n\n{text}\n")
    made, _ = build(folder, "out")
    assert made.returncode != 0
    assert warning in made.stdout + made.stderr
