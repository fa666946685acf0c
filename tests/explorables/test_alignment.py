"""Two translators side by side: their steps against the library's parallel view, what the chapter says of them, bad input."""
from __future__ import annotations

import json

import pytest
import torch

from course_lib import hub
from course_lib.data import toy_translation as language
from course_lib.explorables import Alignment
from course_lib.explorables.alignment import NETWORKS, START, written
from course_lib.explorables.base import STATIC

SENTENCES = (START, "I love music", "they do not paint the quiet street", "the old girl sees the car")


@pytest.fixture(scope="module")
def drawn():
    return Alignment()


@pytest.mark.parametrize("sentence", SENTENCES)
def test_steps_are_the_librarys_parallel_view(drawn, sentence):
    """All factors in one pass, teacher-forced with what was written: the same probabilities and the same weights."""
    drawn.sentence = sentence
    source = torch.tensor([drawn.ids])
    for model, w in zip(drawn._models, drawn.result, strict=True):
        target = torch.tensor([w.ids])
        with torch.no_grad():
            torch.testing.assert_close(w.p, model.conditionals(target, source).probs[0])
        torch.testing.assert_close(w.weights, model.attention_weights(source, target)[0])
        assert w.ids == w.p.argmax(dim=1).tolist() and w.ids[-1] == model.eos_id
    torch.testing.assert_close(drawn.result[1].weights.sum(dim=1), torch.ones(len(drawn.result[1].ids)).double())


def test_attention_wins_in_all_three_trainings_and_most_on_long_sentences(drawn):
    """What the chapter says, from the cards: new sentences, three trainings of each network."""
    one, attention = drawn.seeds
    assert len(one) == len(attention) == 3
    assert max(seed["test"] for seed in one) < min(seed["test"] for seed in attention)
    assert min(seed["aligned"] for seed in attention) > 0.8 > 0.4 > max(seed["aligned"] for seed in one)
    for k, words in enumerate(drawn.measured):
        low, high, of = drawn.measured[words][0]
        assert [low, high] == [f([seed["by length"][k] for seed in one]) for f in (min, max)] and high <= of
    assert sum(of for (_, (_, _, of)) in drawn.measured.values()) == 400
    assert all(sum(seed["by length"]) == seed["test"] for seed in (*one, *attention))
    share = {words: [kind[1] / kind[2] for kind in both] for words, both in drawn.measured.items()}
    assert share["8"][0] < 0.5 < share["3"][0] and share["8"][1] > 0.8


def test_the_weights_are_half_precision_with_a_card():
    for name, score in NETWORKS.items():
        model, card = hub.load(STATIC / "weights" / name), hub.card(STATIC / "weights" / name)
        assert model.config["score"] == score and model.config["hidden"] == 10
        assert "python -m benchmarks.explorables alignment" in card.notes and card.licence.startswith("MIT")
        assert all(torch.equal(p, p.half().float()) for p in model.parameters())


def test_it_has_words_and_few_bytes(drawn):
    drawn.sentence, drawn.place = START, 99
    lines = drawn.text().splitlines()
    assert repr(drawn) == "Alignment()" and lines[1] == f"English: {START}"
    assert lines[2] == f"Italian of the grammar: {' '.join(language.translate(START).target)}"
    right = " ".join(language.translate(START).target)
    assert lines[4] == f"attention: {right}" and lines[3].startswith("one vector: ") and right not in lines[3]
    assert lines[5].startswith(f"word {len(drawn.result[1].ids)}, </s>, looks most at ")
    assert len(json.dumps({k: v for k, v in drawn.get_state().items() if k not in ("_esm", "_css")}).encode()) <= 100_000


def test_a_network_that_never_ends_is_stopped(drawn):
    model = drawn._models[0]
    kept = model.head.bias.detach().clone()
    with torch.no_grad():
        model.head.bias[model.eos_id] = -1e9
    assert len(written(model, drawn.ids).ids) == 11
    with torch.no_grad():
        model.head.bias.copy_(kept)


@pytest.mark.parametrize("traits, message", [({"sentence": "the dog sleeps"}, "sentence is 'the dog sleeps'"),
                                             ({"place": -1}, "place is -1; expected 0 or more")])
def test_bad_input_is_named(traits, message):
    with pytest.raises(ValueError, match=message):
        Alignment(**traits)
