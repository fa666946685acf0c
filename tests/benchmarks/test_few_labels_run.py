"""What chapter 20 measures of few labelled questions: draws, gaps with names, heads, and the records."""
from __future__ import annotations

import numpy as np
import pytest
import torch

from benchmarks import few_labels, store
from benchmarks.few_labels import DRAWS, HEADS, LEVELS, SIZES, Questions, drawn, gap_scores, head, of_size, prompts
from benchmarks.reproduce.bert_tags import ROOM, pieces_of_bert
from course_lib import hub

NAMES = ("word", "meaning", "object", "man", "city", "number")


def test_as_many_of_each_kind_none_of_them_chooses_and_a_smaller_draw_is_part():
    kinds = np.random.default_rng(0).integers(0, 3, 700)
    large, held = drawn(kinds, 20, 1)
    small, _ = drawn(kinds, 5, 1)
    assert np.bincount(kinds[large]).tolist() == [20] * 3 and np.bincount(kinds[small]).tolist() == [5] * 3
    assert len(held) == len(set(held)) == 500 and not set(large) & set(held)
    few = Questions([str(i) for i in large], kinds[large])
    assert [int(few.texts[i]) for i in of_size(few, 5)] == small.tolist()
    assert set(drawn(kinds, 20, 2)[0]) != set(large)


@torch.no_grad()
def test_the_scores_of_a_gap_are_those_of_its_names_one_by_one():
    model, tokenizer = hub.load("bert-english").eval(), pieces_of_bert()
    texts = ["where is new york ? it is a [MASK] .", "[MASK] ."]
    found = gap_scores(model, texts, NAMES)
    for row, text in zip(found, texts):
        before, after = text.split("[MASK]")
        tokens = torch.tensor([[2, *tokenizer.encode(before).tolist(), 4, *tokenizer.encode(after).tolist(), 3]])
        log_p = model.pretraining_logits(tokens)[0][0, 1 + len(tokenizer.encode(before))].log_softmax(dim=-1)
        assert tokenizer.vocabulary.id("[MASK]") == 4
        torch.testing.assert_close(row, torch.stack([log_p[tokenizer.encode(name).item()] for name in NAMES]), rtol=0, atol=1e-4)
    with pytest.raises(ValueError, match=f"a text of 83 pieces; expected at most {ROOM + 2}"):
        gap_scores(model, ["a " * 80 + "[MASK]"], NAMES)


def test_examples_stand_before_the_question_as_long_as_they_fit():
    shown = Questions(["Who ran ?", "Where ?"], np.array([3, 4]))
    assert prompts(["What is it ?"], "{} a [MASK] .", NAMES, shown) == ["who ran ? a man . where ? a city . what is it ? a [MASK] ."]
    assert prompts(["What ?"], "{} a [MASK] .", NAMES) == ["what ? a [MASK] ."]
    long = "the " * (ROOM - 12)
    (text,) = prompts([long], "{} a [MASK] .", NAMES, shown)
    assert text.startswith("where ?") and "ran" not in text


def test_what_a_name_gets_anyway_is_taken_off(monkeypatch):
    """Without that the first name is told of all; of each question the second gets more than it gets on the average."""
    table = torch.tensor([[5.0, 1.0], [5.0, 3.0], [5.0, 2.0]])
    monkeypatch.setattr(few_labels, "scores", lambda part, *given: torch.tensor([[5.0, 2.5]]) if part == 0 else table)
    three = Questions(["a", "b", "c"], np.array([0, 1, 0]))
    monkeypatch.setattr(few_labels, "questions", lambda: ([], three, three))
    monkeypatch.setattr(few_labels, "NAMES", (("x", "y"),))
    values, chosen = few_labels.by_names((None,))
    assert values == [100.0] and chosen == ["x y", None, LEVELS[1]]


def test_a_head_has_its_layers_and_learns():
    assert [sum(isinstance(layer, torch.nn.Linear) for layer in head(5, 6, extra)) for extra in range(len(HEADS))] == [1, 2, 3]
    x = torch.randn(40, 5, generator=torch.Generator().manual_seed(0))
    kinds = (x[:, 0] * x[:, 1] > 0).long()                           # no linear layer can tell
    right = [(few_labels.trained(x, kinds, extra, 1e-2, 0)(x).argmax(dim=1) == kinds).double().mean() for extra in (0, 1)]
    assert right[1] > 0.95 > 0.8 > right[0]


@pytest.fixture(scope="module")
def records():
    return {name: {row["model"]: row["test"] for row in store.read()[f"using-{name}"]["rows"]} for name in ("few", "heads")}


def test_every_row_has_its_draws(records):
    labelled = [f"{name}, {size} of each kind" for size in SIZES for name in ("TF-IDF", *few_labels.WAYS)]
    assert all(len(records["few"][name]["seeds"]) == DRAWS for name in labelled)
    assert set(records["heads"]) == {f"{name}, {size} of each kind" for size in SIZES for name in HEADS}
    for name, found in records["heads"].items():
        one = records["heads"][f"{HEADS[0]}, {name.split(', ')[1]}"]
        assert found["ahead"] == pytest.approx(np.mean(np.subtract(found["seeds"], one["seeds"])), abs=0.02)


def test_what_the_chapter_says(records):
    def apart(one: dict, other: dict) -> float:
        """The difference, in standard errors; of one draw that of 500 questions."""
        errors = [found["standard_error"] or (found["mean"] * (100 - found["mean"]) / 500) ** 0.5 for found in (one, other)]
        return (one["mean"] - other["mean"]) / np.hypot(*errors)

    few, classifiers = records["few"], ("TF-IDF", "averaged word vectors", "bert-english")
    gap, shown = few["a gap to fill, 0 of each kind"], few["a gap to fill, three examples before it"]
    assert gap["mean"] > 2 * few["one kind for all"]["mean"] and abs(apart(shown, gap)) < 2
    for name in classifiers:
        assert gap["mean"] > few[f"{name}, 5 of each kind"]["mean"] and apart(few[f"{name}, 20 of each kind"], gap) > 2
        for size in SIZES:
            assert abs(apart(few[f"{name}, {size} of each kind"], few[f"bert-english, {size} of each kind"])) < 1
    for size in SIZES:
        ahead = np.subtract(*(few[f"{name}, {size} of each kind"]["seeds"] for name in ("bert-english", "untrained twin")))
        assert (ahead > 0).all()
    assert all(abs(found["ahead"]) <= 2 * found["ahead_error"] for found in records["heads"].values())
    top = max(found["mean"] for name, found in records["heads"].items() if name.endswith("20 of each kind"))
    assert 9 < few["bert-english, 20 of each kind"]["mean"] - top < 11
