"""Stories from a grammar: whole and repeatable."""
from __future__ import annotations

import pytest

from course_lib.data.toy_stories import ADJECTIVES, SUBJECTS, stories
from tests.support.random import rng


def test_tags_and_spans():
    for story in stories(200, rng()):
        for i, sentence in enumerate(story.sentences):
            assert len(sentence.words) == len(sentence.tags) and sentence.tags.count("VERB") == 1
            phrase = {name: sentence.words[a:b + 1] for name, (a, b) in sentence.spans.items()}
            assert all(words[:-1] == () or words[0] in ADJECTIVES and len(words) == 2 for words in phrase.values())
            things, places = ({w for s in SUBJECTS.values() for w in s[k].split()} for k in (2, 3))
            assert phrase["what"][-1] in things and phrase["where"][-1] in places
            assert (phrase["who"] in (("he",), ("she",))) == (i > 0)


def test_repeatable_and_bad_input():
    assert stories(5, rng(3)) == stories(5, rng(3)) != stories(5, rng(4))
    with pytest.raises(ValueError, match="num is 0"):
        stories(0)
