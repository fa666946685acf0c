"""Byte-pair encoding over bytes, as in GPT-2: every text can be encoded, and frequent substrings are one token.

Training is practical for a few megabytes of text. For more, train with the library `tokenizers`
(`ByteLevelBPETokenizer().train(...)`, then `save_model(folder)`); `BytePairTokenizer.from_files` reads its vocab.json and
merges.txt, and gives the same ids.
"""
from __future__ import annotations

import json
import re
import sys
import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import lru_cache
from pathlib import Path

from course_lib.tokenizers.merging import Pair, merges
from course_lib.tokenizers.vocabulary import Tokenizer, Vocabulary, check_text

SPACES = "\t-\r \x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000"          # Unicode's white space


@lru_cache
def pattern() -> re.Pattern[str]:
    r"""The regular expression of GPT-2 that splits a text into words: contractions, letters, digits, other characters, spaces.

    Python's `re` has no `\p{L}` and `\p{N}`, so numeric characters other than decimal digits are listed.
    """
    numeric = "".join(c for c in map(chr, range(sys.maxunicode + 1)) if unicodedata.category(c) in ("Nl", "No"))
    return _pattern(rf"[^\W\d_{numeric}]", rf"[\d{numeric}]", rf"(?:[^\w{numeric}{SPACES}]|_)", SPACES)


@lru_cache
def ascii_pattern() -> re.Pattern[str]:
    """The regular expression `pattern` for ASCII text: shorter character classes make it ten times as fast."""
    return _pattern("[A-Za-z]", "[0-9]", r"[^A-Za-z0-9\t-\r ]", r"\t-\r ")


def _pattern(letter: str, number: str, other: str, spaces: str) -> re.Pattern[str]:
    return re.compile(rf"'(?:[stmd]|re|ve|ll)| ?{letter}+| ?{number}+| ?{other}+|[{spaces}]+(?![^{spaces}])|[{spaces}]+")


def split_words(text: str) -> list[str]:
    """Split a text into words, each with the space before it; no token crosses the boundary of a word."""
    return (ascii_pattern() if text.isascii() else pattern()).findall(text)


@lru_cache
def byte_symbols() -> tuple[str, ...]:
    """A printable character for each of the 256 bytes: chr(byte), or, if it is not printable, one from chr(256) on."""
    visible = [*range(ord("!"), ord("~") + 1), *range(ord("¡"), ord("¬") + 1), *range(ord("®"), ord("ÿ") + 1)]
    others = iter(range(256, 512))
    return tuple(chr(b) if b in visible else chr(next(others)) for b in range(256))


class BytePairTokenizer(Tokenizer):
    """Byte-pair encoding: tokens are byte strings, each byte written as a printable character (a space is Ġ).

    vocabulary  contains the 256 bytes and the result of every merge
    merges      pairs of tokens in order of priority

    `fit` learns the merges from a text; `from_files` reads the merges of GPT-2. Raises ValueError if the vocabulary
    lacks a byte, or a token of a merge. Papers: Sennrich, Haddow and Birch 2016; over bytes, Radford et al. 2019.

    >>> tokenizer = BytePairTokenizer.fit("low lower lowest slow slower", size=260)
    >>> tokenizer.split("slower")
    ['s', 'lower']
    >>> tokenizer.decode(tokenizer.encode("déjà vu"))  # every text can be encoded
    'déjà vu'
    """

    def __init__(self, vocabulary: Vocabulary, merges: Iterable[Pair]):
        super().__init__(vocabulary)
        self.merges = list(merges)
        self.rank = {pair: i for i, pair in enumerate(self.merges)}
        missing = [s for pair in self.merges for s in (*pair, "".join(pair)) if s not in vocabulary]
        missing += [s for s in byte_symbols() if s not in vocabulary]
        if missing:
            raise ValueError(f"vocabulary lacks {missing[0]!r}; expected the symbols of all 256 bytes, and both parts "
                             "and the result of every merge")
        self._pieces_of = lru_cache(maxsize=100_000)(self._join_up)

    @classmethod
    def fit(cls, text: str, size: int = 512, eos: str | None = None) -> BytePairTokenizer:
        """Learn a tokenizer with `size` tokens from a text: 256 bytes, merges, and the end token `eos` unless None."""
        check_text(text)
        least = 256 + (eos is not None)
        if size < least:
            raise ValueError(f"size is {size}; expected at least {least}, the tokens before the first merge")
        counts = {tuple(cls._as_symbols(word)): count for word, count in Counter(split_words(text)).items()}
        learned = merges(counts, size - least)
        symbols = sorted(byte_symbols()) + ["".join(pair) for pair in learned] + ([eos] if eos else [])
        return cls(Vocabulary(symbols, eos=eos), learned)

    @classmethod
    def from_files(cls, vocabulary: Path | str, merges: Path | str, eos: str | None = "<|endoftext|>") -> BytePairTokenizer:
        """Build a tokenizer from the files of GPT-2.

        vocabulary  path of vocab.json (encoder.json), the id of each token
        merges      path of merges.txt (vocab.bpe), one merge per line
        eos         token that starts and ends a text
        """
        ids = json.loads(Path(vocabulary).read_text("utf-8-sig"))
        symbols = sorted(ids, key=ids.get)
        if [ids[s] for s in symbols] != list(range(len(ids))):
            raise ValueError(f"{vocabulary} has {len(ids)} tokens; expected the ids 0 to {len(ids) - 1}, each once")
        lines = Path(merges).read_text("utf-8-sig").split("\n")
        pairs = [tuple(line.split(" ")) for line in lines if line and not line.startswith("#version")]
        if bad := [pair for pair in pairs if len(pair) != 2]:
            raise ValueError(f"{merges} has the line {' '.join(bad[0])!r}; expected two symbols separated by one space")
        return cls(Vocabulary(symbols, eos=eos, bos=eos), pairs)

    @property
    def config(self) -> dict:
        return {**super().config, "merges": self.merges}

    @classmethod
    def from_config(cls, config: dict) -> BytePairTokenizer:
        options = {k: v for k, v in config.items() if k != "merges"}
        return cls(Vocabulary(**options), [tuple(pair) for pair in config["merges"]])

    def split(self, text: str) -> list[str]:
        return [piece for word in split_words(text) for piece in self._pieces_of(word)]

    def join(self, pieces: Iterable[str]) -> str:
        """Concatenate tokens to a text; invalid UTF-8, such as a part of a character, becomes U+FFFD."""
        number = {symbol: b for b, symbol in enumerate(byte_symbols())}
        return bytes(number[c] for piece in pieces for c in piece).decode("utf-8", errors="replace")

    def _join_up(self, word: str) -> tuple[str, ...]:
        symbols = self._as_symbols(word)
        while len(symbols) > 1:
            rank, at = min((self.rank.get(pair, len(self.rank)), i) for i, pair in enumerate(zip(symbols, symbols[1:])))
            if rank == len(self.rank):
                break
            pair = self.merges[rank]
            joined, i = [], 0
            while i < len(symbols):                  # join every occurrence, from the left
                hit = i >= at and tuple(symbols[i:i + 2]) == pair
                joined.append("".join(pair) if hit else symbols[i])
                i += 1 + hit
            symbols = joined
        return tuple(symbols)

    @staticmethod
    def _as_symbols(word: str) -> Sequence[str]:
        table = byte_symbols()
        return [table[b] for b in word.encode("utf-8", errors="surrogatepass")]
