"""The pages that nobody wrote by hand, in a browser: search, indices, the sources of the library."""
from __future__ import annotations

from tests.book.conftest import pages_of
from tests.book.test_pages import PAGES, PHONE, accessibility, none_of, on_a_phone, shown


def test_pages_made_by_the_builder(visit, site):
    """Shown without a fault, all of them."""
    others = sorted(set(pages_of(site)) - set(PAGES) - {"index.html"})
    assert "search.html" in others
    sources = [path for path in others if path.startswith("_modules/course_lib/")]
    thorough = set(others) - set(sources) | set(sorted(sources, key=lambda path: (site / path).stat().st_size)[-2:])
    found = []
    for path in others:                           # the pages of sources differ by their code alone: two stand for all
        for scheme in ("light", "dark") if path in thorough else ("light",):
            with visit(path, scheme=scheme) as page:
                faults = shown(page)
                if path in thorough:
                    faults += accessibility(page)
                found += [f"{path}, {scheme}: {fault}" for fault in faults]
        if path in thorough:
            with visit(path, **PHONE) as page:
                found += [f"{path}, on a phone: {fault}" for fault in on_a_phone(page)]
    none_of(found)
