"""Pictures of results in the style of the architectures' drawings, light and dark: images of pixels, squares, charts.

They are 360 units wide, as those drawings are, so that text of 12 units can be read on a phone.
"""
from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from course_lib.show.architectures._canvas import Canvas, Number

LEFT, RIGHT = 14, 346


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

    def cover(self, x: Number, y: Number, side: int, seconds: float) -> None:
        """Hides a square image of so many pixels, and uncovers it row by row, in each row from left to right, once."""
        if not any("@keyframes" in shape for shape in self._grounds):
            self._grounds.append(
                "<style>.cover{display:none}@media (prefers-reduced-motion:no-preference){.cover{display:block}"
                f".cover>g{{animation:down {seconds:g}s steps({side}) both}}.cover rect:first-child{{animation:along {seconds / side:g}s "
                f"steps({side}) {side}}}@keyframes down{{to{{transform:translateY({side}px)}}}}"
                f"@keyframes along{{to{{transform:translateX({side}px)}}}}}}</style>")
        bars = self._shape("rect", "ink-tint", None, width=side, height=1.3) + self._shape("rect", "ink-tint", None, y=1, width=side, height=side)
        self._shapes.append(f'<svg class="cover" x="{x:g}" y="{y:g}" width="{side}" height="{side}"><g>{bars}</g></svg>')

    def outline(self, x: Number, y: Number, w: Number, h: Number, role: str) -> None:
        self._shapes.append(self._shape("rect", None, role, 2, x=x, y=y, width=w, height=h, rx=3))

    def rule(self, x: Number, y: Number, to_x: Number, to_y: Number, role: str, thick: Number = 1) -> None:
        """A straight line, below all shapes."""
        self._lines.append(self._shape("path", None, role, thick, d=f"M{x:.5g} {y:.5g}L{to_x:.5g} {to_y:.5g}"))

    def disc(self, x: Number, y: Number) -> None:
        self._shapes.append(self._shape("circle", "data", None, cx=round(x, 2), cy=y, r=5))

    def diamond(self, x: Number, y: Number) -> None:
        """Open: distinguished from a disc by its shape, not by color alone."""
        corners = f"{x - 6:g},{y:g} {x:g},{y - 6:g} {x + 6:g},{y:g} {x:g},{y + 6:g}"
        self._shapes.append(self._shape("polygon", "paper", "learn", 2, points=corners))

    def turned(self, x: Number, y: Number, label: str) -> None:
        """A label that begins at (x, y) and runs upwards to the right."""
        text = self._text(0, 0, label, 12, "ink", "start")
        self._shapes.append(f'<g transform="translate({x:g} {y:g}) rotate(-45)">{text}</g>')


class Mark(NamedTuple):
    """A model in a chart: one value, or one for each of several orders; a standard error, and whose a paper's figure is."""

    model: str
    values: tuple[float, ...]
    error: float = 0.0
    authors: str = ""

    @property
    def figure(self) -> str:
        if len(self.values) > 1:
            return f"{min(self.values):.2f} to {max(self.values):.2f}"
        return f"{self.values[0]:.2f}" + f" ± {self.error:.2f}" * bool(self.error)


def chart(marks: list[Mark], title: str, unit: str, higher: bool) -> str:
    """The models on one axis, one below the other: a disc with its standard error, or the open diamond of a paper's figure."""
    ends = [v + sign * m.error for m in marks for v in m.values for sign in (-1, 1)]
    step = next(s for s in (0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50) if (max(ends) - min(ends)) / s <= 6)
    low, high = step * math.floor(min(ends) / step), step * math.ceil(max(ends) / step)
    heights, top = [52 if mark.authors else 38 for mark in marks], 44
    bottom = top + sum(heights)
    art = Picture(360, bottom + 44, title, description(marks, unit))

    def x(value: float) -> float:
        return round(LEFT + 6 + (value - low) / (high - low) * (RIGHT - LEFT - 12), 2)

    art.disc(LEFT + 6, 20)
    art.text(LEFT + 18, 20, "measured here", 12, "soft", "start")
    art.diamond(LEFT + 126, 20)
    art.text(LEFT + 140, 20, "reported by a paper or its author", 12, "soft", "start")
    for k in range(round((high - low) / step) + 1):
        value = low + k * step
        art.rule(x(value), top - 4, x(value), bottom + 4, "ink-tint", 1.5)
        art.text(x(value), bottom + 14, f"{value:g}", 12, "soft")
    art.text(180, bottom + 31, f"{unit}, better to the right →" if higher else f"← better    {unit}", 12, "soft")
    y: float = top
    for mark, height in zip(marks, heights):
        art.text(LEFT, y + 8, mark.model, 12.5, "ink", "start")
        art.text(LEFT, y + 22, mark.authors, 12, "soft", "start")
        line = y + height - 13
        art.rule(LEFT, line, RIGHT, line, "ink-tint", 1)
        for value in mark.values:
            if mark.error:
                art.rule(x(value - mark.error), line, x(value + mark.error), line, "data", 3)
            (art.diamond if mark.authors else art.disc)(x(value), line)
        after = max(x(max(mark.values)) + 12, x(max(mark.values) + mark.error) + 6)
        before = min(x(min(mark.values)) - 12, x(min(mark.values) - mark.error) - 6)
        fits = after + 6.8 * len(mark.figure) < RIGHT
        art.text(after if fits else before, line, mark.figure, 12, "learn" if mark.authors else "data", "start" if fits else "end")
        y += height
    return art.svg()


def description(marks: list[Mark], unit: str) -> str:
    """The chart in words."""
    each = "; ".join(f"{m.model} {m.figure}" + f" ({m.authors})" * bool(m.authors) for m in marks)
    return f"{len(marks)} models in {unit}, the best at the top: {each}."
