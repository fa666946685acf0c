"""The page on the reader's own data runs as it stands, and prints what it says that it prints."""
from __future__ import annotations

import contextlib
import io
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image

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
        names["hub"]._registered.pop("Neighbors", None)
    assert {"survey.csv", "images", "text.txt", "survey.ckpt", "log.csv", "weights"} <= {p.name for p in tmp_path.iterdir()}


def run_blocks(*needed: str) -> dict:
    """The names after the imports of the page and the blocks that contain these texts."""
    names: dict = {"__name__": "__main__"}
    codes = [code for code, _ in blocks(PAGE.read_text("utf-8"))]
    for code in [codes[0], *(next(code for code in codes if text in code) for text in needed)]:
        printed(code, names)
    return names


@pytest.mark.parametrize("separator, encoding, newline", [
    (";", "cp1252", "\r\n"), (";", "utf-8-sig", "\r\n"), (",", "utf-8-sig", "\r\n"), (",", "cp1252", "\r\n"),
    (",", "utf-8", "\n"), ("\t", "cp1252", "\r\n")])
def test_own_table(tmp_path, monkeypatch, separator, encoding, newline):
    """As German and English Excel write a table: plain CSV, CSV UTF-8, and text with tabs."""
    monkeypatch.chdir(tmp_path)
    rows = ["schön;Müller", *["1;0", "0;1", "1;1"] * 2, ";"]
    Path("survey.csv").write_bytes("".join(row.replace(";", separator) + newline for row in rows).encode(encoding))
    names = run_blocks("csv.reader(lines")
    assert names["names"] == ["schön", "Müller"] and sorted(names["train"].tolist()) == sorted([[1, 0], [0, 1], [1, 1]] * 2)


@pytest.mark.parametrize("mode, suffix", [
    ("L", "png"), ("RGB", "png"), ("RGBA", "png"), ("P", "png"), ("LA", "png"), ("1", "png"), ("I;16", "png"), ("L", "jpg"),
    ("RGB", "JPG"), ("CMYK", "jpeg")])
def test_own_images(tmp_path, monkeypatch, mode, suffix):
    monkeypatch.chdir(tmp_path)
    bright = np.kron([[1, 0], [0, 1]], np.ones((8, 8)))              # blocks as large as those of JPEG
    image = Image.fromarray((55 + bright * 150).astype(np.uint8) if mode != "I;16" else (14000 + bright * 38000).astype(np.uint16))
    Path("images").mkdir()
    (image if mode == "I;16" else image.convert("RGB").convert(mode, dither=Image.Dither.NONE)).save(f"images/a.{suffix}")
    Path("images/.DS_Store").touch()
    pixels = run_blocks("class Images(Dataset)")["Images"](sorted(Path("images").glob("a.*")))[0]
    assert pixels.dtype == torch.uint8 and torch.equal(pixels, torch.from_numpy(bright.flatten()).to(torch.uint8))


def test_own_files_other_encoding(tmp_path):
    """The blocks that write and read files, where the system's encoding is ASCII."""
    codes = [code for code, _ in blocks(PAGE.read_text("utf-8"))]
    parts = [code for code in codes if any(text in code for text in ("import csv", "imsave", "csv.reader(lines", 'read_text("text.txt")'))]
    assert len(parts) == 4
    check = "assert tokenizer.decode(tokenizer.encode(text[:50])) == text[:50] and len(x) == 3000"
    write = 'Path("text.txt").write_text("déjà vu, " * 99, encoding="utf-8")'
    (tmp_path / "page.py").write_text("\n".join([*parts[:3], write, parts[3], check]), "utf-8")
    environment = os.environ | {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0", "PYTHONPATH": str(ROOT)}
    done = subprocess.run([sys.executable, "page.py"], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
