"""Marks mean something: each is declared, slow files say so themselves, and what texts call a test exists."""
from __future__ import annotations

import ast
import re
import tomllib
from pathlib import Path

import pytest

from tests.conftest import ROOT
from tests.support.imports import python_files

OF_PYTEST = {"filterwarnings", "parametrize", "skip", "skipif", "usefixtures", "xfail"}
SETTINGS = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["pytest"]["ini_options"]
DECLARED = {line.split(":")[0] for line in SETTINGS["markers"]}
# What people and programs read: a path below tests/ in it is a promise.
TEXTS = ["Makefile", "README.md", "CONTRIBUTING.md", "pyproject.toml", ".ci/run", ".github/workflows/*.yml", "binder/*",
         "book/*.md", "tools/*.py"]


def marks(path: Path) -> dict[str, int]:
    """The marks that a file sets, `pytest.mark.NAME`, and the first line of each."""
    found: dict[str, int] = {}
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Attribute) and ast.unparse(node.value) == "pytest.mark":
            found[node.attr] = min(node.lineno, found.get(node.attr, node.lineno))
    return found


def unknown_marks(folder: Path) -> list[str]:
    return [f"{path.relative_to(folder)}:{line} the mark {mark} is not declared in pyproject.toml"
            for path in python_files(folder) for mark, line in marks(path).items() if mark not in DECLARED | OF_PYTEST]


def broken_paths(text: str, root: Path) -> list[str]:
    """The paths below tests/ that a text names and that are not there."""
    named = re.findall(r"(?<![\w/.{])tests/[\w./-]*\w", text)
    return sorted({path for path in named if not (root / path).exists()})


# --- the tests as they are -------------------------------------------------------------------------------------------


def test_every_mark_is_declared():
    assert unknown_marks(ROOT / "tests") == []
    assert "--strict-markers" in SETTINGS["addopts"].split()


def test_every_mark_that_is_declared_is_set():
    by_conftest = {"site", "browser"}                                # for every test that uses the fixture
    assert {mark for path in python_files(ROOT / "tests") for mark in marks(path)} >= DECLARED - by_conftest


def test_what_make_leaves_out_is_declared():
    chosen = re.findall(r'-m "([^"]+)"', (ROOT / "Makefile").read_text("utf-8"))
    assert chosen and {mark for each in chosen for mark in re.findall(r"\w+", each)} <= DECLARED | {"not", "and", "or"}


@pytest.mark.parametrize("text", TEXTS)
def test_a_test_that_a_text_names_exists(text):
    paths = list(ROOT.glob(text))
    assert paths
    assert {str(path.relative_to(ROOT)): broken for path in paths
            if path.is_file() and (broken := broken_paths(path.read_text("utf-8"), ROOT))} == {}


# --- and as they must not be -----------------------------------------------------------------------------------------


def test_an_unknown_mark_is_found(tmp_path):
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "test_x.py").write_text("import pytest\npytestmark = [pytest.mark.slow, pytest.mark.slwo]\n"
                                              "@pytest.mark.parametrize('x', [])\ndef test(x): pass\n")
    assert unknown_marks(tmp_path) == ["a/test_x.py:2 the mark slwo is not declared in pyproject.toml"]


def test_a_path_that_is_not_there_is_found():
    text = "`tests/test_marks.py` proves it, tests/conftest.py and tests/grading/ too, but not tests/core/mutants.py."
    assert broken_paths(text, ROOT) == ["tests/core/mutants.py"]
