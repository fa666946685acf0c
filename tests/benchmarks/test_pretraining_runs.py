"""Pre-training and fine-tuning on a planted language: what is read, from which weights, with which labels."""
from __future__ import annotations

from dataclasses import replace
from functools import partial

import pytest
import torch

from benchmarks.reproduce import pretraining, record
from benchmarks.reproduce.recipes import Job, Repeats, free_parameters
from benchmarks.reproduce.run import Row, Run, over
from course_lib.data import Splits

INFO = {"licence": "x", "citation": "y", "protocol": "z", "key": "k", "comparable_with_papers": False}
WORDS = [[a + b for a in letters for b in "aeio"] for letters in ("bcdfghjk", "lmnprstv")]      # of each topic
READING = {"updates": 400, "batch_size": 32, "lr": 5e-3, "progress": False}
TUNING = {"updates": 40, "batch_size": 8, "progress": False}
SIZE = {"layers": 1, "heads": 2, "d_model": 32, "dropout": 0.0}


def sentences(count: int, seed: int) -> tuple[list[str], torch.Tensor]:
    """Six words of one topic each, and which topic it is."""
    generator = torch.Generator().manual_seed(seed)
    topics = torch.randint(2, (count,), generator=generator)
    picks = torch.randint(32, (count, 6), generator=generator)
    return [" ".join(WORDS[topic][word] for word in row) for topic, row in zip(topics.tolist(), picks.tolist())], topics


def planted(name: str, seed: int) -> Splits:
    parts = {part: sentences(count, seed + k) for k, (part, count) in enumerate((("train", 160), ("valid", 90), ("test", 40)))}
    return Splits(name, *(texts for texts, _ in parts.values()), labels={part: y for part, (_, y) in parts.items()}, info=INFO)


SETS = {"sst2": planted("sst2", 10), "cola": planted("cola", 20)}
CAPTIONS = Splits("multi30k", [("x", text) for text in sentences(300, 30)[0]], [], [], info=INFO)


@pytest.fixture(autouse=True)
def small(monkeypatch):
    """Nothing is loaded; sizes are small. Returns what will be loaded, to be changed."""
    sets = {**SETS, "multi30k": CAPTIONS}
    monkeypatch.setattr(pretraining.data, "load_data", lambda name, **options: sets[name])
    monkeypatch.setattr(pretraining, "PIECES", 100)
    monkeypatch.setattr(pretraining, "HELD_OUT", 50)
    return sets


def job(made: pretraining.Task, folder) -> Job:
    (folder / "run").mkdir(exist_ok=True)
    return Job(made, 0, torch.device("cpu"), folder / "run")


def row(labels: int | None = 8, first: dict | None = None, **settings) -> Row:
    return Row("a row", pretraining.Classifier, pretraining.by_fine_tuning, SIZE,
               {**TUNING, "labels": labels, "pretraining": first, "seeds": 2, **settings}, over("lr", (1e-7, 2e-3)),
               partial(pretraining.over_seeds, score=pretraining.per_cent_right), final={"seeds": 3})


def tuned(made: pretraining.Task, folder, **settings) -> Repeats:
    wanted = row(**settings)
    return pretraining.by_fine_tuning(job(made, folder), wanted, {**wanted.settings, "lr": 1e-3}, "a-row").model


def weights(models) -> torch.Tensor:
    return torch.cat([p.detach().flatten() for p in models.parameters()])


def spelt(tokens: torch.Tensor, made: pretraining.Task) -> list[str]:
    tokenizer = pretraining.WordPieceTokenizer.from_config(made.info["tokenizer"])
    return [pretraining.letters(tokenizer.decode(line)) for line in tokens]


def test_no_development_or_test_sentence_is_read_however_it_is_written(small):
    banned = {pretraining.letters(text) for one in SETS.values() for part in (one.valid, one.test) for text in part}
    stranger = [SETS["sst2"].valid[0].upper() + " .", SETS["cola"].valid[1].replace(" ", "  "), SETS["cola"].test[2] + "!",
                SETS["sst2"].test[3].title()]
    for name in ("sst2", "cola"):
        one = SETS[name]
        small[name] = replace(one, train=stranger + one.train[4:] + one.train[-1:],
                              labels={**one.labels, "train": torch.cat([one.labels["train"], one.labels["train"][-1:]])})
    small["multi30k"] = replace(CAPTIONS, train=[("x", text) for text in stranger] + CAPTIONS.train)
    for name, development in (("sst2", ("valid",)), ("cola", ("valid", "test"))):
        made = pretraining.task(small[name], development)
        for part in (made.text, made.train.tokens, made.valid.tokens):
            read = spelt(part, made)
            assert not banned & set(read) and len(set(read)) == len(read)
        assert not set(spelt(made.train.tokens, made)) & set(spelt(made.valid.tokens, made))
        assert len(made.valid.labels) == 50 and len(made.train.labels) + 50 == len(set(small[name].train[4:]))
        assert set(spelt(made.train.tokens, made)) <= set(spelt(made.text, made))
        assert len(made.text) > 160 + 160 + 290 - 8
        told = [text for part in development for text in getattr(SETS[name], part)]
        assert spelt(made.test.tokens, made) == [pretraining.letters(text) for text in told]
        assert made.test.labels.tolist() == sum((SETS[name].labels[part].tolist() for part in development), [])


def test_labels_stay_with_their_sentences():
    made = pretraining.task(SETS["sst2"], ("valid",))
    for part in (made.train, made.valid, made.test):
        topics = [int(text[0] in "lmnprstv") for text in spelt(part.tokens, made)]
        assert part.labels.tolist() == topics


def test_what_is_read_first_does_not_depend_on_any_label():
    made = pretraining.task(SETS["sst2"], ("valid",))
    flipped = replace(SETS["sst2"], labels={part: 1 - y for part, y in SETS["sst2"].labels.items()})
    other = pretraining.task(flipped, ("valid",))
    assert torch.equal(made.text, other.text) and made.info["tokenizer"] == other.info["tokenizer"]
    assert torch.equal(made.train.labels, 1 - other.train.labels)


def test_only_so_many_labels_are_read_and_none_of_the_held_out_or_development_sentences(tmp_path):
    made = pretraining.task(SETS["sst2"], ("valid",))
    chosen = [set(pretraining.drawn(len(made.train.labels), 8, 2000 + seed).tolist()) for seed in range(2)]
    assert [len(rows) for rows in chosen] == [8, 8] and chosen[0] != chosen[1]
    unread = torch.tensor([i for i in range(len(made.train.labels)) if i not in chosen[0] | chosen[1]])
    spoilt = made.train.labels.clone()
    spoilt[unread] = 1 - spoilt[unread]
    other = made._replace(train=made.train._replace(labels=spoilt), valid=made.valid._replace(labels=1 - made.valid.labels),
                          test=made.test._replace(labels=1 - made.test.labels))
    folders = [tmp_path / name for name in "ab"]
    for folder in folders:
        folder.mkdir()
    first, second = (weights(tuned(one, folder, updates=4)) for one, folder in zip((made, other), folders))
    assert torch.equal(first, second)


def test_both_ways_differ_in_the_weights_that_bert_starts_from_alone(tmp_path, monkeypatch):
    starts = {}

    def note(model, parts, settings, seed, job, path):
        if isinstance(model, pretraining.HiddenWords):
            torch.nn.init.constant_(model.bert.tokens.weight, 0.5)           # as if it had been trained
            starts["reading"] = {name: t.clone() for name, t in model.bert.state_dict().items()}
        else:
            starts[path.stem] = ({name: t.clone() for name, t in model.state_dict().items()}, parts, settings, seed)
        return 1.0

    monkeypatch.setattr(pretraining, "by_updates", note)
    made = pretraining.task(SETS["sst2"], ("valid",))
    for name, first in (("pre", READING), ("scratch", None)):
        pretraining.by_fine_tuning(job(made, tmp_path), row(), {**row(first=first).settings, "lr": 1e-3}, name)
    for seed in range(2):
        (pre, *same), (scratch, *also) = starts[f"pre-{seed}"], starts[f"scratch-{seed}"]
        assert [torch.equal(a, b) for a, b in zip(same[0], also[0])] == [True, True] and same[1:] == also[1:]
        for name, value in starts["reading"].items():
            assert torch.equal(pre[f"whole.bert.{name}"], value)
        assert not torch.equal(scratch["whole.bert.tokens.weight"], pre["whole.bert.tokens.weight"])
        assert torch.equal(scratch["whole.head.weight"], pre["whole.head.weight"])
    assert not torch.equal(starts["pre-0"][1][0], starts["pre-1"][1][0])       # other sentences for another seed
    fresh = [starts[f"scratch-{seed}"][0]["whole.bert.tokens.weight"] for seed in range(2)]
    assert not torch.equal(*fresh) and abs(fresh[0].std() - 0.02) < 0.002


def test_reading_pays_where_labels_are_few_and_the_record_says_how_it_was_chosen(tmp_path):
    """Eight sentences show at most 48 of 64 words; which words go together is in the text. From scratch it is not known."""
    def run(first):
        return Run("small", "sst2", (row(first=first),), prepare=partial(pretraining.task, development=("valid",)), unit="% right",
                   best=max)

    seen = {}
    for first in (READING, None):
        made = record.reproduce(run(first), tmp_path / "r", tmp_path / "w", tmp_path / "s", "cpu", say=lambda line: None)
        seen[first is None] = entry = made["rows"][0]
        assert entry["settings"]["seeds"] == 3 and len(entry["test"]["seeds"]) == 3
        assert entry["settings"]["lr"] == max(entry["candidates"], key=lambda c: c["valid"])["lr"]
        assert entry["parameters"] == free_parameters(pretraining.Classifier(**SIZE))
        mean = sum(entry["test"]["seeds"]) / 3
        assert entry["test"]["mean"] == pytest.approx(mean, abs=0.02) and entry["test"]["over"] == 90
    assert seen[False]["test"]["mean"] > seen[True]["test"]["mean"] + 5
    assert seen[False]["test"]["mean"] > 95


def test_seconds_count_once_and_a_finished_stage_is_not_trained_again(tmp_path):
    made = pretraining.task(SETS["sst2"], ("valid",))
    few = {**READING, "updates": 5}
    here = job(made, tmp_path)
    bert, seconds = pretraining.pretrained(here, SIZE, few)
    again, none = pretraining.pretrained(here, SIZE, few)
    later, same = pretraining.pretrained(job(made, tmp_path), SIZE, few)
    assert none == 0.0 and same == seconds > 0.0
    assert torch.equal(weights(bert), weights(again)) and torch.equal(weights(bert), weights(later))


def test_other_words_are_hidden_at_each_meeting_and_the_filling_is_not_read():
    made = pretraining.task(SETS["sst2"], ("valid",))
    model = pretraining.HiddenWords(pretraining.BERT(pretraining.BERTConfig(100, 84, **SIZE))).eval()
    torch.manual_seed(0)
    tokens = torch.cat([made.text[:20], torch.zeros(20, 9, dtype=torch.long)], dim=1)
    first, second = model.loss(tokens), model.loss(tokens)
    assert first[0] != second[0] and 0 < first[1] < 60                # of 120 words, each with probability 0.15
    classifier = pretraining.Classifier(**SIZE).eval()
    torch.testing.assert_close(classifier(tokens), classifier(made.text[:20]))


def test_rows_come_round_as_often_as_each_other():
    rows = pretraining.drawn(7, 20, 0)
    assert sorted(rows[:7].tolist()) == sorted(rows[7:14].tolist()) == list(range(7)) and len(rows) == 20
    assert not torch.equal(rows[:7], rows[7:14]) and not torch.equal(rows, pretraining.drawn(7, 20, 1))


def test_the_scores_are_what_they_are_called():
    told, labels = torch.tensor([1, 1, 1, 0, 0, 1]), torch.tensor([1, 1, 0, 0, 1, 1])      # TP 3, TN 1, FP 1, FN 1
    assert pretraining.per_cent_right(told, labels) == pytest.approx(400 / 6)

    class Always(torch.nn.Module):
        def __init__(self, told):
            super().__init__()
            self.bias = torch.nn.Parameter(torch.tensor([0.0, 1.0]) if told else torch.tensor([1.0, 0.0]))

        def forward(self, tokens):
            return self.bias.expand(len(tokens), 2)

    part = pretraining.Sentences(torch.ones(150, 3, dtype=torch.long), (torch.arange(150) % 5 == 0).long())
    measured = pretraining.over_seeds(Repeats([Always(0), Always(1)]), part, pretraining.per_cent_right)
    assert measured == {"mean": 50.0, "standard_error": 30.0, "over": 150, "seeds": [80.0, 20.0]}


def test_in_the_table_both_ways_have_the_same_updates_rates_and_seeds():
    for run in pretraining.RUNS.values():
        assert [row.label for row in run.rows] == [
            f"{way}, {labels} labels" for labels in ("100", "1,000", "all") for way in ("pre-trained", "from scratch")]
        for pre, scratch in zip(run.rows[::2], run.rows[1::2]):
            assert pre.settings["pretraining"] == pretraining.READING and scratch.settings["pretraining"] is None
            assert {**pre.settings, "pretraining": None} == scratch.settings
            assert (pre.candidates, pre.final, pre.arguments, pre.recipe) == (
                scratch.candidates, scratch.final, scratch.arguments, scratch.recipe)
