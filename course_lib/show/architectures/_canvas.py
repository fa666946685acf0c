"""A canvas with the symbols of the drawings, explained in STYLE.md, that generates a self-contained SVG."""

from __future__ import annotations

from html import escape
from math import hypot
from typing import NamedTuple, Sequence

from course_lib.show.architectures import _labels

Number = float | int
Point = tuple[Number, Number]

#          role       light      dark       used for
COLOURS = {"paper": ("#ffffff", "#14181e"),                          # background
           "ink": ("#1f2933", "#dde4ea"),                            # text, operations, the flow of data
           "soft": ("#56616d", "#a7b2bd"),                           # remarks, shapes, masked paths
           "data": ("#1b6ca8", "#7fc1f3"),                           # tensors and single values
           "learn": ("#a84a17", "#f2a670"),                          # trained parameters and layers
           "data-tint": ("#e9f2f9", "#172a3a"), "learn-tint": ("#fcf0e7", "#38251a"),
           "ink-tint": ("#f0f2f4", "#262d36")}
#         kind       role    width dashes, for `Canvas.line`; STYLE.md explains the kinds
LINES = {"flow": ("ink", 1.5, ""), "stream": ("ink", 4, ""), "attend": ("data", 2.6, ""),
         "sample": ("data", 1.8, "5 3.5"), "cut": ("soft", 1, "1.5 3.5")}
SCALE = 4 / 3                                                        # 360 units are at most 480 pixels
CORNER = 9                                                           # the radius of a line's corners


class Node(NamedTuple):
    """A shape with center (x, y), width w and height h in units of `Canvas`; its methods return points (x, y)."""

    x: Number
    y: Number
    w: Number
    h: Number

    def top(self, dx: Number = 0) -> Point:
        """The midpoint of the upper side, moved dx to the right."""
        return self.x + dx, self.y - self.h / 2

    def bottom(self, dx: Number = 0) -> Point:
        """The midpoint of the lower side, moved dx to the right."""
        return self.x + dx, self.y + self.h / 2

    def left(self, dy: Number = 0) -> Point:
        """The midpoint of the left side, moved dy downwards."""
        return self.x - self.w / 2, self.y + dy

    def right(self, dy: Number = 0) -> Point:
        """The midpoint of the right side, moved dy downwards."""
        return self.x + self.w / 2, self.y + dy


class Canvas:
    """A drawing of shapes over lines. x increases to the right and y downwards, from the upper left corner.

    width, height  size of the drawing, in units of 4/3 pixels
    title          title of the drawing
    description    alternative text

    All coordinates and sizes are in these units. The methods that add a shape return its `Node`. `label` is its text,
    with math within $...$, and `size` the font size of this text, at least 12. `tied` adds a line for tied weights.
    """

    def __init__(self, width: int, height: int, title: str, description: str):
        self.width, self.height, self.title, self.description = width, height, title, description
        self._grounds: list[str] = []
        self._lines: list[str] = []
        self._shapes: list[str] = []

    # --- text --------------------------------------------------------------------------------------------------------

    def text(self, x: Number, y: Number, label: str, size: Number = 13, role: str = "ink",
             anchor: str = "middle") -> None:
        """Add the text `label` at (x, y); y is its vertical middle.

        role    key of COLOURS
        anchor  part of the text that is at x: "start", "middle" or "end"
        """
        self._shapes.append(self._text(x, y, label, size, role, anchor))

    def note(self, x: Number, y: Number, label: str, anchor: str = "middle") -> None:
        """Add a remark in small gray type, such as the shape of a tensor; x, y and `anchor` are as in `text`."""
        self.text(x, y, label, 12, "soft", anchor)

    def _text(self, x: Number, y: Number, label: str, size: Number, role: str = "ink", anchor: str = "middle",
              weight: str = "") -> str:
        lines, out = label.split("\n") if label else [], []
        for k, line in enumerate(lines):
            at = y + (k - (len(lines) - 1) / 2) * (size + 3) + size * 0.35           # from the middle to the baseline
            face, body = _labels.svg(line, size)
            out.append(f'<text class="cd-f-{role}" x="{x:g}" y="{at:.5g}" fill="{COLOURS[role][0]}" '
                       f'text-anchor="{anchor}" {face}{weight}>{body}</text>')
        return "".join(out)

    # --- shapes ------------------------------------------------------------------------------------------------------

    def tensor(self, x: Number, y: Number, w: Number, h: Number, label: str, size: Number = 13) -> Node:
        """Add a tensor, a blue box of size w x h with center (x, y)."""
        return self._node("tensor", self._box(x, y, w, h, 2, "data-tint", "data"), Node(x, y, w, h), label, size)

    def layer(self, x: Number, y: Number, w: Number, h: Number, label: str, tied: bool = False,
              size: Number = 13) -> Node:
        """Add a trained layer, a rounded box of size w x h with center (x, y); a double line marks tied weights."""
        shape = self._box(x, y, w, h, 10, "learn-tint", "learn")
        if tied:
            shape += self._box(x, y, w - 7, h - 7, 8, None, "learn", 1)
        return self._node("layer", shape, Node(x, y, w, h), label, size)

    def operation(self, x: Number, y: Number, w: Number, h: Number, label: str) -> Node:
        """Add an operation without weights, a rounded box of size w x h with center (x, y)."""
        return self._node("operation", self._box(x, y, w, h, h / 2, "ink-tint", "ink"), Node(x, y, w, h), label, 13)

    def unit(self, x: Number, y: Number, label: str, r: Number = 16, learned: bool = False, size: Number = 13) -> Node:
        """Add a unit, a circle of radius r with center (x, y); it is orange if its layer is trained (`learned`)."""
        role = "learn" if learned else "data"
        shape = self._shape("circle", f"{role}-tint", role, cx=x, cy=y, r=r)
        return self._node("unit", shape, Node(x, y, 2 * r, 2 * r), label, size)

    def weight(self, x: Number, y: Number, label: str, w: Number = 40, h: Number = 28, tied: bool = False,
               fill: str = "learn-tint", size: Number = 13) -> Node:
        """Add a named parameter, a hexagon of size w x h with center (x, y), filled with the color COLOURS[fill]."""
        shape = ""
        for inset in (0, 3) if tied else (0,):
            a, b, c = w / 2 - inset, w / 2 - 8 - inset * 0.4, h / 2 - inset
            corners = " ".join(f"{x + p:g},{y + q:g}" for p, q in ((-a, 0), (-b, -c), (b, -c), (a, 0), (b, c), (-b, c)))
            shape += self._shape("polygon", None if inset else fill, "learn", 1 if inset else 1.5, points=corners)
        return self._node("weight", shape, Node(x, y, w, h), label, size)

    def plus(self, x: Number, y: Number, r: Number = 10) -> Node:
        """Add a sum: a plus sign in a circle of radius r with center (x, y)."""
        cross = f"M{x - r + 4:g} {y:g}H{x + r - 4:g}M{x:g} {y - r + 4:g}V{y + r - 4:g}"
        shape = self._shape("circle", "paper", "ink", 1.8, cx=x, cy=y, r=r)
        shape += self._shape("path", None, "ink", 1.8, d=cross)
        return self._node("plus", shape, Node(x, y, 2 * r, 2 * r))

    def draw(self, x: Number, y: Number, r: Number = 11) -> Node:
        """Add a sample from a distribution: a diamond of half width r with center (x, y) that contains the sign ~."""
        shape = self._shape("polygon", "data-tint", "data",
                            points=f"{x - r:g},{y:g} {x:g},{y - r:g} {x + r:g},{y:g} {x:g},{y + r:g}")
        shape += self._shape("path", None, "ink", d=f"M{x - 5:g} {y + 1:g}q2.5 -4.5 5 -1t5 -1")
        return self._node("draw", shape, Node(x, y, 2 * r, 2 * r))

    def place(self, x: Number, y: Number, number: int) -> None:
        """Add a small disc with center (x, y) that contains `number`, the position of a variable in the order."""
        disc = self._shape("circle", "ink", None, cx=x, cy=y, r=8.5)
        label = self._text(x, y, str(number), 12, "paper", weight=' font-weight="600"')
        self._shapes.append(f'<g class="cd-disc">{disc}{label}</g>')

    def elsewhere(self, x: Number, y: Number, w: Number, h: Number, label: str) -> Node:
        """Add a dashed box of size w x h with center (x, y), for a part that another variant of the model has there."""
        shape = self._box(x, y, w, h, 10, None, "soft", 1.2, "6 4")
        label = self._text(x, y, label, 12, "soft")
        self._shapes.append(f'<g class="cd-node cd-elsewhere">{shape}{label}</g>')
        return Node(x, y, w, h)

    def mask(self, x: Number, y: Number, may: Sequence[Sequence[bool | int]], cell: Number = 12) -> Node:
        """Add an attention mask with center (x, y) and square cells of side `cell`.

        may  may[i][j] is True, and the cell filled, if query i (row) may attend to key j (column)
        """
        rows, columns = len(may), len(may[0])
        left, top = x - columns * cell / 2, y - rows * cell / 2
        shape = self._shape("rect", "paper", "soft", 1, x=left, y=top, width=columns * cell, height=rows * cell)
        for i, row in enumerate(may):
            for j, open_ in enumerate(row):
                if open_:
                    shape += self._shape("rect", "data", None, x=left + j * cell + 1.5, y=top + i * cell + 1.5,
                                         width=cell - 3, height=cell - 3)
        return self._node("mask", shape, Node(x, y, columns * cell, rows * cell))

    # --- what lies around shapes -------------------------------------------------------------------------------------

    def frame(self, x: Number, y: Number, w: Number, h: Number) -> None:
        """Draw a dashed frame of size w x h with center (x, y) around a repeated part, behind all lines and shapes."""
        self._grounds.append(self._box(x, y, w, h, 12, None, "soft", 1.2, "6 4", "cd-frame"))

    def band(self, x: Number, y: Number, w: Number, h: Number) -> None:
        """Draw a tinted band of size w x h with center (x, y) behind shapes with tied weights."""
        self._grounds.append(self._box(x, y, w, h, 8, "learn-tint", None, 0, "", "cd-band"))

    def line(self, *points: Point, kind: str = "flow", head: bool = True, cut: Number | None = None) -> None:
        """Draw a line with rounded corners through `points`, each (x, y).

        kind  key of LINES
        head  whether the line ends in an arrowhead
        cut   position of the × of a masked path on the last segment, 0 at its start and 1 at its end; None: no ×
        """
        role, width, dashes = LINES[kind]
        (px, py), (qx, qy) = points[-2:]
        length, size = hypot(qx - px, qy - py), 5 + width
        ux, uy = (qx - px) / length, (qy - py) / length
        ends = [*points[:-1], (qx - ux * size * 0.8, qy - uy * size * 0.8)] if head else [*points]
        d = f"M{ends[0][0]:.5g} {ends[0][1]:.5g}"
        for before, (x, y), after in zip(ends, ends[1:], ends[2:]):  # straight to a corner, then around it
            (ax, ay), (bx, by) = (_towards((x, y), other) for other in (before, after))
            d += f"L{ax:.5g} {ay:.5g}Q{x:g} {y:g} {bx:.5g} {by:.5g}"
        d += f"L{ends[-1][0]:.5g} {ends[-1][1]:.5g}"
        self._lines.append(self._shape("path", None, role, width, dashes, f"cd-line cd-{kind}", d=d))
        if cut is not None:
            x, y = px + (qx - px) * cut, py + (qy - py) * cut
            self._lines.append(self._shape("path", None, role, 1.5, "", "cd-cross",
                                           d=f"M{x - 3.5:.4g} {y - 3.5:.4g}l7 7m-7 0l7 -7"))
        if head:
            wings = [(qx - ux * size - uy * e, qy - uy * size + ux * e) for e in (size / 2, -size / 2)]
            corners = " ".join(f"{a:.4g},{b:.4g}" for a, b in [(qx, qy), *wings])
            self._lines.append(self._shape("polygon", role, None, name="cd-head", points=corners))

    # --- writing it down ---------------------------------------------------------------------------------------------

    def _node(self, sign: str, shape: str, node: Node, label: str = "", size: Number = 13) -> Node:
        text = self._text(node.x, node.y, label, size)
        self._shapes.append(f'<g class="cd-node cd-{sign}">{shape}{text}</g>')
        return node

    def _box(self, x: Number, y: Number, w: Number, h: Number, radius: Number, fill: str | None, stroke: str | None,
             thick: Number = 1.5, dashes: str = "", name: str = "") -> str:
        return self._shape("rect", fill, stroke, thick, dashes, name, x=x - w / 2, y=y - h / 2, width=w, height=h,
                           rx=min(radius, h / 2))

    def _shape(self, tag: str, fill: str | None, stroke: str | None, thick: Number = 1.5, dashes: str = "",
               name: str = "", **geometry: Number | str) -> str:
        """Return an SVG element with CSS classes for its colors; `fill` and `stroke` are keys of COLOURS or None."""
        classes = [name] * bool(name) + [f"cd-f-{fill}"] * bool(fill) + [f"cd-s-{stroke}"] * bool(stroke)
        at: dict[str, Number | str] = {"class": " ".join(classes), **geometry}
        at["fill"] = COLOURS[fill][0] if fill else "none"
        if stroke:
            at |= {"stroke": COLOURS[stroke][0], "stroke-width": thick}
        if dashes:
            at["stroke-dasharray"] = dashes
        pairs = (f'{key}="{value if isinstance(value, str) else format(value, "g")}"' for key, value in at.items())
        return f"<{tag} {' '.join(pairs)}/>"

    def svg(self) -> str:
        """Return the SVG source; light colors are attributes of the elements, dark colors a media query."""
        dark = "".join(f".cd-f-{role}{{fill:{hue}}}.cd-s-{role}{{stroke:{hue}}}" for role, (_, hue) in COLOURS.items())
        width, height = round(self.width * SCALE), round(self.height * SCALE)
        return "\n".join([
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {self.width} {self.height}" width="{width}" '
            f'height="{height}" font-family="{_labels.SANS}" role="img" aria-label="{escape(self.title)}" '
            'style="max-width:100%;height:auto">',
            f"<title>{escape(self.title)}</title>",
            f"<desc>{escape(self.description)}</desc>",
            f"<style>@media (prefers-color-scheme:dark){{{dark}}}</style>",
            f'<rect class="cd-paper cd-f-paper" width="{self.width}" height="{self.height}" rx="10" '
            f'fill="{COLOURS["paper"][0]}"/>',
            *self._grounds, *self._lines, *self._shapes, "</svg>"]) + "\n"


def _towards(corner: Point, other: Point) -> Point:
    """Return the point on the segment from `corner` to `other` where the rounding of the corner begins."""
    (x, y), (u, v) = corner, other
    length = hypot(u - x, v - y)
    share = min(CORNER, length / 2) / length
    return x + (u - x) * share, y + (v - y) * share
