"""The run that leaves out a habit at a time: its arms, words as counted, its figures, what chapter 15 says of the record."""
from __future__ import annotations

import statistics
from collections import Counter
from dataclasses import replace

import pytest
import torch
import torch.nn.functional as F

from benchmarks import store
from benchmarks.reproduce import habits, language, pretraining, record
from benchmarks.reproduce.recipes import Repeats
from course_lib import records
from course_lib.data import Splits
from course_lib.training import bleu, fit

INFO = {"licence": "x", "citation": "y", "key": "z", "protocol": "p", "comparable_with_papers": True}
CAPTIONS = [("Ein Hund läuft.", "A dog runs."), ("Zwei Hunde schlafen.", "Two dogs sleep."),
            ("Ein Mann schläft heute.", "A man sleeps today."), ("Ein Hund schläft.", "A dog sleeps.")]
SMALL = {"d_model": 8, "heads": 2, "d_ff": 8, "encoder_layers": 1, "decoder_layers": 1}


@pytest.fixture(scope="module")
def parts():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(language, "PIECES", 280)
        patch.setattr(habits, "PIECES", 280)
        yield language.pairs(Splits("t", CAPTIONS * 10, CAPTIONS[:3], CAPTIONS[1:], info=INFO))


@pytest.fixture(scope="module")
def counted(parts):
    return habits.by_words(type("Job", (), {"splits": parts}), habits.RUNS["habits-multi30k"].rows[0], {}, "").model


def test_each_arm_leaves_out_one_habit_and_has_the_rest():
    whole, *others = (replace(row, label="") for row in habits.RUNS["habits-multi30k"].rows[1:])
    left = {"warmup": 0, "smoothing": 0.0, "dropout": 0.0, "clip": None}
    assert len(others) == len(left)

    def told(row):
        return {**row.arguments, **row.settings, **{f"final {key}": value for key, value in row.final.items()}}

    for row, (habit, off) in zip(others, left.items()):
        changed = {key: value for key, value in told(row).items() if value != told(whole)[key]}
        assert changed == ({habit: off, "final warmup": 0} if habit == "warmup" else {habit: off})
        assert row.candidates == whole.candidates and len(row.candidates) == 3
    for setting in ("updates", "warmup"):
        assert whole.final[setting] == 3 * whole.settings[setting] > 0
    assert (whole.final["seeds"], whole.settings["seeds"], whole.settings["clip"]) == (3, 1, 1.0)


def test_a_word_goes_with_the_one_that_shares_its_sentences(counted):
    """Counted by a loop; a word that no sentence had is copied."""
    f, e = ([set(text.lower().rstrip(".").split()) | {"."} for text in side] for side in zip(*CAPTIONS))
    for word in set().union(*f):
        score = {other: 2 * sum(word in a and other in b for a, b in zip(f, e))
                 / (sum(word in a for a in f) + sum(other in b for b in e)) for other in set().union(*e)}
        (said,) = counted.translate([word])
        assert score[said] == max(score.values())
    assert counted.translate(["ein hund läuft.", "zwei katzen"])[0] == "a dog runs ."
    assert counted.translate(["zwei katzen"])[0].endswith(" katzen")


def test_the_nats_beside_it_are_those_of_the_frequency_of_pieces(counted, parts):
    seen = Counter(parts.train.target.flatten().tolist())
    del seen[language.PAD]
    total = sum(seen.values()) + 280 + language.FIRST
    pieces = [piece for row in parts.test.target.tolist() for piece in row if piece != language.PAD]
    want = -torch.tensor([(seen[piece] + 1) / total for piece in pieces], dtype=torch.float64).log().mean().item()
    measured = habits.bleu_and_nats(counted, parts.test)
    assert measured["nats"]["mean"] == pytest.approx(want, abs=1e-4)
    said = counted.translate([german.lower() for german, _ in CAPTIONS[1:]])
    score = bleu(said, [[text] for text in habits.words_of(parts.test.texts)], tokenize="none")
    assert measured["mean"] == pytest.approx(score.score, abs=0.006)


def test_the_loss_is_told_without_smoothing_whatever_the_training(parts):
    """A literal mean over real pieces, the end of a sentence among them."""
    torch.manual_seed(0)
    model = language.translator(**SMALL, smoothing=0.3).eval()
    with torch.no_grad():
        terms = []
        for source, target in zip(parts.test.source, parts.test.target):
            target = target[target != language.PAD]
            logits = model.conditionals(target[None], context=source[source != language.PAD][None]).logits[0]
            terms += [F.cross_entropy(row, piece) for row, piece in zip(logits, target)]
    assert habits.nats_a_piece(model, parts.test) == pytest.approx(torch.stack(terms).mean().item(), abs=1e-4)


def test_figures_are_means_over_the_seeds_with_their_deviation(parts, monkeypatch):
    said = iter([parts.test.texts, ["a dog sleeps ."] * 3, ["a man sleeps ."] * 3] * 2)
    monkeypatch.setattr(habits, "translate", lambda model, part: next(said))
    torch.manual_seed(0)
    models = Repeats([language.translator(**SMALL) for _ in range(3)])
    found = habits.bleu_and_nats(models, parts.test)
    own = found["seeds"]
    assert own[0] == pytest.approx(100) and found["mean"] == pytest.approx(statistics.mean(own), abs=0.006)
    assert found["standard_error"] == pytest.approx(statistics.stdev(own) / 3 ** 0.5, abs=0.006) and found["over"] == 3
    own = [habits.nats_a_piece(model, parts.test) for model in models]
    assert found["nats"]["seeds"] == pytest.approx(own, abs=1e-4)
    assert found["nats"]["mean"] == pytest.approx(statistics.mean(own), abs=1e-4)
    assert found["nats"]["deviation"] == pytest.approx(statistics.stdev(own), abs=1e-4)
    assert habits.log_p_a_piece(models, parts.test)["mean"] == pytest.approx(-own[0], abs=1e-4)


def test_a_killed_run_goes_on_and_scores_each_row_once(parts, tmp_path, monkeypatch):
    """Rates on one seed for a third of the updates, then three seeds; killed in the third of five trainings."""
    row = replace(habits.arm("x", {}), arguments=SMALL | {"dropout": 0.1}, candidates=habits.over("lr", (1e-3, 2e-3)))
    small = {"batch_size": 4, "updates": 2, "warmup": 1}
    row = replace(row, settings={**row.settings, **small, "betas": (0.9, 0.98), "progress": False},
                  final={**row.final, "updates": 6, "warmup": 3})
    run = replace(habits.RUNS["habits-multi30k"], rows=(row,), prepare=lambda _: parts,
                  draw=lambda: Splits("t", ["a"], ["b"], ["c"], info=INFO))
    measured, trained = [], []

    def looks(better):
        def look(models, part):
            measured.append((better, len(models), part is parts.test))
            return {"mean": better * len(measured), "standard_error": 0.1}
        return look

    run = replace(run, rows=(replace(row, measure=looks(1), choose=looks(-1)),))

    def killed(*arguments, **settings):
        trained.append(settings["lr"])
        if len(trained) == 3:
            raise KeyboardInterrupt
        return fit(*arguments, **settings)

    with monkeypatch.context() as patch:
        patch.setattr(pretraining, "fit", killed)
        with pytest.raises(KeyboardInterrupt):
            record.reproduce(run, tmp_path, tmp_path, tmp_path / "scratch", "cpu", say=lambda line: None)
    assert len(list((tmp_path / "scratch").rglob("*.safetensors"))) == 2 and not measured.count((1, 3, True))
    measured.clear()
    made = record.reproduce(run, tmp_path, tmp_path, tmp_path / "scratch", "cpu", say=lambda line: None)
    assert measured == [(-1, 1, False), (-1, 1, False), (1, 3, False), (1, 3, True)]
    assert made["rows"][0]["settings"]["lr"] == 1e-3, "the larger of -1 and -2"
    assert made["rows"][0]["settings"]["updates"] == 6 and made["rows"][0]["settings"]["seeds"] == 3


def test_what_chapter_15_says_of_the_record():
    counted, *arms = records.read("habits-multi30k")["rows"]
    whole, no_warmup, no_smoothing, no_dropout, no_clipping = arms
    score, nats = ([arm["test"]["seeds"] for arm in arms], [arm["test"]["nats"]["seeds"] for arm in arms])
    assert [len(own) for own in score + nats] == [3] * 10 and len({arm["settings"]["lr"] for arm in arms}) == 1

    def apart(low, high):
        return max(low) < min(high)

    assert apart(score[1], score[0]) and apart(nats[0], nats[1]), "the warm-up helps"
    assert whole["test"]["mean"] - no_warmup["test"]["mean"] > 1
    assert apart(score[0], score[3]) and apart(nats[3], nats[0]), "dropout costs"
    assert no_dropout["test"]["mean"] - whole["test"]["mean"] > 3
    dictionary = counted["test"]["mean"]
    assert min(score[3]) > dictionary and all(max(own) < dictionary for own in (*score[:3], score[4]))
    assert apart(nats[2], nats[0]) and no_smoothing["test"]["nats"]["mean"] < whole["test"]["nats"]["mean"]
    for within in (score[2], score[4], nats[4]):
        own = nats[0] if within is nats[4] else score[0]
        assert not apart(within, own) and not apart(own, within)
    assert no_clipping["settings"]["clip"] is None
    assert 1 <= whole["settings"]["updates"] * whole["settings"]["batch_size"] / 29000 < 1.1, "about once through"


def test_the_rate_that_was_chosen_is_no_edge_of_those_that_were_tried():
    for row in store.read()["habits-multi30k"]["rows"][1:]:
        tried = sorted(candidate["lr"] for candidate in row["candidates"])
        assert row["settings"]["lr"] == tried[1]
