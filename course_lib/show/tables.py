"""Tables of results: HTML in a notebook, aligned columns in a terminal."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Any


class Table:
    """A table that is shown as HTML and printed as text; the arguments are described in the function `table`.

    >>> from course_lib import show
    >>> print(show.table(["model", "nats"], [["NADE", 88.95], ["MADE", 87.82]]))
    model   nats
    NADE   88.95
    MADE   87.82
    """

    def __init__(self, columns: Sequence[str], rows: Sequence[Sequence[Any]], caption: str = ""):
        self.columns, self.caption = [str(c) for c in columns], caption
        self.rows = [[written(cell) for cell in row] for row in rows]
        numeric = [[is_number(row[k]) or row[k] is None for row in rows] for k in range(len(columns))]
        self.right = [bool(each) and all(each) for each in numeric]              # columns of numbers are aligned right

    def __repr__(self) -> str:
        lines = [self.columns, *self.rows]
        widths = [max(len(line[k]) for line in lines) for k in range(len(self.columns))]
        text = ["  ".join(cell.rjust(w) if right else cell.ljust(w)
                          for cell, w, right in zip(line, widths, self.right)).rstrip() for line in lines]
        return "\n".join([*([self.caption] if self.caption else []), *text])

    def _repr_html_(self) -> str:
        align = [' style="text-align:right"' if right else ' style="text-align:left"' for right in self.right]
        head = "".join(f'<th scope="col"{a}>{escape(c)}</th>' for c, a in zip(self.columns, align))
        body = "\n".join("<tr>" + "".join(f"<td{a}>{escape(cell)}</td>" for cell, a in zip(row, align)) + "</tr>"
                         for row in self.rows)
        caption = f"<caption>{escape(self.caption)}</caption>\n" if self.caption else ""
        return f'<table class="table course-table">\n{caption}<thead><tr>{head}</tr></thead>\n<tbody>\n{body}\n</tbody>\n</table>'


def table(columns: Sequence[str], rows: Sequence[Sequence[Any]], caption: str = "") -> Table:
    """Create a table of results: `table(["model", "nats"], [["FVSBN", "18.48 ± 0.18"], ["NADE", 17.8]])`.

    columns  titles of the columns
    rows     cells of each row, text or rounded numbers; None is an empty cell
    caption  text above the table

    Columns of numbers are aligned right. Raises ValueError if a row and `columns` differ in length.
    """
    for k, row in enumerate(rows):
        if len(row) != len(columns):
            raise ValueError(f"rows[{k}] has {len(row)} cells; expected {len(columns)}, the number of columns")
    return Table(columns, [list(row) for row in rows], caption)


def is_number(cell: Any) -> bool:
    """Whether a cell is a number, excluding booleans."""
    return isinstance(cell, (int, float)) and not isinstance(cell, bool)


def written(cell: Any) -> str:
    """Format a cell as text: an integer with separators of thousands, None as an empty string."""
    if cell is None:
        return ""
    return f"{cell:,}" if isinstance(cell, int) and not isinstance(cell, bool) else str(cell)
