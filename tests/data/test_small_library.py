"""The passages written for the course, and what is promised of their questions."""
from __future__ import annotations

from course_lib.data.small_library import PASSAGES, content_words


def test_answers_in_passage():
    for passage in PASSAGES:
        assert f" {passage.answer}" in f" {passage.text}"


def test_paraphrases_share_no_word():
    for passage in PASSAGES:
        words = set(content_words(passage.text))
        assert not words & set(content_words(passage.paraphrase))
        assert len(words & set(content_words(passage.quoting))) >= 2
