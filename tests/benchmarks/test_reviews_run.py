"""What chapter 18 measures of bert-english on reviews: the parts, the choice of settings, and the record."""
from __future__ import annotations

import numpy as np
import pytest

from benchmarks import reviews, store
from benchmarks.contextual import HELD, Kept
from benchmarks.reproduce.pretraining import letters
from benchmarks.reviews import SEEDS, UPDATES, WAYS, at_its_best, labelled, over_sentences, parts

pytestmark = pytest.mark.slow


@pytest.fixture
def kept(tmp_path, monkeypatch):
    monkeypatch.setattr(store, "RESULTS", tmp_path / "results")
    return Kept("a")


@pytest.mark.data
def test_no_sentence_stands_in_two_parts_and_a_seed_has_its_own_labels():
    each = [[letters(text) for text in part.texts] for part in parts()]
    assert [len(part.texts) == len(part.labels) for part in parts()] == [True] * 3
    assert (len(each[1]), len(each[2])) == (HELD, 872)
    assert len(set(each[0]) | set(each[1])) == len(each[0]) + len(each[1]) and not set(each[2]) & {*each[0], *each[1]}
    few, again, other = labelled(100, 0), labelled(100, 0), labelled(100, 1)
    assert len(set(few.texts)) == 100 and few.texts == again.texts and set(few.texts) != set(other.texts)
    sign = dict(zip(parts().train.texts, parts().train.labels))
    assert [sign[text] for text in few.texts] == few.labels.tolist()


@pytest.mark.data
def test_one_setting_describes_the_same_sentences_in_every_part(monkeypatch):
    """The rows of a table belong to the drawn labels: a description that is the label itself is always right."""
    column = tuple(np.stack([part.labels, 1 - part.labels], axis=1).astype(float) for part in parts())
    monkeypatch.setattr(reviews, "tables", lambda name: {"layer 0": column})
    for seed in (1, 2):
        assert reviews.by_regression("bert-english", 100, seed, (1.0, "layer 0", "columns")) == [100, 100]


def test_the_setting_is_chosen_by_the_first_seed_on_the_held_sentences_and_not_by_the_test(kept, monkeypatch):
    figures = {("a", 0): [60, 90], ("b", 0): [70, 50], ("a", 1): [99, 99], ("b", 1): [61, 52]}
    asked = []

    def measure(seed, setting):
        asked.append((setting[0], seed))
        return figures[setting[0], seed]

    monkeypatch.setattr(reviews, "SEEDS", 2)
    found = at_its_best(kept, "key", [("a",), ("b",)], measure)
    assert (found["seeds"], found["mean"], found["setting"], found["held"]) == ([50, 52], 51, ["b"], 70)
    assert asked == [("a", 0), ("b", 0), ("b", 1)]
    assert at_its_best(kept, "key", [("a",), ("b",)], lambda *given: pytest.fail("measured twice")) == found


def test_the_error_of_one_model_is_that_of_a_share_of_sentences():
    assert over_sentences(50.0, 100) == {"mean": 50.0, "standard_error": 5.0, "over": 100}
    assert over_sentences(100.0, 872)["standard_error"] == 0


@pytest.fixture(scope="module")
def record():
    return {row["model"]: row["test"] for row in store.read()["using-reviews"]["rows"]}


def test_every_way_has_its_seeds_and_its_setting(record):
    assert set(record) == {"commonest class", *(f"{way}, {labels:,} labels" for way in WAYS for labels in UPDATES)}
    for name, found in record.items():
        if name != "commonest class":
            assert len(found["seeds"]) == SEEDS and found["setting"] and 45 < found["held"] < 90
            assert found["mean"] == pytest.approx(np.mean(found["seeds"]), abs=0.01)


def test_what_chapter_18_says(record):
    def ahead(one: str, other: str, labels: int) -> np.ndarray:
        """By seed: a seed gives all ways the same labels."""
        return np.subtract(*(record[f"{way}, {labels:,} labels"]["seeds"] for way in (one, other)))

    for way, wins, points in (("frozen", (5, 5), (4, 6)), ("fine-tuned", (4, 5), (3, 2))):
        gains = [ahead(f"bert-english, {way}", f"untrained twin, {way}", labels) for labels in UPDATES]
        assert tuple((gain > 0).sum() for gain in gains) == wins
        assert tuple(round(gain.mean()) for gain in gains) == points
        for rival in ("TF-IDF", "averaged word vectors"):
            assert (ahead(rival, f"bert-english, {way}", 1000) > 0).all()
            bert, other = (record[f"{name}, 100 labels"] for name in (f"bert-english, {way}", rival))
            assert bert["mean"] - other["mean"] < np.hypot(bert["standard_error"], other["standard_error"])


def test_an_earlier_bert_did_not_pass_the_counts_either():
    """Their means: with three seeds nothing more is said."""
    earlier, counts = ({row["model"]: row["test"]["mean"] for row in store.read()[name]["rows"]}
                       for name in ("bert-sst2", "bag-of-words-sst2"))
    for labels in ("100", "1,000", "all"):
        assert earlier[f"pre-trained, {labels} labels"] < counts[f"words counted, {labels} labels"]
