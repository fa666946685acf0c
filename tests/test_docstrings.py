"""Every public module, class and function of the library says what it is."""
from __future__ import annotations

import ast
import inspect
import re
from functools import cached_property
from importlib import import_module
from pathlib import Path
from types import FunctionType

import pytest

from tests.conftest import ROOT
from tests.support.imports import python_files

METHODS = (FunctionType, classmethod, staticmethod, property, cached_property)
Definition = ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef


def silent(folder: Path, root: Path) -> list[str]:
    """`file:line name` of every public module, class, function and method without a docstring.

    Names that begin with an underscore are private, and so is what lies within them. A method that overrides another one
    inherits its docstring, as `inspect.getdoc` finds it; a property's setter has that of its getter.
    """
    found = []
    for path in python_files(folder):
        where = path.relative_to(root)
        if any(part.startswith("_") and part != "__init__.py" for part in where.parts):
            continue
        if where.parts[-3:-2] == ("bank",):                          # an exercise's file offers one thing, `exercise`
            continue
        tree = ast.parse(path.read_text("utf-8"))
        if tree.body and not ast.get_docstring(tree):
            found.append(f"{where}:1 the module")
        parts = where.with_suffix("").parts
        module = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        found += [f"{where}:{node.lineno} {name}" for name, node in public(tree)
                  if not ast.get_docstring(node) and not inherited(module, name)]
    return found


def public(tree: ast.Module | ast.ClassDef, prefix: str = ""):
    """Name and definition of what can be reached from outside: at the top and in classes, not inside functions."""
    for node in tree.body:
        if isinstance(node, Definition) and not node.name.startswith("_") and not is_setter(node):
            yield prefix + node.name, node
            if isinstance(node, ast.ClassDef):
                yield from public(node, f"{prefix}{node.name}.")


def is_setter(node: Definition) -> bool:
    return any(isinstance(each, ast.Attribute) and each.attr in ("setter", "deleter") for each in node.decorator_list)


def inherited(module: str, name: str) -> bool:
    """Does the method override one that has a docstring?"""
    holder, _, method = name.rpartition(".")
    if not holder:
        return False
    thing = import_module(module)
    for part in holder.split("."):
        thing = getattr(thing, part)
    overridden = [vars(base)[method] for base in thing.__mro__[1:-1] if method in vars(base)]
    return any(isinstance(each, METHODS) and inspect.getdoc(each) for each in overridden)


def test_everything_public_has_a_docstring():
    found = silent(ROOT / "course_lib", ROOT)
    assert not found, f"{len(found)} without a docstring:\n" + "\n".join(found)


# --- on a planted tree -----------------------------------------------------------------------------------------------

RIGHT = '''"""A module."""


class Base:
    """A class."""

    def forward(self):
        """What it does."""

    def _private(self):
        def inner():
            pass

    def __init__(self):
        pass

    @property
    def size(self):
        """How many."""

    @size.setter
    def size(self, value):
        pass


class Derived(Base):
    """Another one."""

    rate = 1.0

    def forward(self):
        pass


class Further(Derived):
    """A third one."""

    @property
    def rate(self):
        """An attribute of the base says nothing of it."""


class _Hidden:
    def f(self):
        pass
'''


@pytest.fixture
def planted(tmp_path, monkeypatch):
    """planted(source): what is silent in a package of this one module."""
    def planted(source, name="planted_package"):
        folder = tmp_path / name
        folder.mkdir()
        (folder / "__init__.py").write_text("")
        (folder / "_private.py").write_text("def f():\n    pass\n")
        (folder / "shapes.py").write_text(source)
        monkeypatch.syspath_prepend(tmp_path)
        return silent(folder, tmp_path)
    return planted


def test_what_speaks_is_right(planted):
    assert planted(RIGHT, "planted_right") == []


@pytest.mark.parametrize("old, new, sentence", [
    ('"""A module."""', "", "shapes.py:1 the module"),
    ('    """A class."""', "", "shapes.py:4 Base"),
    ('        """What it does."""', "        pass", "shapes.py:7 Base.forward"),
    ('        """How many."""', "        pass", "shapes.py:18 Base.size"),
    ("def _private", "def public", "shapes.py:10 Base.public"),
    ('        """An attribute of the base says nothing of it."""', "        pass", "shapes.py:39 Further.rate"),
    ("class _Hidden", "class Hidden", "shapes.py:43 Hidden"),
    ("class Derived(Base)", "class Derived", "shapes.py:31 Derived.forward"),
])
def test_what_is_silent_is_found(planted, old, new, sentence):
    name = "planted_" + re.sub(r"\W", "_", sentence)                  # modules are imported under it: one for each row
    assert RIGHT.count(old) == 1 and f"{name}/{sentence}" in planted(RIGHT.replace(old, new), name)
