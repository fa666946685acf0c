"""The run on counting: what is read, what is certain, what counts as right, and what the record says."""
from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from benchmarks import store
from benchmarks.reproduce import as_many
from benchmarks.reproduce.as_many import END, LIMIT, SEEN, TEST, VALID, A, B
from benchmarks.reproduce.recipes import Job, Repeats


class Counter(nn.Module):
    """Counts to `most`, and one more for every b: knows the end of a word of up to so many a."""

    def __init__(self, most=LIMIT, slip=0):
        super().__init__()
        self.most, self.slip, self.weight = most, slip, nn.Parameter(torch.zeros(()))

    def forward(self, read):
        a, b = ((read == letter).cumsum(dim=1) for letter in (A, B))
        over = b - a.clamp(max=self.most) + self.slip >= 0
        said = torch.where(b == 0, A, torch.where(over, END, B))
        return F.one_hot(said, 3).float() + self.weight


def job(tmp_path=None):
    return Job(as_many.as_numbers(as_many.draw()), 0, torch.device("cpu"), tmp_path)


def test_a_word_stands_between_two_signs_and_its_rest_is_certain_from_the_first_b_on():
    read = as_many.words([1, 3])
    assert read.tolist() == [[END, A, B, END, END, END, END, END], [END, A, A, A, B, B, B, END]]
    assert as_many.certain(read).tolist() == [[False, False, True, *4 * [False]], [*4 * [False], True, True, True]]


def test_the_parts_share_no_word_and_all_are_longer_than_what_is_trained_on():
    splits = as_many.draw()
    assert splits.train[1] == "aabb" and len(splits.test) == len(TEST)
    assert max(SEEN) < min(VALID) and max(VALID) < min(TEST) and max(TEST) <= LIMIT
    parts = as_many.as_numbers(splits)
    assert (parts.train, parts.valid, parts.test) == (list(SEEN), list(VALID), list(TEST))


@pytest.mark.parametrize("most, slip, right, furthest", [
    (LIMIT, 0, 100, LIMIT), (20, 0, 50, 20), (LIMIT, 1, 0, 1), (LIMIT, -1, 0, 0)])
def test_a_word_is_right_with_every_letter_that_is_certain(most, slip, right, furthest):
    measured = as_many.percent_right(Repeats([Counter(most, slip)]), list(VALID))
    assert measured["seeds"] == [right] and measured["furthest"] == [furthest] and measured["over"] == len(VALID)
    assert measured["seen"] == [{0: 100, 1: 10, -1: 0}[slip]]
    chosen_by = as_many.up_to(Repeats([Counter(most, slip)]), list(VALID))
    assert chosen_by["seeds"] == [min(furthest, max(VALID))]


def test_letters_a_are_not_judged():
    class Forward(Counter):
        def forward(self, read):
            scores = super().forward(read)
            scores[read != B] = 0                                    # says the sign where an a or the first b comes
            return scores

    assert as_many.percent_right(Repeats([Forward()]), list(VALID))["mean"] == 100


def test_the_bigram_counts_pairs_within_words():
    row = as_many.RUNS["as-many"].rows[0]
    (model,) = row.recipe(job(), row, {}, "bigram").model
    num, a = len(SEEN), sum(SEEN)
    assert model.times.tolist() == [[0, num, 0], [0, a - num, num], [num, 0, a - num]]
    assert as_many.percent_right([model], list(TEST))["mean"] == 0     # after a b comes a b most often, and never the end


def test_the_loss_ends_with_the_word(tmp_path, monkeypatch):
    """A network that is sure of every word and talks nonsense behind its end has little to learn."""
    losses = []
    monkeypatch.setattr(as_many.F, "cross_entropy", lambda scores, told: losses.append(told) or scores.sum())
    row = as_many.RUNS["as-many"].rows[1]
    row.recipe(job(), row, {**as_many.SETTINGS, "lr": 0.01, "updates": 1, "seeds": 1}, "x")
    told = losses[0].view(len(SEEN), -1)
    for n, letters in zip(SEEN, told.tolist()):
        assert letters == [*n * [A], *n * [B], END, *(2 * (max(SEEN) - n)) * [-100]]


def test_every_network_gets_the_same_training():
    rows = as_many.RUNS["as-many"].rows[1:]
    assert [row.label for row in rows] == [f"{name}, {units} units" for name in ("RNN", "LSTM", "GRU") for units in (4, 16)]
    assert all(row.settings == as_many.SETTINGS and row.candidates == as_many.RATES and row.choose is as_many.up_to for row in rows)


def test_what_chapter_7_says_of_the_record():
    rows = {row["model"]: row for row in store.read()["as-many"]["rows"]}
    bigram, *trained = (row["test"] for row in rows.values())
    assert bigram["seeds"] == bigram["seen"] == bigram["furthest"] == [0]
    assert all(test["seen"] == [100] * 3 for test in trained)
    small, large = rows["LSTM, 4 units"], rows["LSTM, 16 units"]
    assert min(small["test"]["seeds"]) > 0 and small["test"]["seeds"].count(100.0) == 2
    assert sorted(small["test"]["furthest"])[1:] == [60, LIMIT]
    assert sum(large["test"]["seeds"]) < sum(small["test"]["seeds"])
    for name, row in rows.items():
        if name.startswith(("RNN", "GRU")):
            assert row["test"]["seeds"] == [0] * 3 and max(row["test"]["furthest"]) <= 13
    assert small["settings"]["updates"] == 4000
    for row in list(rows.values())[1:]:                              # of rates that are level the smaller one, and never only the largest
        rates = {each["lr"]: each["valid"] for each in row["candidates"]}
        assert row["settings"]["lr"] == max(rates, key=lambda rate: (rates[rate], -rate)) < max(rates) == 0.3
