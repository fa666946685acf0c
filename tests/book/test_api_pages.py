"""Every public module of the library stands on a page of its reference, and every such page in the table of contents."""
from __future__ import annotations

import ast
import re
from importlib import import_module
from pathlib import Path

from tests.book.test_moving import toc
from tests.conftest import ROOT
from tests.support.imports import python_files

DIRECTIVE = re.compile(r"^\.\. automodule:: (\S+)", re.M)
MEMBERS = re.compile(r"^\.\. automodule:: (\S+)\n +:members: (\S.*)$", re.M)


def modules(folder: Path) -> set[str]:
    """The modules that define something public."""
    found = set()
    for path in python_files(folder):
        name = ".".join(path.relative_to(folder.parent).with_suffix("").parts).removesuffix(".__init__")
        public = any(isinstance(node, (ast.ClassDef, ast.FunctionDef)) and not node.name.startswith("_")
                     for node in ast.parse(path.read_text("utf-8")).body)
        if public and not any(part.startswith("_") for part in name.split(".")):
            found.add(name)
    return found


def shown(pages: Path) -> dict[str, str]:
    """Module -> the page that shows it."""
    return {name: page.stem for page in sorted(pages.glob("*.md")) for name in DIRECTIVE.findall(page.read_text("utf-8"))}


def test_every_public_module_is_shown():
    missing = modules(ROOT / "course_lib") - set(shown(ROOT / "book" / "api"))
    assert not missing, f"no page of book/api has an automodule of {', '.join(sorted(missing))}"


def test_every_module_that_is_shown_exists_and_is_shown_once():
    pages = ROOT / "book" / "api"
    for name, page in shown(pages).items():
        path = ROOT / Path(*name.split("."))
        assert path.with_suffix(".py").exists() or (path / "__init__.py").exists(), f"{page}.md shows {name}, which is gone"
    every = [name for page in pages.glob("*.md") for name in DIRECTIVE.findall(page.read_text("utf-8"))]
    assert sorted(every) == sorted(set(every))


def test_every_page_of_the_reference_is_in_the_table_of_contents_and_in_the_index():
    pages = {page.stem for page in (ROOT / "book" / "api").glob("*.md")}
    assert {f"book/api/{page}" for page in pages} == {name for name in toc() if name.startswith("book/api/")}
    index = (ROOT / "book" / "api" / "index.md").read_text("utf-8")
    assert {page for page in pages if f"({page}.md)" in index} == pages - {"index"}


def gone(pages: Path) -> list[str]:
    """The names that a page lists of a module and that it does not have (Sphinx falls over these without naming them)."""
    return [f"{module}.{name.strip()}" for page in sorted(pages.glob("*.md"))
            for module, names in MEMBERS.findall(page.read_text("utf-8"))
            for name in names.split(",") if not hasattr(import_module(module), name.strip())]


def test_every_name_that_a_page_lists_is_one_of_its_module(tmp_path):
    assert not gone(ROOT / "book" / "api")
    (tmp_path / "page.md").write_text("```{eval-rst}\n.. automodule:: course_lib.grading.judge.dependence\n"
                                      "   :members: repeated, dependence\n```\n")
    assert gone(tmp_path) == ["course_lib.grading.judge.dependence.dependence"]


def test_a_module_without_a_page_is_noticed(tmp_path):
    package = tmp_path / "package"
    package.mkdir()
    (package / "__init__.py").write_text("from package.a import f\n")
    (package / "a.py").write_text("def f():\n    pass\n")
    (package / "_b.py").write_text("def g():\n    pass\n")
    (package / "c.py").write_text("LIMIT = 3\n")
    assert modules(package) == {"package.a"}
    (tmp_path / "page.md").write_text("```{eval-rst}\n.. automodule:: package.a\n   :members:\n```\n")
    assert shown(tmp_path) == {"package.a": "page"}
