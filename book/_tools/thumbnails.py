"""The pictures of the chapters on the start page: small drawings in the style of the architectures, a function for each chapter, whose
docstring is the text alternative.

Blue is data, orange is what is learned, gray is what is masked or to come.
"""
from __future__ import annotations

from collections.abc import Callable
from math import cos, exp, pi, sin
from pathlib import Path

from book._tools.chapters import ROOT, chapters
from book._tools.picture import Picture

DRAWINGS = ROOT / "book" / "drawings"
WIDTH, HEIGHT = 120, 72
NINE = ["..111...", ".1...1..", ".1...1..", "..1111..", ".....1..", "....1...", "...1...."]
DRAW: dict[str, Callable[[Thumbnail], None]] = {}


class Thumbnail(Picture):
    def line(self, points, role: str = "ink", thick: float = 2) -> None:
        path = "M" + "L".join(f"{x:.4g} {y:.4g}" for x, y in points)
        self._shapes.append(self._shape("path", None, role, thick, d=path))

    def dot(self, x: float, y: float, role: str = "data", r: float = 5, tint: bool = True) -> None:
        self._shapes.append(self._shape("circle", f"{role}-tint" if tint else role, role, 2, cx=round(x, 1), cy=round(y, 1), r=r))

    def box(self, x: float, y: float, w: float, h: float, role: str = "data") -> None:
        self._shapes.append(self._shape("rect", f"{role}-tint", role, 2, x=x, y=y, width=w, height=h, rx=3))

    def arrow(self, x: float, y: float, to_x: float, to_y: float, role: str = "ink") -> None:
        length = ((to_x - x) ** 2 + (to_y - y) ** 2) ** 0.5
        a, b = (to_x - x) / length, (to_y - y) / length
        self.line([(x, y), (to_x, to_y)], role, 1.6)
        self.line([(to_x - 5 * a + 3 * b, to_y - 5 * b - 3 * a), (to_x, to_y), (to_x - 5 * a - 3 * b, to_y - 5 * b + 3 * a)], role, 1.6)

    def cells(self, x: float, y: float, rows: list[str], size: float = 7) -> None:
        """A grid: 1 is data, 2 learned, 3 faint data, x masked, a blank nothing."""
        roles = {"1": "data", "2": "learn", "3": "data-tint", "x": "ink-tint", ".": "ink-tint", "i": "ink"}
        for i, row in enumerate(rows):
            for j, kind in enumerate(row):
                if kind in roles:
                    self.square(round(x + j * size, 1), round(y + i * size, 1), size - 1, size - 1, roles[kind])

    def curve(self, f, x: float, to_x: float, role: str, thick: float = 2) -> None:
        self.line([(x + (to_x - x) * k / 40, f(x + (to_x - x) * k / 40)) for k in range(41)], role, thick)

    def bars(self, x: float, heights, role: str = "data", base: float = 60, width: float = 8) -> None:
        for k, height in enumerate(heights):
            self.square(x + k * (width + 3), base - height, width, height, role)


def draws(slug: str):
    return lambda function: DRAW.setdefault(slug, function)


@draws("chain-rule")
def _(t):
    """Four circles in a row; an arrow leads from each to all that follow it."""
    for k in range(4):
        for j in range(k):
            if k - j > 1:
                top = 46 - 13 * (k - j)
                t.curve(lambda x, j=j, k=k, top=top: 42 - (46 - top) * sin(pi * (x - 18 - 28 * j) / (28 * (k - j))), 18 + 28 * j, 18 + 28 * k, "ink", 1.4)
            else:
                t.arrow(18 + 28 * j + 6, 48, 18 + 28 * k - 6, 48)
    for k in range(4):
        t.dot(18 + 28 * k, 48)


@draws("linear-models")
def _(t):
    """Seven points and a straight line through them."""
    for x, y in ((18, 52), (32, 50), (44, 40), (58, 44), (70, 30), (86, 27), (100, 16)):
        t.dot(x, y, r=3, tint=False)
    t.line([(10, 60), (110, 12)], "learn", 3)


@draws("backpropagation")
def _(t):
    """A network of two inputs, three hidden units and one output."""
    rows = [(20, (20, 52)), (60, (12, 36, 60)), (100, (36,))]
    for (x, ys), (to_x, to_ys) in zip(rows, rows[1:]):
        for y in ys:
            for to_y in to_ys:
                t.line([(x, y), (to_x, to_y)], "learn", 1.4)
    for x, ys in rows:
        for y in ys:
            t.dot(x, y, r=6)


@draws("fvsbn")
def _(t):
    """Four pixels below, four conditionals above; each is joined to the pixels before it."""
    for k in range(4):
        for j in range(k):
            t.line([(18 + 28 * j, 56), (18 + 28 * k, 18)], "learn", 1.4)
    for k in range(4):
        t.dot(18 + 28 * k, 56)
        t.dot(18 + 28 * k, 18, "learn")


@draws("nade")
def _(t):
    """Four pixels with a hidden layer each; an arrow leads from each layer to the next."""
    for k in range(4):
        x = 18 + 28 * k
        t.line([(x, 56), (x, 16)], "ink", 1.4)
        if k:
            t.arrow(x - 20, 36, x - 8, 36, "learn")
        t.dot(x, 58)
        t.box(x - 7, 29, 14, 14, "learn")
        t.dot(x, 14)


@draws("gray-levels")
def _(t):
    """A small image of squares in many levels of gray."""
    for i in range(4):
        for j in range(6):
            t.square(12 + 16 * j, 4 + 16 * i, 15, 15, "ink", round(0.08 + 0.85 * exp(-((i - 1.6) ** 2 + (j - 2.4) ** 2) / 4), 2))


@draws("real-numbers")
def _(t):
    """Two bell curves, and the curve of their mixture."""
    def bell(mean, width, high):
        return lambda x: 60 - high * exp(-((x - mean) / width) ** 2)

    left, right = bell(42, 14, 30), bell(78, 16, 42)
    t.curve(left, 8, 112, "data", 1.6)
    t.curve(right, 8, 112, "data", 1.6)
    t.curve(lambda x: left(x) + right(x) - 60, 8, 112, "learn", 3)


@draws("made")
def _(t):
    """A square matrix of weights; those above the diagonal are masked."""
    t.cells(30, 8, ["2xxxxxxx", "22xxxxxx", "222xxxxx", "2222xxxx", "22222xxx", "222222xx", "2222222x", "22222222"])


@draws("counting-text")
def _(t):
    """Nine bars, each lower than the one before: counts of words by rank."""
    t.bars(12, (50, 38, 30, 22, 17, 13, 9, 7, 5))


@draws("recurrent")
def _(t):
    """Three boxes in a row; arrows lead from below through each, and from each to the next."""
    for k in range(3):
        x = 22 + 38 * k
        t.arrow(x, 62, x, 46)
        t.arrow(x, 26, x, 10)
        if k:
            t.arrow(x - 28, 36, x - 11, 36)
        t.box(x - 10, 27, 20, 18, "learn")


@draws("pixelcnn")
def _(t):
    """A grid of pixels: the window of a masked convolution holds those above and to the left."""
    t.cells(34, 8, ["3333333", "3222223", "3222223", "3221xxx", "xxxxxxx", "xxxxxxx", "xxxxxxx"], 8)


@draws("likelihood")
def _(t):
    """Two overlapping bell curves, and a threshold between them."""
    t.curve(lambda x: 60 - 46 * exp(-((x - 44) / 15) ** 2), 8, 112, "data", 2.4)
    t.curve(lambda x: 60 - 30 * exp(-((x - 84) / 14) ** 2), 8, 112, "learn", 2.4)
    t.line([(64, 8), (64, 64)], "soft", 1.6)


@draws("documents")
def _(t):
    """Lines of a text; an arrow leads to three bars, the proportions of topics."""
    for k, length in enumerate((40, 34, 38, 26, 36)):
        t.square(10, 12 + 10 * k, length, 4, "ink", 0.5)
    t.arrow(58, 34, 70, 34)
    t.bars(76, (20, 44, 12), "data", 58)


@draws("word-vectors")
def _(t):
    """Four arrows from one point, in two pairs that nearly coincide."""
    for x, y, role in ((96, 14, "data"), (108, 26, "data"), (40, 12, "learn"), (52, 22, "learn")):
        t.arrow(14, 62, x, y, role)


@draws("fill-the-gap")
def _(t):
    """Five words, the middle one is missing; arrows come from both sides."""
    for k in range(5):
        t.box(8 + 22 * k, 40, 16, 16, "data") if k != 2 else t.outline(8 + 22 * k, 40, 16, 16, "learn")
    for x, sign in ((16, 1), (104, -1)):
        t.line([(x, 36), (x, 20)], "ink", 1.6)
        t.arrow(x, 20, 60 - 6 * sign, 20)
    t.arrow(60, 24, 60, 36, "learn")


@draws("attention")
def _(t):
    """Four boxes joined to a circle by lines of different thickness: attention weights."""
    for k, weight in enumerate((1, 2, 6, 1.5)):
        t.line([(18 + 28 * k, 54), (60, 18)], "data", weight)
        t.box(11 + 28 * k, 48, 14, 14)
    t.dot(60, 16, "learn", 8)


@draws("self-attention")
def _(t):
    """A square of attention weights, darkest along its diagonal."""
    for i in range(5):
        for j in range(5):
            t.square(28 + 13 * j, 4 + 13 * i, 12, 12, "data", round(0.1 + 0.9 * exp(-abs(i - j + (i == 3) * 2) * 0.9), 2))


@draws("positions")
def _(t):
    """Three waves of different length, one above the other."""
    for k, role in enumerate(("data", "learn", "soft")):
        t.curve(lambda x, k=k: 36 + 22 * sin((x - 8) / (5 * 2 ** k)), 8, 112, role, 2.4)


@draws("transformer")
def _(t):
    """Two stacks of blocks; lines lead from the encoder to each block of the decoder."""
    for x in (22, 74):
        for k in range(3):
            t.box(x, 46 - 19 * k, 26, 14, "learn" if k % 2 else "data")
    for k in range(3):
        t.arrow(50, 16, 72, 53 - 19 * k)


@draws("training-a-transformer")
def _(t):
    """A learning rate that rises and then falls, and a curve of accuracy that rises."""
    t.line([(8, 62), (32, 12), *((32 + 2 * k, 62 - 50 * (32 / (32 + 8 * k)) ** 0.5) for k in range(1, 41))], "learn", 3)
    t.curve(lambda x: 14 + 34 * (1 - exp(-(x - 8) / 30)), 8, 112, "data", 2)


@draws("gpt")
def _(t):
    """Five tokens below and five above; each above is joined to those at or before its place."""
    for k in range(5):
        t.box(8 + 22 * k, 46, 16, 16)
        for j in range(k + 1):
            t.line([(16 + 22 * j, 44), (16 + 22 * k, 24)], "data" if k == 4 else "soft", 1.2)
        t.box(8 + 22 * k, 8, 16, 14, "learn")


@draws("decoding")
def _(t):
    """A tree of continuations, of which one path is marked."""
    for start, ends in (((12, 36), ((46, 18), (46, 54))), ((46, 18), ((80, 10), (80, 28))), ((46, 54), ((80, 46), (80, 64))),
                        ((80, 10), ((110, 10),)), ((80, 28), ((110, 28),))):
        for end in ends:
            t.line([start, end], "data" if end[1] < 30 else "soft", 3 if end[1] < 15 or end == (46, 18) else 1.4)
    for x, y in ((12, 36), (46, 18), (80, 10), (110, 10)):
        t.dot(x, y, r=4.5)
    for x, y in ((46, 54), (80, 28), (80, 46), (80, 64), (110, 28)):
        t.dot(x, y, "ink", 3.5)


@draws("inside-a-transformer")
def _(t):
    """Three rows of four attention heads, one of them crossed out."""
    for i in range(3):
        for j in range(4):
            role = "learn" if (i, j) in ((1, 2),) else "data"
            t.box(14 + 25 * j, 6 + 22 * i, 17, 16, role)
    t.line([(62, 26), (83, 46)], "learn", 3)
    t.line([(83, 26), (62, 46)], "learn", 3)


@draws("bert")
def _(t):
    """Five tokens, one of them masked; each token above is joined to all below."""
    for k in range(5):
        for j in range(5):
            t.line([(16 + 22 * j, 46), (16 + 22 * k, 26)], "soft" if k != 2 else "data", 1.2)
    for k in range(5):
        t.outline(8 + 22 * k, 46, 16, 16, "learn") if k == 2 else t.box(8 + 22 * k, 46, 16, 16)
        t.box(8 + 22 * k, 8, 16, 16, "learn")


@draws("fine-tuning")
def _(t):
    """A stack of three layers with a small head on top, and an arrow from the bottom to the head."""
    for k in range(3):
        t.box(24, 52 - 15 * k, 52, 11, "data")
    t.box(36, 6, 28, 11, "learn")
    t.arrow(84, 60, 84, 12, "learn")


@draws("denoising")
def _(t):
    """Five tokens below, two of them corrupted; an arrow leads to five whole tokens above."""
    for k in range(5):
        t.square(8 + 22 * k, 46, 16, 16, "ink-tint" if k in (1, 3) else "data")
        t.square(8 + 22 * k, 8, 16, 16, "data")
    t.arrow(60, 42, 60, 28, "learn")


@draws("embeddings-and-probes")
def _(t):
    """Two groups of points and a line between them."""
    for k in range(7):
        angle = 2 * pi * k / 7
        t.dot(36 + 18 * cos(angle), 26 + 14 * sin(angle), r=3, tint=False)
        t.dot(84 + 18 * cos(angle), 48 + 14 * sin(angle), "learn", r=3, tint=False)
    t.line([(30, 66), (92, 6)], "ink", 2.4)


@draws("prompting-and-retrieval")
def _(t):
    """Four passages; an arrow leads from one of them to an answer."""
    for k in range(4):
        t.box(10, 6 + 16 * k, 40, 12, "learn" if k == 1 else "data")
    t.arrow(54, 28, 76, 36, "learn")
    t.box(80, 24, 30, 24, "learn")


def wanted() -> dict[Path, str]:
    files = {}
    for slug, row in chapters().items():
        art = Thumbnail(WIDTH, HEIGHT, row["title"], DRAW[slug].__doc__)
        DRAW[slug](art)
        files[DRAWINGS / f"card-{slug}.svg"] = art.svg()
    return files


def problems() -> list[str]:
    return [f"thumbnails.py draws {slug}, which is no chapter" for slug in DRAW.keys() - chapters().keys()]
