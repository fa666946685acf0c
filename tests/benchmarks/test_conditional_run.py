"""Four tasks as one p(y | x), made small: what is asked, ways to answer, scores, and what chapter 19 says of them."""
from __future__ import annotations

from functools import cache

import pytest
import torch

from benchmarks import store
from benchmarks.reproduce import conditional, denoising
from benchmarks.reproduce.conditional import (
    PAIRS,
    RATES,
    SEEDS,
    STARTS,
    TASKS,
    Commonest,
    Copied,
    asked,
    names,
    right,
    sides,
)
from benchmarks.reproduce.recipes import Repeats
from course_lib.data import Splits
from course_lib.data.toy_stories import ADJECTIVES, SUBJECTS, stories


@pytest.fixture(scope="module", autouse=True)
def few():
    """Four hundred stories in place of three thousand, and their words."""
    made = stories(400, torch.Generator().manual_seed(0), 2)
    lines = [f"{s.subject}\t{' . '.join(map(str, s.sentences))} ." for s in made]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(denoising, "draw", lambda: Splits("toy_stories", lines, lines, lines, info=denoising.INFO))
        fresh = cache(denoising.symbols.__wrapped__)
        for module in (denoising, conditional):
            patch.setattr(module, "symbols", fresh)
        for name in ("names", "start"):
            patch.setattr(conditional, name, cache(getattr(conditional, name).__wrapped__))
        yield


def test_answers_are_those_of_the_words_alone():
    """Told from the lists of words, without the grammar's tags and places."""
    people = {word for kind in SUBJECTS.values() for word in kind[0].replace(" / ", " ").split()}
    places = {word for kind in SUBJECTS.values() for word in kind[3].split()}
    x, y = sides(asked(48, 3))
    assert [row[0] for row in x] == list(TASKS) * 12
    for row, said in zip(x, y):
        first, second = " ".join(row[1:-1]).split(" . ")
        first, second = first.split(), second.split()
        other, held = [], []
        for word in first:
            other += [] if word in ADJECTIVES else [word.upper(), *(each.upper() for each in held)]
            held = [word] if word in ADJECTIVES else []
        truth = {"who": [word for word in first if word in people], "where": [word for word in second if word in places],
                 "summary": [word for word in first if word not in ADJECTIVES], "translate": other}
        assert said == truth[row[0]] and row[-1] == "."


def test_numbers_of_words_are_those_of_the_stories():
    known = denoising.symbols()
    assert names()[:len(known)] == known and len(set(names())) == len(names())
    tokens, real = conditional.coded_side([["who", "cook", "COOK", "."]])
    assert [names()[i] for i in tokens[0]] == ["who", "cook", "COOK", ".", "[SEP]"] and real.all()
    assert known[tokens[0, 1]] == "cook"


def test_simple_ways():
    x, _ = sides(["who a b . c d . : b", "where a . d . : d"])
    assert Copied(True).answers(x) == [["a", "b"], ["a"]]
    assert Copied(False).answers(x) == [["a", "b", ".", "c", "d", "."], ["a", ".", "d", "."]]
    lines = [f"{task} a . b . : {said}" for task in TASKS for said in ("q r", "s", "q r")]
    assert Commonest(lines).answers(x) == [["q", "r"], ["q", "r"]]


def test_scores_by_task_and_their_mean():
    class Says(torch.nn.Module):
        def answers(self, x):
            return [["a", "b"] if row[0] in ("who", "summary") else [] for row in x]

    found = right(Repeats([Says()]), [f"{task} x . y . : {truth}" for task in TASKS for truth in ("a b", "b a")])
    means = {task: each["mean"] for task, each in found["tasks"].items()}
    assert means == {"who": 50, "where": 0, "summary": 50, "translate": 0} and found["mean"] == 25
    assert found["rouge_l"]["summary"]["mean"] == 75 and found["rouge_l"]["translate"]["mean"] == 0


def test_both_starts_get_the_same_pairs_and_stay_as_they_are(monkeypatch):
    seen = []

    def train_by(model, loss, rows, updates, lr, seed, batch):
        seen.append((loss(torch.arange(3), 0), rows, seed, batch))
        torch.nn.init.zeros_(next(model.parameters()))

    monkeypatch.setattr(conditional, "train_by", train_by)
    monkeypatch.setattr(conditional, "train_to_restore", lambda model, seed, updates: model.requires_grad_(True))
    pairs = []
    monkeypatch.setattr(conditional, "asked", lambda num, seed: pairs.append((num, seed)) or asked(num, seed))
    for restored in STARTS.values():
        row = {"seeds": 2, "restored": restored, "pairs": 8, "updates": 1, "lr": 1e-3}
        conditional.by_pairs(None, None, row, "small")
    assert pairs[:2] == pairs[2:] == [(8, 1000), (8, 1001)]
    assert [each[1:] for each in seen[:2]] == [each[1:] for each in seen[2:]]
    assert seen[0][0].item() == pytest.approx(seen[2][0].item()), "the same weights and the same pairs"
    assert next(conditional.start(0, 0).parameters()).abs().sum() > 0


@pytest.fixture(scope="module")
def rows():
    return {row["model"]: row for row in store.read()["conditional-stories"]["rows"]}


def test_every_way_has_its_seeds_and_its_best_rate(rows):
    for pairs in PAIRS:
        for how in STARTS:
            row = rows[f"{how}, {pairs} pairs"]
            assert len(row["test"]["seeds"]) == SEEDS and {each["lr"] for each in row["candidates"]} == set(RATES)
            best = max(row["candidates"], key=lambda each: each["valid"])
            assert row["settings"]["lr"] == best["lr"]
            each = [found["mean"] for found in row["test"]["tasks"].values()]
            assert row["test"]["mean"] == pytest.approx(sum(each) / 4, abs=0.02)


def test_what_the_chapter_says(rows):
    def of(how: str, pairs: int, task: str) -> dict:
        return rows[f"{how}, {pairs} pairs"]["test"]["tasks"][task]

    def ahead(pairs: int, task: str) -> bool:
        ours, other = of("pre-trained", pairs, task), of("from nothing", pairs, task)
        error = (ours["standard_error"] ** 2 + other["standard_error"] ** 2) ** 0.5
        return ours["mean"] - other["mean"] > 2 * error

    assert all(ahead(80, task) for task in TASKS[:3]) and ahead(320, "summary")
    assert (round(of("pre-trained", 80, "who")["mean"]), round(of("from nothing", 80, "who")["mean"])) == (92, 56)
    assert of("pre-trained", 80, "where")["mean"] > 2 * of("from nothing", 80, "where")["mean"]
    assert of("from nothing", 80, "summary")["mean"] < 2 and of("pre-trained", 80, "summary")["mean"] > 50
    assert all(of("pre-trained", 320, task)["mean"] > 98 for task in TASKS[:3])
    assert max(of(how, pairs, "translate")["mean"] for how in STARTS for pairs in PAIRS) < 15
    lead, ours = rows["its first sentence"]["test"], rows["pre-trained, 80 pairs"]["test"]
    assert lead["rouge_l"]["summary"]["mean"] > ours["rouge_l"]["summary"]["mean"]
    assert 2 * lead["tasks"]["summary"]["mean"] < ours["tasks"]["summary"]["mean"]
    rates = [rows[f"{how}, {pairs} pairs"]["settings"]["lr"] for how in STARTS for pairs in PAIRS]
    assert all(lr == max(RATES) for lr in rates)


def test_the_recorded_rules_are_those_that_the_data_give():
    """Nothing is trained in these rows, so their figures are computed again, on the stories that the run draws."""
    parts, rules = conditional.draw(), 0
    for row in store.read()["conditional-stories"]["rows"]:
        if row["recipe"] == "by_rule":
            rules += 1
            models = Repeats([Commonest(asked(row["settings"]["pairs"], 1000 + seed)) for seed in range(SEEDS)]
                             if "pairs" in row["settings"] else [Copied(**row["arguments"])])
            assert row["test"] == right(models, parts.test) and row["valid"] == right(models, parts.valid)
    assert rules == 2 + len(PAIRS)
