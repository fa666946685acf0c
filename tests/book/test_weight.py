"""What each built page asks for, read from its file: at most fifteen requests, and no heavy one comes back."""
from __future__ import annotations

import re
from pathlib import Path

REQUESTS, BYTES = 15, 1_900_000                              # as the files lie there; sent packed it is a quarter
FONTS, FONT_BYTES = 6, 72_000                                # that MathJax fetches for formulas, as the browser shows
OWN = re.compile(r'<(?:script[^>]*\ssrc|link(?=[^>]*rel="(?:stylesheet|icon|preload)")[^>]*href'
                 r'|img(?![^>]*loading="lazy")[^>]*\ssrc)="([^":]+)"')


def asked(page: Path, sizes: dict[Path, int]) -> tuple[int, int]:
    """How many files a page asks for when it is opened, itself among them, and their bytes; figures further down come later."""
    text = page.read_text("utf-8")
    files = {(page.parent / url.split("?")[0]).resolve() for url in OWN.findall(text)}
    for file in files - set(sizes):
        sizes[file] = file.stat().st_size
    maths = "mathjax" in text
    return (1 + len(files) + FONTS * maths, len(text.encode()) + sum(sizes[file] for file in files) + FONT_BYTES * maths)


def heavy(site: Path) -> list[str]:
    sizes: dict[Path, int] = {}
    pages = {path: asked(path, sizes) for path in sorted(site.rglob("*.html")) if "_static" not in path.parts}
    return [f"{path.relative_to(site)} asks for {num} files, {size:,} bytes" for path, (num, size) in pages.items()
            if num > REQUESTS or size > BYTES]


def test_no_page_is_heavy(site):
    found = heavy(site)
    assert not found, "\n".join(found)


def test_a_heavy_page_is_found(tmp_path):
    (tmp_path / "big.js").write_bytes(b"x" * BYTES)
    (tmp_path / "a.html").write_text('<script defer src="big.js?v=1"></script>')
    (tmp_path / "b.html").write_text("".join(f'<link rel="stylesheet" href="{k}.css"/>' for k in range(15)))
    (tmp_path / "c.html").write_text('<p>light</p><img alt="later" src="big.js" loading="lazy"/>')
    for k in range(15):
        (tmp_path / f"{k}.css").write_text("")
    assert [line.split(" asks")[0] for line in heavy(tmp_path)] == ["a.html", "b.html"]
