"""A vocabulary of tokens and their ids, and the base class of tokenizers."""

from __future__ import annotations

from collections import Counter
from operator import index
from typing import Any, Iterable, Sequence

import torch
from jaxtyping import Integer
from torch import Tensor

Ids = Any                                        # (T,): a tensor, an array or a list of integers


class Vocabulary:
    """A list of symbols (tokens); the id of a symbol is its index.

    unk, bos, eos, pad, mask  the symbols of the list that represent an unknown symbol, the start and the end of a text,
                              padding, and a masked symbol; None if there is no such symbol. Their ids are `unk_id`, ...

    Raises ValueError if a symbol occurs twice, or if a special symbol is not in the list.

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
            raise ValueError(f"symbols contains {twice[0]!r} more than once; expected distinct symbols")
        for name in ("unk", "bos", "eos", "pad", "mask"):
            special = getattr(self, name)
            if special is not None and special not in self._ids:
                raise ValueError(f"{name} is {special!r}; expected None, or one of the {len(self)} symbols of the list")
        self.unk_id, self.bos_id, self.eos_id, self.pad_id, self.mask_id = (
            self._ids.get(special) for special in (unk, bos, eos, pad, mask))

    @classmethod
    def of(cls, pieces: Iterable[str], max_size: int | None = None, min_count: int = 1, unk: str | None = None,
           bos: str | None = None, eos: str | None = None) -> Vocabulary:
        """Build a vocabulary of the special symbols `unk`, `bos` and `eos`, then the distinct pieces.

        pieces     all pieces of a text, with repetitions; the most frequent come first, ties in alphabetical order
        max_size   maximum number of symbols, special symbols included; None: no limit
        min_count  least count of a piece that is included
        """
        special = list(dict.fromkeys(s for s in (unk, bos, eos) if s is not None))
        counts = Counter(pieces)
        clash = [s for s in special if s in counts]
        if clash:
            raise ValueError(f"{clash[0]!r} is a special symbol and occurs in the text, {counts[clash[0]]} times; "
                             "expected a special symbol that does not occur")
        ranked = sorted(counts, key=lambda piece: (-counts[piece], piece))
        kept = [piece for piece in ranked if counts[piece] >= min_count]
        if max_size is not None:
            if max_size <= len(special):
                raise ValueError(f"max_size is {max_size}; expected more than {len(special)}, the number of special symbols")
            kept = kept[: max_size - len(special)]
        if not special + kept:
            raise ValueError("pieces is empty; expected at least one piece")
        return cls(special + kept, unk, bos, eos)

    def __len__(self) -> int:
        return len(self.symbols)

    def __contains__(self, symbol: str) -> bool:
        return symbol in self._ids

    def __repr__(self) -> str:
        return f"Vocabulary({len(self)} symbols)"

    def id(self, symbol: str) -> int:
        """The id of a symbol, or of `unk` if the symbol is unknown. Raises ValueError if it is unknown and unk is None."""
        symbol_id = self._ids.get(symbol, self.unk_id)
        if symbol_id is None:
            raise ValueError(f"{symbol!r} is not among the {len(self)} symbols; expected a known symbol, since unk is None")
        return symbol_id

    def symbol(self, i: int) -> str:
        """The symbol with id `i`. Raises ValueError if it is out of range."""
        if not 0 <= i < len(self):
            raise ValueError(f"id is {i}; expected 0 to {len(self) - 1}, the ids of this vocabulary")
        return self.symbols[i]

    @property
    def special_ids(self) -> set[int]:
        """The ids of those of the symbols `bos`, `eos` and `pad` that the vocabulary has."""
        return {i for i in (self.bos_id, self.eos_id, self.pad_id) if i is not None}


class Tokenizer:
    """Base class of tokenizers. A subclass defines `split`, and `join` unless a text is the concatenation of its pieces.

    vocabulary  the symbols, and their ids; `fit` learns it from a text

    >>> from course_lib.tokenizers import WordTokenizer
    >>> tokenizer = WordTokenizer.fit("to be or not to be")
    >>> # a word includes the space before it
    >>> tokenizer.split("to be"), tokenizer.unknown("to me")
    (['to', ' be'], [' me'])
    """

    def __init__(self, vocabulary: Vocabulary):
        if not isinstance(vocabulary, Vocabulary):
            name = type(self).__name__
            raise TypeError(f"vocabulary is of type {type(vocabulary).__name__}; expected a Vocabulary. To learn a "
                            f"vocabulary from a text, call {name}.fit(text)")
        self.vocabulary = vocabulary

    def __repr__(self) -> str:
        return f"{type(self).__name__}({len(self.vocabulary)} symbols)"

    def __reduce__(self):
        return self.from_config, (self.config,)                      # the cache of pieces cannot be pickled

    @classmethod
    def fit(cls, text: str, **options) -> Tokenizer:
        """Build a tokenizer with the vocabulary of a text; the keyword arguments are passed to `Vocabulary.of`."""
        check_text(text)
        return cls(Vocabulary.of(cls._pieces(text), **options))

    @property
    def config(self) -> dict:
        """The settings of the tokenizer, which JSON can store; `from_config(config)` builds an equal tokenizer."""
        v = self.vocabulary
        more = {name: symbol for name, symbol in (("pad", v.pad), ("mask", v.mask)) if symbol is not None}
        return {"symbols": v.symbols, "unk": v.unk, "bos": v.bos, "eos": v.eos, **more}

    @classmethod
    def from_config(cls, config: dict) -> Tokenizer:
        """Build a tokenizer from its `config`."""
        return cls(Vocabulary(**config))

    def split(self, text: str) -> list[str]:
        """Split a text into symbols of the vocabulary, such as words or characters: a list of strings."""
        return self._pieces(text)

    def join(self, pieces: Iterable[str]) -> str:
        """Join symbols to a text, the inverse of `split`."""
        return "".join(pieces)

    def encode(self, text: str, bos: bool = False, eos: bool = False) -> Integer[Tensor, "T"]:
        """Encode a text as ids, (T,), the inverse of `decode`.

        bos, eos  whether to add the start symbol before the text, and the end symbol after the text
        """
        ids = [self.vocabulary.id(piece) for piece in self.split(text)]
        for requested, special, name in ((bos, self.vocabulary.bos_id, "bos"), (eos, self.vocabulary.eos_id, "eos")):
            if requested and special is None:
                raise ValueError(f"{name} is True, but the vocabulary has no {name} symbol; expected {name}=False, or a vocabulary with that symbol")
        return torch.tensor([self.vocabulary.bos_id] * bos + ids + [self.vocabulary.eos_id] * eos, dtype=torch.long)

    def decode(self, ids: Ids) -> str:
        """Decode one sequence of ids, (T,), to a text, without start, end and padding symbols.

        Raises TypeError if `ids` is a batch or if an id is not an integer.
        """
        try:
            numbers = [index(i) for i in (ids.tolist() if isinstance(ids, Tensor) else ids)]
        except TypeError:
            got = f"of shape {tuple(ids.shape)}, {ids.dtype}" if isinstance(ids, Tensor) else f"{ids!r:.60}"
            raise TypeError(f"ids is {got}; expected one sequence of integers (T,), such as a row of a batch") from None
        special = self.vocabulary.special_ids
        return self.join(self.vocabulary.symbol(i) for i in numbers if i not in special)

    def unknown(self, text: str) -> list[str]:
        """The results of `split` that are not in the vocabulary, in order, with repetitions."""
        return [piece for piece in self.split(text) if piece not in self.vocabulary]

    @staticmethod
    def _pieces(text: str) -> list[str]:
        raise NotImplementedError


def check_text(text: str) -> None:
    """Raise TypeError unless the text is a single string, not a list of texts."""
    if not isinstance(text, str):
        raise TypeError(f"text is of type {type(text).__name__}; expected a string: join several texts into one")
