"""Labels with maths in them: "$h_i = σ(a_i)$" as runs of text, each with its face, size and height on the line."""

from __future__ import annotations

import re
from html import escape
from typing import NamedTuple

SANS = "system-ui,-apple-system,'Segoe UI',Roboto,'DejaVu Sans',sans-serif"
MATHS = "'STIX Two Text','Times New Roman',serif"
NARROW = " .,:;()[]|!'filtjI"
SCRIPT = 0.76                                                        # size of a sub- or superscript, of its line's
HEIGHT = {1: 0.28, 0: 0, -1: -0.4}                                   # of a base line below the label's, in its size
TOKEN = re.compile(r"""(?P<script>[_^])(?:\{(?P<many>[^}]*)\}|(?P<one>.))   # a_i, a_{i+1}, W^Q
                     | \\rm\{(?P<upright>[^}]*)\}                           # \rm{softmax}
                     | (?P<plain>[^_^\\]+)""", re.X)
PIECE = re.compile("[^\\W\\d_][\u0302\u0303]?|[^A-Za-zα-ωΑ-Ω]+")    # a letter with its hat; or what is no letter


class Run(NamedTuple):
    text: str
    face: str                                                        # "text", "upright" or "italic", the last two maths
    level: int                                                       # 1 below the line, -1 above it, 0 on it
    size: float
    back: float                                                      # how far it starts before the end of the last run


def runs(label: str, size: float | int) -> list[Run]:
    r"""The runs of a label. Within $...$ variables lean, _ and ^ take one character or {...}, and there are \hat x,
    \tilde x and \rm{word}.

    A superscript right after a subscript stands above it. Two spaces are kept, as one wide space.
    """
    parts: list[Run] = []
    for k, part in enumerate(label.replace("  ", "\u2003").split("$")):
        if k % 2 == 0:
            parts += [Run(part, "text", 0, size, 0.0)] if part else []
            continue
        part = re.sub(r"\\hat\s*(\w)", "\\1\u0302", part)
        part = re.sub(r"\\tilde\s*(\w)", "\\1\u0303", part)
        last = 0                                                     # level and width of the script just written
        width = 0.0
        tokens = list(TOKEN.finditer(part))
        if "".join(token[0] for token in tokens) != part or any("{" in (token["many"] or "") for token in tokens):
            raise ValueError(f"label has ${part}$, which is no maths of the drawings: scripts do not nest, and of "
                             r"commands there are \hat, \tilde and \rm{...}")
        for token in tokens:
            level = {"_": 1, "^": -1}.get(token["script"] or "", 0)
            scale = size * (SCRIPT if level else 1.06)               # a serif looks smaller than a sans of its size
            body = token["many"] or token["one"] or token["plain"]
            pieces = [token["upright"]] if token["upright"] else PIECE.findall(body)
            back = width if level and level == -last else 0.0
            for n, piece in enumerate(pieces):
                leans = not token["upright"] and piece[0].isalpha()
                parts.append(Run(piece, "italic" if leans else "upright", level, scale, 0.0 if n else back))
            last, width = level, sum(measure(piece, scale) for piece in pieces)
    return parts


def measure(text: str, size: float | int) -> float:
    """About how wide a text is: only for a superscript's way back; the tests measure in a browser."""
    return size * sum(0 if c in "\u0302\u0303" else 0.36 if c in NARROW else 0.58 for c in text)


def svg(label: str, size: float | int) -> tuple[str, str]:
    """Attributes and content of the text element of a label; its x and y are the start of the label's base line.

    What most runs share, the face and size of the first one, stands in the attributes once.
    """
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
    """The attributes that change one face into another."""
    families, styles = {"text": SANS}, {"italic": "italic"}
    family, style = families.get(face, MATHS), styles.get(face, "normal")
    changed = [f'font-family="{family}"'] if family != families.get(around, MATHS) else []
    return changed + ([f'font-style="{style}"'] if style != styles.get(around, "normal") else [])
