"""The page on the reader's own data runs as it stands, and prints what it says that it prints."""
from __future__ import annotations

import contextlib
import io
import re

import torch

from tests.conftest import ROOT

PAGE = ROOT / "book" / "your-own-data.md"
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.M | re.S)


def blocks(page: str) -> list[tuple[str, str]]:
    """Each block of code with what the page says that it prints: the block of text right below it, or nothing."""
    found = []
    for match in BLOCK.finditer(page):
        kind, body = match.groups()
        if kind == "python":
            found.append((body, ""))
        elif kind == "text":
            found = [*found[:-1], (found[-1][0] if found else "", body)]
    return found


def printed(code: str, names: dict) -> str:
    """What a block prints, run after those before it."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        exec(compile(code, str(PAGE), "exec"), names)
    return out.getvalue()


def test_page_code_output(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    torch.manual_seed(0)
    names: dict = {"__name__": "__main__"}
    shown = blocks(PAGE.read_text("utf-8"))
    assert len(shown) > 12 and sum(bool(text) for _, text in shown) > 8
    try:
        for code, text in shown:
            assert printed(code, names) == text, code
    finally:
        names["hub"]._registered.pop("Neighbours", None)
    assert {"survey.csv", "images", "text.txt", "survey.ckpt", "log.csv", "weights"} <= {p.name for p in tmp_path.iterdir()}
