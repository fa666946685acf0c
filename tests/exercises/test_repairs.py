"""The code that a repair shows has exactly the faults that it says: as it stands it fails, mended in three places it is right,
and with one of them left it is called by its name."""
from __future__ import annotations

import math
import re
from functools import partial

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from course_lib.exercises.decoding import generate_beam
from course_lib.exercises.made import mended_made
from course_lib.grading import EXERCISES, evaluate
from course_lib.grading.assignments import form
from tests.conftest import ROOT
from tests.exercises.answers import WRONG
from tests.exercises.known import SOLUTIONS, solution

MENDED = {
    "MendedMADE": {
        "reads_itself": ("position[:, None] >= degree", "position[:, None] > degree"),
        "masked_once": ("        h = F.relu(self.one(x))", "        self.one.weight.data *= self.inner\n"
                        "        self.two.weight.data *= self.outer\n        h = F.relu(self.one(x))"),
        "slopes_add_up": ("loss.backward()", "optimizer.zero_grad(); loss.backward()")},
    "MendedAttention": {
        "over_queries": ("dim=-2", "dim=-1"),
        "masked_late": ("shares = scores.soft", "if mask is not None: scores = scores.masked_fill(~mask, -torch.inf)\n"
                        "        shares = scores.soft"),
        "unscaled": (".transpose(-2, -1)", ".transpose(-2, -1) / x.shape[-1] ** 0.5")},
    "MendedTraining": {
        "whole_numbers": ("step // self.warmup", "step / self.warmup"),
        "torn_pairs": ("return x[torch.randperm(len(x))[:64]], y[torch.randperm(len(x))[:64]]",
                       "rows = torch.randperm(len(x))[:64]\n        return x[rows], y[rows]"),
        "emptied": ("loss.backward()\n        self.optimizer.zero_grad()", "self.optimizer.zero_grad()\n        loss.backward()")},
}


def in_view(id: str) -> str:
    """The code that the exercise's page shows."""
    for path in sorted((ROOT / "exercises").glob("*.ipynb")):
        for cell in form.read(path)["cells"]:
            if form.exercise(cell) == id and form.role(cell) == "task":
                return re.search(r"```python\n(.*?)```", cell["source"], re.S)[1]
    raise KeyError(id)


def kept(id: str, code: str) -> str:
    """Where the masks are applied anew, they have to be kept."""
    if id == "MendedMADE":
        code = code.replace("        self.one.weight.data *= degree", "        self.inner = degree[:, None] >= position\n"
                            "        self.outer = position[:, None] >= degree\n        self.one.weight.data *= degree")
    return code


def with_mended(id: str, names) -> type:
    code = kept(id, in_view(id))
    for name in names:
        before, after = MENDED[id][name]
        assert before in code, f"{name}: {before!r} is not in the code of {id}"
        code = code.replace(before, after)
    return solution(code, id)


def test_every_repair_is_here():
    assert set(MENDED) == {id for id, exercise in EXERCISES.items() if exercise.kind == "repair"}


@pytest.mark.thorough
@pytest.mark.parametrize("id", MENDED)
def test_the_code_in_view_has_these_three_faults(id):
    module = __import__(EXERCISES[id].function.__module__, fromlist=["LEFT"])
    assert set(module.LEFT) == set(MENDED[id]) <= set(EXERCISES[id].misconceptions)
    for seed in range(3):
        assert evaluate(id, with_mended(id, MENDED[id]), seed).state == "right"
        assert evaluate(id, solution(in_view(id), id), seed).score < 0.5


@pytest.mark.thorough
@pytest.mark.parametrize("id, left", [(id, name) for id, names in MENDED.items() for name in names])
def test_one_fault_that_is_left_is_found(id, left):
    report = evaluate(id, with_mended(id, set(MENDED[id]) - {left}), 0)
    assert report.score < 1 and (report.misconception == left or left == "slopes_add_up" and "After fit" in report.message)


@pytest.mark.thorough
@pytest.mark.parametrize("seed", range(3))
def test_a_leak_shows_in_the_entropy_of_a_made_and_a_sound_one_of_other_degrees_has_none(seed):
    leaks, sound = (WRONG[f"MendedMADE: {name}"] for name in ("outputs that see one variable further than themselves",
                                                               "other degrees, a sound model all the same"))
    report = evaluate("MendedMADE", leaks, seed)
    said = re.search(r"Over all (\d+) states of (\d) variables, -sum p ln p of your log_prob is ([\d.]+) nats; the entropies of your "
                     r"factors add up to ([\d.]+)\.", report.message)
    assert report.misconception is None and report.earned == 0 and said, report.message
    assert int(said[1]) == 2 ** int(said[2]) and abs(float(said[3]) - float(said[4])) > 1e-3
    assert [one.passed for one in evaluate("MendedMADE", sound, seed).checks if one.possible][:2] == [True, False]


def test_the_two_entropies_are_one_by_the_chain_rule_and_of_each_leak_they_are_not():
    exercise = EXERCISES["MendedMADE"]
    for seed in range(3):
        with torch.no_grad():
            config, weights = mended_made.with_leaks_in_sight(exercise.generator(seed, "entropy with given weights"))
            log_p = exercise.expected("log_prob", config, weights, mended_made.states(config["n"])).double()
            whole, parts = mended_made.entropies(exercise.solve, config, weights)
            assert math.isclose(float(log_p.exp().sum()), 1, abs_tol=1e-5) and math.isclose(whole, parts, abs_tol=1e-5)
            assert math.isclose(whole, float(torch.distributions.Categorical(log_p.exp()).entropy()), abs_tol=1e-5)
            for leak in mended_made.LEAKS:
                whole, parts = mended_made.entropies(partial(exercise.solve, bugs=[leak]), config, weights)
                assert abs(whole - parts) > mended_made.OFF


def test_the_page_and_the_answer_ask_for_the_same_methods():
    for id in MENDED:
        methods = [set(re.findall(r"def (\w+)\(", text)) for text in (in_view(id), SOLUTIONS[id]["source"])]
        assert methods[0] == methods[1]


def test_the_translator_that_is_given_is_the_librarys():
    from course_lib.exercises.training_a_transformer import train_translator as bank

    source, target, _, _ = bank.drawn(torch.Generator().manual_seed(0))
    space = {"torch": torch, "F": F, "nn": nn}
    exec(SOLUTIONS["train_translator"]["source"], space)
    given, words = space["Translator"](99, 88), (99, 88)
    librarys = bank.translator(words)
    librarys.load_state_dict(given.state_dict())
    source, before = source[:20], bank.shifted(target[:20])
    assert (source == 0).any()
    assert torch.allclose(given(source, before), bank.predicted(librarys, source, before), atol=1e-5)


def test_a_search_that_prunes_nothing_is_given_up_by_its_paths_and_not_by_the_clock():
    """This twin is tried on every wrong answer to generate_beam, sentences of hundreds of words included."""
    asked = []

    def next_probs(path):
        asked.append(len(path))
        return {"a": 0.5, "b": 0.5}

    with pytest.raises(MemoryError, match="1024 paths"):
        generate_beam.exercise.solve(next_probs, ["<s>"], 3, 400, bugs=["not_pruned"])
    assert len(asked) < 2 * generate_beam.MOST and max(asked) < 12


def test_the_encoder_that_is_given_is_the_librarys():
    from course_lib.exercises.fine_tuning import _few_labels as bank

    space = {"torch": torch, "F": F, "nn": nn}
    exec(SOLUTIONS["fine_tune_bert"]["source"], space)
    body, (tokens, _), *_ = bank.drawn(torch.Generator().manual_seed(0))
    given, librarys = space["Encoder"](), bank.Classifier()
    given.load_state_dict(body)
    librarys.load_state_dict({**body, **{f"head.{name}": one for name, one in librarys.head.named_parameters()}})
    assert (tokens == 0).any()
    assert torch.allclose(librarys.head(given(tokens)[:, 0]), librarys(tokens), atol=1e-5)


def test_few_labels_name_half_of_the_words_and_the_sentences_to_be_told_the_other_half():
    from course_lib.exercises.fine_tuning import _few_labels as bank

    _, train, valid, new = bank.drawn(torch.Generator().manual_seed(1))
    words = [{*one[0].flatten().tolist()} - {*range(bank.FIRST)} for one in (train, valid, new)]
    assert not words[0] & (words[1] | words[2]) and words[1] <= words[2]
    assert [len(one[0]) for one in (train, valid, new)] == [bank.TRAIN, bank.VALID, bank.NEW]
    assert len(words[0]) > 0.4 * (bank.V - bank.FIRST) and (new[1].bincount(minlength=bank.CLASSES) > 60).all()
    assert (new[0][:, 0] == bank.CLS).all() and ((new[0] == bank.SEP).sum(1) == 2).all()
    ends = (new[0] != bank.PAD).sum(1)
    assert all((row[:end] != bank.PAD).all() for row, end in zip(new[0], ends.tolist()))
