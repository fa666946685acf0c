"""What chapters show of the records is what the records say."""
from __future__ import annotations

import copy
import json

import pytest

from course_lib import records
from tools import records as tool
from tools.results_page import read


def test_the_copy_is_fresh():
    assert records.FILE.read_text("utf-8") == tool.copy(*read()), "run `python tools/records.py`"


def test_a_changed_figure_makes_it_stale():
    measured, papers = copy.deepcopy(read())
    for record in measured:
        if record["name"] == "rnade-red-wine":
            record["rows"][1]["test"]["mean"] += 0.01
    assert records.FILE.read_text("utf-8") != tool.copy(measured, papers)


def test_a_record_has_its_rows_and_the_papers_on_the_same_data():
    measured, papers = read()
    wine = records.read("rnade-red-wine")
    (record,) = [r for r in measured if r["name"] == "rnade-red-wine"]
    assert [row["test"] for row in wine["rows"]] == [row["test"] for row in record["rows"]]
    assert wine["unit"] == "nats" and wine["note"]
    assert [p["value"] for p in wine["papers"]] == [f["value"] for f in papers["figure"] if f["data"] == "red_wine"]


def test_an_unknown_name_is_answered_with_those_there_are():
    with pytest.raises(ValueError, match="name is 'rnade'; the records are .*rnade-red-wine"):
        records.read("rnade")


def test_figures_beside_those_of_papers():
    text = records.beside_the_papers("made-binarized-mnist-8000", of="MADE").splitlines()
    made = records.read("made-binarized-mnist-8000")
    (row,), nats = made["rows"], made["rows"][0]["test"]
    assert text[0].startswith(f"{nats['mean']:.2f} ± {nats['standard_error']:.2f}   {row['model']}, measured here")
    assert text[0].endswith(f" {row['parameters']:,} parameters")
    papers = [paper for paper in made["papers"] if paper["model"].startswith("MADE")]
    assert len(text) == 1 + len(papers) < 1 + len(made["papers"])
    for line, paper in zip(text[1:], papers):
        assert line.startswith(f"{paper['value']:.2f}  ") and f"  {paper['model']}, {paper['authors']}" in line
        assert line.endswith(f"quoted by {paper['by']}" if "by" in paper else paper["authors"])


def test_a_figure_that_another_text_quotes_says_so():
    last = records.beside_the_papers("rnade-red-wine").splitlines()[-1]
    (paper,) = records.read("rnade-red-wine")["papers"]
    assert last == f"{paper['value']:<15.2f}{paper['model']}, {paper['authors']}, quoted by {paper['by']}"


def test_every_papers_figure_has_the_address_where_it_was_read():
    for name in tool.SHOWN:
        for paper in records.read(name)["papers"]:
            assert paper["source"].startswith("https://") and isinstance(paper["value"], float)


def test_it_is_plain_json():
    assert list(json.loads(records.FILE.read_text("utf-8"))) == list(tool.SHOWN)
