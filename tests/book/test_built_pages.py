"""The pages that nobody wrote by hand, in a browser: search, indices, the sources of the library."""
from __future__ import annotations

from tests.book.conftest import pages_of, settle
from tests.book.test_pages import PAGES, PHONE, all_of, none_of, shown
from tests.book.widths import cut_off


def test_pages_made_by_the_builder(visit, address, site):
    """Shown without a fault, all of them, and nothing on them is wider than its box."""
    others = sorted(set(pages_of(site)) - set(PAGES) - {"index.html"})
    assert "search.html" in others
    sources = [path for path in others if path.startswith("_modules/course_lib/")]
    thorough = set(others) - set(sources) | set(sorted(sources, key=lambda path: (site / path).stat().st_size)[-2:])
    found = []
    for path in sorted(thorough):
        with visit(path, **PHONE) as page:
            found += [f"{path}: {fault}" for fault in all_of(page)]
    with visit("search.html") as page:            # the pages of sources differ by their code alone: two stand for all,
        for path in set(sources) - thorough:      # and the others are shown and measured one after another
            page.goto(address + path, wait_until="load")
            settle(page)
            found += [f"{path}: {fault}" for fault in shown(page) + cut_off(page)]
            page.faults.clear()
    none_of(found)
