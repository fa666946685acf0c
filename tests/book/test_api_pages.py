"""Every public module of the library stands on one page of its reference, and every such page in the table of contents."""
from __future__ import annotations

import ast
import re
from importlib import import_module

from tests.conftest import ROOT

API = ROOT / "book" / "api"
DIRECTIVE = re.compile(r"^\.\. automodule:: (\S+)(?:\n +:members: (\S.*))?$", re.M)


def modules() -> set[str]:
    """The modules that a user calls. Of the grader and of the figures, a page shows what a user calls, not their modules."""
    found = set()
    for path in (ROOT / "course_lib").rglob("*.py"):
        name = ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
        if not name.startswith(("course_lib.grading.", "course_lib.exercises", "course_lib.show.architectures.", "course_lib.explorables.")) and not any(part.startswith("_") for part in name.split(".")) and any(
                isinstance(node, (ast.ClassDef, ast.FunctionDef)) and not node.name.startswith("_")
                for node in ast.parse(path.read_text("utf-8")).body):
            found.add(name)
    return found


def shown() -> list[tuple[str, str]]:
    """The modules that the pages show, and which of their names, if a page lists some."""
    return [found for page in API.glob("*.md") for found in DIRECTIVE.findall(page.read_text("utf-8"))]


def test_modules_shown_once():
    names = [name for name, _ in shown()]
    assert len(names) == len(set(names))
    missing = sorted(modules() - set(names))
    assert not missing, f"no page of book/api has an automodule of {', '.join(missing)}"


def test_shown_names_exist():
    """Sphinx stops at a name that is gone, without naming it."""
    for name, members in shown():
        module = import_module(name)
        assert not [each for each in re.findall(r"\w+", members) if not hasattr(module, each)], name
