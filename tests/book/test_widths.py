"""The measures of what is wider than its box. Pages are measured in test_pages and test_built_pages, where they are open anyway."""
from __future__ import annotations

import pytest

from tests.book.test_pages import show  # noqa: F401  (a fixture)
from tests.book.widths import cut_off

# Each measure is tried on a page with the fault it looks for.

SCROLLER = '<div style="overflow-x: auto; {}">{}</div>'
WIDE_TABLE = '<table style="width: 2000px"><tr><td>wide</td></tr></table>'
EDGE = "border-right: 3px double; box-shadow: inset -9px 0 9px -9px"
PLANTED = {
    "code cut off by": '<pre style="overflow-x: auto">' + "code = wide " * 40 + "</pre>",
    "equation cut off by": '<div class="math" style="overflow: auto hidden; display: flex; justify-content: safe center">'
                           '<mjx-container style="position: relative; flex: none; width: 2500px"><mjx-math>x'
                           "</mjx-math></mjx-container></div>",
    "table cut off by": SCROLLER.format(EDGE, WIDE_TABLE),
    "svg cut off by": '<div style="overflow: hidden"><svg width="2500" height="9"></svg></div>',
    "output cut off by": '<div class="cell_output"><pre style="white-space: pre-wrap">'
                         + "a   b   c   " * 30 + "</pre></div>",
    "on a phone the output does not wrap": '<div class="cell_output"><pre style="overflow-x: auto">'
                                           + "said " * 20 + "</pre></div>",
    "on a phone the table scrolls without a visible edge": SCROLLER.format("", WIDE_TABLE.replace("2000", "700")),
    "on a phone the table does not scroll": '<div style="overflow-x: hidden">' + WIDE_TABLE.replace("2000", "700") + "</div>",
    "folded = wide": "<details><summary>more</summary><pre style='overflow-x: auto'>" + "folded = wide " * 40
                     + "</pre></details>",
}


@pytest.mark.parametrize("fault", PLANTED)
def test_planted_fault_is_found(show, fault):  # noqa: F811
    with show(f'<article class="bd-article">{PLANTED[fault]}</article>') as page:
        found = cut_off(page)
        assert any(fault in line for line in found), found


def test_nothing_is_found_where_all_fits(show):  # noqa: F811
    good = ("<pre>short</pre>" + SCROLLER.format(EDGE, WIDE_TABLE.replace("2000", "700"))
            + '<div class="cell_output"><pre style="white-space: pre-wrap">' + "a long sentence " * 30 + "</pre></div>")
    with show(f'<article class="bd-article">{good}</article>') as page:
        assert cut_off(page) == []
