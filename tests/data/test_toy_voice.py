"""Passive to active: the grammar by hand, what is drawn, and ids with the words of one's own."""
from __future__ import annotations

import pytest
import torch

from course_lib.data import toy_translation, toy_voice


@pytest.mark.parametrize("passive, active, alignment", [
    ("the ball was kicked by Kayla", "Kayla kicked the ball", ((4, 5), (2, 3), (0,), (1,))),
    ("the old red boat was washed by Mei", "Mei washed the old red boat", ((6, 7), (4, 5), (0,), (1,), (2,), (3,))),
])
def test_to_active(passive, active, alignment):
    pair = toy_voice.to_active(passive)
    assert (" ".join(pair.source), " ".join(pair.target), pair.alignment) == (passive, active, alignment)


@pytest.mark.parametrize("sentence", [
    "", "the ball was kicked", "the ball was kicked by", "Kayla kicked the ball", "a ball was kicked by Kayla",
    "the ball is kicked by Kayla", "the ball was kicked with Kayla", "the ball was Kayla by kicked",
    "the ball red was kicked by Kayla", "the blue ball was kicked by Kayla"])
def test_to_active_refuses(sentence):
    with pytest.raises(ValueError, match="sentence is"):
        toy_voice.to_active(sentence)


def test_draw_voices():
    def draw(seed, **options):
        return toy_voice.draw_voices(300, torch.Generator().manual_seed(seed), **options)

    pairs = draw(3, least=1, most=4)
    assert pairs == draw(3, least=1, most=4) != draw(4, least=1, most=4)
    assert {len(pair.source) - 6 for pair in pairs} == {1, 2, 3, 4}
    for pair in pairs:
        adjectives = pair.source[1:-5]
        assert toy_voice.to_active(" ".join(pair.source)) == pair and len(set(adjectives)) == len(adjectives)
        assert {i for places in pair.alignment for i in places} == set(range(len(pair.source)))
        assert all(pair.target[t] == pair.source[places[-1]] for t, places in enumerate(pair.alignment))
    used = {word for pair in pairs for word in pair.source}
    assert used == set(toy_voice.vocabulary().symbols) - {"<pad>", "<s>", "</s>"}
    with pytest.raises(ValueError, match="least is 3 and most is 2"):
        draw(0, least=3, most=2)


def test_to_ids_round_trip():
    pairs, words = toy_voice.draw_voices(20, torch.Generator().manual_seed(0)), toy_voice.vocabulary()
    source, target = toy_translation.to_ids(pairs, (words, words))
    assert source.max() < len(words) and (source == words.id("by")).sum() == 20
    assert [toy_translation.to_text(row, words) for row in target] == [" ".join(pair.target) for pair in pairs]
