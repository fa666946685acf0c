"""The results page and the README's table are what the records give, and hold no figure of their own."""
from __future__ import annotations

import copy
import importlib.util
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
spec = importlib.util.spec_from_file_location("results_page", ROOT / "tools" / "results_page.py")
results_page = importlib.util.module_from_spec(spec)
spec.loader.exec_module(results_page)


@pytest.fixture(scope="module")
def read():
    return results_page.read()


def test_page_and_readme_are_up_to_date(capsys):
    assert results_page.main(["--check"]) == 0, capsys.readouterr().err


def test_an_edited_record_makes_them_stale(read, monkeypatch, capsys):
    records, papers = copy.deepcopy(read)
    record = next(r for r in records if r["name"] == "fvsbn-binarized-mnist")
    record["rows"][0]["test"]["mean"] -= 1
    monkeypatch.setattr(results_page, "read", lambda: (records, papers))
    assert results_page.main(["--check"]) == 1
    err = capsys.readouterr().err
    assert "book/results.md is stale" in err and "README.md is stale" in err


def test_every_row_stands_on_the_page_with_its_figure_and_command(read):
    page = results_page.page(*read)
    for record in read[0]:
        assert f"`{record['command']}`" in page
        for row in record.get("rows", []):
            line = next(part for part in page.splitlines() if part.startswith(f"| {row['model']} |") and
                        f"{row['test']['mean']:.2f} ± {row['test']['standard_error']:.2f}" in part)
            if row["target"] and not row["target"]["reached"]:
                assert "**not reached**" in line


def test_a_missed_target_is_said(read):
    records, papers = copy.deepcopy(read)
    record = next(r for r in records if r["name"] == "fvsbn-binarized-mnist")
    record["rows"][0]["target"].update(reached=False, aim_reached=False)
    assert "97.9 or less: **not reached**; aim 97.5: not reached" in results_page.page(records, papers)
    assert "97.9 or less: **not reached**" in results_page.table(records, papers)


def test_a_figure_that_was_not_checked_against_its_paper_is_marked(read):
    records, papers = read
    page = results_page.page(records, papers)
    for figure in papers["figure"]:
        mark = "" if figure["checked"] else results_page.MARK
        assert f"{figure['value']:.2f}{mark} ({{cite:t}}`{figure['key']}`)" in page
    assert results_page.UNCHECKED in page and results_page.UNCHECKED in results_page.table(records, papers)


def test_papers_are_in_the_bibliography_and_figures_belong_to_a_set_with_papers(read):
    records, papers = read
    bibliography = (ROOT / "book" / "references.bib").read_text(encoding="utf-8")
    keys = set(re.findall(r"^@\w+\{([^,]+),", bibliography, flags=re.M))
    titled = {entry["data"] for entry in papers["set"]}
    for figure in papers["figure"]:
        assert figure["key"] in keys
        assert figure["data"] in titled and figure["where"] and figure["authors"]
    own = {r["data"]["name"] for r in records if r["kind"] == "result" and not r["data"]["comparable_with_papers"]}
    assert not own & {figure["data"] for figure in papers["figure"]}  # a split of one's own stands beside no paper
    assert {r["data"]["name"] for r in records if r["kind"] == "result"} <= titled


def test_the_readme_needs_its_marks_once_each():
    begin, end = results_page.BEGIN, results_page.END
    assert results_page.in_readme(f"a\n{begin}\nold\n{end}\nb", "new") == f"a\n{begin}\nnew\n{end}\nb"
    for text in ("none", begin, f"{end}{begin}", f"{begin}{end}{begin}{end}"):
        with pytest.raises(ValueError, match="once each"):
            results_page.in_readme(text, "new")
