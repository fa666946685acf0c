"""Progress as a picture: a row for each chapter, a square for each exercise, told apart by form as well as by colour."""
from __future__ import annotations

import base64
import io
from collections import Counter
from collections.abc import Mapping, Sequence
from html import escape

from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.patches import Polygon, Rectangle

from course_lib.show.style import ACCENT, INK, SECOND

FAINT = "#7b8794"                        # more than 3 to 1 on white: lines, no words
STEP, SIDE = 0.27, 0.19                  # inches from square to square, and of a square
LABELS, SUMS = 2.5, 2.5                  # inches for the names at the left, for the sums at the right
DPI = 200
Row = tuple[str, Sequence[str], str]     # a chapter's name, the standing of each of its exercises, its sum


def figure(rows: Sequence[Row], meaning: Mapping[str, str]) -> Figure:
    """The rows, and below them what the squares mean.

    rows: (name, standings, sum) of each chapter, and of all, without standings. A standing is a key of `meaning`, which has its
    words. The figure belongs to no window. Raises ValueError for a standing that has no words.
    """
    for name, standings, _ in rows:
        if unknown := [one for one in standings if one not in meaning]:
            raise ValueError(f"the standing of an exercise of {name} is {unknown[0]!r}; it is one of {', '.join(meaning)}")
    most = max((len(standings) for _, standings, _ in rows), default=0)
    width, height = LABELS + most * STEP + SUMS, (len(rows) + 2.2) * STEP
    fig = Figure(figsize=(width, height), facecolor="white")
    FigureCanvasAgg(fig)
    ax = fig.add_axes((0, 0, 1, 1), xlim=(0, width), ylim=(height, 0))
    ax.axis("off")
    for k, (name, standings, total) in enumerate(rows):
        y = (k + 0.5) * STEP + STEP / 4
        ax.text(0.1, y, name, va="center", fontsize=9, color=INK)
        for i, standing in enumerate(standings):
            square(ax, standing, LABELS + (i + 0.5) * STEP, y)
        ax.text(width - 0.1, y, total, va="center", ha="right", fontsize=9, color=INK)
    x, y = 0.1 + SIDE / 2, height - 0.75 * STEP
    for standing, words in meaning.items():
        square(ax, standing, x, y)
        ax.text(x + 0.16, y, words, va="center", fontsize=8, color=INK)
        x += 0.5 + 0.068 * len(words)
    return fig


def square(ax: Axes, standing: str, x: float, y: float) -> None:
    """The sign of one exercise, its middle at (x, y): full with a tick, half full, with a stroke, a rhombus, or a faint
    outline."""
    h = SIDE / 2
    left, right, top, bottom = x - h, x + h, y - h, y + h            # the axis of y goes down
    if standing == "changed":
        ax.add_patch(Polygon([(x, top), (right, y), (x, bottom), (left, y)], fill=False, edgecolor=ACCENT, linewidth=1.5))
        return
    edge, line = {"solved": (SECOND, 1.2), "partly": (SECOND, 1.2), "tried": (ACCENT, 1.5)}.get(standing, (FAINT, 0.7))
    ax.add_patch(Rectangle((left, top), SIDE, SIDE, facecolor=SECOND if standing == "solved" else "white",
                           edgecolor=edge, linewidth=line))
    if standing == "solved":
        ax.plot([x - 0.55 * h, x - 0.12 * h, x + 0.6 * h], [y, y + 0.5 * h, y - 0.5 * h], color="white", linewidth=1.5)
    elif standing == "partly":
        ax.add_patch(Polygon([(left, top), (right, bottom), (left, bottom)], facecolor=SECOND, edgecolor=SECOND, linewidth=0.5))
    elif standing == "tried":
        ax.plot([x - 0.5 * h, x + 0.5 * h], [y + 0.5 * h, y - 0.5 * h], color=ACCENT, linewidth=1.5)


def alt(rows: Sequence[Row], meaning: Mapping[str, str]) -> str:
    """The picture in words: how many exercises of each standing there are, in all and in each chapter that is begun."""
    whole = Counter(one for _, standings, _ in rows for one in standings)
    begun = [f"{name}: {counted(Counter(standings), meaning)}." for name, standings, _ in rows if {*standings} - {"new"}]
    return " ".join([f"A row of squares for each of {sum(bool(one[1]) for one in rows)} chapters, a square for each exercise. All: "
                     f"{counted(whole, meaning)}.", *begun])


def counted(found: Mapping[str, int], meaning: Mapping[str, str]) -> str:
    """So many of each standing, those left out of which there is none."""
    return ", ".join(f"{found[one]} {'with ' * ('points' in words)}{words}" for one, words in meaning.items() if found.get(one))


def image(rows: Sequence[Row], meaning: Mapping[str, str]) -> str:
    """The picture as HTML that holds all of it: an image with its alternative text, on white in either theme."""
    fig, data = figure(rows, meaning), io.BytesIO()
    fig.savefig(data, format="png", dpi=DPI, facecolor="white")
    return (f'<img alt="{escape(alt(rows, meaning))}" width="{round(100 * fig.get_figwidth())}" style="max-width: 100%; '
            f'background: #fff; border-radius: 4px" src="data:image/png;base64,{base64.b64encode(data.getvalue()).decode()}">')
