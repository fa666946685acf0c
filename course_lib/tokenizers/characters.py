"""A tokenizer of characters, and Markov's coding of vowels and consonants."""

from __future__ import annotations

import torch
from jaxtyping import Integer
from torch import Tensor

from course_lib.tokenizers.vocabulary import Tokenizer


class CharTokenizer(Tokenizer):
    """A tokenizer whose tokens are characters.

    >>> tokenizer = CharTokenizer.fit("hello world", eos="</s>")
    >>> tokenizer.encode("hold", eos=True)
    tensor([6, 2, 1, 4, 0])
    >>> tokenizer.decode(tokenizer.encode("hold"))
    'hold'
    """

    @staticmethod
    def _pieces(text: str) -> list[str]:
        return list(text)


def vowels(text: str) -> Integer[Tensor, "T"]:
    """Markov's coding of a text, (T,): 1 for a vowel, 0 for another letter of a to z; other characters are omitted."""
    letters = [c for c in text.lower() if "a" <= c <= "z"]
    if not letters:
        raise ValueError(f"text is {text[:20]!r}; expected at least one of the letters a to z")
    return torch.tensor([c in "aeiou" for c in letters], dtype=torch.long)
