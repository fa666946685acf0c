"""The sheet of formulas: every numbered equation of the chapters, book/formulas.md.

    python tools/formulas.py            write the page
    python tools/formulas.py --check    fail if it is stale
"""
from __future__ import annotations

import argparse
import json
import re
import sys
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from tools.chapters import chapters, finished  # noqa: E402
from tools.slide_map import slug  # noqa: E402

PAGE = ROOT / "book" / "formulas.md"
PIECE = re.compile(r"^(?P<fence>```|~~~).*?^(?P=fence)[ \t]*$|^##+ (?P<title>[^\n]+?)[ \t]*$"
                   r"|^\$\$(?P<formula>.+?)\$\$[ \t]*$", re.S | re.M)
NUMBER = re.compile(r"\\tag\{([^}]*)\}")
INTRO = """\
# Formulas

Every numbered equation of the chapters, in their order, under the section that derives it. The symbols stand on the
[notation page](notation.md). `python tools/formulas.py` writes this page from the chapters."""


class Formula(NamedTuple):
    number: str                                              # as in \\tag{4.2}
    tex: str                                                 # with its number
    section: str                                             # the nearest heading above it; empty under the title


def formulas(path: Path) -> list[Formula]:
    """The numbered equations of a chapter."""
    cells = json.loads(path.read_text("utf-8"))["cells"]
    found, section = [], ""
    for text in ("".join(cell["source"]) for cell in cells if cell["cell_type"] == "markdown"):
        for piece in PIECE.finditer(text):
            if piece["title"]:
                section = piece["title"]
            elif piece["formula"] and (number := NUMBER.search(piece["formula"])):
                found.append(Formula(number[1], piece["formula"].strip(), section))
    return found


def page() -> str:
    """The page as Markdown."""
    out = [INTRO]
    for number, chapter in finished(chapters()):
        file, former = chapter["notebook"], None
        out += ["", f"## {number} {chapter['title']}"]
        for one in formulas(ROOT / "book" / file):
            if one.section != former:
                former = one.section
                out += ["", f"[{former or chapter['title']}]({file}{'#' + slug(former) if former else ''})"]
            out += ["", f"$${one.tex}$$"]
    return "\n".join(out) + "\n"


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="fail if the page is stale")
    check, text = parser.parse_args(arguments).check, page()
    if check and (not PAGE.exists() or PAGE.read_text("utf-8") != text):
        print("book/formulas.md is stale: run python tools/formulas.py", file=sys.stderr)
        return 1
    if not check:
        PAGE.write_text(text, "utf-8", newline="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
