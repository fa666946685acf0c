"""WordPiece, as BERT has it: words cut into the longest pieces that the vocabulary knows."""
from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable
from functools import lru_cache
from pathlib import Path

from course_lib.tokenizers.merging import Score, by_count, merges
from course_lib.tokenizers.vocabulary import Tokenizer, Vocabulary, check_text

SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
LONGEST = 100                                      # characters of a word; a longer one is unknown
CJK = ((0x4E00, 0x9FFF), (0x3400, 0x4DBF), (0x20000, 0x2A6DF), (0x2A700, 0x2B73F), (0x2B740, 0x2B81F),
       (0x2B820, 0x2CEAF), (0xF900, 0xFAFF), (0x2F800, 0x2FA1F))


class WordPieceTokenizer(Tokenizer):
    """Words are cut at white space and punctuation, then into pieces from the left, each the longest known one.

    A piece that continues a word begins with `##`. Where no piece fits, the whole word is [UNK]. With `lower`, case and
    accents are taken off first. What the cutting takes away does not come back: `decode` puts one space between words.

    The vocabulary holds [PAD], [UNK], [CLS] (`bos`), [SEP] (`eos`) and [MASK]. Source: Schuster and Nakajima 2012; Wu et
    al. 2016; Devlin et al. 2019.

    >>> tokenizer = WordPieceTokenizer.fit("low lower lowest slow slower", size=30)
    >>> tokenizer.split("slowest")  # ## goes on with a word
    ['sl', '##owe', '##s', '##t']
    """

    def __init__(self, vocabulary: Vocabulary, lower: bool = True):
        super().__init__(vocabulary)
        if missing := [s for s in SPECIAL if s not in vocabulary]:
            raise ValueError(f"vocabulary lacks {', '.join(missing)}")
        self.lower = lower
        self._pieces_of = lru_cache(maxsize=100_000)(self._cut)

    @classmethod
    def fit(cls, text: str, size: int = 1000, lower: bool = True, score: Score = by_count) -> WordPieceTokenizer:
        """Learn `size` symbols from a text: the special ones, its characters, then the pieces that merging gives.

        score: which pair is merged next. The paper's is `by_association`; it begins with rare pairs, and for small
        vocabularies counting, as Hugging Face's trainer does, gives the better pieces.
        """
        check_text(text)
        words = Counter(tuple([word[0], *("##" + c for c in word[1:])]) for word in cls._words(text, lower))
        letters = sorted({symbol for word in words for symbol in word})
        start = [*SPECIAL, *letters]
        if size < len(start):
            raise ValueError(f"size is {size}; {len(start)} symbols are there before the first merge")
        learned = merges(words, size - len(start), lambda a, b: a + b.removeprefix("##"), score)
        pieces = [a + b.removeprefix("##") for a, b in learned]
        return cls(cls._vocabulary(dict.fromkeys([*start, *pieces])), lower)

    @classmethod
    def from_file(cls, path: Path | str, lower: bool = True) -> WordPieceTokenizer:
        """From BERT's vocab.txt: a symbol a line, its id the number of the line from 0."""
        symbols = Path(path).read_text("utf-8-sig").split("\n")
        return cls(cls._vocabulary(symbols[:-1] if not symbols[-1] else symbols), lower)

    @staticmethod
    def _vocabulary(symbols: Iterable[str]) -> Vocabulary:
        return Vocabulary(list(symbols), unk="[UNK]", bos="[CLS]", eos="[SEP]", pad="[PAD]", mask="[MASK]")

    @property
    def config(self) -> dict:
        return {**super().config, "lower": self.lower}

    @classmethod
    def from_config(cls, config: dict) -> WordPieceTokenizer:
        options = {k: v for k, v in config.items() if k != "lower"}
        return cls(Vocabulary(**options), config["lower"])

    def split(self, text: str) -> list[str]:
        return [piece for word in self._words(text, self.lower) for piece in self._pieces_of(word)]

    def join(self, pieces: Iterable[str]) -> str:
        """The words with one space between them; a piece that begins with ## continues the word before it."""
        return " ".join(pieces).replace(" ##", "")

    def _cut(self, word: str) -> tuple[str, ...]:
        pieces, start = [], 0
        while start < len(word) and len(word) <= LONGEST:
            head = "##" if start else ""
            end = next((end for end in range(len(word), start, -1) if head + word[start:end] in self.vocabulary), None)
            if end is None:
                return (self.vocabulary.unk,)
            pieces.append(head + word[start:end])
            start = end
        return tuple(pieces) or (self.vocabulary.unk,)

    @staticmethod
    def _words(text: str, lower: bool) -> list[str]:
        """The words and the signs of a text, as BERT cuts it before it looks into the vocabulary."""
        text = text.translate(_SPACED)
        if lower:                                          # letter by letter: no form of one hangs on the next
            text = unicodedata.normalize("NFD", text.translate(_LOWER)).translate(_BARE)
        return text.translate(_APART).split()


class _Letters(dict):
    """What becomes of a letter, for `str.translate`: asked once for each letter that a text has."""

    def __init__(self, becomes: Callable[[str], str]):
        super().__init__()
        self.becomes = becomes

    def __missing__(self, code: int) -> str:
        return self.setdefault(code, self.becomes(chr(code)))


def _spaced(c: str) -> str:
    if c in "\0\ufffd" or _is_control(c):
        return ""
    return f" {c} " if any(low <= ord(c) <= high for low, high in CJK) else c


def _is_control(c: str) -> bool:
    return c not in "\t\n\r" and unicodedata.category(c) in ("Cc", "Cf", "Co", "Cs")


def _is_punctuation(c: str) -> bool:
    """Unicode's punctuation, and every other sign of ASCII that is no letter, digit or space."""
    ascii_sign = "!" <= c <= "~" and not c.isalnum()
    return ascii_sign or unicodedata.category(c).startswith("P")


_SPACED, _LOWER = _Letters(_spaced), _Letters(str.lower)
_BARE = _Letters(lambda c: "" if unicodedata.category(c) == "Mn" else c)                       # without accents
_APART = _Letters(lambda c: f" {c} " if _is_punctuation(c) else c)
