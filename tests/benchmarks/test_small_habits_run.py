"""The run on the habits at a small size: each arm lacks what its name says, and the figure is that of the targets alone."""
from __future__ import annotations

import pytest
import torch

from benchmarks.reproduce import small_habits
from benchmarks.reproduce.recipes import Job, Repeats
from course_lib import records

ROWS = {row.label: row for row in small_habits.RUNS["habits-small"].rows}


@pytest.fixture(scope="module")
def parts():
    return small_habits.as_ids(small_habits.draw())


def test_no_sentence_that_is_scored_was_there_to_train_on():
    train, valid, test = (set(part) for part in (small_habits.draw().train, small_habits.draw().valid, small_habits.draw().test))
    assert not train & (valid | test) and not valid & test and len(valid) == len(test) == 200


@pytest.mark.parametrize("label, lacks", [("all four", {}), ("no warm-up", {"warmup": 0}), ("no smoothing", {"smoothing": 0.0}),
                                          ("no dropout", {"dropout": 0.0}), ("no clipping", {"clip": None}),
                                          ("none", {"warmup": 0, "smoothing": 0.0, "dropout": 0.0, "clip": None})])
def test_an_arm_lacks_what_it_says_and_nothing_else(label, lacks):
    row, whole = ROWS[label], ROWS["all four"]
    of_all = {**whole.settings, **whole.arguments}
    assert {**row.settings, **row.arguments} == {**of_all, **lacks} and row.candidates == whole.candidates and row.final == whole.final
    config = row.model(**row.arguments).config
    assert (config.dropout, config.smoothing) == (lacks.get("dropout", 0.1), lacks.get("smoothing", 0.1))


@pytest.mark.parametrize("label, schedule", [("all four", "inverse_sqrt"), ("no warm-up", "constant")])
def test_each_seed_has_pairs_of_its_own_and_a_rate_that_stays_without_warm_up(parts, tmp_path, monkeypatch, label, schedule):
    seen = []
    monkeypatch.setattr(small_habits, "fit", lambda model, data, **settings: seen.append((data, settings)))
    row = ROWS[label]
    small_habits.by_epochs(Job(parts, 0, torch.device("cpu"), tmp_path), row, {**row.settings, "lr": 0.1, "seeds": 3}, "x")
    assert [settings["seed"] for _, settings in seen] == [0, 1, 2] and {settings["schedule"] for _, settings in seen} == {schedule}
    assert all(all(torch.equal(a, b[300 * k:300 * (k + 1)]) for a, b in zip(data, parts.train, strict=True)) for k, (data, _) in enumerate(seen))


def test_the_nats_do_not_see_padding_or_smoothing(parts):
    torch.manual_seed(0)
    model = ROWS["all four"].model(**ROWS["all four"].arguments)
    few = small_habits.Sentences(*(side[:20] for side in parts.valid))
    measured = small_habits.nats_a_token(Repeats([model, model]), few)
    by_hand = sum(-model.eval().conditionals(t[None], s[None]).log_prob(t[None])[0, k].item()
                  for s, t in zip(few.source, few.target) for k in range(int((t != 0).sum())))
    assert measured["mean"] == pytest.approx(by_hand / measured["over"], abs=1e-3)
    assert measured["over"] == int((few.target != 0).sum()) and measured["seeds"][0] == measured["seeds"][1]


def test_the_recipe_learns_more_than_counts(parts, tmp_path):
    row, job = ROWS["none"], Job(parts, 0, torch.device("cpu"), tmp_path)
    trained = row.recipe(job, row, {**row.settings, "lr": 0.015, "epochs": 4}, "few")
    counted = small_habits.by_counting(job, ROWS["frequency of words"], {}, "counted").model
    assert small_habits.nats_a_token(trained.model, parts.valid)["mean"] < small_habits.nats_counted(counted, parts.valid)["mean"] - 0.5
    assert counted.log_p.exp().sum().item() == pytest.approx(1)


def test_what_the_chapter_says_of_the_record():
    counted, *arms = records.read("habits-small")["rows"]
    seeds = {arm["model"]: arm["test"]["seeds"] for arm in arms}
    assert {len(own) for own in seeds.values()} == {small_habits.SEEDS} and counted["test"]["mean"] > max(map(max, seeds.values())) + 1
    for label in ("no warm-up", "no smoothing", "no dropout", "none"):
        assert all(own < whole for own, whole in zip(seeds[label], seeds["all four"]))
    assert all(own > whole for own, whole in zip(seeds["no clipping"], seeds["all four"]))
    assert all(own <= min(others) for own, *others in zip(seeds["none"], *(own for label, own in seeds.items() if label != "none")))
