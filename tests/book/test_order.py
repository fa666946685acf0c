"""Chapters and exercises have their numbers, and each page leads to the next: read from the built pages."""
from __future__ import annotations

import re
from html import unescape

import pytest

from tests.book.test_pages import PAGES

NUMBERED = {page: re.match(r"(book|exercises|solutions)/(\d\d)-", page) for page in PAGES}
CHAPTERS = [page for page in PAGES if page.startswith("book/") and NUMBERED[page]]
TITLES = {"book": "{} ", "exercises": "Exercises {}: ", "solutions": "Solutions {}: "}


def expected(page: str) -> str:
    """How the title of a page begins."""
    match = NUMBERED[page]
    return TITLES[match[1]].format(int(match[2]))


def text(html: str) -> str:
    return " ".join(unescape(re.sub(r"<[^>]*>", " ", html)).split())


def leads(html: str) -> dict[str, tuple[str, str]]:
    """Where the links at the foot of a page lead, and what they say."""
    return {side: (link, text(title)) for side, link, title in re.findall(
        r'<a class="(left-prev|right-next)"\s+href="([^"]*)".*?prev-next-title">(.*?)</p>', html, re.S)}


@pytest.mark.parametrize("page", [page for page in PAGES if NUMBERED[page]])
def test_title_has_the_number(site, page):
    html = (site / page).read_text("utf-8")
    assert text(re.search(r"<h1>(.*?)<a", html, re.S)[1]).startswith(expected(page))
    assert re.search(r"<title>\s*(.*?)</title>", html, re.S)[1].startswith(expected(page))


def test_sidebar_has_the_numbers_and_exercises_below_their_chapter(site):
    html = (site / PAGES[0]).read_text("utf-8")
    links = re.findall(r'<li class="(toctree-l\d)[^"]*"><a class="reference internal" href="([^"#]*)">(.*?)</a>', html, re.S)
    places = {re.sub(r"^\.\./", "", link) if link.startswith("../") else f"book/{link}": (level, text(title))
              for level, link, title in links}
    levels = {"book": "toctree-l1", "exercises": "toctree-l2", "solutions": "toctree-l3"}
    for page in filter(NUMBERED.get, PAGES):
        level, title = places[page]
        assert level == levels[NUMBERED[page][1]] and title.startswith(expected(page)), (page, level, title)
    numbers = [int(NUMBERED[page][2]) for page in places if NUMBERED.get(page)]
    assert numbers == sorted(numbers)                       # each chapter's own stand together


@pytest.mark.parametrize("k", range(len(CHAPTERS)))
def test_a_chapter_leads_to_its_exercises_and_to_its_neighbours(site, k):
    page = CHAPTERS[k]
    html = (site / page).read_text("utf-8")
    found = leads(html)
    if k:
        assert found["left-prev"][0] == CHAPTERS[k - 1].removeprefix("book/")
        assert found["left-prev"][1].startswith(expected(CHAPTERS[k - 1]))
    if k + 1 < len(CHAPTERS):
        assert found["right-next"][0] == CHAPTERS[k + 1].removeprefix("book/")
        assert found["right-next"][1].startswith(expected(CHAPTERS[k + 1]))
    practice = page.replace("book/", "exercises/")
    link = re.search(r'<nav class="course-practice"[^>]*><a href="([^"]*)">(.*?)</a></nav>', html)
    assert link[1] == f"../{practice}" and text(link[2]).startswith(expected(practice))


@pytest.mark.parametrize("page", CHAPTERS)
def test_exercises_lead_to_their_solutions_and_these_to_the_next_chapter(site, page):
    practice, solved = page.replace("book/", "exercises/"), page.replace("book/", "solutions/")
    assert leads((site / practice).read_text("utf-8"))["right-next"][0] == f"../{solved}"
    assert leads((site / practice).read_text("utf-8"))["left-prev"][0] == f"../{page}"
    if page != CHAPTERS[-1]:
        after = CHAPTERS[CHAPTERS.index(page) + 1]
        assert leads((site / solved).read_text("utf-8"))["right-next"][0] == f"../{after}"
