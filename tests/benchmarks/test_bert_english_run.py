"""BERT on English sentences, made small: what is read, how it starts, what is measured, and a run that was killed."""
from __future__ import annotations

import math

import pytest
import torch

from benchmarks import store
from benchmarks.reproduce import bert_english, elmo, record
from benchmarks.reproduce.recipes import Job
from benchmarks.reproduce.run import Row, Run
from course_lib.counting import NGram
from course_lib.data import Splits

INFO = {"licence": "x", "citation": "y", "protocol": "z", "key": "k", "comparable_with_papers": False}
SIZE = {"layers": 1, "heads": 2, "d_model": 16, "dropout": 0.0}
PIECES = 60
READING = {"epochs": 2, "batch_size": 8, "lr": 5e-3, "schedule": "linear", "vectors": True, "watch_every": 4, "progress": False}


def sentences(count: int, seed: int) -> list[str]:
    """One person, one deed, one thing; each deed has two things of its own."""
    generator = torch.Generator().manual_seed(seed)
    picks = torch.randint(2, (count, 3), generator=generator).tolist()
    deeds = {"eats": ("bread", "fish"), "reads": ("books", "maps")}
    return [f"{('he', 'she')[a]} {deed} {deeds[deed][c]} ." for a, b, c in picks for deed in [tuple(deeds)[b]]]


@pytest.fixture(autouse=True)
def small(monkeypatch):
    monkeypatch.setattr(elmo, "PIECES", PIECES)
    monkeypatch.setattr(bert_english, "LENGTH", 16)
    elmo.pieces.cache_clear()
    yield
    elmo.pieces.cache_clear()


@pytest.fixture
def parts(small) -> elmo.Parts:
    return bert_english.packed(Splits("english", sentences(300, 0), sentences(40, 1), sentences(40, 2), info=INFO))


def job(parts: elmo.Parts, folder) -> Job:
    folder.mkdir(exist_ok=True)
    return Job(parts, 0, torch.device("cpu"), folder)


def read(parts, folder, **settings):
    row = Row("BERT", bert_english.bert, bert_english.by_reading, SIZE, {**READING, **settings})
    return bert_english.by_reading(job(parts, folder), row, row.settings, "bert")


def test_rows_are_the_sentences_in_order_behind_a_sign_each(parts):
    symbols = parts.info["tokenizer"]["symbols"]
    assert symbols[:5] == ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    for rows, seed, count in ((parts.train, 0, 300), (parts.test, 2, 40)):
        assert rows.shape[1] == 16 and (rows[:, 0] == 2).all() and (rows[:, 1:] != 2).all()
        text = " ".join(symbols[i] for i in rows[:, 1:].flatten()).replace(" ##", "")
        told = "[SEP] " + " [SEP] ".join(sentences(count, seed)) + " [SEP]"
        assert told.startswith(text) and len(told) - len(text) < 16 * 12


def test_vectors_of_pieces_tell_what_stands_near_what(parts):
    vectors = bert_english.vectors_of(parts.train, PIECES, 16)
    assert vectors.shape == (PIECES, 16) and vectors.mean().abs() < 1e-6
    assert vectors.std().item() == pytest.approx(bert_english.DEVIATION, rel=1e-4)
    place = {symbol: i for i, symbol in enumerate(parts.info["tokenizer"]["symbols"])}

    def cosine(a, b):
        return torch.cosine_similarity(vectors[place[a]] - vectors.mean(0), vectors[place[b]] - vectors.mean(0), dim=0)
    assert cosine("bread", "fish") > cosine("bread", "maps") + 0.3
    assert bert_english.vectors_of(parts.train, PIECES, 70).shape == (PIECES, 70)      # wider than there are pieces


@pytest.mark.parametrize("build", [bert_english.bert, bert_english.gpt])
def test_weights_start_wide_and_gains_as_they_are(parts, build):
    torch.manual_seed(0)
    plain = build(**{**SIZE, "d_model": 32})
    torch.manual_seed(0)
    model = bert_english.begun(build(**{**SIZE, "d_model": 32}), parts.train, vectors=True)
    assert torch.equal(model.tokens.weight, bert_english.vectors_of(parts.train, PIECES, 32))
    for (name, wide), (_, was) in zip(model.named_parameters(), plain.named_parameters()):
        if name != "tokens.weight":
            assert torch.allclose(wide, was * (3 if was.dim() == 2 else 1))


def test_a_piece_is_told_from_all_others_by_bert_and_from_those_before_it_by_the_rest(parts):
    torch.manual_seed(0)
    bert, gpt = (build(**SIZE).eval() for build in (bert_english.bert, bert_english.gpt))
    pair = NGram(n=2, vocab_size=PIECES, smoothing="add", alpha=0.5)
    pair.fit_counts(parts.train)
    rows = parts.test[:3]
    with torch.no_grad():
        alone, before, counted = bert_english.alone(bert, rows), bert_english.before(gpt, rows), bert_english.before(pair, rows)
        for b in range(3):
            for t in range(1, 16):
                gap = rows[b:b + 1].clone()
                gap[0, t] = bert_english.MASK
                nats = -bert.pretraining_logits(gap)[0][0, t].log_softmax(0)[rows[b, t]]
                assert alone[b, t].item() == pytest.approx(nats.item(), abs=1e-5)
                nats = -gpt(rows[b:b + 1, :t])[0, -1].log_softmax(0)[rows[b, t]]
                assert before[b, t].item() == pytest.approx(nats.item(), abs=1e-5)
                nats = -pair.log_prob(rows[b:b + 1, t:t + 1], rows[b:b + 1, t - 1:t])
                assert counted[b, t].item() == pytest.approx(nats.item(), abs=1e-5)
    for model, each in ((bert, alone), (gpt, before), (pair, counted)):
        figures, asked = bert_english.nats_a_piece(model, rows), rows > 4
        assert figures["mean"] == pytest.approx(each[asked].mean().item(), abs=1e-4) and figures["over"] == asked.sum()
        second = each[:, 8:][asked[:, 8:]].mean().item()
        assert figures["by place"] == [pytest.approx(each[:, :8][asked[:, :8]].mean().item(), abs=1e-4), pytest.approx(second, abs=1e-4)]


def test_what_is_watched_is_a_third_of_the_pieces_and_no_sign(parts):
    read, chosen = bert_english.hidden(parts.train, bert_english.RATE)
    assert (parts.train[chosen] > 4).all() and (read[chosen] == bert_english.MASK).all()
    assert torch.equal(read[~chosen], parts.train[~chosen])
    share = chosen.sum().item() / (parts.train > 4).sum().item()
    assert share == pytest.approx(0.3, abs=0.03)
    assert torch.equal(chosen, bert_english.hidden(parts.train, bert_english.RATE)[1])


def test_a_run_that_was_killed_ends_with_the_weights_and_the_curve_of_one_that_was_not(parts, tmp_path, monkeypatch):
    whole = read(parts, tmp_path / "whole")
    steps = 2 * math.ceil(len(parts.train) / 8)
    assert [pieces for pieces, _ in whole.curve] == [8 * 16 * step for step in range(4, steps + 1, 4)]
    watched, seen = bert_english.Watch.__call__, []

    def killed(self, report):
        watched(self, report)
        seen.append(report.step)
        if len(seen) == steps - 3:
            raise KeyboardInterrupt
    monkeypatch.setattr(bert_english.Watch, "__call__", killed)
    with pytest.raises(KeyboardInterrupt):
        read(parts, tmp_path / "killed")
    again = read(parts, tmp_path / "killed")
    assert len(seen) > steps - 3                                     # it went on, and not from the last step
    assert again.curve == whole.curve
    for p, q in zip(again.model.parameters(), whole.model.parameters()):
        assert torch.equal(p, q)


def test_the_record_holds_the_curve_and_the_loss_falls(parts, tmp_path):
    row = Row("BERT", bert_english.bert, bert_english.by_reading, SIZE, {**READING, "epochs": 6}, measure=bert_english.nats_a_piece)
    entry = record.carry_out(row, Run("small", "english", (row,)), job(parts, tmp_path / "run"), tmp_path)
    first, last = entry["curve"][0][1], entry["curve"][-1][1]
    assert last < first - 1 and last == pytest.approx(entry["valid"]["hidden"], abs=0.3)
    assert "curve" not in record.carry_out(
        Row("pairs", NGram, bert_english.by_ngram, {"n": 2}, {"smoothing": "add", "alpha": 0.1}, measure=bert_english.nats_a_piece),
        Run("small", "english", ()), job(parts, tmp_path / "run"), tmp_path)


def test_what_chapter_18_says_of_gpt_and_bert_by_place():
    rows = {row["model"]: row["test"] for name in ("bert-english", "bert-english-twin") for row in store.read()[name]["rows"]}
    gpt, bert = (rows[f"{name}, embeddings from word vectors"] for name in ("GPT", "BERT"))
    apart = [one - other for one, other in zip(gpt["by place"], bert["by place"])]
    assert min(apart) > 1 and max(apart) == apart[0] and min(apart) == apart[-1]
    assert rows["bigram"]["mean"] - gpt["mean"] > 10 * gpt["standard_error"] and gpt["over"] == bert["over"]


def test_what_chapter_18_says_of_the_curve():
    """It starts at the unigram, is below the bigram within two of eleven readings, and gains less in the other nine."""
    rows = {row["model"]: row for row in store.read()["bert-english"]["rows"]}
    read = rows["BERT, embeddings from word vectors"]
    curve, whole = dict(read["curve"]), read["curve"][-1][0]
    first = {pieces: nats for pieces, nats in curve.items() if pieces <= 2 / 11 * whole}
    assert abs(read["curve"][0][1] - rows["unigram"]["test"]["mean"]) < 0.1
    assert min(first.values()) < rows["bigram"]["test"]["mean"] - 0.1
    assert min(first.values()) - read["curve"][-1][1] < read["curve"][0][1] - min(first.values())
    assert read["test"]["mean"] < read["test"]["hidden"]


def test_what_chapter_18_says_of_the_start_from_chance():
    """At the unigram for most of the first of eleven readings, and in the end seven standard errors behind, 0.2 nats."""
    records = store.read()
    unigram, _, vectors = (row["test"] for row in records["bert-english"]["rows"])
    [chance] = records["bert-english-chance"]["rows"]
    behind = chance["test"]["mean"] - vectors["mean"]
    assert round(behind, 1) == 0.2 and chance["test"]["over"] == vectors["over"]
    assert behind > 7 * max(chance["test"]["standard_error"], vectors["standard_error"])
    reading = chance["curve"][-1][0] / 11
    first = [nats for pieces, nats in chance["curve"] if pieces < 0.8 * reading]
    assert len(first) >= 3 and max(abs(nats - unigram["mean"]) for nats in first) < 0.1
