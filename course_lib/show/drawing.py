"""The drawings of the architectures, as a notebook shows them: `drawing("nade")`, and `drawings()` for the names."""

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
    """A drawing of an architecture.

    name, title   what it is called; `title` is the first sentence of the text alternative
    description   what a reader who does not see it must know: parts, order, what is absent
    svg           the file: 360 units wide, its own ground, light colours, dark ones where page or system asks for them

    A notebook shows it as an image whose address is the file itself: nothing is fetched, an untrusted notebook shows it
    too (raw SVG it would not), the page's theme reaches it, and two drawings on one page do not share styles.

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
        """Title and description, which a screen reader speaks."""
        return f"{self.title}. {self.description}"

    def _repr_mimebundle_(self, include=None, exclude=None) -> dict[str, str]:
        """HTML, and the same in words. The class dark-light tells the book's theme to leave the colours as they are."""
        data = base64.b64encode(self.svg.encode()).decode()
        html = (f'<img class="course-drawing dark-light" alt="{escape(self.alt)}" width="{self.width}" '
                f'style="max-width: 100%; height: auto" src="data:image/svg+xml;base64,{data}">')
        return {"text/html": html, "text/plain": repr(self)}

    def __repr__(self) -> str:
        return f"{self.title}\n{textwrap.fill(self.description, 110)}"


def drawings() -> list[str]:
    """The names of all drawings."""
    return sorted(path.stem for path in FOLDER.glob("*.svg"))


def drawing(name: str) -> Drawing:
    """The drawing of an architecture, by its name; `drawings()` lists them.

    Raises ValueError for a name that there is not, with the nearest ones.
    """
    names = drawings()
    if name not in names:
        near = difflib.get_close_matches(name.lower().replace("-", "_").replace(" ", "_"), names, n=3, cutoff=0.4)
        raise ValueError(f"name is {name!r}; " + (f"the nearest drawings are {', '.join(near)}" if near
                                                  else f"there are drawings of {', '.join(names)}"))
    return Drawing(name, (FOLDER / f"{name}.svg").read_text(encoding="utf-8"))
