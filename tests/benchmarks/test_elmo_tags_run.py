"""Chapter 11's language models trained on with tags, made small: what a word's score is, what is trained, when it stops."""
from __future__ import annotations

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import nn

from benchmarks.reproduce import bert_tags, elmo_tags
from benchmarks.reproduce.recipes import Job
from course_lib import records
from course_lib.words import BiLM
from tests.benchmarks.test_bert_tags_run import NOUNS, SPLITS, TOKENIZER, VERBS, of
from tools.results_page import read

SETTINGS = {**elmo_tags.TUNING, "epochs": 3, "warmup": 2, "labels": 20, "start": "trained", "seeds": 2, "lr": 0.01}


@pytest.fixture(scope="module")
def parts() -> bert_tags.Parts:
    return bert_tags.parts_of(SPLITS)


@pytest.fixture
def bilm() -> BiLM:
    torch.manual_seed(0)
    return BiLM(60, 8, dropout=0.1)


@pytest.fixture(autouse=True)
def small(monkeypatch, bilm):
    monkeypatch.setattr(elmo_tags, "pieces_of_elmo", lambda: TOKENIZER)
    monkeypatch.setattr(elmo_tags, "OWN_ROWS", 40)
    for start in elmo_tags.STARTS:
        monkeypatch.setitem(elmo_tags.STARTS, start, lambda seed: bilm)


def tuned(parts, folder, **settings) -> nn.ModuleList:
    (row,) = [row for row in elmo_tags.RUNS["elmo-ewt-tuned"].rows if row.label == "fine-tuned, trained, 50 sentences"]
    return elmo_tags.by_tuning(Job(parts, 0, torch.device("cpu"), folder), row, {**SETTINGS, **settings}, "small").model


def test_the_scores_of_a_word_are_those_of_the_mean_of_its_pieces(parts, bilm, monkeypatch):
    """Sentence by sentence, piece by piece, without padding; one sentence is longer than a row."""
    for module in (bert_tags, elmo_tags):
        monkeypatch.setattr(module, "ROOM", 9)
    long = of(" ".join((NOUNS + VERBS)[::4]))
    sentences = [*parts.test[:3], long._replace(tags=["NOUN", "VERB"] * 7 + ["VERB"])]
    torch.manual_seed(1)
    model = elmo_tags.TunedELMo(parts, parts.train[:5], bilm).eval()
    nn.init.normal_(model.mix.w)
    nn.init.constant_(model.mix.gamma, 0.7)
    both, tags = model.rows(sentences)
    weights = model.mix.w.softmax(dim=0)
    expected, asked, edge = [], [], TOKENIZER.vocabulary.eos_id
    with torch.no_grad():
        for tokens, word in both:
            own = tokens[:int((word >= 0).sum()) + 2]
            assert own[0] == own[-1] == edge and (word[[0, len(own) - 1]] == -1).all()
            layers = model.bilm.states(own[None])
            for k in range(int(word.max()) + 1):
                at = [t for t in range(len(own)) if word[t] == k]
                asked.append(TOKENIZER.decode(own[at]))
                mixed = 0.7 * sum(s * torch.stack([h[0, t] for t in at]).mean(dim=0) for s, h in zip(weights, layers))
                expected.append(model.head.weight @ mixed + model.head.bias)
        scores = model(both)[tags != bert_tags.UNASKED]
    assert asked == [word.lower() for sentence in sentences for word in sentence.words] and len(both) > 5
    torch.testing.assert_close(scores, torch.stack(expected), rtol=1e-4, atol=1e-5)
    assert [parts.tags[k] for k in tags[tags != bert_tags.UNASKED]] == [tag for s in sentences for tag in s.tags]
    assert np.array_equal(model.told(sentences), torch.stack(expected).argmax(dim=1).numpy())
    wide, wide_tags = model.filled(sentences)
    assert wide.shape[1:] == (2, 11) and wide_tags.shape[1] == 9
    again = model(wide)
    torch.testing.assert_close(again[wide_tags[:, :again.shape[1]] != bert_tags.UNASKED], scores, rtol=1e-5, atol=1e-6)


def test_it_learns_by_nats_and_is_watched_by_the_share_of_wrong_tags(parts, bilm):
    model = elmo_tags.TunedELMo(parts, parts.train[:5], BiLM(60, 8))
    both, tags = model.rows(parts.train[:5])
    kept = tags != bert_tags.UNASKED
    scores = model(both)[kept]
    nats, weight = model.train().loss((both, tags))
    assert weight == kept.sum() and nats.item() == pytest.approx(F.cross_entropy(scores, tags[kept]).item(), abs=1e-5)
    wrong, weight = model.eval().loss((both, tags))
    assert weight == kept.sum() and wrong.item() == pytest.approx((scores.argmax(dim=1) != tags[kept]).double().mean().item())


def test_every_start_has_the_same_sentences_order_and_head(parts, bilm, tmp_path):
    """With equal weights to begin with, they end alike; and the weights that all begin with stay as they were."""
    before = {name: p.clone() for name, p in bilm.named_parameters()}
    folders = [tmp_path / start for start in elmo_tags.STARTS]       # one checkpoint would make them alike
    models = [tuned(parts, folder, start=folder.name) for folder in folders if folder.mkdir() is None]
    for p, q in zip(*(model.parameters() for model in models), strict=True):
        assert torch.equal(p, q)
    assert all(torch.equal(p, before[name]) for name, p in bilm.named_parameters())
    assert all(not torch.equal(p, before[name]) for name, p in models[0][0].bilm.named_parameters() if name != "bias")
    assert not torch.equal(models[0][0].mix.w, torch.zeros(3)) and len(models[0]) == 2


def test_it_stops_where_dev_is_best_and_a_killed_run_goes_on(parts, tmp_path, monkeypatch):
    """The weights that are kept make as few faults on the watched sentences as the best of the looks did."""
    seen = []
    whole = elmo_tags.fit

    def looking(*arguments, **settings):
        seen.append(whole(*arguments, **settings))
        return seen[-1]

    monkeypatch.setattr(elmo_tags, "fit", looking)
    (model,) = tuned(parts, tmp_path, seeds=1, epochs=5, lr=0.1)
    watched = parts.valid[::elmo_tags.WATCHED]
    wrong = np.mean(model.told(watched) != bert_tags.tags_in(watched, parts.tags))
    assert wrong == pytest.approx(min(seen[0].valid)) and seen[0].restored and max(seen[0].valid) > min(seen[0].valid)
    (again,) = tuned(parts, tmp_path, seeds=1, epochs=5, lr=0.1)
    assert seen[1].seconds == seen[0].seconds and all(map(torch.equal, model.parameters(), again.parameters()))


def test_what_chapter_11_says_of_the_record_holds_for_every_seed():
    rows = {name: {row["model"]: row["test"] for row in records.read(name)["rows"]} for name in ("bert-ewt", "elmo-ewt", "elmo-ewt-tuned")}
    tests = {"hand": ("bert-ewt", "hand features"), "frozen": ("elmo-ewt", "frozen, trained"),
             "tuned": ("elmo-ewt-tuned", "fine-tuned, trained"), "nothing": ("elmo-ewt-tuned", "fine-tuned, from nothing")}

    def seeds(arm: str, size: str, new: bool = False) -> np.ndarray:
        found, name = tests[arm]
        one = rows[found][f"{name}, {size} sentences"]
        return np.array((one["unseen"] if new else one)["seeds"])[:3 if size == "1,000" else 5]

    sizes = ("50", "200", "1,000")
    for size in sizes:
        assert len(seeds("tuned", size)) == len(seeds("nothing", size)) == len(seeds("frozen", size))
        assert (seeds("tuned", size) > np.maximum(seeds("hand", size), seeds("nothing", size))).all()
        assert (seeds("nothing", size) < seeds("frozen", size)).all()
    assert all((seeds("nothing", size) < seeds("hand", size)).all() for size in sizes[:2])
    assert abs((seeds("nothing", "1,000") - seeds("hand", "1,000")).mean()) < 0.3, "beside them"
    gains = {size: seeds("tuned", size) - seeds("frozen", size) for size in sizes}
    assert gains["50"].max() < 0 <= gains["1,000"].min() and gains["50"].mean() < gains["200"].mean() < 0 < gains["1,000"].mean() < 1
    share = rows["elmo-ewt-tuned"]["fine-tuned, trained, 50 sentences"]["unseen"]["share"] / 100
    new = {size: (seeds("tuned", size, new=True) - seeds("frozen", size, new=True)).mean() for size in sizes}
    assert share * new["50"] < gains["50"].mean() / 2, "most of the loss is on new words"
    assert new["1,000"] <= 0, "and they gain nothing where all words together do"


def test_the_recorded_rates_are_not_at_an_edge():
    (record,) = [r for r in read()[0] if r["name"] == "elmo-ewt-tuned"]
    for row in record["rows"]:
        rates = sorted(candidate["lr"] for candidate in row["candidates"])
        assert rates[0] < row["settings"]["lr"] < rates[-1], row["model"]
