"""From text to numbers and back: a vocabulary, and what all tokenizers share."""

from __future__ import annotations

from collections import Counter
from operator import index
from typing import Any, Iterable, Sequence

import torch
from jaxtyping import Integer
from torch import Tensor

Ids = Any                                        # (T,): a tensor, an array or a list of integers


class Vocabulary:
    """Symbols and their numbers: symbol i of the list has id i.

    unk, bos, eos, pad, mask  the symbols, members of the list, that stand for an unknown symbol, a text's start and its
                              end, what fills a batch up, and a symbol that is hidden

    Raises ValueError for a symbol that occurs twice and for a special symbol that is not in the list.

    >>> v = Vocabulary(["a", "b", "</s>"], eos="</s>")
    >>> v.id("b"), v.symbol(0), v.eos_id, len(v)
    (1, 'a', 2, 3)
    """

    def __init__(self, symbols: Sequence[str], unk: str | None = None, bos: str | None = None, eos: str | None = None,
                 pad: str | None = None, mask: str | None = None):
        self.symbols, self.unk, self.bos, self.eos, self.pad, self.mask = list(symbols), unk, bos, eos, pad, mask
        self._ids = {symbol: i for i, symbol in enumerate(self.symbols)}
        if len(self._ids) < len(self.symbols):
            twice = [symbol for symbol, count in Counter(self.symbols).items() if count > 1]
            raise ValueError(f"symbols holds {twice[0]!r} more than once; every symbol has one id")
        for name in ("unk", "bos", "eos", "pad", "mask"):
            special = getattr(self, name)
            if special is not None and special not in self._ids:
                raise ValueError(f"{name} is {special!r}, which is not among the {len(self)} symbols")
        self.unk_id, self.bos_id, self.eos_id, self.pad_id, self.mask_id = (
            self._ids.get(special) for special in (unk, bos, eos, pad, mask))

    @classmethod
    def of(cls, pieces: Iterable[str], max_size: int | None = None, min_count: int = 1, unk: str | None = None,
           bos: str | None = None, eos: str | None = None) -> Vocabulary:
        """The special symbols that are named, then the pieces, most frequent first, ties in alphabetical order.

        max_size counts all symbols; pieces seen less than `min_count` times are left out.
        """
        special = list(dict.fromkeys(s for s in (unk, bos, eos) if s is not None))
        counts = Counter(pieces)
        clash = [s for s in special if s in counts]
        if clash:
            raise ValueError(f"{clash[0]!r} is to be a special symbol, and the text holds it {counts[clash[0]]} times")
        ranked = sorted(counts, key=lambda piece: (-counts[piece], piece))
        kept = [piece for piece in ranked if counts[piece] >= min_count]
        if max_size is not None:
            if max_size <= len(special):
                raise ValueError(f"max_size is {max_size}; {len(special)} of them are special symbols")
            kept = kept[: max_size - len(special)]
        if not special + kept:
            raise ValueError("pieces is empty; a vocabulary needs at least one symbol")
        return cls(special + kept, unk, bos, eos)

    def __len__(self) -> int:
        return len(self.symbols)

    def __contains__(self, symbol: str) -> bool:
        return symbol in self._ids

    def __repr__(self) -> str:
        return f"Vocabulary({len(self)} symbols)"

    def id(self, symbol: str) -> int:
        """Number of the symbol; that of `unk` for one that is unknown. ValueError if there is no `unk`."""
        symbol_id = self._ids.get(symbol, self.unk_id)
        if symbol_id is None:
            raise ValueError(f"{symbol!r} is not among the {len(self)} symbols, and there is none for the unknown")
        return symbol_id

    def symbol(self, i: int) -> str:
        """Symbol of the number. ValueError if it is out of range."""
        if not 0 <= i < len(self):
            raise ValueError(f"id is {i}; this vocabulary has {len(self)} symbols, 0..{len(self) - 1}")
        return self.symbols[i]

    @property
    def special_ids(self) -> set[int]:
        """Ids of the symbols for start, end and filling up, which spell nothing."""
        return {i for i in (self.bos_id, self.eos_id, self.pad_id) if i is not None}


class Tokenizer:
    """What all tokenizers share. A subclass writes `split`, and `join` where pieces do not simply follow each other.

    >>> from course_lib.tokenizers import WordTokenizer
    >>> tokenizer = WordTokenizer.fit("to be or not to be")
    >>> # a word has the space before it
    >>> tokenizer.split("to be"), tokenizer.unknown("to me")
    (['to', ' be'], [' me'])
    """

    def __init__(self, vocabulary: Vocabulary):
        if not isinstance(vocabulary, Vocabulary):
            name = type(self).__name__
            raise TypeError(f"vocabulary is of type {type(vocabulary).__name__}; expected a Vocabulary: {name}.fit(text) "
                            "learns one from a text")
        self.vocabulary = vocabulary

    def __repr__(self) -> str:
        return f"{type(self).__name__}({len(self.vocabulary)} symbols)"

    def __reduce__(self):
        return self.from_config, (self.config,)                      # a cache of pieces cannot be pickled

    @classmethod
    def fit(cls, text: str, **options) -> Tokenizer:
        """The tokenizer whose vocabulary is that of the text; options as in `Vocabulary.of`."""
        check_text(text)
        return cls(Vocabulary.of(cls._pieces(text), **options))

    @property
    def config(self) -> dict:
        """What `from_config` needs to build this tokenizer again, in types that JSON has."""
        v = self.vocabulary
        more = {name: symbol for name, symbol in (("pad", v.pad), ("mask", v.mask)) if symbol is not None}
        return {"symbols": v.symbols, "unk": v.unk, "bos": v.bos, "eos": v.eos, **more}

    @classmethod
    def from_config(cls, config: dict) -> Tokenizer:
        """The tokenizer that `config` describes."""
        return cls(Vocabulary(**config))

    def split(self, text: str) -> list[str]:
        """The pieces of a text, in its order."""
        return self._pieces(text)

    def join(self, pieces: Iterable[str]) -> str:
        """The text that the pieces spell."""
        return "".join(pieces)

    def encode(self, text: str, bos: bool = False, eos: bool = False) -> Integer[Tensor, "T"]:
        """Ids of the pieces, (T,), after the start symbol and before the end symbol where asked for."""
        ids = [self.vocabulary.id(piece) for piece in self.split(text)]
        for requested, special, name in ((bos, self.vocabulary.bos_id, "bos"), (eos, self.vocabulary.eos_id, "eos")):
            if requested and special is None:
                raise ValueError(f"{name} was asked for, and the vocabulary names no such symbol")
        return torch.tensor([self.vocabulary.bos_id] * bos + ids + [self.vocabulary.eos_id] * eos, dtype=torch.long)

    def decode(self, ids: Ids) -> str:
        """The text of one sequence of ids, (T,), without start, end and padding symbols; an unknown piece is shown as `unk`.

        Raises TypeError for a batch and for what is not an integer.
        """
        try:
            numbers = [index(i) for i in (ids.tolist() if isinstance(ids, Tensor) else ids)]
        except TypeError:
            got = f"of shape {tuple(ids.shape)}, {ids.dtype}" if isinstance(ids, Tensor) else f"{ids!r:.60}"
            raise TypeError(f"ids is {got}; expected one sequence of integers (T,), such as a row of a batch") from None
        special = self.vocabulary.special_ids
        return self.join(self.vocabulary.symbol(i) for i in numbers if i not in special)

    def unknown(self, text: str) -> list[str]:
        """The pieces that the vocabulary lacks, in order, repeated ones repeated."""
        return [piece for piece in self.split(text) if piece not in self.vocabulary]

    @staticmethod
    def _pieces(text: str) -> list[str]:
        raise NotImplementedError


def check_text(text: str) -> None:
    """TypeError for what is no text; several texts are joined by whoever has them, who knows what stands between them."""
    if not isinstance(text, str):
        raise TypeError(f"text is of type {type(text).__name__}; expected a string: join several texts into one")
