"""Scores are measured on held-out data, told beside simple models, and kept; a model that is none is not entered."""
from __future__ import annotations

import json
import math

import pytest
import torch

from course_lib.counting.ngram import NGram
from course_lib.data import load_data
from course_lib.density import FVSBN, Mixture, Tabular
from course_lib.grading import open_questions, progress_file
from course_lib.grading.open_questions import score, stored_tries


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(progress_file, "enabled", lambda: True)
    return tmp_path


def alone(train):
    return Tabular(64, parents=[[] for _ in range(64)]).fit_counts(train, alpha=1.0)


def values(shown):
    return {row[0]: float(row[1]) for row in shown.rows}


def test_score_digits(folder, capsys):
    shown = score("digits", alone, "frequencies")
    valid = load_data("digits").valid.float()
    p = (load_data("digits").train.float().sum(0) + 1) / (1000 + 2)
    by_hand = -(valid * p.log() + (1 - valid) * (1 - p).log()).sum(1).mean().item()
    found = values(shown)
    assert found["frequencies"] == pytest.approx(by_hand, abs=0.006) == found["each pixel's frequency (to compare)"]
    assert found["a coin for each pixel (to compare)"] == pytest.approx(64 * math.log(2), abs=0.006)
    assert [row[1] for row in shown.rows] == sorted((row[1] for row in shown.rows), key=float)
    assert "frequencies: 2" in capsys.readouterr().out
    assert json.loads((folder / progress_file.FILE).read_text())["scores"]["digits"][0][0] == "frequencies"


def test_score_prose(folder):
    V = open_questions.vocab_size()

    def even(train):
        return NGram(n=1, vocab_size=V, smoothing="add", alpha=1e9).fit_counts(train)

    found = values(score("prose", even, "even"))
    assert found["even"] == pytest.approx(math.log2(V), abs=0.01) == found["every character alike (to compare)"]
    assert found["even"] > found["1-gram, Kneser-Ney (to compare)"] > found["2-gram, Kneser-Ney (to compare)"] \
        > found["3-gram, Kneser-Ney (to compare)"]


class Leak(FVSBN):
    def conditionals(self, x, context=None):
        return self.conditional(20 * (x - 0.5))


class Improper:
    def log_prob(self, x, context=None):
        return torch.zeros(len(x))


class Ahead(NGram):
    """Right for one character, wrong for many: it counts what it is about to predict."""

    def log_prob(self, x, context=None):
        found = super().log_prob(x, context)
        return found * (0.5 if x.shape[1] > 40 else 1)


@pytest.mark.parametrize("question, fit, said", [
    ("digits", lambda train: Leak(64), "depends on x_0"),
    ("digits", lambda train: Mixture([FVSBN(64), Leak(64)]), "depends on x_0"),
    ("prose", lambda train: Improper(), "sum to"),
    ("prose", lambda train: Ahead(n=2, vocab_size=open_questions.vocab_size(), smoothing="kneser-ney").fit_counts(train), "halves"),
])
def test_score_refuses_invalid_distribution(folder, capsys, question, fit, said):
    score(question, fit)
    out = capsys.readouterr().out
    assert out.startswith("Not entered") and said in out
    assert not stored_tries(question) and not (folder / progress_file.FILE).exists()


def test_score_time_limit(folder, capsys, monkeypatch):
    clock = iter([0.0, 61.0])
    monkeypatch.setattr(open_questions.time, "process_time", lambda: next(clock))
    score("digits", alone)
    assert capsys.readouterr().out.startswith("Not entered: fit took 61 CPU-seconds, and 60 are allowed")
    assert not stored_tries("digits")
