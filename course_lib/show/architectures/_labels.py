"""Write labels with math, such as "$h_i = σ(a_i)$", as SVG text, in runs of one font, size and height."""

from __future__ import annotations

import re
from html import escape
from typing import NamedTuple

SANS = "system-ui,-apple-system,'Segoe UI',Roboto,'DejaVu Sans',sans-serif"
MATHS = "'STIX Two Text','Times New Roman',serif"
NARROW = " .,:;()[]|!'filtjI"
SCRIPT = 0.76                                                        # relative size of a sub- or superscript
HEIGHT = {1: 0.28, 0: 0, -1: -0.4}                                   # relative offset of the baseline
TOKEN = re.compile(r"""(?P<script>[_^])(?:\{(?P<many>[^}]*)\}|(?P<one>.))   # a_i, a_{i+1}, W^Q
                     | \\rm\{(?P<upright>[^}]*)\}                           # \rm{softmax}
                     | (?P<plain>[^_^\\]+)""", re.X)
PIECE = re.compile("[^\\W\\d_][\u0302\u0303]?|[^A-Za-zα-ωΑ-Ω]+")    # a letter with its hat, or other characters


class Run(NamedTuple):
    """Consecutive characters of a label with the same font, size and height."""

    text: str                                                        # the characters
    face: str                                                        # "text", or for math "upright" or "italic"
    level: int                                                       # 1 subscript, -1 superscript, 0 on the line
    size: float                                                      # font size, in units of the drawing
    back: float                                                      # distance from its start to the last run's end


def runs(label: str, size: float | int) -> list[Run]:
    r"""Split a label of font size `size` into runs.

    Within $...$ variables are italic, _ and ^ take one character or {...}, and the commands are \hat x, \tilde x and
    \rm{word}. A superscript directly after a subscript is placed above it. Two spaces are one wide space.
    """
    parts: list[Run] = []
    for k, part in enumerate(label.replace("  ", "\u2003").split("$")):
        if k % 2 == 0:
            parts += [Run(part, "text", 0, size, 0.0)] if part else []
            continue
        part = re.sub(r"\\hat\s*(\w)", "\\1\u0302", part)
        part = re.sub(r"\\tilde\s*(\w)", "\\1\u0303", part)
        last = 0                                                     # level and width of the last script
        width = 0.0
        tokens = list(TOKEN.finditer(part))
        if "".join(token[0] for token in tokens) != part or any("{" in (token["many"] or "") for token in tokens):
            raise ValueError(f"label contains ${part}$, which is not supported; expected scripts that do not nest, and "
                             r"no commands other than \hat, \tilde and \rm{...}")
        for token in tokens:
            level = {"_": 1, "^": -1}.get(token["script"] or "", 0)
            scale = size * (SCRIPT if level else 1.06)               # serif fonts look smaller
            body = token["many"] or token["one"] or token["plain"]
            pieces = [token["upright"]] if token["upright"] else PIECE.findall(body)
            back = width if level and level == -last else 0.0
            for n, piece in enumerate(pieces):
                leans = not token["upright"] and piece[0].isalpha()
                parts.append(Run(piece, "italic" if leans else "upright", level, scale, 0.0 if n else back))
            last, width = level, sum(measure(piece, scale) for piece in pieces)
    return parts


def measure(text: str, size: float | int) -> float:
    """Return the approximate width of a text of font size `size`, in the unit of `size`, for placing a superscript."""
    return size * sum(0 if c in "\u0302\u0303" else 0.36 if c in NARROW else 0.58 for c in text)


def svg(label: str, size: float | int) -> tuple[str, str]:
    """Return (attributes, content) of the SVG text element of a label; the attributes set the font of its first run."""
    parts = runs(label, size)
    base = parts[0]._replace(level=0)
    level, out = 0, ""
    for run in parts:
        at = [f'font-size="{run.size:.4g}"'] if run.size != base.size else []
        at += [f'dy="{(HEIGHT[run.level] - HEIGHT[level]) * size:.2g}"'] if run.level != level else []
        at += [f'dx="{-run.back:.2g}"'] if run.back else []
        at += _face(run.face, base.face)
        out += f"<tspan {' '.join(at)}>{escape(run.text, quote=False)}</tspan>" if at else escape(run.text, quote=False)
        level = run.level
    return " ".join([f'font-size="{base.size:.4g}"', *_face(base.face, "text")]), out


def _face(face: str, around: str) -> list[str]:
    """Return the SVG attributes that change the font from `around` to `face`, which are values of `Run.face`."""
    families, styles = {"text": SANS}, {"italic": "italic"}
    family, style = families.get(face, MATHS), styles.get(face, "normal")
    changed = [f'font-family="{family}"'] if family != families.get(around, MATHS) else []
    return changed + ([f'font-style="{style}"'] if style != styles.get(around, "normal") else [])
