"""The start page and README.md: code prints what they say, cards have their pictures, embedded figures their state."""
from __future__ import annotations

import contextlib
import io
import json
from types import SimpleNamespace

import pytest

from book._ext import course_front
from tests.book.test_own_data import blocks
from tests.conftest import ROOT


def prints(code: str, names: dict) -> str:
    """What code prints; an error that the course raises on purpose is its last line."""
    from course_lib.contract import ContractError

    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        try:
            exec(compile(code, "page", "exec"), names)
        except ContractError as error:
            print(f"ContractError: {error}")
    return out.getvalue()


@pytest.mark.parametrize("page", ["book/intro.md", "README.md"])
def test_page_code_output(page):
    shown, names = [(code, text) for code, text in blocks((ROOT / page).read_text("utf-8")) if code], {}
    assert shown and all(text for _, text in shown)
    for code, text in shown:
        assert prints(code, names) == text, code


def test_card_without_picture(tmp_path):
    directive = SimpleNamespace(env=SimpleNamespace(srcdir=tmp_path), error=ValueError)
    with pytest.raises(ValueError, match="there is no book/drawings/card-pixelrnn.svg"):
        course_front.Chapters.picture(directive, {"slug": "pixelrnn"})


def test_embedded_figure_state():
    notebook = json.loads((ROOT / "book/05-nade.ipynb").read_text("utf-8"))
    (state,) = course_front.stored(notebook, "NadePixels").values()
    assert state["state"]["_anywidget_id"].endswith(".NadePixels")
    assert course_front.stored(notebook, "Pixels") == {} == course_front.stored({"metadata": {}}, "NadePixels")


def test_script_element_escaped():
    what = {"esm": "x = '</script>'; y = '<!--'"}
    text = course_front.in_script(what)
    assert "</script>" not in text and "<!--" not in text and json.loads(text) == what
