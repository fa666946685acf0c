"""Byte pairs: GPT-2's as published, those trained here, and whatever the text is."""
from __future__ import annotations

import json

import pytest

from course_lib.tokenizers import BytePairTokenizer
from course_lib.tokenizers.byte_pairs import byte_symbols, pattern
from tests.tokenizers.texts import odd_texts


@pytest.fixture(scope="module")
def byte_pairs(prose):
    return BytePairTokenizer.fit(prose, 400, eos="<|endoftext|>")


@pytest.fixture(scope="module")
def published(published_files):
    return BytePairTokenizer.from_files(published_files / "gpt2_encoder.json", published_files / "gpt2_vocab.bpe")


@pytest.mark.data
def test_gpt2_merges(published):
    assert len(published.vocabulary) == 50257 and published.vocabulary.eos_id == 50256
    assert published.encode("Hello world").tolist() == [15496, 995]
    assert published.split("The curious kitten") == ["The", "Ġcurious", "Ġkitten"]
    for text in odd_texts():
        assert published.decode(published.encode(text)) == text


@pytest.mark.data
def test_same_ids_as_hugging_face(published, published_files, prose):
    peers = pytest.importorskip("tokenizers")
    theirs = peers.ByteLevelBPETokenizer(str(published_files / "gpt2_encoder.json"),
                                         str(published_files / "gpt2_vocab.bpe"))
    for text in [*odd_texts(), *prose.split("\n\n")]:
        assert published.encode(text).tolist() == theirs.encode(text).ids, repr(text)


def test_reads_files_of_tokenizers(prose, tmp_path):
    peers = pytest.importorskip("tokenizers")
    theirs = peers.ByteLevelBPETokenizer()
    theirs.train_from_iterator([prose], vocab_size=600, min_frequency=1, show_progress=False)
    theirs.save_model(str(tmp_path))
    ours = BytePairTokenizer.from_files(tmp_path / "vocab.json", tmp_path / "merges.txt", eos=None)
    assert len(ours.vocabulary) == 600
    for text in [*odd_texts(), *prose.split("\n\n")]:
        assert ours.encode(text).tolist() == theirs.encode(text).ids, repr(text)


def test_round_trip(byte_pairs, prose):
    assert len(byte_pairs.vocabulary) == 400 and len(byte_symbols()) == len(set(byte_symbols())) == 256
    for text in [*odd_texts(), prose]:
        assert byte_pairs.decode(byte_pairs.encode(text)) == text
        assert "".join(pattern().findall(text)) == text
    assert len(byte_pairs.encode(prose)) < 0.6 * len(prose)
    assert byte_pairs.decode([byte_pairs.vocabulary.id("Ã")]) == "\ufffd"                # half a character


def test_json_round_trip(byte_pairs):
    again = BytePairTokenizer.from_config(json.loads(json.dumps(byte_pairs.config)))
    text = "The keeper's lamp, at 9 o'clock."
    assert again.encode(text, eos=True).tolist() == byte_pairs.encode(text, eos=True).tolist()
    assert again.decode(again.encode(text, eos=True)) == byte_pairs.decode(byte_pairs.encode(text))


@pytest.mark.parametrize("size, end, says", [(200, {}, "size is 200; expected at least 256, the tokens before the"),
                                             (256, {"eos": "<e>"}, "size is 256; expected at least 257, the tokens before the")])
def test_vocabulary_too_small(size, end, says, prose):
    with pytest.raises(ValueError, match=says):
        BytePairTokenizer.fit(prose, size, **end)


def test_inconsistent_files(tmp_path, byte_pairs):
    ids = {symbol: i for i, symbol in enumerate(byte_pairs.vocabulary.symbols)}
    vocabulary, list_of_merges = tmp_path / "vocab.json", tmp_path / "merges.txt"
    vocabulary.write_text(json.dumps(ids), "utf-8")
    list_of_merges.write_text("#version: 0.2\n" + "\n".join(" ".join(pair) for pair in byte_pairs.merges) + "\n", "utf-8")
    same = BytePairTokenizer.from_files(vocabulary, list_of_merges)
    assert same.encode("the lighthouse").tolist() == byte_pairs.encode("the lighthouse").tolist()
    list_of_merges.write_text("t h e\n", "utf-8")
    with pytest.raises(ValueError, match="the line 't h e'; expected two symbols"):
        BytePairTokenizer.from_files(vocabulary, list_of_merges)
    list_of_merges.write_text("qq zz\n", "utf-8")
    with pytest.raises(ValueError, match="vocabulary lacks 'qq'"):
        BytePairTokenizer.from_files(vocabulary, list_of_merges)
    vocabulary.write_text(json.dumps({symbol: 2 * i for symbol, i in ids.items()}), "utf-8")
    with pytest.raises(ValueError, match="expected the ids 0 to 399"):
        BytePairTokenizer.from_files(vocabulary, list_of_merges)
