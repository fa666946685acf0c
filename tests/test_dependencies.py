"""What is imported is declared, and what is declared is imported.

The library's dependencies are ranges in pyproject.toml; what runs and tests the course is pinned in the requirements.
"""
from __future__ import annotations

import re
import sys
import tomllib
from pathlib import Path

import pytest

from tests.conftest import ROOT
from tests.support.imports import imports_of, python_files
from tools import hashes

# Where a package is imported under another name than the one by which it is installed.
INSTALLED_AS = {"IPython": "ipython", "axe_playwright_python": "axe-playwright-python", "sklearn": "scikit-learn",
                "yaml": "pyyaml", "PIL": "pillow"}
OURS = {"benchmarks", "book", "course_lib", "tests", "tools", "netblock"}        # netblock lies beside its importer
# Declared and not imported, and why.
NOT_IMPORTED = {
    "ipywidgets": "anywidget's figures are its widgets; the range is that of the versions they were tried with",
    "jupyterlab": "a program: make lab starts it",
    "ipykernel": "what JupyterLab runs a notebook in",
}
# Which lists may hold what a folder imports.
PINNED = {"tools": ["requirements.txt"], "tests": ["requirements.txt"],
          "benchmarks": ["requirements.txt", "requirements-bench.txt"], "book/_ext": ["requirements-book.txt"]}


def third_party(folder: Path) -> dict[str, str]:
    """Installed names of the packages that the files of a folder import, with the first place of each."""
    found: dict[str, str] = {}
    for path in python_files(folder):
        for line, module, *_ in imports_of(path, "relative"):
            name = module.split(".")[0]
            if name not in {"relative", *OURS, *sys.stdlib_module_names}:
                found.setdefault(installed_as(name), f"{path.relative_to(folder)}:{line}")
    return found


def installed_as(name: str) -> str:
    return INSTALLED_AS.get(name, name).lower().replace("_", "-")


def declared(pyproject: Path) -> set[str]:
    """The names of the dependencies and of the extras."""
    project = tomllib.loads(pyproject.read_text("utf-8"))["project"]
    ranges = project["dependencies"] + sum(project.get("optional-dependencies", {}).values(), [])
    return {installed_as(re.match(r"[\w.-]+", each)[0]) for each in ranges}


def pinned(requirements: Path) -> set[str]:
    """The names in a list of exact versions, and in those that it includes."""
    names = set()
    for line in requirements.read_text("utf-8").splitlines():
        if line.startswith("-r "):
            names |= pinned(requirements.parent / line[3:].strip())
        elif line and not line.startswith("#"):
            names.add(installed_as(line.split("==")[0]))
    return names


def undeclared(folder: Path, names: set[str]) -> list[str]:
    return [f"{folder.name}/{where} imports {name}, which is not declared"
            for name, where in sorted(third_party(folder).items()) if name not in names]


def idle(folder: Path, names: set[str], justified: dict[str, str]) -> list[str]:
    """What is declared and not imported, and what is justified and needs no justification."""
    used = third_party(folder)
    said = [f"{name} is declared, and nothing imports it" for name in sorted(names - used.keys() - justified.keys())]
    said += [f"{name} is said not to be imported: {used[name]} does" for name in sorted(used.keys() & justified.keys())]
    return said + [f"{name} is said not to be imported, and not declared" for name in sorted(justified.keys() - names)]


# --- the course as it is ---------------------------------------------------------------------------------------------


def test_what_the_library_imports_is_declared():
    assert undeclared(ROOT / "course_lib", declared(ROOT / "pyproject.toml")) == []


def test_what_the_library_declares_is_imported():
    assert idle(ROOT / "course_lib", declared(ROOT / "pyproject.toml"), NOT_IMPORTED) == []


def test_what_the_library_declares_is_pinned():
    assert declared(ROOT / "pyproject.toml") <= pinned(ROOT / "requirements.txt") | pinned(ROOT / "requirements-lab.txt")


@pytest.mark.parametrize("folder", PINNED)
def test_what_the_course_imports_is_pinned(folder):
    assert undeclared(ROOT / folder, set().union(*(pinned(ROOT / name) for name in PINNED[folder]))) == []


def test_every_pin_has_its_hashes():
    assert hashes.missing(hashes.PINS, hashes.HASHED) == [], "stale: run python tools/hashes.py"
    assert len(hashes.pins(hashes.PINS)) > 150


# --- and as it must not be -------------------------------------------------------------------------------------------


@pytest.fixture
def library(tmp_path):
    folder = tmp_path / "library"
    folder.mkdir()
    (folder / "a.py").write_text("import os\nimport torch.nn as nn\nfrom course_lib import hub\nfrom . import b\n")
    (folder / "b.py").write_text("def f():\n    from sklearn.svm import SVC\n    import scipy\n")
    (tmp_path / "pyproject.toml").write_text(
        '[project]\ndependencies = ["torch>=2.4", "scikit_learn>=1.3"]\n'
        '[project.optional-dependencies]\ntext = ["SacreBLEU>=2.3"]\n')
    return folder


def test_an_import_that_is_not_declared_is_found(library, tmp_path):
    assert undeclared(library, declared(tmp_path / "pyproject.toml")) == [
        "library/b.py:3 imports scipy, which is not declared"]


def test_a_dependency_that_nothing_imports_is_found(library, tmp_path):
    names = declared(tmp_path / "pyproject.toml")
    assert names == {"torch", "scikit-learn", "sacrebleu"}
    assert idle(library, names, {}) == ["sacrebleu is declared, and nothing imports it"]
    assert idle(library, names, {"sacrebleu": "why not"}) == []


def test_a_justification_that_is_not_needed_is_found(library):
    assert idle(library, {"torch", "scikit-learn"}, {"torch": "soon", "einops": "soon"}) == [
        "torch is said not to be imported: a.py:2 does", "einops is said not to be imported, and not declared"]


def test_lists_include_lists(tmp_path):
    (tmp_path / "all.txt").write_text("# all\n-r book.txt\ntorch==2.13.0\n")
    (tmp_path / "book.txt").write_text("PyYAML==6.0.3\nsphinx_design==0.8.0\n")
    assert pinned(tmp_path / "all.txt") == {"torch", "pyyaml", "sphinx-design"}


def test_a_pin_without_its_hash_is_found(tmp_path):
    (tmp_path / "book.txt").write_text("PyYAML==6.0.3\nsphinx_design==0.8.0\n")
    (tmp_path / "all.txt").write_text("# all\n-r book.txt\ntorch==2.13.0\neinops==0.8.2\n")
    hashed = tmp_path / "hashed.txt"
    digest = f" \\\n    --hash=sha256:{64 * '0'}\n"
    hashed.write_text(f"# from all\neinops==0.8.1{digest}pyyaml==6.0.3\nsphinx-design==0.8.0{digest}")
    assert hashes.missing(tmp_path / "all.txt", hashed) == [
        "torch is not there; expected 2.13.0", "einops is 0.8.1; expected 0.8.2", "pyyaml==6.0.3 has no hash"]
