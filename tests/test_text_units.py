"""Tokenizers there and back, units of likelihood, and the corpus of prose."""
from __future__ import annotations

import hashlib
import math
import re

import pytest
import torch

from course_lib.text import (
    CharTokenizer,
    ClassNGram,
    NGram,
    Vocabulary,
    WordTokenizer,
    bits_per_character,
    bits_per_token,
    brown_classes,
    nats,
    perplexity,
    spelling_nats,
)
from course_lib.text.corpus import load_prose
from tests.support.text import some_text

# --- units ----------------------------------------------------------------------------------------------------------


def uniform(vocabulary):
    """Every symbol equally likely: one count each."""
    return NGram(0, vocabulary).fit_counts(list(range(vocabulary)))


@pytest.mark.parametrize("vocabulary", [2, 7, 1000])
def test_the_perplexity_of_a_uniform_model_is_its_number_of_symbols(vocabulary):
    x = some_text(min(vocabulary, 50), 40)
    assert perplexity(uniform(vocabulary), x) == pytest.approx(vocabulary, rel=1e-5)
    assert bits_per_token(uniform(vocabulary), x) == pytest.approx(math.log2(vocabulary), rel=1e-5)
    assert bits_per_character(uniform(vocabulary), x, 80) == pytest.approx(math.log2(vocabulary) / 2, rel=1e-5)


def test_units_agree_with_the_factors():
    model = NGram(1, 5, 4, "kneser-ney").double().fit_counts([some_text(4, 100)])
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
    model, text = NGram(2, 5, smoothing="add").double().fit_counts(some_text()), some_text(5, 30, 3)
    total, count = nats(model, text[2:], torch.tensor(text[:2]))
    assert count == 28
    assert total == pytest.approx(-model.log_prob(torch.tensor([text[2:]]), torch.tensor([text[:2]])).item())
    again, count = nats(model, torch.tensor([text[2:], text[2:]]), torch.tensor(text[:2]))
    assert count == 56 and again == pytest.approx(2 * total)


def test_an_impossible_text_has_infinite_perplexity():
    model = NGram(1, 3).fit_counts([0, 1, 0, 1])
    assert perplexity(model, [2], torch.tensor([0])) == math.inf


def test_words_and_characters_meet_in_bits_per_character():
    """Words, with spelling for the unknown ones, against characters: both pay for the whole text."""
    train, valid, test = (load_prose(part) for part in ("train", "valid", "test"))
    chars = CharTokenizer.fit(train + valid + test, bos="<", eos=">")
    words = WordTokenizer.fit(train, unk="<unk>", bos="<s>", min_count=2)
    size, bos_id = len(words.vocabulary), words.vocabulary.bos_id
    speller = NGram(3, len(chars.vocabulary), chars.vocabulary.bos_id, "kneser-ney")
    speller.fit_counts([chars.encode(word, eos=True) for word in sorted(set(words.split(train)))])
    spelling = spelling_nats(speller, words.unknown(test), chars)
    assert spelling_nats(speller, [], chars) == 0
    assert spelling == pytest.approx(sum(spelling_nats(speller, [word], chars) for word in words.unknown(test)))

    by_char = NGram(4, len(chars.vocabulary), chars.vocabulary.bos_id, "kneser-ney").fit_counts(chars.encode(train))
    by_word = NGram(1, size, bos_id, "kneser-ney").fit_counts(words.encode(train))
    classes = brown_classes(words.encode(train), size, 40, bos_id)
    by_class = ClassNGram(classes, 1, bos_id, "add", alpha=0.1).fit_counts(words.encode(train))
    assert bits_per_token(by_char, chars.encode(test)) == pytest.approx(1.86, abs=0.02)
    add = NGram(1, size, bos_id, "add").fit_counts(words.encode(train))
    word, of_class, laplace = (bits_per_character(model, words.encode(test), len(test), spelling=spelling)
                               for model in (by_word, by_class, add))
    assert word == pytest.approx(1.76, abs=0.02)
    assert of_class < laplace - 0.2                                  # with the same crude smoothing classes win by far


# --- tokenizers -----------------------------------------------------------------------------------------------------


TEXTS = ["", "a", " two  spaces ", "don't, she'll; o'clock\n\ttabs", "caf\u00e9 na\u00efve 3.14 x_y", "''' - '",
         "line\none\r\nmore", "\u00fcber\U0001f600!"]


@pytest.mark.parametrize("kind", [CharTokenizer, WordTokenizer])
@pytest.mark.parametrize("text", [*TEXTS, load_prose("test")])
def test_there_and_back(kind, text):
    tokenizer = kind.fit(text or "x", unk="<unk>", bos="<s>", eos="</s>")
    ids = tokenizer.encode(text)
    assert ids.dtype == torch.long and ids.dim() == 1
    assert tokenizer.decode(ids) == text and tokenizer.decode(ids.tolist()) == text
    assert tokenizer.decode(tokenizer.encode(text, bos=True, eos=True)) == text
    assert "".join(tokenizer.split(text)) == text
    again = kind.from_config(tokenizer.config)
    assert torch.equal(again.encode(text), ids) and again.config == tokenizer.config


def test_words_take_the_space_before_them():
    assert WordTokenizer.fit("x").split(" don't stop, please") == [" don't", " stop", ",", " please"]
    assert WordTokenizer.fit("x").split("well-kept") == ["well", "-", "kept"]


def test_start_and_end_symbols_stand_where_they_belong():
    tokenizer = CharTokenizer.fit("ba", bos="<", eos=">")
    assert tokenizer.vocabulary.symbols == ["<", ">", "a", "b"]
    assert tokenizer.encode("ab", bos=True, eos=True).tolist() == [0, 2, 3, 1]
    assert tokenizer.encode("ab").tolist() == [2, 3]


def test_rare_and_unknown_words():
    tokenizer = WordTokenizer.fit("a b a b a c d", unk="?", max_size=4)
    assert len(tokenizer.vocabulary) == 4 and tokenizer.vocabulary.symbols[:2] == ["?", " a"]
    assert WordTokenizer.fit("a b b a c", unk="?", min_count=2).vocabulary.symbols == ["?", " b"]
    assert tokenizer.decode(tokenizer.encode(" a z")) == " a?"       # a loss is shown
    assert tokenizer.unknown(" a z z b") == [" z", " z"]


@pytest.mark.parametrize("act, message", [
    (lambda: Vocabulary(["a", "b", "a"]), "symbols holds 'a' more than once"),
    (lambda: Vocabulary(["a"], unk="?"), "unk is '\\?', which is not among the 1 symbols"),
    (lambda: Vocabulary(["a"]).id("b"), "'b' is not among the 1 symbols"),
    (lambda: Vocabulary(["a"]).symbol(1), "id is 1; this vocabulary has 1 symbols, 0..0"),
    (lambda: Vocabulary(["a"]).symbol(-1), "id is -1"),
    (lambda: Vocabulary.of([]), "pieces is empty"),
    (lambda: Vocabulary.of(["a", "<"], bos="<"), "is to be a special symbol, and the text holds it 1 times"),
    (lambda: Vocabulary.of("ab", max_size=1, unk="?"), "max_size is 1"),
    (lambda: CharTokenizer.fit("ab").encode("abc"), "'c' is not among the 2 symbols"),
    (lambda: CharTokenizer.fit("ab").encode("ab", eos=True), "eos was asked for"),
    (lambda: CharTokenizer.fit("ab").decode([0, 2]), "id is 2"),
    (lambda: bits_per_character(uniform(2), [0], 0), "characters is 0"),
    (lambda: perplexity(uniform(2), []), "tokens is empty"),
    (lambda: spelling_nats(uniform(2), ["a"], CharTokenizer.fit("a")), "tokenizer has no end symbol"),
    (lambda: load_prose("dev"), "part is 'dev'; there are train, valid, test"),
])
def test_bad_input(act, message):
    with pytest.raises(ValueError, match=message):
        act()


# --- the corpus -----------------------------------------------------------------------------------------------------


def test_the_prose_is_frozen():
    """Figures in the book depend on every character. A change here is a change of all of them."""
    digest = hashlib.sha256(load_prose().encode()).hexdigest()
    assert digest == "6c5d46251ae2b4a81e7bacde5e4931a3488695a75980934a7b5ce9e23dddadfa"


def test_the_parts_are_the_whole_and_share_no_paragraph():
    parts = {part: load_prose(part).splitlines() for part in ("train", "valid", "test")}
    assert [len(lines) for lines in parts.values()] == [72, 9, 9]
    assert sorted(sum(parts.values(), [])) == sorted(load_prose().splitlines())
    assert len(set(sum(parts.values(), []))) == 90
    train, valid, test = ({s for line in lines for s in re.split(r"(?<=[.?!]) ", line) if len(s) > 30}
                          for lines in parts.values())
    assert not (train & valid or train & test or valid & test)


def test_the_prose_is_plain():
    text = load_prose()
    assert text.isascii() and text.endswith("\n")
    assert not re.search(r'["\t\r]|  |\n\n| \n| [.,;:?!]', text)
    assert 9_500 < len(text.split()) < 10_500
    words = [word.lower() for word in re.findall(r"[A-Za-z']+", text)]
    assert 1100 < len(set(words)) < 1500
