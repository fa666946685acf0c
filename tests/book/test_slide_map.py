"""The map from slides to sections has no orphans in either direction, and its check sees them when there are."""

import dataclasses
import re

import pytest

from tools import slide_map, slides


@pytest.fixture(scope="module")
def rows():
    return slide_map.points()


def test_every_row_points_to_something_and_every_section_is_claimed(rows):
    assert slide_map.problems(rows) == []


def test_the_page_is_what_the_table_gives(rows):
    assert slide_map.PAGE.read_text("utf-8") == slide_map.page(rows, slides.slides()), "run `python tools/slide_map.py`"


def test_each_list_has_the_slides_of_its_deck_in_order(rows):
    text = slide_map.PAGE.read_text("utf-8")
    for deck, name in slides.LISTS.items():
        part = text.split(f"## {name} ({', '.join(deck.split())})")[1].split("\n## ")[0]
        own = [s for s in slides.slides() if s.deck == deck]
        assert re.findall(r"^- \*\*(.*)\*\*\\$", part, re.M) == [slide_map.escaped(s.title) for s in own]
        assert f"<summary>{len(own)} slides: " in part


def test_each_point_has_its_details_once(rows):
    details = slide_map.PAGE.read_text("utf-8").split("## Each point")[1]
    assert sorted(re.findall(r"^(?:\| |- )\*\*([a-z0-9-]+)\*\*", details, re.M)) == sorted(p.id for p in rows)


def test_what_is_to_come_is_counted_and_no_link(rows):
    point = {p.id: p for p in rows}
    done, awaited = rows[0], dataclasses.replace(rows[-1], section="", practice="")    # as one was before its chapter stood
    point[awaited.id] = awaited
    assert done.done and not awaited.done
    own = [slides.Slide("N", "a", (done.id,)), slides.Slide("N", "b", (done.id, awaited.id)), slides.Slide("N", "c", (awaited.id,))]
    assert slide_map.count(own, point) == "3 slides: 1 in the book, 1 in part, 1 to come"
    assert slide_map.count(own[:1], point) == "1 slide: 1 in the book"
    assert slide_map.where([awaited]) == f"*to come:* {int(awaited.chapter)} {slide_map.CHAPTERS[awaited.chapter]}"
    both = slide_map.where([done, awaited, done])
    assert both.count(f"#{done.section})") == 1 and both.startswith(f"Chapter {int(done.chapter)}: [") and "; *to come:* " in both


SLIDE = next(s for s in slides.slides() if s.title == "TF-IDF")


@pytest.mark.parametrize(("before", "after", "complaint"), [
    (SLIDE, [], "tf-idf: no slide of S names it"),
    (SLIDE, [dataclasses.replace(SLIDE, deck="N")], "tf-idf: a slide of N names it, and its row does not say N"),
    (SLIDE, [dataclasses.replace(SLIDE, deck="N")], "the slides of a deck do not stand together"),
    (SLIDE, [dataclasses.replace(SLIDE, deck="B")], "'TF-IDF' is of the deck 'B'; expected one of 'A25 A24', 'N', 'S', 'T'"),
    (SLIDE, [dataclasses.replace(SLIDE, points=("tf-idf", "nothing"))], "names nothing, which is no teaching point"),
    (SLIDE, [dataclasses.replace(SLIDE, points=())], "'TF-IDF' names no teaching point"),
    (SLIDE, [SLIDE, SLIDE], "S has two slides 'TF-IDF'"),
])
def test_a_slide_that_contradicts_the_points_is_reported(rows, before, after, complaint):
    shown = [s for slide in slides.slides() for s in (after if slide == before else [slide])]
    assert any(complaint in line for line in slides.problems(shown, rows)), slides.problems(shown, rows)


def test_the_check_of_the_map_asks_the_slides_too(rows):
    assert any("tf-idf: no slide of S names it" in line for line in slide_map.problems(rows, []))


def test_all_twenty_chapters_have_rows(rows):
    assert sorted({p.chapter for p in rows}) == sorted(slide_map.CHAPTERS)
    assert all(set(p.decks.split()) <= set(slide_map.DECKS) for p in rows)


@pytest.mark.parametrize(("field", "value", "complaint"), [
    ("section", "no-such-section", "has no section #no-such-section"),
    ("section", "", "no section of it is named"),
    ("symbols", "density.NoModel", "course_lib has no density.NoModel"),
    ("symbols", "", "symbols is empty"),
    ("tests", "density/test_fvsbn.py::test_that_nobody_wrote", "there is no test"),
    ("tests", "density/no_file.py::test_x", "there is no test"),
    ("practice", "demo: #nowhere", "has no section #nowhere to demonstrate it"),
    ("practice", "", "practice is empty"),
    ("practice", "exercise: no_such_function", "has no exercise no_such_function"),
    ("practice", "exercise: bigram_bits", "has no exercise bigram_bits"),
    ("practice", "try it", "expected 'demo: #section ...; exercise: id ...; question: words'"),
    ("practice", "demo: #training", "no row claims the exercise find_leaks"),
    ("practice", "demo: #training", "fvsbn: neither an exercise nor a question of 03-fvsbn.ipynb practises it"),
    ("practice", "demo: #training; question: zebras at night", "0 questions of 03-fvsbn.ipynb have the words that it names; expected 1"),
    ("practice", "demo: #training; question: a", "questions of 03-fvsbn.ipynb have the words that it names; expected 1"),
    ("practice", "; question: a", "expected 'demo: #section ...; exercise: id ...; question: words'"),
    ("id", "fvsbn-again", "the exercise find_leaks does not name this point"),
])
def test_a_row_that_points_nowhere_is_reported(rows, field, value, complaint):
    broken = [dataclasses.replace(p, **{field: value}) if p.id == "fvsbn" else p for p in rows]
    assert any(complaint in line for line in slide_map.problems(broken))


def test_a_section_that_no_row_claims_is_reported(rows):
    claimed = next(p.section for p in rows if p.id == "brown-classes")
    fewer = [p for p in rows if p.id != "brown-classes"]
    assert any(f"no row claims the section #{claimed}" in line for line in slide_map.problems(fewer))


def test_a_section_of_a_chapter_that_is_not_there_is_seen(rows, monkeypatch):
    there = slide_map.notebook
    monkeypatch.setattr(slide_map, "notebook", lambda chapter: None if chapter == "03" else there(chapter))
    assert any("chapter 03 does not exist" in line for line in slide_map.problems(rows))


@pytest.mark.parametrize(("heading", "anchor"), [
    ("One logistic regression per pixel", "one-logistic-regression-per-pixel"),
    ("The likelihood of one image, factor by factor", "the-likelihood-of-one-image-factor-by-factor"),
    ("`CPT`: rows of $2^n$ numbers", "cpt-rows-of-numbers"),
])
def test_slugs_are_those_of_the_built_page(heading, anchor):
    assert slide_map.slug(heading) == anchor


@pytest.mark.parametrize("heading, same", [
    ("Where it breaks", True), ("The slide's table", False), ("... and no more", False), ("`fit` once more", True),
    ("One, two", True), ("Post-LN, pre-LN", True)])
def test_a_heading_whose_link_and_anchor_differ_is_seen(heading, same):
    assert (slide_map.link(heading) == slide_map.slug(heading)) is same
