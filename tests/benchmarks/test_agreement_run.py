"""The run on texts of a grammar: its parts, its recipe on few of them, and its figure against the model's own."""
from __future__ import annotations

import pytest
import torch

from benchmarks.reproduce import agreement
from benchmarks.reproduce.recipes import Job
from course_lib.data import toy_agreement


def test_parts_are_drawn_once_and_their_words_come_back():
    splits = agreement.draw()
    assert splits is agreement.draw() and (len(splits.train), len(splits.valid), len(splits.test)) == (12000, 1000, 1000)
    assert f"{toy_agreement.entropy():.4f}" in splits.info["protocol"] and f"{toy_agreement.entropy():.2f}" in \
        agreement.RUNS["gpt-agreement"].note
    parts = agreement.as_tokens(splits)
    symbols, (tokens, real) = parts.info["tokenizer"]["symbols"], parts.test
    assert " ".join(symbols[i] for i in tokens[7][real[7]].tolist()) == "<s> " + splits.test[7]


def test_the_figure_is_minus_the_models_log_p_text_by_text():
    model = agreement.word_gpt(layers=1, heads=2, d_model=8).double().eval()
    tokens, real = toy_agreement.to_ids(agreement.draw().test[:30])
    nats = torch.cat([-model.log_prob(row[keep][1:][None]) for row, keep in zip(tokens, real)]).detach()
    measured = agreement.nats_a_text(model, (tokens, real))
    assert measured["mean"] == pytest.approx(nats.mean().item(), abs=1e-4) and measured["over"] == 30
    assert measured["standard_error"] == pytest.approx(nats.std().item() / 30 ** 0.5, abs=1e-4)


def test_the_recipe_lowers_the_figure(tmp_path):
    row, = agreement.RUNS["gpt-agreement"].rows
    parts = agreement.as_tokens(agreement.draw())
    few = parts._replace(train=tuple(t[:640] for t in parts.train), valid=tuple(t[:100] for t in parts.valid))
    settings = {**row.settings, "epochs": 2, "warmup": 2}
    trained = row.recipe(Job(few, 0, torch.device("cpu"), tmp_path), row, settings, "few")
    torch.manual_seed(0)
    before = agreement.nats_a_text(row.model(**row.arguments), few.valid)
    assert trained.epochs == 2 and agreement.nats_a_text(trained.model, few.valid)["mean"] < before["mean"] - 5
