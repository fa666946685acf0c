"""Word pieces: BERT's as published, those trained here, and whatever the text is."""
from __future__ import annotations

import json

import pytest

from course_lib.tokenizers import WordPieceTokenizer
from tests.tokenizers.texts import odd_texts


@pytest.fixture(scope="module")
def word_pieces(prose):
    return WordPieceTokenizer.fit(prose, 200)


@pytest.fixture(scope="module")
def published(published_files):
    return WordPieceTokenizer.from_file(published_files / "bert-base-uncased-vocab.txt")


@pytest.mark.data
def test_bert_vocabulary(published):
    v = published.vocabulary
    assert len(v) == 30522 and (v.pad_id, v.unk_id, v.bos_id, v.eos_id, v.mask_id) == (0, 100, 101, 102, 103)
    assert published.encode("Hello, world!", bos=True, eos=True).tolist() == [101, 7592, 1010, 2088, 999, 102]
    assert published.split("unaffable Café") == ["una", "##ffa", "##ble", "cafe"]


@pytest.mark.data
def test_same_ids_as_hugging_face(published, published_files, prose):
    peers = pytest.importorskip("tokenizers")
    theirs = peers.BertWordPieceTokenizer(str(published_files / "bert-base-uncased-vocab.txt"))
    for text in [*odd_texts(), *prose.split("\n\n")]:
        assert published.encode(text).tolist() == theirs.encode(text, add_special_tokens=False).ids, repr(text)


def test_longest_piece_first(word_pieces, prose):
    v = word_pieces.vocabulary
    assert len(v) == 200
    for word in set(prose.lower().split()):
        if not word.isalpha():
            continue
        pieces, rest, head = word_pieces.split(word), word, ""
        for piece in pieces:
            longest = next(rest[:k] for k in range(len(rest), 0, -1) if head + rest[:k] in v)
            assert piece == head + longest
            rest, head = rest[len(longest):], "##"
        assert rest == "" and word_pieces.join(pieces) == word
    assert word_pieces.split("ωορδ") == ["[UNK]"] and word_pieces.split("x" * 101) == ["[UNK]"]


def test_lowercase_and_accents(prose):
    kept = WordPieceTokenizer.fit(prose[:2000] + " Café", 150, lower=False)
    assert kept.join(kept.split("Café")) == "Café"
    lowered = WordPieceTokenizer.fit(prose[:2000], 150)
    assert lowered.join(lowered.split("CAFÉ, là.")) == "cafe , la ."


def test_json_round_trip(word_pieces):
    again = WordPieceTokenizer.from_config(json.loads(json.dumps(word_pieces.config)))
    text = "The keeper's lamp, at 9 o'clock."
    assert again.encode(text, eos=True).tolist() == word_pieces.encode(text, eos=True).tolist()
    assert again.decode(again.encode(text, eos=True)) == word_pieces.decode(word_pieces.encode(text))


def test_vocabulary_too_small(prose):
    with pytest.raises(ValueError, match="size is 10"):
        WordPieceTokenizer.fit(prose, 10)


def test_file_without_special_symbols(tmp_path):
    (tmp_path / "vocab.txt").write_text("[PAD]\n[UNK]\na\n", "utf-8")
    with pytest.raises(ValueError, match=r"\[CLS\]"):
        WordPieceTokenizer.from_file(tmp_path / "vocab.txt")
