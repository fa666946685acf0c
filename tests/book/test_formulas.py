"""The sheet of formulas has every numbered equation of the chapters, once, with a link to where it is derived."""
from __future__ import annotations

import json
import re

import pytest

from tests.conftest import ROOT
from tools import formulas

CHAPTERS = sorted((ROOT / "book").glob("[0-9]*.ipynb"))


def test_the_page_is_fresh(capsys):
    assert formulas.main(["--check"]) == 0, capsys.readouterr().err


def test_another_formula_makes_it_stale(monkeypatch, capsys):
    more = formulas.Formula("1.99", r"x \tag{1.99}", "")
    own = formulas.formulas
    monkeypatch.setattr(formulas, "formulas", lambda path: own(path) + [more] * path.name.startswith("01"))
    assert formulas.main(["--check"]) == 1 and "is stale" in capsys.readouterr().err


def test_every_number_is_there_once_in_order():
    r"""Counted apart from the tool: each \tag in the Markdown of the chapters."""
    written = [number for path in CHAPTERS for cell in json.loads(path.read_text("utf-8"))["cells"]
               if cell["cell_type"] == "markdown" for number in re.findall(r"\\tag\{([^}]*)\}", "".join(cell["source"]))]
    shown = re.findall(r"\\tag\{([^}]*)\}", formulas.PAGE.read_text("utf-8"))
    assert shown == written and len(set(shown)) == len(shown) > 100
    places = [tuple(map(int, number.split("."))) for number in shown]
    assert places == sorted(places)


@pytest.mark.parametrize("text, found", [
    ("## A `b` c\n\n$$x\n= 1 \\tag{1.1}$$\n", [("1.1", "A `b` c")]),
    ("$$x$$\n\ntext $$ y \\tag{1.2} $$ in a line", []),
    ("```text\n## No heading\n$$x \\tag{1.3}$$\n```\n\n$$y \\tag{1.4}$$", [("1.4", "")])])
def test_what_is_a_numbered_formula(tmp_path, text, found):
    path = tmp_path / "01.ipynb"
    path.write_text(json.dumps({"cells": [{"cell_type": "markdown", "source": [text]}, {"cell_type": "code", "source": ["$$z \\tag{9}$$"]}]}))
    assert [(one.number, one.section) for one in formulas.formulas(path)] == found
