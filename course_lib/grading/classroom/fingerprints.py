"""Fingerprints of code: what two answers share, whatever their names, comments and layout are.

Tokens after renaming, hashed K in a row, of which winnowing keeps some. Paper: Schleimer, Wilkerson and Aiken 2003,
"Winnowing: Local Algorithms for Document Fingerprinting". Whatever two texts share of K + WINDOW - 1 tokens in a row
gives them a fingerprint in common; what they share of fewer than K never does.
"""
from __future__ import annotations

import builtins
import hashlib
import io
import keyword
import tokenize
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

K = 12                                                    # tokens that are hashed together
WINDOW = 5                                                # hashes in a row of which one is kept at least
KEPT = {*keyword.kwlist, *dir(builtins)}                  # names that nobody chooses
LAYOUT = (tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER,
          tokenize.ENCODING)

ENDS = (tokenize.NEWLINE, tokenize.COMMENT, tokenize.ENDMARKER)


@dataclass(frozen=True)
class Token:
    """A token as it is compared, and its first and last line in the source, from 1."""

    text: str
    line: int
    last: int


def tokens(source: str) -> list[Token]:
    """The tokens without comments, layout and docstrings. A name that somebody chose is `name`, a string `string`;
    names after a dot, keywords, built-in names and numbers stay. Of what is no Python, those before the fault.

    >>> [one.text for one in tokens("total = values.sum(dim=1)  # rows")]
    ['name', '=', 'name', '.', 'sum', '(', 'name', '=', '1', ')']
    """
    read = []
    try:
        for one in tokenize.generate_tokens(io.StringIO(source).readline):
            read.append(one)
    except (tokenize.TokenError, SyntaxError):
        pass
    found: list[Token] = []
    before = None                                         # the last token that is not a comment or a blank line
    for i, one in enumerate(read):
        starts_line = before is None or before.type in (tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT)
        alone = starts_line and i + 1 < len(read) and read[i + 1].type in ENDS
        if one.type not in LAYOUT and not (one.type == tokenize.STRING and alone):
            found.append(Token(compared(one, before), one.start[0], one.end[0]))
        if one.type not in (tokenize.COMMENT, tokenize.NL):
            before = one
    return found


def compared(one: tokenize.TokenInfo, before: tokenize.TokenInfo | None) -> str:
    """What stands for a token in a comparison."""
    if one.type == tokenize.NAME:
        return one.string if one.string in KEPT or before is not None and before.string == "." else "name"
    return "string" if one.type == tokenize.STRING else one.string


def grams(texts: Sequence[str], k: int = K) -> list[int]:
    """The hash of each k texts in a row, of 64 bits; none of fewer than k."""
    rows = ("\0".join(texts[i:i + k]).encode("utf-8", "surrogatepass") for i in range(len(texts) - k + 1))
    return [int.from_bytes(hashlib.blake2b(row, digest_size=8).digest(), "big") for row in rows]


def winnow(hashes: Sequence[int], window: int = WINDOW) -> list[tuple[int, int]]:
    """Of each `window` hashes in a row the smallest, of equal ones the last: (hash, place), each place once.

    >>> hashes = [77, 74, 42, 17, 98, 50, 17, 98, 8, 88, 67, 39, 77, 74, 42, 17, 98]     # figure 2 of the paper
    >>> winnow(hashes, window=4)
    [(17, 3), (17, 6), (8, 8), (39, 11), (17, 15)]
    """
    found: list[tuple[int, int]] = []
    for start in range(max(1, len(hashes) - window + 1) if hashes else 0):
        part = hashes[start:start + window]
        smallest = min(part)
        place = start + max(i for i, one in enumerate(part) if one == smallest)
        if not found or found[-1][1] != place:
            found.append((hashes[place], place))
    return found


@dataclass(frozen=True)
class Prints:
    """The fingerprints of one answer, each with the places of its tokens."""

    code: str
    tokens: tuple[Token, ...]
    places: dict[int, tuple[int, ...]]

    def lines(self, shared: Iterable[int]) -> set[int]:
        """The lines, from 1, on which these fingerprints lie."""
        return {line for one in shared for place in self.places.get(one, ()) for token in self.tokens[place:place + K]
                for line in range(token.line, token.last + 1)}


def fingerprints(code: str, given: frozenset[int] | set[int] = frozenset()) -> Prints:
    """The fingerprints of a piece of code, without those whose tokens stand in what was given out."""
    found = tokens(code)
    places: dict[int, tuple[int, ...]] = {}
    for one, place in winnow(grams([token.text for token in found])):
        if one not in given:
            places[one] = (*places.get(one, ()), place)
    return Prints(code, tuple(found), places)
