"""What chapter 20 measures of reading the task's texts first: masked words, two losses at once, and the records."""
from __future__ import annotations

import numpy as np
import pytest
import torch

from benchmarks import contextual, reading_on, store
from benchmarks.contextual import SIZES, MeanClassifier
from benchmarks.reading_on import RATES, SEEDS, Remembering, nats
from benchmarks.reproduce import bert_english
from benchmarks.reproduce.pretraining import HiddenWords
from course_lib.data import Splits
from course_lib.transformer import BERT, BERTConfig

ROWS = torch.tensor([[2, 300, 301, 302, 303, 304, 305, 306, 3, 0, 0], [2, 400, 3, 0, 0, 0, 0, 0, 0, 0, 0],
                     [2, 10, 11, 12, 13, 14, 15, 16, 3, 0, 0], [2, 20, 21, 22, 23, 24, 25, 26, 27, 28, 3]])


@pytest.fixture(scope="module")
def bert():
    torch.manual_seed(0)
    return BERT(BERTConfig(4000, 64, layers=1, heads=2, d_model=8, dropout=0.0)).eval()


@torch.no_grad()
def test_nats_are_those_of_the_hidden_pieces_one_by_one(bert):
    found = []
    for rows, length in ((ROWS[[1]], 3), (ROWS[[0, 2]], 9), (ROWS[[3]], 11)):
        read, chosen = bert_english.hidden(rows[:, :length], bert_english.RATE)
        log_p = bert.pretraining_logits(read)[0].log_softmax(dim=-1)
        found += [-log_p[b, t, rows[b, t]].item() for b, t in chosen.nonzero().tolist()]
        assert (read[chosen] == 4).all() and (rows[:, :length][chosen] > 4).all()
    assert len(found) >= 4 and nats(bert, ROWS) == pytest.approx(np.mean(found), abs=1e-5)


def test_both_losses_are_added_and_both_reach_the_network(bert):
    classifier = MeanClassifier(bert, 3)
    labelled = ROWS, ROWS != 0, torch.tensor([0, 1, 2, 0])
    torch.manual_seed(1)
    apart = classifier.loss(labelled) + HiddenWords(classifier.bert, bert_english.RATE).loss(ROWS.flip(0))[0]
    torch.manual_seed(1)
    both = Remembering(classifier).loss((*labelled, ROWS.flip(0)))
    torch.testing.assert_close(both, apart, rtol=0, atol=0)
    both.backward()
    assert classifier.bert.mlm.bias.grad.abs().sum() > 0 and classifier.head[1].weight.grad.abs().sum() > 0


def test_other_english_has_none_of_the_questions(monkeypatch):
    question, kept = "What is the capital of Yugoslavia ?", "she opened the door"
    monkeypatch.setattr(reading_on.english, "draw", lambda: Splits("english", *([question.lower(), kept, kept] for _ in range(3)), info={}))
    monkeypatch.setattr(reading_on.word_texts, "trec", lambda name: [("LOC", question)])
    monkeypatch.setitem(reading_on.OTHERS, "train", 2)
    rows = reading_on.others.__wrapped__("train")
    torch.testing.assert_close(rows, contextual.in_pieces([kept])[0][None])


@pytest.fixture(scope="module")
def records():
    return {name: {row["model"]: row["test"] for row in store.read()[f"using-{name}"]["rows"]}
            for name in ("adaptation", "forgetting", "tuning")}


def test_without_the_step_it_is_the_other_record(records):
    """That one has more seeds, of which these are the first."""
    for labels in SIZES:
        old, new = records["tuning"][f"all layers, {labels:,} labels"], records["adaptation"][f"at once, {labels:,} labels"]
        assert len(new["seeds"]) == SEEDS and (new["seeds"], new["lr"]) == (old["seeds"][:SEEDS], old["lr"])


def test_every_way_has_its_seeds_and_its_rate(records):
    ways = [f"{way}, {labels:,} labels" for labels in SIZES for way in ("at once", "the questions first")]
    assert set(records["adaptation"]) == {*ways, "at once, other English beside, 300 labels"}
    assert all(len(found["seeds"]) == SEEDS and found["lr"] in RATES for found in records["adaptation"].values())
    names = {*records["adaptation"], "counts of pieces", "bert-english", "the questions first"}
    assert set(records["forgetting"]) == {f"{text}: {name}" for text in ("questions", "other English") for name in names}
