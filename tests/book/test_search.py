"""The search of the built book, in a browser: a chapter is found before the pages of the library."""
from __future__ import annotations

import json
import re
from urllib.parse import quote_plus

import pytest

FIRST = {"n-gram": ["book/01-chain-rule.html"], "attention": ["book/13-self-attention.html"],
         "masking": ["book/08-pixelcnn.html", "book/13-self-attention.html", "book/18-bert.html"], "kv cache": ["book/16-gpt.html"]}


def found(page, query: str) -> list[str]:
    """The addresses that the search gives, in its order."""
    page.goto(re.sub(r"search\.html.*", f"search.html?q={quote_plus(query)}", page.url), wait_until="load")
    page.wait_for_function("() => /found|matched|not match/.test(document.querySelector('#search-results')?.textContent ?? '')"
                           " && !document.querySelector('#search-progress')?.textContent.includes('Preparing')")
    page.wait_for_function("() => Search.output && !document.querySelector('#search-results .dots:not(:empty)')")
    previous = -1
    while (now := page.locator("#search-results li").count()) != previous:
        previous = now
        page.wait_for_timeout(300)
    links = page.evaluate("[...document.querySelectorAll('#search-results li > a')].map(a => a.getAttribute('href'))")
    return list(dict.fromkeys(link.split("?")[0].split("#")[0] for link in links))


@pytest.mark.parametrize("query", FIRST)
def test_the_chapter_of_a_word_is_found_first(visit, query):
    with visit("search.html") as page:
        pages = found(page, query)
    assert pages[0] in FIRST[query], pages[:5]
    chapters = [bool(re.match(r"book/\d\d-", one)) for one in pages]
    assert chapters == sorted(chapters, reverse=True), pages    # every chapter before every other page


def test_the_page_of_the_search_knows_what_every_chapter_says(site):
    said = json.loads(re.search(r"const courseWords = (\{.*?\});<", (site / "search.html").read_text("utf-8"))[1])
    assert {f"{name}.html" for name in said} == {str(p.relative_to(site)) for p in (site / "book").glob("[0-9]*.html")}
    assert said["book/16-gpt"]["cach"] > 10 and max(map(len, said.values())) < 2000
