"""Byte pairs and word pieces: as published, as trained here, and whatever the text is."""
from __future__ import annotations

import random
from collections import Counter
from itertools import pairwise

import pytest
import torch

from course_lib.text import BytePairTokenizer, WordPieceTokenizer, join_segments, pad, unpad
from course_lib.text.byte_pairs import byte_symbols, pattern
from course_lib.text.corpus import load_prose
from course_lib.text.pair_merging import by_association, merged, merges

ODD = "ab Z9_'\t\n\r  .,!?²½Ⅷ①é́ñçßİıΣς你好ー한각あア\u3000\u00a0\u200b\u200d\ufeff\x1c\x00\ufffd𝔘🙂👍🏽—…«»$^`|~¦ªº٣५"
WRITTEN = ["Hello world! I'm  here\n\n  now, it's 2024²½ ¾… naïve café 你好 \u3000x __init__ 12ab'll 'S", "   lead", "tail   ",
           "a_b", "𝔘𝔫𝔦 ①② Ⅷ", "don't DON'T we'll're", "", " ", "\n"]


def odd_texts(num=400):
    """Texts of every kind of character, the same each time."""
    r = random.Random(0)
    ranges = [(32, 0x500), (0x2000, 0x2200), (0x3000, 0x3100), (0x1F300, 0x1F700)]
    mixed = ["".join(r.choice(ODD) for _ in range(r.randrange(1, 30))) for _ in range(num)]
    far = ["".join(chr(r.randrange(*r.choice(ranges))) for _ in range(r.randrange(1, 20))) for _ in range(num)]
    return WRITTEN + mixed + far


@pytest.fixture(scope="module")
def prose():
    return load_prose()


@pytest.fixture(scope="module")
def byte_pairs(prose):
    return BytePairTokenizer.fit(prose, 400, eos="<|endoftext|>")


@pytest.fixture(scope="module")
def word_pieces(prose):
    return WordPieceTokenizer.fit(prose, 200)


# against what was published, and the library that everybody uses

@pytest.fixture(scope="module")
def published(course_data):
    folder = course_data / "tokenizers"
    return (BytePairTokenizer.from_files(folder / "gpt2_encoder.json", folder / "gpt2_vocab.bpe"),
            WordPieceTokenizer.from_file(folder / "bert-base-uncased-vocab.txt"))


@pytest.mark.data
def test_gpt2s_own_merges(published):
    bpe, _ = published
    assert len(bpe.vocabulary) == 50257 and bpe.vocabulary.eos_id == 50256
    assert bpe.encode("Hello world").tolist() == [15496, 995]
    assert bpe.split("The curious kitten") == ["The", "Ġcurious", "Ġkitten"]
    for text in odd_texts():
        assert bpe.decode(bpe.encode(text)) == text


@pytest.mark.data
def test_berts_own_vocabulary(published):
    _, pieces = published
    v = pieces.vocabulary
    assert len(v) == 30522 and (v.pad_id, v.unk_id, v.bos_id, v.eos_id, v.mask_id) == (0, 100, 101, 102, 103)
    assert pieces.encode("Hello, world!", bos=True, eos=True).tolist() == [101, 7592, 1010, 2088, 999, 102]
    assert pieces.split("unaffable Café") == ["una", "##ffa", "##ble", "cafe"]


@pytest.mark.data
def test_the_same_ids_as_hugging_faces_tokenizers(published, course_data):
    peers = pytest.importorskip("tokenizers")
    folder = course_data / "tokenizers"
    theirs = peers.ByteLevelBPETokenizer(str(folder / "gpt2_encoder.json"), str(folder / "gpt2_vocab.bpe"))
    pieces = peers.BertWordPieceTokenizer(str(folder / "bert-base-uncased-vocab.txt"))
    for text in [*odd_texts(), *load_prose().split("\n\n")]:
        assert published[0].encode(text).tolist() == theirs.encode(text).ids, repr(text)
        assert published[1].encode(text).tolist() == pieces.encode(text, add_special_tokens=False).ids, repr(text)


# as trained here

def naive(words, num, join=str.__add__, score=None):
    """The definition: count all pairs of all words anew before each merge."""
    spelt, found = {tuple(word): count for word, count in words.items()}, []
    for _ in range(num):
        pairs, singles = Counter(), Counter()
        for word, count in spelt.items():
            for pair in pairwise(word):
                pairs[pair] += count
            for symbol in word:
                singles[symbol] += count
        pairs = {pair: count for pair, count in pairs.items() if count >= 2}
        if not pairs:
            break
        value = {p: c if score is None else score(c, singles[p[0]], singles[p[1]]) for p, c in pairs.items()}
        best = min(pairs, key=lambda p: (-value[p], p))
        found.append(best)
        renewed = Counter()
        for word, count in spelt.items():
            renewed[tuple(merged(word, best, join))] += count
        spelt = renewed
    return found


@pytest.mark.parametrize("score", [None, by_association], ids=["by count", "by association"])
def test_merges_are_those_of_the_definition(prose, score):
    words = Counter(tuple(word) for word in prose[:2500].split())
    more = {} if score is None else {"score": score}
    assert merges(words, 40, **more) == naive(words, 40, score=score)


def test_the_textbook_example():
    """Sennrich, Haddow and Birch: low, lower, newest, widest; es, est, est</w>, lo, low."""
    words = {("l", "o", "w", "_"): 5, ("l", "o", "w", "e", "r", "_"): 2, ("n", "e", "w", "e", "s", "t", "_"): 6,
             ("w", "i", "d", "e", "s", "t", "_"): 3}
    assert ["".join(pair) for pair in merges(words, 5)] == ["es", "est", "est_", "lo", "low"]
    assert merges({("a", "a", "a", "a", "b"): 2}, 9) == [("a", "a"), ("aa", "aa"), ("aaaa", "b")]
    assert merges({("a", "b"): 1}, 9) == [] == merges({}, 9)


def test_nothing_is_lost_by_byte_pairs(byte_pairs, prose):
    assert len(byte_pairs.vocabulary) == 400 and len(byte_symbols()) == len(set(byte_symbols())) == 256
    for text in [*odd_texts(), prose]:
        assert byte_pairs.decode(byte_pairs.encode(text)) == text
        assert "".join(pattern().findall(text)) == text
    assert len(byte_pairs.encode(prose)) < 0.6 * len(prose)
    assert byte_pairs.decode([byte_pairs.vocabulary.id("Ã")]) == "\ufffd"                # half a character


def test_a_merge_is_made_by_rank_not_from_the_left(byte_pairs):
    first, later = byte_pairs.merges[0], byte_pairs.merges[5]
    rank = byte_pairs.rank
    assert rank[first] < rank[later]
    for word in ("where", "weather", "lighthouse", "aaaa"):
        symbols = list(word)
        for pair in byte_pairs.merges:
            symbols = merged(symbols, pair)
        assert byte_pairs.split(word) == symbols


def test_word_pieces_are_the_longest_that_fit(word_pieces, prose):
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


def test_word_pieces_lower_and_take_accents_off_only_if_asked(prose):
    kept = WordPieceTokenizer.fit(prose[:2000] + " Café", 150, lower=False)
    assert kept.join(kept.split("Café")) == "Café"
    lowered = WordPieceTokenizer.fit(prose[:2000], 150)
    assert lowered.join(lowered.split("CAFÉ, là.")) == "cafe , la ."


@pytest.mark.parametrize("kind", ["byte_pairs", "word_pieces"])
def test_a_tokenizer_goes_through_json_and_back(kind, request):
    import json

    tokenizer = request.getfixturevalue(kind)
    again = type(tokenizer).from_config(json.loads(json.dumps(tokenizer.config)))
    text = "The keeper's lamp, at 9 o'clock."
    assert again.encode(text, eos=True).tolist() == tokenizer.encode(text, eos=True).tolist()
    assert again.decode(again.encode(text, eos=True)) == tokenizer.decode(tokenizer.encode(text))


@pytest.mark.parametrize("fit, says", [
    (lambda text: BytePairTokenizer.fit(text, 200), "size is 200; 256 symbols"),
    (lambda text: BytePairTokenizer.fit(text, 256, eos="<e>"), "size is 256; 257 symbols"),
    (lambda text: WordPieceTokenizer.fit(text, 10), "size is 10"),
])
def test_a_vocabulary_that_is_too_small(fit, says, prose):
    with pytest.raises(ValueError, match=says):
        fit(prose)


def test_files_that_do_not_hold_together(tmp_path, byte_pairs):
    import json

    ids = {symbol: i for i, symbol in enumerate(byte_pairs.vocabulary.symbols)}
    vocabulary, list_of_merges = tmp_path / "vocab.json", tmp_path / "merges.txt"
    vocabulary.write_text(json.dumps(ids), "utf-8")
    list_of_merges.write_text("#version: 0.2\n" + "\n".join(" ".join(pair) for pair in byte_pairs.merges) + "\n", "utf-8")
    same = BytePairTokenizer.from_files(vocabulary, list_of_merges)
    assert same.encode("the lighthouse").tolist() == byte_pairs.encode("the lighthouse").tolist()
    list_of_merges.write_text("t h e\n", "utf-8")
    with pytest.raises(ValueError, match="'t h e' is no pair"):
        BytePairTokenizer.from_files(vocabulary, list_of_merges)
    list_of_merges.write_text("qq zz\n", "utf-8")
    with pytest.raises(ValueError, match="vocabulary lacks 'qq'"):
        BytePairTokenizer.from_files(vocabulary, list_of_merges)
    vocabulary.write_text(json.dumps({symbol: 2 * i for symbol, i in ids.items()}), "utf-8")
    with pytest.raises(ValueError, match="ids are not 0 to 399"):
        BytePairTokenizer.from_files(vocabulary, list_of_merges)
    (tmp_path / "vocab.txt").write_text("[PAD]\n[UNK]\na\n", "utf-8")
    with pytest.raises(ValueError, match=r"\[CLS\]"):
        WordPieceTokenizer.from_file(tmp_path / "vocab.txt")


# batches

def test_padding_and_back():
    rows = [torch.tensor([5, 6, 7]), torch.tensor([8]), torch.tensor([], dtype=torch.long)]
    right, mask = pad(rows, 0)
    assert right.tolist() == [[5, 6, 7], [8, 0, 0], [0, 0, 0]] and mask.sum(1).tolist() == [3, 1, 0]
    left, left_mask = pad(rows, 9, side="left")
    assert left.tolist() == [[5, 6, 7], [9, 9, 8], [9, 9, 9]]
    for tokens, keep in ((right, mask), (left, left_mask)):
        assert [row.tolist() for row in unpad(tokens, keep)] == [[5, 6, 7], [8], []]
    with pytest.raises(ValueError, match="side is 'top'"):
        pad(rows, 0, "top")
    with pytest.raises(ValueError, match="sequences is empty"):
        pad([], 0)


def test_segments():
    a, b = torch.tensor([7, 8]), torch.tensor([9])
    tokens, types = join_segments(a, b, cls=1, sep=2)
    assert tokens.tolist() == [1, 7, 8, 2, 9, 2] and types.tolist() == [0, 0, 0, 0, 1, 1]
    tokens, types = join_segments(a, None, cls=1, sep=2)
    assert tokens.tolist() == [1, 7, 8, 2] and types.tolist() == [0, 0, 0, 0]
