"""The results page and the README's table are what the records give, and hold no figure of their own."""
from __future__ import annotations

import copy
import importlib.util
import json
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
README = ROOT / "README.md"
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
            if "mean" not in row["test"]:                            # a figure for each list of words
                line = next(part for part in page.splitlines() if part.startswith(f"| {row['model']} |"))
                assert all(f"{found['mean']:.3f}" in line and f"{found['over']:,} of" in line for found in row["test"].values())
                continue
            line = next(part for part in page.splitlines() if part.startswith(f"| {row['model']} |") and
                        results_page.measured(row) in part)
            if row.get("target") and not row["target"]["reached"]:
                assert "**not reached**" in line


def test_a_missed_target_is_said(read):
    records, papers = copy.deepcopy(read)
    record = next(r for r in records if r["name"] == "fvsbn-binarized-mnist")
    record["rows"][0]["target"].update(reached=False, aim_reached=False)
    assert "97.9 or less: **not reached**; aim 97.5: not reached" in results_page.page(records, papers)
    assert "asked: 97.9 or less: **not reached**" in results_page.table(records, papers)


def test_a_papers_figure_links_to_the_text_in_which_it_was_read(read):
    records, papers = read
    page, table = results_page.page(records, papers), results_page.table(records, papers)
    assert results_page.SOURCES in page and results_page.SOURCES in table
    rows = [line for line in page.splitlines() if line.startswith("|")]
    for figure in papers["figure"]:
        beside = "\n".join(line for line in rows if line.startswith(f"| {figure.get('same', figure['model'])} "))
        if "value" in figure:
            assert f"[{figure['value']:.2f}]({figure['source']} \"{figure['where']}\") ({{cite:t}}`{figure['key']}`" in beside
            assert figure["source"].startswith("https://")
        else:
            assert f"| {{cite:t}}`{figure['key']}`, not read |" in beside
    for name in results_page.SHORT:                                   # and in the README, beside the same models
        record = next(r for r in records if r["name"] == name)
        for figure in papers["figure"]:
            if figure["data"] == record["data"]["name"] and figure.get("same", figure["model"]) in {
                    row["model"] for row in record["rows"]}:
                assert f"[{figure['value']:.2f}]({figure['source']} \"{figure['where']}\") ({figure['authors']}" in table


def test_the_readme_has_six_rows_of_its_records(read):
    records, papers = read
    lines = results_page.table(records, papers).splitlines()[2:]
    rows = lines[:lines.index("")]
    assert len(rows) == len(results_page.SHORT) == 6
    for line, name in zip(rows, results_page.SHORT):
        record = next(r for r in records if r["name"] == name)
        row = next(row for row in record["rows"] if row["target"])
        assert f"| {row['model']} | {row['test']['mean']:.2f}\u00a0±\u00a0{row['test']['standard_error']:.2f} {record['unit']}" in line
    with pytest.raises(ValueError, match="shows the record nade-binarized-mnist, and there is none"):
        results_page.table([r for r in records if r["name"] != "nade-binarized-mnist"], papers)


def test_no_column_is_empty_and_no_note_stands_twice(read):
    for part in results_page.page(*read).split("\n## ")[1:]:
        tables = [block.splitlines() for block in part.split("\n\n") if block.startswith("|")]
        for head, _, *rows in tables:
            if "memory beside" not in head and "command" not in head:
                columns = list(zip(*([cell.strip() for cell in row.strip("|").split(" | ")] for row in rows)))
                assert len(columns) == head.count("|") - 1 and all(any(column) for column in columns), head
        texts = [block for block in part.split("\n\n") if not block.startswith(("|", "`", "**"))]
        assert len(set(texts)) == len(texts)


def test_a_figure_that_another_text_quotes_names_it(read):
    records, papers = read
    (figure,) = (f for f in papers["figure"] if f.get("read") == "quoted")
    for text in (results_page.page(records, papers), results_page.table(records, papers)):
        assert f", quoted by {figure['by']})" in text


@pytest.mark.parametrize("kind", ["figure", "printed"])
@pytest.mark.parametrize("fault, says", [
    ({"source": None}, "has no source"), ({"source": ""}, "has no source"), ({"source": "the paper"}, "has no source"),
    ({"read": None}, "needs `read`"), ({"read": "memory"}, "needs `read`"), ({"where": ""}, "needs `read`"),
    ({"read": "quoted"}, "needs `by`"), ({"by": "somebody"}, "needs `by`")])
def test_a_papers_number_without_its_source_is_refused(read, kind, fault, says):
    records, papers = copy.deepcopy(read)
    entry = next(e for e in papers[kind] if e.get("read") == "paper")
    entry.update(fault)
    for key in [key for key, value in fault.items() if value is None]:
        del entry[key]
    with pytest.raises(ValueError, match=says):
        results_page.page(records, papers)


def test_a_number_in_a_note_of_a_paper_has_an_address_beside_it(read):
    for figure in read[1]["figure"]:
        assert not re.search(r"\d\.\d", figure.get("note", "")) or "](https://" in figure["note"]


def test_numbers_of_papers_are_in_the_chapters_that_print_them(read):
    """What papers.toml lists stands in the chapter: an entry goes when its sentence goes."""
    for entry in read[1]["printed"]:
        cells = json.loads((ROOT / "book" / f"{entry['chapter']}.ipynb").read_text(encoding="utf-8"))["cells"]
        texts = ["".join(cell["source"]) for cell in cells]
        texts += ["".join(output.get("text", "")) for cell in cells for output in cell.get("outputs", [])]
        text = " ".join("\n".join(texts).split())
        for number in entry["figures"]:
            assert re.search(rf"(?<![\d.]){re.escape(number)}(?![\d]|\.\d)", text), (
                f"{entry['chapter']} has no {number!r} ({entry['of']}): correct papers.toml or the chapter")


def test_nothing_is_quoted_from_memory():
    """No dagger and no such word is left where papers' numbers are printed."""
    pages = [README, *sorted((ROOT / "book").glob("*.md")), *sorted((ROOT / "course_lib").glob("records.*"))]
    for path in pages:
        assert not re.search(r"†|from memory", path.read_text(encoding="utf-8")), path.name


def test_papers_are_in_the_bibliography_and_figures_belong_to_a_set_with_papers(read):
    records, papers = read
    bibliography = (ROOT / "book" / "references.bib").read_text(encoding="utf-8")
    keys = set(re.findall(r"^@\w+\{([^,]+),", bibliography, flags=re.M))
    titled = {entry["data"] for entry in papers["set"]}
    for figure in papers["figure"]:
        assert figure["key"] in keys
        assert figure["data"] in titled and figure["authors"]
    assert {entry["key"] for entry in papers["printed"]} <= keys
    own = {r["data"]["name"] for r in records if r["kind"] == "result" and not r["data"]["comparable_with_papers"]}
    assert not own & {figure["data"] for figure in papers["figure"]}  # a split of one's own stands beside no paper
    assert {r["data"]["name"] for r in records if r["kind"] == "result"} <= titled


def test_every_work_in_the_bibliography_has_an_address():
    bibliography = (ROOT / "book" / "references.bib").read_text(encoding="utf-8")
    entries = re.split(r"^@", bibliography, flags=re.M)[1:]
    assert len(entries) > 50
    for entry in entries:
        assert re.search(r"^  (url = \{https?://[^\s}]+|doi = \{10\.\d{4,}/[^\s}]+)\},?$", entry, flags=re.M), (
            entry.split(",")[0] + " has neither url nor doi")
    keys = [entry.split("{")[1].split(",")[0] for entry in entries]
    assert len(set(keys)) == len(keys)


def test_the_readme_needs_its_marks_once_each():
    begin, end = results_page.BEGIN, results_page.END
    assert results_page.in_readme(f"a\n{begin}\nold\n{end}\nb", "new") == f"a\n{begin}\nnew\n{end}\nb"
    for text in ("none", begin, f"{end}{begin}", f"{begin}{end}{begin}{end}"):
        with pytest.raises(ValueError, match="once each"):
            results_page.in_readme(text, "new")
