"""The run from the passive to the active: what is right, where a head looks, and the recipe in small."""
from __future__ import annotations

import pytest
import torch

from benchmarks.reproduce import voices
from benchmarks.reproduce.recipes import Job, Repeats
from course_lib import records
from course_lib.data.toy_voice import draw_voices, vocabulary

PAIRS = draw_voices(40, torch.Generator().manual_seed(5), 2, 2)


class Looker:
    """Attention that lies on a place of one's choice for each of four heads, in the first word; elsewhere on the last."""

    def __init__(self, places):
        self.places = places

    def attention_weights(self, source, target):
        w = torch.zeros(len(source), 4, target.shape[1], source.shape[1])
        for head, place in enumerate(self.places):
            w[:, head, 0, place] = 1.0
        w[:, :, 1:, 2] = 1.0
        return [w]


def test_no_long_sentence_is_there_to_train_on_and_each_length_is_scored():
    parts = voices.as_pairs(voices.draw())
    assert {len(p.source) - 6 for p in parts.train} == set(range(voices.MOST + 1))
    for part in (parts.valid, parts.test):
        assert {many: len(pairs) for many, pairs in part.items()} == dict.fromkeys(voices.MANY, voices.EACH)
        assert all(len(p.source) == 6 + many for many, pairs in part.items() for p in pairs)


def test_to_look_at_the_name_is_to_look_at_by_or_the_name():
    """A source of two adjectives has its name at place 7, "by" at 6, the verb at 5."""
    assert voices.looking(Looker((7, 6, 5, 0)), PAIRS).tolist()[1:] == [1, 1, 0, 0]
    assert voices.looking(Looker((7, 7, 7, 0)), PAIRS)[0] == 1                     # the mean of heads
    assert voices.looking(Looker((7, 0, 0, 0)), PAIRS)[0] == 0


@pytest.mark.parametrize("slip, names, sentences", [(None, 100, 100), ("name", 0, 0), ("last", 100, 0)])
def test_a_name_counts_without_the_rest(monkeypatch, slip, names, sentences):
    def written(model, pairs):
        wrong = {"name": lambda t: ("nobody", *t[1:]), "last": lambda t: t[:-1]}.get(slip, lambda t: t)
        return [" ".join(wrong(p.target)) for p in pairs]

    monkeypatch.setattr(voices, "said", written)
    looker = voices.Activist(torch.nn.Identity(), 1, 2)
    monkeypatch.setattr(voices, "looking", lambda model, pairs: torch.tensor([0.1, 0.2, 0.3, 0.4, 0.5]))
    measured = voices.names_and_looks(Repeats([looker]), {2: PAIRS})
    assert (measured["mean"], measured["sentences"]["mean"]) == (names, sentences)
    assert (measured["mean of heads"]["mean"], measured["one head"]["mean"]) == (10, 30)


def test_the_head_is_chosen_on_other_sentences_of_the_lengths_of_training(tmp_path, monkeypatch):
    parts, asked = voices.as_pairs(voices.draw()), []
    monkeypatch.setattr(voices, "trained", lambda seed, epochs: torch.nn.Identity())
    monkeypatch.setattr(voices, "looking", lambda model, pairs: asked.append(pairs) or torch.tensor([0.9, 0.1, 0.4, 0.3, 0.2]))
    row = voices.RUNS["passive-to-active"].rows[-1]
    made = row.recipe(Job(parts, 0, torch.device("cpu"), tmp_path), row, {**row.settings, "seeds": 1}, "x")
    assert made.model[0].head == 1 and made.model[0].many == voices.MANY[-1]
    assert asked == [parts.valid[many] for many in range(voices.MOST + 1)]


def test_the_recipe_learns_the_names():
    model = voices.trained.__wrapped__(0, 1)
    names = [text.split()[:1] == [p.target[0]] for text, p in zip(voices.said(model, PAIRS), PAIRS)]
    assert sum(names) / len(names) > 0.4                                           # one in eight by chance
    assert len(vocabulary()) == model.config.target


def test_what_the_chapter_says_of_the_record():
    """Names at every distance, places that were never trained on lost, one head that looks, and a mean that hides it once."""
    for row in records.read("passive-to-active")["rows"]:
        many, test = int(row["model"].split()[0]), row["test"]
        assert test["seeds"] == [100] * 3 and min(test["one head"]["seeds"]) > 80
        assert sum(share < 50 for share in test["mean of heads"]["seeds"]) == 1
        assert min(test["sentences"]["seeds"]) > 95 if many <= voices.MOST else max(test["sentences"]["seeds"]) < 1
