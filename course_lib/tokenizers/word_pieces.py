"""WordPiece, as in BERT: words are split into the longest pieces of the vocabulary."""
from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable
from functools import lru_cache
from pathlib import Path

from course_lib.tokenizers.merging import Score, by_count, merges
from course_lib.tokenizers.vocabulary import Tokenizer, Vocabulary, check_text

SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
LONGEST = 100                                      # characters of a word; a longer word is unknown
CJK = ((0x4E00, 0x9FFF), (0x3400, 0x4DBF), (0x20000, 0x2A6DF), (0x2A700, 0x2B73F), (0x2B740, 0x2B81F),
       (0x2B820, 0x2CEAF), (0xF900, 0xFAFF), (0x2F800, 0x2FA1F))


class WordPieceTokenizer(Tokenizer):
    """WordPiece: words, split at white space and punctuation, are split into pieces from the left, each as long as possible.

    vocabulary  contains [PAD], [UNK], [CLS] (`bos`), [SEP] (`eos`) and [MASK]; a piece within a word begins with ##
    lower       remove case and accents

    A word that cannot be split is [UNK]. `decode` puts one space between words. Papers: Schuster and Nakajima 2012; Wu et
    al. 2016; Devlin et al. 2019.

    >>> tokenizer = WordPieceTokenizer.fit("low lower lowest slow slower", size=30)
    >>> tokenizer.split("slowest")  # ## continues a word
    ['sl', '##owe', '##s', '##t']
    """

    def __init__(self, vocabulary: Vocabulary, lower: bool = True):
        super().__init__(vocabulary)
        if missing := [s for s in SPECIAL if s not in vocabulary]:
            raise ValueError(f"vocabulary lacks {', '.join(missing)}; expected all of {', '.join(SPECIAL)}")
        self.lower = lower
        self._pieces_of = lru_cache(maxsize=100_000)(self._cut)

    @classmethod
    def fit(cls, text: str, size: int = 1000, lower: bool = True, score: Score = by_count) -> WordPieceTokenizer:
        """Learn a vocabulary of `size` tokens from a text: the special tokens, its characters, and merged pieces.

        lower  remove case and accents
        score  score by which the next pair is chosen, see `merges`: `by_association`, as in the paper, prefers rare
               pairs; `by_count`, as in Hugging Face's trainer, gives better pieces for small vocabularies
        """
        check_text(text)
        words = Counter(tuple([word[0], *("##" + c for c in word[1:])]) for word in cls._words(text, lower))
        letters = sorted({symbol for word in words for symbol in word})
        start = [*SPECIAL, *letters]
        if size < len(start):
            raise ValueError(f"size is {size}; expected at least {len(start)}, the tokens before the first merge")
        learned = merges(words, size - len(start), lambda a, b: a + b.removeprefix("##"), score)
        pieces = [a + b.removeprefix("##") for a, b in learned]
        return cls(cls._vocabulary(dict.fromkeys([*start, *pieces])), lower)

    @classmethod
    def from_file(cls, path: Path | str, lower: bool = True) -> WordPieceTokenizer:
        """Build a tokenizer from BERT's vocab.txt, which has one token per line; the id is the line number, from 0.

        lower  remove case and accents, as for an "uncased" BERT
        """
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
        """Join pieces to a text, with one space between words; a piece that begins with ## continues a word."""
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
        """Split a text into words and punctuation marks, as BERT's tokenizer does first; `lower` as in the class."""
        text = text.translate(_SPACED)
        if lower:                                          # character by character, without context
            text = unicodedata.normalize("NFD", text.translate(_LOWER)).translate(_BARE)
        return text.translate(_APART).split()


class _Letters(dict):
    """A table for `str.translate`; an entry, `becomes(character)`, is computed when it is first needed."""

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
    """Whether c is Unicode punctuation, or any other visible ASCII character except letters and digits."""
    ascii_sign = "!" <= c <= "~" and not c.isalnum()
    return ascii_sign or unicodedata.category(c).startswith("P")


_SPACED, _LOWER = _Letters(_spaced), _Letters(str.lower)
_BARE = _Letters(lambda c: "" if unicodedata.category(c) == "Mn" else c)                       # without accents
_APART = _Letters(lambda c: f" {c} " if _is_punctuation(c) else c)
