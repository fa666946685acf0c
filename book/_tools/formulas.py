"""The page of formulas: every numbered equation of the chapters, book/formulas.md."""
from __future__ import annotations

import json
import re
from pathlib import Path
from typing import NamedTuple

from book._tools.chapters import ROOT, chapters
from book._tools.slide_map import slug

PAGE = ROOT / "book" / "formulas.md"
PIECE = re.compile(r"^(?P<fence>```|~~~).*?^(?P=fence)[ \t]*$|^##+ (?P<title>[^\n]+?)[ \t]*$"
                   r"|^\$\$(?P<formula>.+?)\$\$[ \t]*$", re.S | re.M)
NUMBER = re.compile(r"\\tag\{([^}]*)\}")
INTRO = """\
# Formulas

Every numbered equation of the chapters, in their order, under the section that derives it. The symbols stand on the
[notation page](notation.md). `python book/_tools/generate.py formulas` writes this page from the chapters."""


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
    for chapter in chapters().values():
        out += ["", f"## {int(chapter['number'])} {chapter['title']}"]
        for file in (chapter["notebook"], f"deeper/{chapter['notebook']}"):
            former = None
            for formula in formulas(ROOT / "book" / file) if (ROOT / "book" / file).is_file() else []:
                if formula.section != former:
                    former = formula.section
                    out += ["", f"[{former or chapter['title']}]({file}{'#' + slug(former) if former else ''})"]
                out += ["", f"$${formula.tex}$$"]
    return "\n".join(out) + "\n"


def wanted() -> dict[Path, str]:
    return {PAGE: page()}
