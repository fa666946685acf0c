"""Units of likelihood: nats, bits, perplexity, and characters where the tokens are words."""
from __future__ import annotations

import math

import pytest
import torch

from course_lib.counting import NGram
from course_lib.data.corpus import load_prose
from course_lib.tokenizers import CharTokenizer, WordTokenizer
from course_lib.training import bits_per_character, bits_per_token, nats, perplexity, spelling_nats
from tests.support.text import some_text


def uniform(vocabulary):
    """Every symbol equally likely: one count each."""
    return NGram(n=1, vocab_size=vocabulary).fit_counts(list(range(vocabulary)))


def test_units_equal_factors():
    model = NGram(n=2, vocab_size=5, bos_id=4, smoothing="kneser-ney").double().fit_counts([some_text(4, 100)])
    texts = [some_text(4, length, length) for length in (9, 3, 9, 14)]
    each = [model.conditionals(torch.tensor([t])).log_prob(torch.tensor([t])).sum().item() for t in texts]
    total, count = nats(model, texts)
    assert count == 35 and total == pytest.approx(-sum(each))
    assert perplexity(model, texts) == pytest.approx(math.exp(-sum(each) / 35))
    assert bits_per_token(model, texts) == pytest.approx(math.log2(perplexity(model, texts)))
    assert bits_per_character(model, texts, 100) == pytest.approx(-sum(each) / 100 / math.log(2))
    assert bits_per_character(model, texts, 100, spelling=math.log(2)) == pytest.approx(
        bits_per_character(model, texts, 100) + 0.01)


def test_nats_prompt():
    model, text = NGram(n=3, vocab_size=5, smoothing="add").double().fit_counts(some_text()), some_text(5, 30, 3)
    total, count = nats(model, text[2:], torch.tensor(text[:2]))
    assert count == 28
    assert total == pytest.approx(-model.log_prob(torch.tensor([text[2:]]), torch.tensor([text[:2]])).item())
    again, count = nats(model, torch.tensor([text[2:], text[2:]]), torch.tensor(text[:2]))
    assert count == 56 and again == pytest.approx(2 * total)


def test_perplexity_impossible_text():
    model = NGram(n=2, vocab_size=3).fit_counts([0, 1, 0, 1])
    assert perplexity(model, [2], torch.tensor([0])) == math.inf


def test_spelling_nats():
    train, test = load_prose("train"), load_prose("test")
    chars = CharTokenizer.fit(train + test, bos="<", eos=">")
    words = WordTokenizer.fit(train, unk="<unk>", bos="<s>", min_count=2)
    speller = NGram(n=4, vocab_size=len(chars.vocabulary), bos_id=chars.vocabulary.bos_id, smoothing="kneser-ney")
    speller.fit_counts([chars.encode(word, eos=True) for word in sorted(set(words.split(train)))])
    unknown = words.unknown(test)
    assert unknown and spelling_nats(speller, [], chars) == 0
    want = sum(nats(speller, [chars.encode(word, eos=True)])[0] for word in unknown)
    assert spelling_nats(speller, unknown, chars) == pytest.approx(want)


@pytest.mark.parametrize("act, message", [
    (lambda: bits_per_character(uniform(2), [0], 0), "characters is 0"),
    (lambda: perplexity(uniform(2), []), "tokens is empty"),
    (lambda: spelling_nats(uniform(2), ["a"], CharTokenizer.fit("a")), "tokenizer has no end symbol"),
])
def test_bad_input(act, message):
    with pytest.raises(ValueError, match=message):
        act()
