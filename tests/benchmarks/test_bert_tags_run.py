"""Tags from few sentences, made small: rows of words, what each arm sees, what is counted, and a further network in the table."""
from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from benchmarks import store
from benchmarks.reproduce import bert_english, bert_tags, record
from benchmarks.reproduce.english import Tagged
from benchmarks.reproduce.recipes import Job, free_parameters
from benchmarks.reproduce.run import Row, Run, over
from course_lib.data import Splits
from course_lib.tokenizers import WordPieceTokenizer
from course_lib.transformer.bert import BERT, BERTConfig
from course_lib.words import BiLM

INFO = {"licence": "x", "citation": "y", "protocol": "z", "key": "k", "comparable_with_papers": False}
NOUNS, VERBS = [f"b{a}{b}" for a in "aeiou" for b in "lmnrst"], [f"k{a}{b}o" for a in "aeiou" for b in "lmnrst"]


def sentences(count: int, seed: int) -> list[str]:
    """The tag is in the first letter; a treebank's line is word, tag, relation."""
    generator = torch.Generator().manual_seed(seed)
    picks = torch.randint(30, (count, 3), generator=generator).tolist()
    return [f"{NOUNS[a].upper()}\tNOUN\tx\n{VERBS[b]}\tVERB\tx\n{NOUNS[c]}\tNOUN\tx" for a, b, c in picks]


SPLITS = Splits("ud_english_ewt", sentences(200, 0), sentences(30, 1), sentences(40, 2), info=INFO)
TOKENIZER = WordPieceTokenizer.fit(" ".join(NOUNS + VERBS), 60)


@pytest.fixture
def bert() -> BERT:
    torch.manual_seed(0)
    return BERT(BERTConfig(60, bert_english.LENGTH, layers=1, heads=2, d_model=16, dropout=0.0))


@pytest.fixture(autouse=True)
def small(monkeypatch, bert):
    monkeypatch.setattr(bert_tags, "pieces_of_bert", lambda: TOKENIZER)
    monkeypatch.setattr(bert_tags, "fresh_bert", lambda vectors, seed=0: bert)
    monkeypatch.setattr(bert_tags.hub, "load", lambda name: bert)


def carried_out(row: Row, folder) -> tuple[dict, Job]:
    (folder / "run").mkdir(exist_ok=True)
    job = Job(bert_tags.parts_of(SPLITS), 0, torch.device("cpu"), folder / "run")
    return record.carry_out(row, Run("small", "ud_english_ewt", (row,), best=max), job, folder), job


def of(text: str) -> Tagged:
    return Tagged(text.split(), ["X"] * len(text.split()), ["x"] * len(text.split()))


def test_a_long_sentence_goes_on_in_the_next_row_and_no_word_is_cut_in_two(monkeypatch):
    monkeypatch.setattr(bert_tags, "ROOM", 7)
    words = (NOUNS + VERBS)[::3]
    rows = list(bert_tags.cut(of(" ".join(words)), TOKENIZER))
    assert len(rows) > 3 and all(len(row.tokens) == len(row.word) <= 9 for row in rows)
    told = []
    for row in rows:
        assert row.tokens[0] == 2 and row.tokens[-1] == 3 and row.word[0] == row.word[-1] == -1
        assert row.word[1:-1].unique_consecutive().tolist() == list(range(int(row.word.max()) + 1))
        told += [TOKENIZER.decode(row.tokens[row.word == k]) for k in range(int(row.word.max()) + 1)]
    assert told == words


def test_a_description_has_a_row_a_word_in_order_and_is_the_mean_of_its_pieces(bert, monkeypatch):
    monkeypatch.setattr(bert_tags, "ROOM", 7)
    some = [of(" ".join(NOUNS[:7])), of(VERBS[0]), of(" ".join(VERBS[3:6]))]
    found = bert_tags.by_states(bert, TOKENIZER)(some)
    assert found.shape == (11, 2 * 16)
    at = 0
    for sentence in some:
        for row in bert_tags.cut(sentence, TOKENIZER):
            with torch.no_grad():
                states = torch.cat(bert.states(row.tokens[None]), dim=-1)[0]
            for k in range(int(row.word.max()) + 1):
                assert np.allclose(found[at], states[row.word == k].mean(dim=0), atol=1e-5)
                at += 1
    assert at == 11


def test_hand_features_are_word_endings_and_neighbours():
    describe = bert_tags.by_hand([of("a dog barks"), of("dogs bark")])
    rows = describe([of("a dog barks"), of("big dogs bark")])
    assert rows.shape[0] == 6
    assert np.asarray(rows.sum(axis=1)).ravel().tolist() == [6, 6, 6, 2, 5, 6]     # "big": the edge before, "dogs" after
    assert (rows[1] != rows[5]).nnz > 0 and (describe([of("a dog barks")]) != rows[:3]).nnz == 0


def test_the_tag_of_a_word_is_asked_for_at_its_first_piece(bert):
    parts = bert_tags.parts_of(SPLITS)
    model = bert_tags.FineTuned(parts, parts.train[:5], bert)
    tokens, tags = model.rows(parts.train[:5])
    for row, place, sentence in zip(tokens, tags, parts.train):
        asked = [(TOKENIZER.vocabulary.symbols[t], parts.tags[k]) for t, k in zip(row, place) if k != bert_tags.UNASKED]
        assert [tag for _, tag in asked] == sentence.tags
        assert all(word.lower().startswith(piece) for (piece, _), word in zip(asked, sentence.words))
    torch.manual_seed(1)
    told = model.told(parts.test)
    assert told.shape == (120,)
    one_by_one = np.concatenate([model.told([sentence]) for sentence in parts.test])
    assert np.array_equal(told, one_by_one)


@pytest.mark.parametrize("name", ["hand features", "BERT"])
def test_a_probe_learns_and_new_words_are_counted_apart(tmp_path, name):
    entry, job = carried_out(bert_tags.probe(name, 10), tmp_path)
    models = job.models[f"{name}, 10 sentences"]
    seeds, new = [], []
    for seed, model in enumerate(models):
        own = [word.lower() for s in bert_tags.own_sentences(job.splits, 10, seed) for word in s.words]
        said, at = model.told(job.splits.test), 0
        right, unseen = [], []
        for sentence in job.splits.test:
            for word, tag in zip(sentence.words, sentence.tags):
                right.append(job.splits.tags[said[at]] == tag)
                if word.lower() not in own:
                    unseen.append(right[-1])
                at += 1
        seeds.append(100 * sum(right) / at)
        new.append(100 * sum(unseen) / len(unseen))
    assert entry["test"]["seeds"] == pytest.approx(seeds, abs=0.01) and len(seeds) == 5
    assert entry["test"]["unseen"]["seeds"] == pytest.approx(new, abs=0.01)
    assert entry["test"]["mean"] > 80 and entry["parameters"] > 0
    assert entry["settings"]["C"] in (0.01, 0.1, 1.0, 10.0, 100.0) and len(entry["candidates"]) == 3


def test_the_commonest_tag_and_of_a_new_word_the_commonest_of_all(tmp_path):
    row = Row("commonest", bert_tags.Commonest, bert_tags.by_fitting, {}, {"labels": 10, "seeds": 5}, measure=bert_tags.tags_right)
    entry, job = carried_out(row, tmp_path)
    model = job.models["commonest"][0]
    known = sorted(model.seen)[:4]
    told = [job.splits.tags[k] for k in model.told([of(" ".join(known)), of("zzz")])]
    assert told == ["NOUN" if word[0] == "b" else "VERB" for word in known] + ["NOUN"]
    assert entry["test"]["unseen"]["mean"] < entry["test"]["mean"] < 100 and free_parameters(job.models["commonest"]) > 0


def test_labels_of_other_sentences_are_not_read():
    parts = bert_tags.parts_of(SPLITS)
    own = {id(sentence) for sentence in bert_tags.own_sentences(parts, 10, 0)}
    spoilt = parts._replace(train=[s if id(s) in own else s._replace(tags=["VERB"] * 3) for s in parts.train])
    told = [bert_tags.Probe(p, bert_tags.own_sentences(p, 10, 0), "hand features", 1.0).told(parts.test) for p in (parts, spoilt)]
    assert np.array_equal(*told)


def test_every_start_of_fine_tuning_has_the_same_sentences_updates_and_heads(tmp_path, bert, monkeypatch):
    """With the stored weights equal to the fresh ones, all of them end alike."""
    rows = [bert_tags.tuned(start, 10) for start in bert_tags.STARTS]
    small = {"updates": 12, "warmup": 2}
    models = []
    for k, row in enumerate(rows):
        row = Row(row.label, row.model, row.recipe, {}, {**row.settings, **small}, over("lr", (1e-3, 1e-2)), row.measure, final={"seeds": 2})
        entry, job = carried_out(row, tmp_path / str(k) if (tmp_path / str(k)).mkdir() is None else tmp_path)
        models.append(job.models[row.label])
        assert len(entry["test"]["seeds"]) == 2 and entry["settings"]["lr"] in (1e-3, 1e-2)
    for others in zip(*(model.parameters() for model in models), strict=True):
        assert len(others) == 3 and all(torch.equal(others[0], q) for q in others[1:])
    assert models[0][0].whole.bert.config.dropout == 0.1
    assert not torch.equal(models[0][0].whole.bert.tokens.weight, bert.tokens.weight)            # every weight is trained


def test_elmo_enters_the_table_as_a_row(tmp_path, monkeypatch):
    torch.manual_seed(0)
    monkeypatch.setitem(bert_tags.DESCRIPTIONS, "ELMo", lambda train: bert_tags.by_states(BiLM(60, 8), TOKENIZER))
    entry, job = carried_out(bert_tags.probe("ELMo", 10, "frozen, two LSTMs"), tmp_path)
    assert entry["model"] == "frozen, two LSTMs, 10 sentences" and entry["test"]["mean"] > 60
    assert job.splits.describe("ELMo")(job.splits.test).shape == (120, 3 * 2 * 8)


SIZES = (10, 50, 200, 1000)


def recorded(name: str, way: str) -> list[dict]:
    """The rows of one way in a record, by the number of tagged sentences."""
    rows = {row["model"]: row for row in store.read()[name]["rows"]}
    return [rows[f"{way}, {n:,} sentences"] for n in SIZES]


def clearly_above(better: dict, worse: dict) -> bool:
    return better["mean"] - worse["mean"] > 2 * math.hypot(better["standard_error"], worse["standard_error"])


def test_what_the_chapter_says_of_fine_tuning_holds_in_the_records():
    """Frozen ahead up to 200 sentences and fine-tuned at 1,000, each by more than two errors; the start counts, at every size."""
    frozen, tuned, vectors, nothing = ([row["test"] for row in recorded(*way)] for way in (
        ("bert-ewt", "frozen, pre-trained"), ("bert-ewt-tuned", "fine-tuned, pre-trained"),
        ("bert-ewt-tuned", "fine-tuned, before its first update"), ("bert-ewt-tuned", "fine-tuned, untrained")))
    for k, (better, worse) in enumerate([(frozen, tuned)] * 3 + [(tuned, frozen)]):
        assert clearly_above(better[k], worse[k])
    for k in range(4):
        assert clearly_above(tuned[k], vectors[k]) and clearly_above(vectors[k], nothing[k])
    assert clearly_above(tuned[3], recorded("bert-ewt", "hand features")[3]["test"])


def test_every_start_chose_among_three_rates_mostly_the_middle_one():
    rows = store.read()["bert-ewt-tuned"]["rows"]
    rates = [sorted(one["lr"] for one in row["candidates"]) for row in rows]
    assert len(rows) == 12 and all(each == rates[0] for each in rates) and len(rates[0]) == 3
    assert sum(row["settings"]["lr"] == rates[0][1] for row in rows) == 10
    for row in rows:
        assert row["settings"]["lr"] == max(row["candidates"], key=lambda one: one["valid"])["lr"]
