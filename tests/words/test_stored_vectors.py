"""The vectors that ship: what they are made of, what was kept out, and that their figures are the recorded ones."""
from __future__ import annotations

import pytest
import torch

from benchmarks import store, word_vectors
from benchmarks.reproduce import word_texts
from course_lib import hub, records
from course_lib.words import agreement, analogies_right

RECORD = records.read("word-vectors")


def test_vectors_and_card():
    vectors, card = hub.load("english-words"), hub.card("english-words")
    assert vectors.table.shape == (10_000, 100) and vectors.table.isfinite().all()
    assert torch.equal(vectors.table, vectors.table.half().float())
    for source in word_texts.SOURCES.values():
        assert f"{source.name}: {source.licence}" in card.licence
    assert not set(word_texts.LEFT_OUT) & set(word_texts.SOURCES)
    assert all(name in card.notes for name in word_texts.LEFT_OUT)
    assert card.training["sha256 of the sentences"] == store.read()["word-vectors"]["data"]["sha256"]


@pytest.mark.data
def test_texts_without_test_sentences():
    text, given = word_texts.training_text()
    assert word_vectors.digest(text) == hub.card("english-words").training["sha256 of the sentences"]
    read = {word_texts.fingerprint(sentence) for sentence in text}
    held_out = [word_texts.fingerprint(sentence) for sentence in word_texts.held_out()]
    assert len(held_out) > 10_000 and not read & set(held_out)
    assert sum(source["left_out"] for source in given.values()) > 0              # there were some: the sieve is at work


@pytest.mark.data
def test_record_of_vectors():
    vectors, best = hub.load("english-words"), RECORD["rows"][0]["test"]
    for name in ("WordSim-353", "RG-65"):
        correlation, known = agreement(vectors, word_texts.scored(name))
        assert (round(correlation, 3), known) == (best[name]["mean"], best[name]["over"])
    right, known = analogies_right(vectors, word_texts.analogies()["family"])
    assert (right, known) == (best["family analogies"]["right"], best["family analogies"]["over"])
