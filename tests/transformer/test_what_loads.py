"""The table of what loads of Hugging Face's files is what trying each gives; and a wrong reading would be seen in it."""
from __future__ import annotations

import pytest

from course_lib.transformer import pretrained_bert
from tools import what_loads

pytest.importorskip("transformers")


@pytest.fixture(scope="module")
def rows():
    return [what_loads.row_of(*tried) for tried in what_loads.TRIED]


@pytest.mark.thorough
def test_the_page_has_what_trying_gives(rows):
    text = what_loads.PAGE.read_text("utf-8")
    assert what_loads.page(text, rows) == text, "stale: run python tools/what_loads.py"


def test_what_is_read_gives_equal_logits_and_the_rest_is_refused_with_its_reason(rows):
    assert {row.found.split(";")[0].split(":")[0] for row in rows} == {"equal logits", "refused"}
    for row in rows:
        assert row.found.startswith("equal logits") or "known are" in row.found or "expected" in row.found, row
    assert len({row.theirs for row in rows}) >= 9 and sum(row.found.startswith("equal") for row in rows) >= 20


def test_an_untied_bert_read_as_tied_is_seen(monkeypatch):
    tried = ("BertForPreTraining", "BERT", {"tie_word_embeddings": False})
    assert what_loads.row_of(*tried).found == "equal logits"
    monkeypatch.setattr(pretrained_bert, "UNTIED", {})               # its bias is then the one that theirs does not read
    assert what_loads.row_of(*tried).found != "equal logits"
