"""Characters and words: there and back, special symbols, and what is not in the vocabulary."""
from __future__ import annotations

import copy
import json
import pickle

import pytest
import torch

from course_lib.data.corpus import load_prose
from course_lib.tokenizers import BytePairTokenizer, CharTokenizer, Vocabulary, WordPieceTokenizer, WordTokenizer

TEXTS = ["", "a", " two  spaces ", "don't, she'll; o'clock\n\ttabs", "caf\u00e9 na\u00efve 3.14 x_y", "''' - '",
         "line\none\r\nmore", "\u00fcber\U0001f600!"]


@pytest.mark.parametrize("kind", [CharTokenizer, WordTokenizer])
@pytest.mark.parametrize("text", [*TEXTS, load_prose("test")])
def test_round_trip(kind, text):
    tokenizer = kind.fit(text or "x", unk="<unk>", bos="<s>", eos="</s>")
    ids = tokenizer.encode(text)
    assert ids.dtype == torch.long and ids.dim() == 1
    assert tokenizer.decode(ids) == text and tokenizer.decode(ids.tolist()) == text
    assert tokenizer.decode(tokenizer.encode(text, bos=True, eos=True)) == text
    assert "".join(tokenizer.split(text)) == text
    again = kind.from_config(tokenizer.config)
    assert torch.equal(again.encode(text), ids) and again.config == tokenizer.config


def test_words_take_space_before():
    assert WordTokenizer.fit("x").split(" don't stop, please") == [" don't", " stop", ",", " please"]
    assert WordTokenizer.fit("x").split("well-kept") == ["well", "-", "kept"]


def test_rare_and_unknown_words():
    tokenizer = WordTokenizer.fit("a b a b a c d", unk="?", max_size=4)
    assert len(tokenizer.vocabulary) == 4 and tokenizer.vocabulary.symbols[:2] == ["?", " a"]
    assert WordTokenizer.fit("a b b a c", unk="?", min_count=2).vocabulary.symbols == ["?", " b"]
    assert tokenizer.decode(tokenizer.encode(" a z")) == " a?"       # a loss is shown
    assert tokenizer.unknown(" a z z b") == [" z", " z"]


@pytest.mark.parametrize("act, message", [
    (lambda: Vocabulary(["a", "b", "a"]), "symbols contains 'a' more than once"),
    (lambda: Vocabulary(["a"], unk="?"), "unk is '\\?'; expected None, or one of the 1 symbols"),
    (lambda: Vocabulary(["a"]).id("b"), "'b' is not among the 1 symbols"),
    (lambda: Vocabulary(["a"]).symbol(1), "id is 1; expected 0 to 0"),
    (lambda: Vocabulary(["a"]).symbol(-1), "id is -1"),
    (lambda: Vocabulary.of([]), "pieces is empty"),
    (lambda: Vocabulary.of(["a", "<"], bos="<"), "is a special symbol and occurs in the text, 1 times; expected a special"),
    (lambda: Vocabulary.of("ab", max_size=1, unk="?"), "max_size is 1"),
    (lambda: CharTokenizer.fit("ab").encode("ab", eos=True), "eos is True, but the vocabulary has no eos symbol"),
])
def test_bad_input(act, message):
    with pytest.raises(ValueError, match=message):
        act()


ALL = [CharTokenizer.fit("abba", bos="<s>"), WordTokenizer.fit("abba"), BytePairTokenizer.fit("abba abba", 258, eos="</s>"),
       WordPieceTokenizer.fit("abba abba", 12, lower=False)]


@pytest.mark.parametrize("tokenizer", ALL, ids=lambda t: type(t).__name__)
def test_tokenizer_pickle(tokenizer):
    """As a worker of a DataLoader receives it, where processes are spawned."""
    ids = tokenizer.encode("abba")                                   # the pieces of a word are remembered
    for again in (pickle.loads(pickle.dumps(tokenizer)), copy.deepcopy(tokenizer)):
        assert type(again) is type(tokenizer) and again.config == tokenizer.config
        assert torch.equal(again.encode("abba"), ids) and again.decode(ids) == "abba"


@pytest.mark.parametrize("tokenizer", ALL, ids=lambda t: type(t).__name__)
def test_decode_forms(tokenizer):
    special = [i for i in (tokenizer.vocabulary.bos_id, tokenizer.vocabulary.eos_id) if i is not None]
    ids = torch.cat([torch.tensor(special[:1], dtype=torch.long), tokenizer.encode("abba")])
    for form in (ids, ids.tolist(), list(ids), ids.numpy(), list(ids.numpy()), iter(ids), ids.int(), ids.short()):
        assert tokenizer.decode(form) == "abba"
    assert tokenizer.decode([]) == tokenizer.decode(torch.tensor([])) == ""


@pytest.mark.parametrize("ids", [torch.zeros(2, 3).long(), torch.tensor(1), 1, [[0, 1], [1]], [torch.tensor([0, 1])], [0.0, 1.0],
                                 torch.zeros(2), "ab", None])
def test_decode_refused(ids):
    with pytest.raises(TypeError, match=r"ids is .*; expected one sequence of integers \(T,\)"):
        CharTokenizer.fit("ab").decode(ids)


def test_tokenizer_files_windows(tmp_path):
    """Files with a byte-order mark and the line ends of Windows."""
    pairs, pieces = ALL[2], ALL[3]
    symbols = {symbol: i for i, symbol in enumerate(pairs.vocabulary.symbols)}
    (tmp_path / "vocab.json").write_bytes(json.dumps(symbols, indent=1).replace("\n", "\r\n").encode("utf-8-sig"))
    lines = ["#version: 0.2", *map(" ".join, pairs.merges), ""]
    (tmp_path / "merges.txt").write_bytes("\r\n".join(lines).encode("utf-8-sig"))
    (tmp_path / "vocab.txt").write_bytes("\r\n".join([*pieces.vocabulary.symbols, ""]).encode("utf-8-sig"))
    again = BytePairTokenizer.from_files(tmp_path / "vocab.json", tmp_path / "merges.txt", eos="</s>")
    assert again.merges == pairs.merges and again.vocabulary.symbols == pairs.vocabulary.symbols
    assert WordPieceTokenizer.from_file(tmp_path / "vocab.txt").vocabulary.symbols == pieces.vocabulary.symbols
