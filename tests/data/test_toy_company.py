"""The small world whose words keep known company."""
from __future__ import annotations

import pytest
import torch

from course_lib.data.toy_company import COUNTRIES, FILLERS, OF_MEN, OF_WOMEN, ROLES, SENSES, analogies, draw_sentences


def test_draw_sentences_company():
    men, women = ({pair[k] for pair in ROLES} for k in (0, 1))
    for sentence in draw_sentences(2000, torch.Generator().manual_seed(0)):
        content = set(sentence) - set(FILLERS)
        assert not (content & men and content & (women | set(OF_WOMEN)))
        assert not (content & women and content & set(OF_MEN))
        assert len(content & {word for pair in (*ROLES, *COUNTRIES) for word in pair}) <= 1
        for first, second in SENSES.values():
            assert not (content & set(first) and content & set(second))


def test_analogies():
    asked = analogies()
    assert {kind: len(set(questions)) for kind, questions in asked.items()} == {"roles": 60, "capitals": 60}
    assert ("queen", "king", "actress", "actor") in asked["roles"] and ("france", "paris", "italy", "rome") in asked["capitals"]


def test_bad_input():
    with pytest.raises(ValueError, match="num is 0; expected at least one sentence"):
        draw_sentences(0, torch.Generator())
