"""The toy translation: the grammar by hand, alignments, agreement, ids, and the score."""
from __future__ import annotations

import pytest
import torch

from course_lib.data import toy_translation as toy


@pytest.mark.parametrize("english, italian, alignment", [
    ("I love hiking", "adoro le escursioni", ((0, 1), (2,), (2,))),
    ("they do not see the car", "non vedono la macchina", ((1, 2), (0, 3), (4,), (5,))),
    ("the small dog does not see the red house", "il cane piccolo non vede la casa rossa",
     ((0,), (2,), (1,), (3, 4), (5,), (6,), (8,), (7,))),
    ("the girl paints the white garden", "la ragazza dipinge il giardino bianco", ((0,), (1,), (2,), (3,), (5,), (4,))),
])
def test_translate(english, italian, alignment):
    pair = toy.translate(english)
    assert (" ".join(pair.source), " ".join(pair.target), pair.alignment) == (english, italian, alignment)


@pytest.mark.parametrize("sentence", ["", "the", "dog sees the cat", "I sees the cat", "the dog see the cat",
                                      "the dog does not sees the cat", "I do not", "I love hiking now", "I love the red",
                                      "they does not see music"])
def test_translate_refuses(sentence):
    with pytest.raises(ValueError, match="sentence is"):
        toy.translate(sentence)


def test_draw_pairs_grammar():
    pairs = toy.draw_pairs(400, torch.Generator().manual_seed(3))
    assert pairs == toy.draw_pairs(400, torch.Generator().manual_seed(3)) != toy.draw_pairs(400, torch.Generator().manual_seed(4))
    feminine = {noun for article, noun in toy.NOUNS.values() if article == "la"}
    endings = {form: gender for forms in toy.ADJECTIVES.values() for form, gender in zip(forms, ("il", "la"))}
    crossed = 0
    for pair in pairs:
        assert toy.translate(" ".join(pair.source)) == pair
        assert len(pair.target) == len(pair.alignment)
        covered = {place for places in pair.alignment for place in places}
        assert covered == set(range(len(pair.source)))               # every word of the source went somewhere
        for t, word in enumerate(pair.target):
            if word in endings:
                assert (pair.target[t - 1] in feminine) == (endings[word] == "la")
                assert pair.alignment[t][0] == pair.alignment[t - 1][0] - 1      # the two have changed places
                crossed += 1
    assert crossed > 100
    words = {w for p in pairs for w in p.source}, {w for p in pairs for w in p.target}
    for used, vocabulary in zip(words, toy.vocabularies()):
        assert all(word in vocabulary for word in used)
        assert len(used) >= len(vocabulary) - 4                      # all but the special symbols and a rare word


def test_to_ids_round_trip():
    pairs = toy.draw_pairs(20, torch.Generator().manual_seed(0))
    source, target = toy.to_ids(pairs)
    assert source.shape == (20, max(len(p.source) for p in pairs)) and target.shape == (20, max(len(p.target) for p in pairs) + 1)
    english, italian = toy.vocabularies()
    for row, pair in zip(target, pairs):
        assert toy.to_text(row) == " ".join(pair.target)
        assert int(row[len(pair.target)]) == italian.id(toy.EOS) and (row[len(pair.target) + 1:] == italian.id(toy.PAD)).all()
    assert [english.symbol(i) for i in source[0].tolist() if i] == list(pairs[0].source)


def test_alignment_score():
    pairs = [toy.translate("the small dog sees the house"), toy.translate("I love hiking")]
    perfect = [torch.zeros(9, 10) for _ in pairs]                    # larger than the sentences, as in a batch
    for w, pair in zip(perfect, pairs):
        for t, places in enumerate(pair.alignment):
            w[t, places[-1]] = 0.6
        w[:, -1] = 0.9                                               # padding that attracts, and is not looked at
    assert toy.alignment_score(perfect, pairs) == 1
    same_place = [torch.eye(9, 10) for _ in pairs]
    assert toy.alignment_score(same_place, pairs) == pytest.approx((4 + 2) / 9)
    assert toy.alignment_score(same_place, pairs, without=("il", "la", "le")) == pytest.approx((2 + 2) / 6)
    with pytest.raises(ValueError, match="pairs has .* pairs and no target word to score"):
        toy.alignment_score(perfect[:1], pairs[:1], without=pairs[0].target)
