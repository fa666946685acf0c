"""Taylor's cloze procedure (1953): the fraction of deleted words that readers restore measures readability.

Taylor compared it with formulas that count words and syllables, such as Flesch's.
"""

from __future__ import annotations

import re
from typing import NamedTuple

WORD = re.compile(r"[A-Za-z]+(?:['-][A-Za-z]+)*")
VOWELS = re.compile(r"[aeiouy]+")


class Gaps(NamedTuple):
    """A text with deleted words, the items of a cloze test.

    words    words of the text, with "____" for each deleted word
    places   index in `words`, from 0, of each deleted word, in ascending order
    answers  the deleted words, in the same order

    >>> print(Gaps(words=["the", "____"], places=[1], answers=["cat"]))
    the ____
    """

    words: list[str]
    places: list[int]
    answers: list[str]

    def __str__(self) -> str:
        return " ".join(self.words)


def delete_every(words: list[str], every: int = 5, first: int | None = None) -> Gaps:
    """Delete every k-th word of a text, k = `every`.

    every  distance in words between deleted words, at least 2
    first  index of the first deleted word, from 0; None: every - 1

    Raises ValueError if no word would be deleted.

    >>> print(delete_every("the cat sat on the mat and saw the dog".split()))
    the cat sat on ____ mat and saw the ____
    """
    first = every - 1 if first is None else first
    if every < 2 or not 0 <= first < len(words):
        raise ValueError(f"every is {every} and first is {first}; expected every >= 2, and first from 0 to "
                         f"{len(words) - 1}, an index of words")
    places = list(range(first, len(words), every))
    gone = set(places)
    return Gaps(["____" if i in gone else word for i, word in enumerate(words)], places, [words[i] for i in places])


def restored(guesses: list[str], gaps: Gaps) -> float:
    """Cloze score, 0 to 1: the fraction of deleted words that are guessed exactly, ignoring case.

    guesses  a word for each deleted word, in the order of the text
    """
    if len(guesses) != len(gaps.answers):
        raise ValueError(f"guesses has {len(guesses)} words; expected {len(gaps.answers)}, one for each deleted word")
    return sum(a.lower() == b.lower() for a, b in zip(guesses, gaps.answers)) / len(gaps.answers)


def flesch(text: str) -> float:
    r"""Flesch's reading ease (1948) of a text; about 100 is very easy, 0 is very hard.

    $206.835 - 1.015 \frac{\text{words}}{\text{sentences}} - 84.6 \frac{\text{syllables}}{\text{words}}$, where
    syllables are estimated by `syllables`.

    >>> round(flesch("The cat sat on the mat."))
    116
    """
    words = WORD.findall(text)
    sentences = len(re.findall(r"[.!?]+(?:\s|$)", text.strip()))
    if not words or not sentences:
        raise ValueError(f"text has {len(words)} words and {sentences} sentences; expected at least 1 word, "
                         "and at least 1 sentence that ends with '.', '!' or '?'")
    return 206.835 - 1.015 * len(words) / sentences - 84.6 * sum(map(syllables, words)) / len(words)


def syllables(word: str) -> int:
    """Estimate the number of syllables: groups of vowels, at least 1.

    A silent final e is not counted; in -ee, and in -le after a consonant, it is not silent.
    """
    word = word.lower()
    count = len(VOWELS.findall(word))
    silent = word.endswith("e") and not word.endswith("ee") and not re.search(r"[^aeiouy]le$", word)
    return max(1, count - silent)
