"""Drawings of architectures for notebooks: `drawing("nade")`; `drawings()` lists the names."""

from __future__ import annotations

import base64
import difflib
import textwrap
from html import escape
from pathlib import Path
from xml.etree import ElementTree

FOLDER = Path(__file__).parent / "architectures"                     # NAME.svg, each beside the NAME.py that makes it
SVG = "{http://www.w3.org/2000/svg}"


class Drawing:
    """A drawing of an architecture, which a notebook shows as an image.

    name           name of the drawing, such as "nade"
    svg            SVG source, with light and dark colors, which follow the theme of the page or system
    title          title in the SVG source
    description    description in the SVG source: the parts of the architecture and their order
    width, height  size of the image in pixels

    The image has a data URL, which also works in untrusted notebooks and keeps the styles of two drawings separate.

    >>> from course_lib import show
    >>> str(show.drawing("nade")).split("\\n")[0]
    'NADE with four variables: tied weights and the running sum'
    """

    def __init__(self, name: str, svg: str):
        root = ElementTree.fromstring(svg)
        self.name, self.svg = name, svg
        self.title, self.description = root.findtext(f"{SVG}title"), root.findtext(f"{SVG}desc")
        self.width, self.height = int(root.get("width")), int(root.get("height"))

    @property
    def alt(self) -> str:
        """The alternative text of the image for screen readers: title and description."""
        return f"{self.title}. {self.description}"

    def _repr_mimebundle_(self, include=None, exclude=None) -> dict[str, str]:
        """Return HTML and plain text by MIME type. The CSS class dark-light stops the book from changing the colors."""
        data = base64.b64encode(self.svg.encode()).decode()
        html = (f'<img class="course-drawing dark-light" alt="{escape(self.alt)}" width="{self.width}" '
                f'style="max-width: 100%; height: auto" src="data:image/svg+xml;base64,{data}">')
        return {"text/html": html, "text/plain": repr(self)}

    def __repr__(self) -> str:
        return f"{self.title}\n{textwrap.fill(self.description, 110)}"


def drawings() -> list[str]:
    """Return the names of all drawings, in alphabetical order."""
    return sorted(path.stem for path in FOLDER.glob("*.svg"))


def drawing(name: str) -> Drawing:
    """Return the drawing with this name, one of `drawings()`.

    Raises ValueError for an unknown name.
    """
    names = drawings()
    if name not in names:
        near = difflib.get_close_matches(name.lower().replace("-", "_").replace(" ", "_"), names, n=3, cutoff=0.4)
        raise ValueError(f"name is {name!r}; expected the name of a drawing, " + (
            f"such as {', '.join(map(repr, near))}" if near else f"one of {', '.join(names)}"))
    return Drawing(name, (FOLDER / f"{name}.svg").read_text(encoding="utf-8"))
