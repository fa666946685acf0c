"""Pictures of results in the signs and colours of the architectures' drawings: images of pixels, squares, marks on an axis.

The course's drawings are 360 units wide, so that text of 12 units can be read on a phone; so are these.
"""
from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from course_lib.show.architectures._canvas import Canvas, Number  # noqa: E402


class Picture(Canvas):
    """A drawing with its own ground, light colours, and dark ones where the page is dark."""

    def pixels(self, x: Number, y: Number, image: Sequence[Sequence[int]], role: str = "ink") -> None:
        """A black and white image, its upper left corner at (x, y), a unit a pixel: each run of a row is one bar."""
        bars = []
        for row, line in enumerate(image):
            start = None
            for column, on in enumerate([*line, 0]):
                if on and start is None:
                    start = column
                elif not on and start is not None:
                    bars.append(f"M{x + start:g} {y + row:g}h{column - start}v1H{x + start:g}z")
                    start = None
        if bars:
            self._shapes.append(self._shape("path", role, None, d="".join(bars)))

    def square(self, x: Number, y: Number, w: Number, h: Number, role: str, opacity: float = 1.0) -> None:
        """A filled square or bar, its upper left corner at (x, y)."""
        at: dict[str, Number | str] = {"x": x, "y": y, "width": w, "height": h}
        if opacity != 1:
            at["fill-opacity"] = f"{opacity:.2f}"
        self._shapes.append(self._shape("rect", role, None, **at))

    def outline(self, x: Number, y: Number, w: Number, h: Number, role: str, thick: Number = 2) -> None:
        self._shapes.append(self._shape("rect", None, role, thick, x=x, y=y, width=w, height=h, rx=3))

    def rule(self, x: Number, y: Number, to_x: Number, to_y: Number, role: str, thick: Number = 1,
             dashes: str = "") -> None:
        """A straight line, below all shapes."""
        self._lines.append(self._shape("path", None, role, thick, dashes, d=f"M{x:.5g} {y:.5g}L{to_x:.5g} {to_y:.5g}"))

    def dot(self, x: Number, y: Number, role: str = "data", r: Number = 5) -> None:
        self._shapes.append(self._shape("circle", role, None, cx=round(x, 2), cy=y, r=r))

    def ring(self, x: Number, y: Number, role: str = "learn", r: Number = 6) -> None:
        """An open diamond: told apart from a dot by its shape, not by colour alone."""
        x = round(x, 2)
        corners = f"{x - r:g},{y:g} {x:g},{y - r:g} {x + r:g},{y:g} {x:g},{y + r:g}"
        self._shapes.append(self._shape("polygon", "paper", role, 2, points=corners))

    def turned(self, x: Number, y: Number, label: str, degrees: Number, size: Number = 12, role: str = "ink") -> None:
        """A label that begins at (x, y) and runs upwards."""
        text = self._text(0, 0, label, size, role, "start")
        self._shapes.append(f'<g transform="translate({x:g} {y:g}) rotate({-degrees:g})">{text}</g>')
