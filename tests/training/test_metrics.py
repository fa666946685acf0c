"""Units of likelihood: nats, bits, perplexity, and characters where the tokens are words."""
from __future__ import annotations

import math

import pytest
import torch

from course_lib.counting import ClassNGram, NGram, brown_classes
from course_lib.data.corpus import load_prose
from course_lib.tokenizers import CharTokenizer, WordTokenizer
from course_lib.training import bits_per_character, bits_per_token, nats, perplexity, spelling_nats
from tests.support.text import some_text


def uniform(vocabulary):
    """Every symbol equally likely: one count each."""
    return NGram(n=1, vocab_size=vocabulary).fit_counts(list(range(vocabulary)))


@pytest.mark.parametrize("vocabulary", [2, 7, 1000])
def test_the_perplexity_of_a_uniform_model_is_its_number_of_symbols(vocabulary):
    x = some_text(min(vocabulary, 50), 40)
    assert perplexity(uniform(vocabulary), x) == pytest.approx(vocabulary, rel=1e-5)
    assert bits_per_token(uniform(vocabulary), x) == pytest.approx(math.log2(vocabulary), rel=1e-5)
    assert bits_per_character(uniform(vocabulary), x, 80) == pytest.approx(math.log2(vocabulary) / 2, rel=1e-5)


def test_units_agree_with_the_factors():
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


def test_a_prompt_is_read_and_not_scored():
    model, text = NGram(n=3, vocab_size=5, smoothing="add").double().fit_counts(some_text()), some_text(5, 30, 3)
    total, count = nats(model, text[2:], torch.tensor(text[:2]))
    assert count == 28
    assert total == pytest.approx(-model.log_prob(torch.tensor([text[2:]]), torch.tensor([text[:2]])).item())
    again, count = nats(model, torch.tensor([text[2:], text[2:]]), torch.tensor(text[:2]))
    assert count == 56 and again == pytest.approx(2 * total)


def test_an_impossible_text_has_infinite_perplexity():
    model = NGram(n=2, vocab_size=3).fit_counts([0, 1, 0, 1])
    assert perplexity(model, [2], torch.tensor([0])) == math.inf


def test_words_and_characters_meet_in_bits_per_character():
    """Words, with spelling for the unknown ones, against characters: both pay for the whole text."""
    train, valid, test = (load_prose(part) for part in ("train", "valid", "test"))
    chars = CharTokenizer.fit(train + valid + test, bos="<", eos=">")
    words = WordTokenizer.fit(train, unk="<unk>", bos="<s>", min_count=2)
    size, bos_id = len(words.vocabulary), words.vocabulary.bos_id
    speller = NGram(n=4, vocab_size=len(chars.vocabulary), bos_id=chars.vocabulary.bos_id, smoothing="kneser-ney")
    speller.fit_counts([chars.encode(word, eos=True) for word in sorted(set(words.split(train)))])
    spelling = spelling_nats(speller, words.unknown(test), chars)
    assert spelling_nats(speller, [], chars) == 0
    assert spelling == pytest.approx(sum(spelling_nats(speller, [word], chars) for word in words.unknown(test)))

    by_char = NGram(n=5, vocab_size=len(chars.vocabulary), bos_id=chars.vocabulary.bos_id, smoothing="kneser-ney").fit_counts(chars.encode(train))
    by_word = NGram(n=2, vocab_size=size, bos_id=bos_id, smoothing="kneser-ney").fit_counts(words.encode(train))
    classes = brown_classes(words.encode(train), size, 40, bos_id)
    by_class = ClassNGram(classes, n=2, bos_id=bos_id, smoothing="add", alpha=0.1).fit_counts(words.encode(train))
    assert bits_per_token(by_char, chars.encode(test)) == pytest.approx(1.86, abs=0.02)
    add = NGram(n=2, vocab_size=size, bos_id=bos_id, smoothing="add").fit_counts(words.encode(train))
    word, of_class, laplace = (bits_per_character(model, words.encode(test), len(test), spelling=spelling)
                               for model in (by_word, by_class, add))
    assert word == pytest.approx(1.76, abs=0.02)
    assert of_class < laplace - 0.2                                  # with the same crude smoothing classes win by far


@pytest.mark.parametrize("act, message", [
    (lambda: bits_per_character(uniform(2), [0], 0), "characters is 0"),
    (lambda: perplexity(uniform(2), []), "tokens is empty"),
    (lambda: spelling_nats(uniform(2), ["a"], CharTokenizer.fit("a")), "tokenizer has no end symbol"),
])
def test_bad_input(act, message):
    with pytest.raises(ValueError, match=message):
        act()
