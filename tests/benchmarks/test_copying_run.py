"""The run on copying: what the networks read and are asked, what counts as right, and the recipe at a small size."""
from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from benchmarks.reproduce import copying
from benchmarks.reproduce.copying import LETTERS, WORD, Copies
from benchmarks.reproduce.recipes import Job, Repeats


class Recorded(nn.Module):
    """Says the words that it has read, with the letters in `slips` wrong."""

    def __init__(self, slips=(), wait=1):
        super().__init__()
        self.slips, self.weight = slips, nn.Parameter(torch.zeros(()))

    def forward(self, told):
        said = told.clone()
        for k in self.slips:
            said[:, k] = (said[:, k] + 1) % LETTERS
        return 20 * F.one_hot(said, LETTERS).float() + self.weight


def test_a_word_is_read_the_network_waits_and_is_asked_to_speak():
    pause, speak = LETTERS, LETTERS + 1
    read = Copies(4, cell="rnn").read(torch.tensor([[0, 3], [2, 2]]))
    assert read.tolist() == [[0, 3, *4 * [pause], speak, speak], [2, 2, *4 * [pause], speak, speak]]


def test_the_copy_is_told_after_the_signs_to_speak():
    """A network whose state is the sign that it reads says nothing of the word: its answers are those at the end."""
    model = Copies(3, hidden=LETTERS + 2, cell="rnn")
    with torch.no_grad():
        for p in model.parameters():
            p.zero_()
        model.layers.cells[0].W_x.copy_(torch.eye(LETTERS + 2))
        model.out.weight[1, LETTERS + 1] = 1                         # letter 1 at a sign to speak, and nowhere else
    said = model(copying.words(5, torch.Generator().manual_seed(0)))
    assert said.shape == (5, WORD, LETTERS) and (said.argmax(dim=2) == 1).all() and (said[..., 1] > 0.5).all()


@pytest.mark.parametrize("slips", [(), (0,), (1,), (0, 1)])
def test_each_letter_counts_by_itself(slips):
    told = copying.words(50, torch.Generator().manual_seed(0))
    measured = copying.percent_right(Repeats([Recorded(slips), Recorded()]), told)
    assert measured["seeds"] == [100 - 100 * len(slips) / WORD, 100] and measured["over"] == told.numel()


def test_what_validates_and_what_tests():
    parts, again = (copying.as_tokens(copying.draw()) for _ in range(2))
    assert parts.valid.shape == (500, WORD) and parts.test.shape == (1000, WORD)
    assert torch.equal(parts.test, again.test) and parts.test.unique().tolist() == list(range(LETTERS))


def test_every_network_gets_the_same_training():
    rows = copying.RUNS["copying"].rows
    assert len({row.label for row in rows}) == len(rows) == len(copying.WAITS) * len(copying.NETWORKS)
    assert all(row.settings == copying.SETTINGS and row.candidates == copying.RATES for row in rows)


def test_the_recipe_learns_a_short_wait(tmp_path):
    job = Job(copying.as_tokens(copying.draw()), 0, torch.device("cpu"), tmp_path)
    row = next(row for row in copying.RUNS["copying"].rows if row.arguments["cell"] == "rnn")
    trained = row.recipe(job, row, {**row.settings, "updates": 120, "seeds": 2, "lr": 0.015}, "copying")
    assert len(trained.model) == 2
    assert copying.percent_right(trained.model, job.splits.valid)["mean"] > 40                 # 25 by chance


def test_a_seed_that_has_learned_ends_early(tmp_path, monkeypatch):
    drawn, draw = [], copying.words
    monkeypatch.setattr(copying, "words", lambda num, generator: drawn.append(num) or draw(num, generator))
    row = copying.RUNS["copying"].rows[0]
    row = type(row)("never wrong", Recorded, copying.by_updates, {"wait": 1}, copying.SETTINGS)
    job = Job(None, 0, torch.device("cpu"), tmp_path)
    copying.by_updates(job, row, {**copying.SETTINGS, "seeds": 1, "lr": 0.01}, "x")
    assert len(drawn) == 10
