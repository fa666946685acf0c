"""Every word a symbol."""

from __future__ import annotations

import re

from course_lib.tokenizers.vocabulary import Tokenizer

# A word with the space before it, or one other character: joined, the pieces are the text again.
WORD = re.compile(r" ?[^\W_]+(?:'[^\W_]+)*|.", re.DOTALL)


class WordTokenizer(Tokenizer):
    """Every word a symbol, together with the space before it; every other character one of its own.

    " don't stop, please" is " don't", " stop", ",", " please". Nothing is lost, so its bits compare with characters'.

    >>> tokenizer = WordTokenizer.fit("The cat saw the dog.")
    >>> tokenizer.split("the cat."), len(tokenizer.vocabulary)
    (['the', ' cat', '.'], 6)
    """

    @staticmethod
    def _pieces(text: str) -> list[str]:
        return WORD.findall(text)
