"""Generated pages, tables and drawings are up to date, and their sources do not contradict each other."""
from __future__ import annotations

import copy
import dataclasses

import pytest

from book._tools import chapters, generate, results_page, slide_map, teaching_plan


@pytest.mark.parametrize("name", generate.GENERATORS)
def test_generated_files_are_up_to_date(name, capsys):
    assert generate.main(["--check", name]) == 0, capsys.readouterr().err


def test_a_changed_record_is_reported(monkeypatch, capsys):
    records, papers = copy.deepcopy(results_page.read())
    next(r for r in records if r["name"] == "nade-binarized-mnist")["rows"][0]["test"]["mean"] += 1
    monkeypatch.setattr(results_page, "read", lambda: (records, papers))
    assert generate.main(["--check", "results_page"]) == 1
    reported = capsys.readouterr().err
    assert all(f"{path} is out of date" in reported for path in ("book/results.md", "README.md", "results-binarized-mnist.svg"))


@pytest.mark.parametrize("fault", [{"source": ""}, {"read": "memory"}, {"where": ""}, {"read": "quoted"}, {"by": "somebody"}])
def test_a_number_of_a_paper_without_its_source_is_reported(fault):
    records, papers = copy.deepcopy(results_page.read())
    next(e for e in papers["figure"] if e.get("read") == "paper").update(fault)
    assert len(results_page.problems(records, papers)) == 1


@pytest.mark.parametrize("field, value, complaint", [
    ("section", "no-such-section", "has no section #no-such-section"),
    ("symbols", "density.NoModel", "course_lib has no density.NoModel"),
    ("practice", "", "practice is ''"),
    ("practice", "exercise: no_such_function", "there is no exercise no_such_function"),
    ("practice", "demo: #training", "neither an exercise nor a question of"),
    ("id", "fvsbn-again", "the exercise find_leaks does not name this point"),
])
def test_a_teaching_point_that_points_nowhere_is_reported(field, value, complaint):
    rows = [dataclasses.replace(p, **{field: value}) if p.id == "fvsbn" else p for p in slide_map.points()]
    assert any(complaint in line for line in slide_map.point_problems(rows))


def test_a_slide_without_its_point_and_a_section_without_its_row_are_reported():
    rows = slide_map.points()
    fewer = [s for s in slide_map.slides() if s.title != "TF-IDF"]
    assert any("tf-idf: its row names" in line for line in slide_map.slide_problems(fewer, rows))
    claimed = next(p.section for p in rows if p.id == "brown-classes")
    found = slide_map.point_problems([p for p in rows if p.id != "brown-classes"])
    assert any(f"no row claims the section #{claimed}" in line for line in found)


@pytest.mark.parametrize("slug, fields, complaint", [
    ("nade", {"week": 1}, "chapter nade is in week 1"), ("attention", {"needs": ["gpt"]}, "chapter attention needs gpt"),
    ("nade", {"needs": ["fvsbn"]}, "it says that you need")])
def test_a_plan_that_contradicts_its_chapters_is_reported(slug, fields, complaint):
    listed = copy.deepcopy(chapters.chapters())
    listed[slug].update(fields)
    assert any(complaint in line for line in teaching_plan.problems(listed))


def test_launch_badges_need_an_address():
    one = {"fvsbn": {"title": "FVSBN", "number": "03", "notebook": "03-fvsbn.ipynb", "builds": "images"}}
    assert "badge" not in chapters.for_readme(one, {"url": ""})
    text = chapters.for_readme(one, {"url": "https://github.com/someone/course", "branch": "dev"})
    assert "https://colab.research.google.com/github/someone/course/blob/dev/book/03-fvsbn.ipynb" in text
    assert "https://mybinder.org/v2/gh/someone/course/dev?urlpath=lab/tree/book/03-fvsbn.ipynb" in text


@pytest.mark.parametrize("text", ["", "<!-- x:end --><!-- x:begin -->", 2 * "<!-- x:begin --><!-- x:end -->"])
def test_a_page_needs_its_marks_once_and_in_order(text):
    with pytest.raises(ValueError, match="x:begin"):
        chapters.between(text, "x", "new")
