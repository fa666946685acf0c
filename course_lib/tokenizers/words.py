"""A tokenizer of words."""

from __future__ import annotations

import re

from course_lib.tokenizers.vocabulary import Tokenizer

# A word with the space before it, or one other character; the concatenation of the pieces is the text.
WORD = re.compile(r" ?[^\W_]+(?:'[^\W_]+)*|.", re.DOTALL)


class WordTokenizer(Tokenizer):
    """A tokenizer whose tokens are words, each with the space before it, and single other characters.

    " don't stop, please" is split into " don't", " stop", ",", " please". No character is lost, so the bits per
    character of a model of these words can be compared with the bits per character of a model over `CharTokenizer`.

    >>> tokenizer = WordTokenizer.fit("The cat saw the dog.")
    >>> tokenizer.split("the cat."), len(tokenizer.vocabulary)
    (['the', ' cat', '.'], 6)
    """

    @staticmethod
    def _pieces(text: str) -> list[str]:
        return WORD.findall(text)
