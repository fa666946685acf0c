"""Sentences of the news world, and what is asked of them."""
from __future__ import annotations

import pytest

from course_lib.data import toy_news
from tests.support.random import rng


def test_draw_news_fields():
    for news in toy_news.draw_news(200, rng(0)):
        text = " ".join(news.words)
        who, did, what = toy_news.TOPICS[news.fields["topic"]]
        assert news.fields["who"] in who and news.fields["what"] in what and any(f" {verb} " in text for verb in did)
        assert text.startswith(news.fields["time"] + " , the " + news.fields["who"])
        assert text.endswith(f" the {news.fields['what']} .")


def test_instructions():
    assert [len(toy_news.instructions(size)) for size in (1, 2, 3, 4)] == [4, 12, 24, 24]
    news = toy_news.draw_news(1, rng(1))[0]
    one = toy_news.instruct(news, ("time", "topic"))
    assert " ".join(one.prompt) == f'<s> tell time and topic " {" ".join(news.words)} " answer:'
    assert " ".join(one.answer) == f"{news.fields['time']} , {news.fields['topic']} </s>"
    slide = toy_news.instruct(news, ("topic",), slide=True)
    assert " ".join(slide.prompt).startswith("<s> what topic is this about ?")


def test_vocabulary():
    words = toy_news.vocabulary()
    for news in toy_news.draw_news(100, rng(2)):
        for fields in toy_news.instructions(4):
            asked = toy_news.instruct(news, fields)
            assert all(word in words for word in (*asked.prompt, *asked.answer))
        assert all(word in words for word in toy_news.instruct(news, ("topic",), slide=True).prompt)
    assert words.symbol(words.bos_id) == "<s>" and words.symbol(words.eos_id) == "</s>"


def test_bad_input():
    with pytest.raises(ValueError, match="num is 0"):
        toy_news.draw_news(0)
    with pytest.raises(ValueError, match="size is 5; expected 1 to 4"):
        toy_news.instructions(5)
    news = toy_news.draw_news(1, rng(0))[0]
    for fields, slide in ((["where"], False), ([], False), (["time"], True)):
        with pytest.raises(ValueError, match="fields is"):
            toy_news.instruct(news, fields, slide=slide)
