"""Tables of results: the same cells as HTML and as text."""
from __future__ import annotations

from html.parser import HTMLParser

import pytest

from course_lib import show


class Cells(HTMLParser):
    """The text of each cell, row by row."""

    def __init__(self):
        super().__init__()
        self.rows, self.open = [], False

    def handle_starttag(self, tag, attributes):
        if tag == "tr":
            self.rows.append([])
        self.open = tag in ("td", "th")
        if self.open:
            self.rows[-1].append("")

    def handle_data(self, data):
        if self.open:
            self.rows[-1][-1] += data

    def handle_endtag(self, tag):
        self.open = False


def test_table_html_and_text():
    made = show.table(["model", "nats"], [["a <b> & c", 18.48], ["table", 12345], ["none", None]], caption="what & why")
    reader = Cells()
    reader.feed(made._repr_html_())
    assert reader.rows == [["model", "nats"], ["a <b> & c", "18.48"], ["table", "12,345"], ["none", ""]]
    assert repr(made).split("\n") == ["what & why", "model        nats", "a <b> & c   18.48", "table      12,345", "none"]
    assert "<caption>what &amp; why</caption>" in made._repr_html_() and 'scope="col"' in made._repr_html_()


def test_table_bad_row():
    with pytest.raises(ValueError, match=r"rows\[1\] has 1 cells; expected 2, the number of columns"):
        show.table(["a", "b"], [[1, 2], [3]])
