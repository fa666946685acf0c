"""A verdict does not depend on the seed: the stored table of many seeds is of the checks as they are, and says so; three
new seeds say it again."""
from __future__ import annotations

import hashlib
import time
from dataclasses import replace

import pytest

from course_lib.grading import EXERCISES
from course_lib.grading.exercise.checks import Property, Slopes
from course_lib.grading.judge.judge import in_this_process
from tools import seeds

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("once")]

ROWS = seeds.rows()
ANSWERS = [one for one in ROWS if not one.kind.endswith(seeds.UNTRAINED)]


def of(id: str, kind: str, fn, text: str = "", name: str = "made up") -> seeds.Answer:
    return seeds.Answer(EXERCISES[id], kind, name, fn, text)


@pytest.mark.parametrize("id", EXERCISES)
def test_the_table_is_of_the_checks_and_answers_as_they_are(id):
    old = seeds.stale(seeds.read(), [one for one in ROWS if one.exercise.id == id])
    assert not old, f"run `make seeds ONLY={id}`: {', '.join(' '.join(one.key[1:]) for one in old)}"


def test_every_right_answer_passes_on_every_seed_of_the_table_and_no_wrong_one_on_any():
    table = seeds.read()
    assert len(table) > 500 and table.keys() <= {one.key for one in ROWS}
    assert not seeds.surprises(table, ROWS)


class Asked(Exception):
    """A model was to be trained."""


def asks_for_training(exercise, check, answer) -> bool:
    """Whether a check, judged of a class, asks for `fit`. It is stopped there; how long it takes is not asked."""
    own = in_this_process(replace(exercise, deadline=600.0), answer)

    def call(args, *rest, **more):
        if args[0] == "fit":
            raise Asked
        return own(args, *rest, **more)

    try:
        check.judge(exercise, call, exercise.generator(0, check.name)) if isinstance(check, Property) else \
            check.records(exercise, call, exercise.generator(0, check.name))
    except Asked:
        return True
    return False


@pytest.mark.parametrize("id", [id for id, exercise in EXERCISES.items() if exercise.of_class])
def test_the_parts_that_do_not_train_are_all_that_never_ask_for_fit(id):
    exercise = EXERCISES[id]
    [solution] = [one.fn for one in ANSWERS if one.exercise.id == id and one.kind == "solution"]
    parts = seeds.untrained(exercise)
    assert parts == [one for one in exercise.checks if not asks_for_training(exercise, one, solution)]
    judged = {one.kind for one in ROWS if one.exercise.id == id and one.kind.endswith(seeds.UNTRAINED)}
    assert judged == ({"solution, untrained", "right, untrained"} if parts else set())


def test_an_answer_whose_training_alone_is_wrong_passes_the_parts_that_do_not_train():
    for one in ANSWERS:
        if one.key in (("OwnFVSBN", "misconception", "untrained"), ("MendedMADE", "misconception", "slopes_add_up")):
            parts = replace(one, exercise=replace(one.exercise, checks=seeds.untrained(one.exercise)), kind="wrong, untrained")
            assert seeds.passes(parts, 5) and not seeds.passes(one, 5)
            assert not parts.is_right and not parts.trains and parts.digest != one.digest


def new_seeds(id: str) -> list[int]:
    """Three seeds that no row of the table has, one where it trains; others whenever the checks change."""
    digest = hashlib.sha256(EXERCISES[id].version.encode()).digest()
    found = [10**6 + int.from_bytes(digest[k:k + 3], "big") for k in (0, 3, 6)]
    return found[:1] if EXERCISES[id].trains else found


@pytest.mark.parametrize("id", EXERCISES)
def test_and_so_on_three_new_seeds(id):
    new = new_seeds(id)
    for answer in ANSWERS:
        if answer.exercise.id == id:
            for seed in new:
                assert seeds.passes(answer, seed) == answer.is_right, f"{' '.join(answer.key)}: not so with seed {seed}"


@pytest.mark.parametrize("id, name, seed", [
    ("OwnDensity", "solution", 1283023617), ("MendedAttention", "einsum, a mask that is added", 365),
    ("OwnMultiHeadAttention", "head by head, each adding its part of the output", 416), ("OwnDecoderBlock", "solution", 346),
    ("OwnDecoderBlock", "the pre arrangement alone, post made of it", 316), ("OwnDecoderBlock", "solution", 66),
    ("OwnGPT", "solution", 304),
    ("find_leaks", "moves above the thousandth that is stated", 309), ("OwnMADE", "solution", 3676479063)])
def test_seeds_on_which_a_right_answer_once_failed(id, name, seed):
    [answer] = [one for one in ANSWERS if one.exercise.id == id and (one.name or one.kind) == name]
    assert seeds.passes(answer, seed)


@pytest.mark.parametrize("id", [id for id, exercise in EXERCISES.items() if any(isinstance(one, Slopes) for one in exercise.checks)])
def test_the_largest_gradient_that_is_asked_for_is_one(id):
    exercise = EXERCISES[id]
    for check in exercise.checks:
        if isinstance(check, Slopes):
            for args in check.cases(exercise.generator(3, check.name)):
                found = exercise.expected(*args)
                assert max(float(one.abs().max()) for one in found.values()) == pytest.approx(1, abs=1e-4)


# The table itself

def by_luck(x, p):
    """Right, but for batches of three rows."""
    import torch

    values = torch.where(x == 1, p, 1 - p).log().sum(1)
    return values + (len(x) == 3)


def test_an_answer_that_passes_by_luck_shows_in_the_table(tmp_path, capsys):
    path, answer = tmp_path / "seeds.tsv", of("bernoulli_chain_loglik", "right", by_luck)
    table = seeds.run([answer], [answer], 30, 1, path)
    row = table[answer.key]
    assert 0 < row.passed < row.seeds == 30 and len(row.surprising) == min(30 - row.passed, seeds.SHOWN)
    assert all(seeds.passes(answer, seed) == (seed not in row.surprising) for seed in range(max(row.surprising) + 1))
    assert "full marks on" in seeds.surprises(table, [answer])[0]
    assert seeds.read(path) == table
    as_wrong = of("bernoulli_chain_loglik", "wrong", by_luck)
    assert len(seeds.surprises({as_wrong.key: row}, [as_wrong])) == 1


def test_a_run_goes_on_where_it_stopped_and_begins_anew_when_an_answer_or_a_check_changes(tmp_path, monkeypatch, capsys):
    path, asked = tmp_path / "seeds.tsv", []
    monkeypatch.setattr(seeds, "passes", lambda answer, seed: asked.append(seed) or True)
    answer = of("noam_lr", "right", len, "one text")
    seeds.run([answer], [answer], 3, 1, path)
    assert not seeds.stale(seeds.read(path), [answer], 3) and seeds.stale(seeds.read(path), [answer], 5) == [answer]
    seeds.run([answer], [answer], 5, 1, path)
    assert asked == [0, 1, 2, 3, 4]
    other = of("noam_lr", "right", len, "another text")
    assert seeds.stale(seeds.read(path), [other], 5) == [other]
    assert seeds.run([other], [other], 2, 1, path)[other.key].seeds == 2 and asked[5:] == [0, 1]
    monkeypatch.setattr("course_lib.grading.exercise.exercise.Exercise.version", "another")
    assert seeds.stale(seeds.read(path), [other], 2) == [other]


LIMIT = 3


def test_what_is_listed_says_of_how_many_seeds_it_is(tmp_path, monkeypatch, capsys):
    path = tmp_path / "seeds.tsv"
    monkeypatch.setattr(seeds, "read", lambda read=seeds.read: read(path))
    known = [one for one in ROWS if one.exercise.id == "noam_lr"][:2]
    monkeypatch.setattr(seeds, "rows", lambda: known)
    seeds.write({known[0].key: seeds.Row(known[0].digest, 7, 7), known[1].key: seeds.Row("of old", 200, 200)}, known, path)
    assert seeds.main(["noam_lr", "--list"]) == 0
    assert [line.rsplit(": ", 1)[1] for line in capsys.readouterr().out.splitlines()] == ["7 of 200", "0 of 200"]


def test_a_long_run_is_stored_on_the_way(tmp_path, monkeypatch, capsys):
    path, answer = tmp_path / "seeds.tsv", of("noam_lr", "right", len)
    monkeypatch.setattr(seeds, "STORED_EVERY", 0.0)

    def stopped(answer, seed):
        if seed == 3:
            raise KeyboardInterrupt
        return True

    monkeypatch.setattr(seeds, "passes", stopped)
    with pytest.raises(KeyboardInterrupt):
        seeds.run([answer], [answer], 9, 1, path)
    assert seeds.read(path)[answer.key].seeds == 3


def test_two_runs_at_a_time_keep_each_other_s_rows(tmp_path, monkeypatch, capsys):
    path, one, other = tmp_path / "seeds.tsv", of("noam_lr", "right", len), of("noam_lr", "right", len, name="another")
    known = [one, other]

    def while_another_runs(answer, seed):
        if answer is one and seed == 2:
            seeds.write(seeds.read(path) | {other.key: seeds.Row(other.digest, 7, 7)}, known, path)
        return True

    monkeypatch.setattr(seeds, "passes", while_another_runs)
    for stored_every in (60.0, 0.0):
        monkeypatch.setattr(seeds, "STORED_EVERY", stored_every)
        path.unlink(missing_ok=True)
        assert {key: row.seeds for key, row in seeds.run([one], known, 5, 1, path).items()} == {one.key: 5, other.key: 7}


def helper(x):
    return x if x > LIMIT else inner(x)


def inner(x):
    return -x


def with_helpers(x):
    return [helper(one) for one in x]


def test_the_text_of_an_answer_holds_what_it_uses():
    text = seeds.source(with_helpers)
    assert all(part in text for part in ("def with_helpers", "def helper", "def inner", "LIMIT = 3"))


def test_a_right_answer_that_is_too_slow_is_no_verdict(tmp_path, monkeypatch):
    path, answer = tmp_path / "seeds.tsv", of("bernoulli_chain_loglik", "right", lambda x, p: time.sleep(9))
    monkeypatch.setattr(answer.exercise, "deadline", 0.1)
    with pytest.raises(TimeoutError, match="busy"):
        seeds.run([answer], [answer], 3, 1, path)
    assert not path.exists()
    as_wrong = of("bernoulli_chain_loglik", "wrong", answer.fn)
    assert seeds.run([as_wrong], [as_wrong], 2, 1, path)[as_wrong.key].passed == 0


def test_an_unknown_name_is_refused(capsys):
    with pytest.raises(SystemExit):
        seeds.main(["train_nothing"])
    assert "train_nothing" in capsys.readouterr().err
