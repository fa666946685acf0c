"""Skip-gram beside gensim's: the same settings on both sides, and what the record says of the gap."""
from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
import torch

from benchmarks import store, word_peer
from benchmarks.word_vectors import KEPT, MIN_COUNT, SKIP_GRAM, WIDTH


class Vectors(dict):
    def __getitem__(self, words):
        return np.stack([np.full(2, self.get(word)) for word in words])


def test_gensim_gets_the_settings_of_this_course_and_its_rows_come_in_our_order(monkeypatch):
    asked = {}

    def word2vec(text, **settings):
        asked.update(settings, text=text)
        return SimpleNamespace(wv=Vectors(b=1.0, a=2.0))

    monkeypatch.setattr(word_peer, "peer", lambda name: SimpleNamespace(Word2Vec=word2vec))
    word_peer.theirs([["a", "b"]], ["a", "b"], seed=1, rate=0.05)
    other = asked["seed"]
    table = word_peer.theirs([["a", "b"]], ["a", "b"], seed=0, rate=0.05)
    assert table.tolist() == [[2.0, 2.0], [1.0, 1.0]]
    assert asked.pop("text") == [["a", "b"]] and 0 < asked.pop("seed") != other and asked.pop("workers") == 1
    assert asked.pop("sg") == 1 and asked.pop("alpha") == 0.05 and asked.pop("min_alpha") == pytest.approx(0.05 / 250)
    assert asked == {"vector_size": WIDTH, "window": SKIP_GRAM["window"], "negative": SKIP_GRAM["negatives"], "ns_exponent": 0.75,
                     "sample": SKIP_GRAM["threshold"], "min_count": MIN_COUNT, "epochs": SKIP_GRAM["epochs"]}


def test_a_row_has_the_mean_of_its_tables(monkeypatch):
    figures = iter((0.1, 0.4))
    monkeypatch.setattr(word_peer, "measured", lambda vectors: dict.fromkeys(
        word_peer.LISTS, {"mean": next(figures), "over": 3, "of": 4}))
    row, seconds = word_peer.row("x", [torch.ones(2, 5)] * 2, ["a", "b"])
    assert row["test"]["SimLex-999"] == {"mean": 0.25, "standard_error": 0.15, "each": [0.1, 0.4], "over": 3, "of": 4}
    assert len(seconds) == 2 and row["parameters"] == KEPT * WIDTH


def test_what_the_record_says():
    records = store.read()
    record, vectors = records["word-peer"], records["word-vectors"]
    own, other = record["rows"]
    assert own == vectors["rows"][1] and own["model"].startswith("skip-gram")
    for name in word_peer.LISTS:
        assert len(other["test"][name]["each"]) == 3
        assert len(set(other["test"][name]["each"])) > 1
        assert record["data"]["ahead"][name] == pytest.approx(own["test"][name]["mean"] - other["test"][name]["mean"], abs=6e-4)
        assert record["data"]["ahead"][name] > -0.03                 # what was asked: within three hundredths
    assert record["data"]["words_a_second"][0] == vectors["data"]["words_a_second"] >= 30_000
    tried = record["data"]["tried"]
    assert tried[str(record["data"]["rate"])]["worth"] == max(each["worth"] for each in tried.values())
