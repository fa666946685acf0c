"""What is asked of retrieval and of answers, in the records and on the page."""
from __future__ import annotations

import copy

import pytest

from benchmarks import store, using
from tools import results_page

FIGURES = {"retrieval": {"TF-IDF, sublinear": 90, "BM25": 91, "LSA, 200": 88}, "answers": {"the retrieved passage (TF-IDF)": 22}}


def test_what_is_asked_is_set_here_so_that_no_one_lowers_it_where_it_is_measured():
    assert {name: {row: target.at_least for row, target in asked.items()} for name, asked in using.ASKED.items()} == FIGURES
    assert using.ASKED["answers"]["the retrieved passage (TF-IDF)"].aim == 30


@pytest.mark.parametrize("name", FIGURES)
def test_the_record_is_judged_by_its_figures(name):
    rows = store.read()[f"using-{name}"]["rows"]
    found = {row["model"]: row for row in rows if "target" in row}
    assert {model: row["target"]["at_least"] for model, row in found.items()} == FIGURES[name]
    for model, row in found.items():
        assert row["target"]["reached"] is (row["test"]["mean"] >= FIGURES[name][model])
    assert using.judged(name, [{key: value for key, value in row.items() if key != "target"} for row in rows]) == rows


def test_judging_again_keeps_the_figures(tmp_path):
    for name in FIGURES:
        record = copy.deepcopy(store.read()[f"using-{name}"])
        for row in record["rows"]:
            row.pop("target", None)
        store.write(record, tmp_path)
    using.judge_again(tmp_path)
    assert store.read(tmp_path) == {f"using-{name}": store.read()[f"using-{name}"] for name in FIGURES}


def test_the_page_says_what_was_asked_and_whether_it_was_reached():
    record = copy.deepcopy(store.read()["using-retrieval"])
    assert "| BM25 | 91.60 | 91 or more: reached |" in results_page.words(record)
    next(row for row in record["rows"] if row["model"] == "BM25")["target"]["reached"] = False
    assert "| BM25 | 91.60 | 91 or more: **not reached** |" in results_page.words(record)
    assert results_page.words(store.read()["using-few"])[0].count("|") == 3
