"""Two sentences from a grammar: the words that follow from others do, the others are free, and the entropy is known."""
from __future__ import annotations

import math
from collections import Counter

import pytest
import torch

from course_lib.data import toy_agreement as toy
from tests.support.random import rng


def generated(num=300, seed=0):
    return toy.texts(num, rng(seed))


def log_prob(words: list[str]) -> float:
    """ln p of a text, read off the grammar in other words than the module: every free choice and its chance."""
    first = words[:words.index(".")]
    free = -math.log(16) - 2 * math.log(6) - math.log(8) - 3 * math.log(2)       # subject, verbs, thing; three halves
    free -= math.log(16) if "near" in first else 0
    return free - math.log(4) * sum(word in toy.ADJECTIVES for word in first)


def test_texts_agreement():
    plural = {many for many, _ in toy.BEINGS.values()}
    pronouns = {**{many: "they" for many in plural}, **{one: p for one, (_, p) in toy.BEINGS.items()}}
    seen = Counter()
    for text in generated():
        words, (did, who) = text.words, text.known["verb"]
        assert words[who] in pronouns and words[did].endswith("s") is (words[who] not in plural)
        assert words[did].removesuffix("s") in toy.VERBS
        second, back = text.known["pronoun"]
        assert back == who and words[second - 1] == "." and words[second] == pronouns[words[who]]
        verb2, back = text.known["verb2"]
        assert back == second == verb2 - 1 and words[verb2].endswith("s") is (words[second] != "they")
        thing, what = text.known["thing"]
        assert words[thing] == words[what] in toy.THINGS and thing == len(words) - 2 and words[what + 1] == "."
        assert len(words) <= toy.LONGEST
        if "near" in words:
            seen[(words[who] in plural, words[words.index("near") + 2] in plural)] += 1
            assert words.index("near") == who + 1
    assert len(seen) == 4, "subject and neighbour, one and many, in all combinations"


def test_entropy():
    nats = torch.tensor([-log_prob(list(text.words)) for text in generated(3000, 1)], dtype=torch.float64)
    assert abs(nats.mean().item() - toy.entropy()) < 4 * nats.std().item() / len(nats) ** 0.5


def test_to_ids():
    texts, words = generated(50, 2), toy.vocabulary()
    tokens, real = toy.to_ids(texts)
    assert (tokens[:, 0] == words.id(toy.BOS)).all() and words.id(toy.BOS) == 0
    for text, row, keep in zip(texts, tokens, real):
        assert tuple(words.symbol(i) for i in row[keep][1:].tolist()) == text.words
    assert torch.equal(toy.to_ids([str(text) for text in texts])[0], tokens)
    assert {word for text in generated(600) for word in text.words} | {toy.BOS} == {words.symbol(i) for i in range(len(words))}


def test_repeatable_and_bad_input():
    assert generated(5, 3) == generated(5, 3) != generated(5, 4)
    with pytest.raises(ValueError, match="num is 0"):
        toy.texts(0)
    with pytest.raises(ValueError, match="horse"):
        toy.to_ids(["the horse"])
