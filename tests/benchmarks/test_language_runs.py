"""Runs of transformers on text: what is scored, from what, and by which measure."""
from __future__ import annotations

import pytest
import torch

from benchmarks import store
from benchmarks.reproduce import language
from benchmarks.reproduce.recipes import Job
from benchmarks.reproduce.record import judge
from benchmarks.reproduce.run import Row, Target
from course_lib.data import Splits
from course_lib.decoding.steps import Decoded
from course_lib.training import bits, bleu
from course_lib.transformer.gpt import GPT, GPTConfig

INFO = {"licence": "x", "citation": "y", "comparable_with_papers": True}
CAPTIONS = [("Ein Hund läuft.", "A dog runs."), ("Zwei Hunde schlafen.", "Two dogs sleep."), ("Ein Mann schläft.", "A man sleeps.")]


def test_consecutive_windows_score_each_character_once_from_their_own_window():
    text = torch.arange(64 * 3 + 20)
    x, before = language.consecutive(text)
    assert x.shape == (3, 64) and torch.equal(x.flatten(), text[1:193]) and before.flatten().tolist() == [0, 64, 128]


def test_training_windows_are_pieces_of_the_training_text(monkeypatch):
    monkeypatch.setattr(language, "STEPS", 5)
    text = "".join(chr(33 + i % 90) for i in range(1000))
    parts = language.windows(Splits("t", text[:700], text[700:850], text[850:], info=INFO))
    assert parts.train.shape == (5 * 12, 65)
    assert ((parts.train.diff(dim=1) - 1) % 90 == 0).all() and len(parts.train[:, 0].unique()) > 20


def test_the_figure_of_a_gpt_is_its_loss_on_those_windows():
    torch.manual_seed(0)
    model = GPT(GPTConfig(vocab_size=7, window=64, layers=1, heads=2, d_model=8)).eval()
    text = torch.randint(7, (64 * 4 + 1,))
    measured = language.nats_a_character(model, language.consecutive(text))
    loss, count = model.loss(text.unfold(0, 65, 64))
    assert measured["mean"] == pytest.approx(loss.item(), abs=1e-4) and measured["over"] == count == 256


def test_a_recipe_from_three_seeds(tmp_path):
    """Each seed draws its own weights and order; the figure is the mean of three, each of them the figure of its model."""
    text = torch.arange(400) % 7
    parts = language.Parts(text.unfold(0, 65, 30), language.consecutive(text[:200]), language.consecutive(text[200:]), INFO)
    row = Row("small", language.character_gpt, language.by_steps_and_seeds,
              {"vocab_size": 7, "layers": 1, "heads": 2, "d_model": 8}, {"epochs": 1, "batch_size": 4, "lr": 0.01, "progress": False})
    trained = language.by_steps_and_seeds(Job(parts, 0, torch.device("cpu"), tmp_path), row, row.settings, "small")
    assert len(trained.model) == 3 and trained.epochs == 1
    measured = language.nats_of_seeds(trained.model, parts.test)
    own = [language.nats_a_character(model, parts.test)["mean"] for model in trained.model]
    assert measured["seeds"] == own and len(set(own)) == 3
    assert measured["mean"] == pytest.approx(sum(own) / 3, abs=1e-4)
    assert measured["deviation_over_seeds"] == pytest.approx(torch.tensor(own).std().item(), abs=1e-4)
    again = language.by_steps(Job(parts, 1, torch.device("cpu"), tmp_path / "again"), row, row.settings, "small")
    assert language.nats_a_character(again.model, parts.test)["mean"] == own[1]


def test_the_run_of_three_seeds_is_that_of_the_model_which_ships():
    (ships,), (seeds,) = (language.RUNS[name].rows for name in ("gpt-tiny-shakespeare", "gpt-tiny-shakespeare-seeds"))
    assert (ships.arguments, ships.settings, ships.model) == (seeds.arguments, seeds.settings, seeds.model)


def test_what_chapter_16_says_of_its_first_gpt_holds_for_every_seed():
    """It loses to counts from the 4-gram on, passes the trigram, and its seeds differ by less than 0.05 bits."""
    counted = {row["model"]: row["test"]["mean"] for row in store.read()["ngram-tiny-shakespeare"]["rows"]}
    own = [bits(nats) for nats in store.read()["gpt-tiny-shakespeare-seeds"]["rows"][0]["test"]["seeds"]]
    assert len(own) == 3 and all(counted["4-gram"] + 0.05 < each < counted["trigram"] - 0.05 for each in own)
    assert max(own) - min(own) < 0.05


def test_pairs_come_back_from_their_numbers_and_bleu_is_of_words(monkeypatch):
    monkeypatch.setattr(language, "PIECES", 280)
    parts = language.pairs(Splits("t", CAPTIONS, CAPTIONS[:2], CAPTIONS[1:], info=INFO))
    real = [row[(row != language.PAD)] for row in parts.train.target]
    assert all(row[-1] == language.EOS and (row[:-1] >= language.FIRST).all() for row in real)
    assert [parts.train.tokenizer.decode(row[:-1] - language.FIRST) for row in real] == parts.train.texts
    read = [row[row != language.PAD] - language.FIRST for row in parts.train.source]
    assert [parts.train.read_by.decode(row) for row in read] == [german.lower() for german, _ in CAPTIONS]
    assert parts.train.texts[0] == "a dog runs." and parts.test.texts == [english.lower() for _, english in CAPTIONS[1:]]

    said = ["two dogs sleep .", "a man runs."]
    monkeypatch.setattr(language, "translate", lambda model, part: said)
    measured = language.bleu_of_tokens(None, parts.test)
    tokens = bleu(["two dogs sleep .", "a man runs ."], [["two dogs sleep ."], ["a man sleeps ."]], tokenize="none")
    assert measured["mean"] == round(tokens.score, 2) and measured["signature"] == tokens.signature
    assert measured["plain_13a"] == round(bleu(said, [[text] for text in parts.test.texts], lowercase=True).score, 2)


def test_translations_end_where_the_model_ends_them_and_hold_no_filling(monkeypatch):
    monkeypatch.setattr(language, "PIECES", 280)
    parts = language.pairs(Splits("t", CAPTIONS, CAPTIONS, CAPTIONS, info=INFO))
    said = torch.nn.functional.pad(parts.test.target, (0, 3), value=language.EOS)
    asked = []

    def greedy(model, length, context, eos_id):
        asked.append((length, eos_id, len(context)))
        return Decoded(said, *[torch.zeros(3)] * (len(Decoded._fields) - 1))

    monkeypatch.setattr(language, "greedy", greedy)
    model = language.translator(d_model=8, heads=2, d_ff=8, encoder_layers=1, decoder_layers=1)
    assert language.translate(model, parts.test) == parts.test.texts
    assert asked == [(language.LONGEST, language.EOS, 3)]


def test_a_target_has_one_direction():
    assert Target(at_least=33).met(33.0) and not Target(at_least=33).met(32.9)
    assert Target(1.88).met(1.88) and not Target(1.88).met(1.89)
    assert [judge(Target(at_least=28, aim=32), mean)["aim_reached"] for mean in (31.9, 32.0)] == [False, True]
    assert [judge(Target(1.9, aim=1.5), mean)["aim_reached"] for mean in (1.6, 1.5)] == [False, True]
    for wrong in ({}, {"at_most": 1, "at_least": 1}):
        with pytest.raises(ValueError, match="one of the two"):
            Target(**wrong)
