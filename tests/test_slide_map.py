"""The map from slides to sections has no orphans in either direction, and its check sees them when there are."""

import dataclasses

import pytest

from tools import slide_map


@pytest.fixture(scope="module")
def rows():
    return slide_map.points()


def test_every_row_points_to_something_and_every_section_is_claimed(rows):
    assert slide_map.problems(rows) == []


def test_the_page_is_what_the_table_gives(rows):
    assert slide_map.PAGE.read_text("utf-8") == slide_map.page(rows), "run `python tools/slide_map.py`"


def test_all_twenty_chapters_have_rows(rows):
    assert sorted({p.chapter for p in rows}) == sorted(slide_map.CHAPTERS)
    assert all(set(p.decks.split()) <= set(slide_map.DECKS) for p in rows)


@pytest.mark.parametrize(("field", "value", "complaint"), [
    ("section", "no-such-section", "has no section #no-such-section"),
    ("section", "", "no section of it is named"),
    ("symbols", "density.NoModel", "course_lib has no density.NoModel"),
    ("symbols", "", "symbols is empty"),
    ("tests", "core/test_fvsbn.py::test_that_nobody_wrote", "there is no test"),
    ("tests", "core/no_file.py::test_x", "there is no test"),
    ("practice", "demo: #nowhere", "has no section #nowhere to demonstrate it"),
    ("practice", "", "practice is empty"),
    ("practice", "exercise: no_such_function", "has no exercise no_such_function"),
    ("practice", "exercise: bigram_bits", "has no exercise bigram_bits"),
    ("practice", "try it", "needed is 'demo: #section ...; exercise: id ...'"),
    ("practice", "demo: #training", "no row claims the exercise find_leaks"),
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
