"""Pairs of sentences with long-range agreement, sampled from a grammar.

An example is "the old girl near the dogs sees the ball . she wants the ball ." The verb agrees with the subject, not
with other nouns. The pronoun of the second sentence refers to the subject, and both sentences have the same object. All
other choices are uniform, so the entropy of a text is known.
"""
from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import torch
from jaxtyping import Bool, Int
from torch import Tensor

from course_lib.tokenizers.batching import pad
from course_lib.tokenizers.vocabulary import Vocabulary
from course_lib.validation import check_sizes

BOS, END = "<s>", "."
BEINGS = {"girl": ("girls", "she"), "woman": ("women", "she"), "queen": ("queens", "she"),      # plural, pronoun
          "boy": ("boys", "he"), "man": ("men", "he"), "king": ("kings", "he"),
          "dog": ("dogs", "it"), "cat": ("cats", "it")}
MANY = "they"
VERBS = ("see", "want", "find", "paint", "like", "draw")             # and with an s after one being
THINGS = ("ball", "book", "boat", "house", "letter", "apple", "table", "hat")
ADJECTIVES = ("small", "old", "big", "strange")
LONGEST = 17                                                         # words of a text, with full stops


class Text(NamedTuple):
    """A text of two sentences, and the words that are determined by earlier words.

    words  the words and full stops
    known  {"verb", "pronoun", "verb2" or "thing": (position of this word, position of the word that determines it)};
           "verb2" is the verb and "thing" the object of the second sentence. Positions count from 0
    """

    words: tuple[str, ...]
    known: dict[str, tuple[int, int]]

    def __str__(self) -> str:
        return " ".join(self.words)


def texts(num: int, generator: torch.Generator | None = None) -> list[Text]:
    """Sample `num` texts; an adjective, and a noun near the subject, occur with probability 1/2."""
    check_sizes(num=num)
    return [_text(generator) for _ in range(num)]


def _text(generator: torch.Generator | None) -> Text:
    subject, pronoun = _being(generator)
    words = ["the", *_adjective(generator), subject]
    who = len(words) - 1
    if _half(generator):
        words += ["near", "the", _being(generator)[0]]
    did = len(words)
    words += [_verb(pronoun, generator), "the", *_adjective(generator), _choose(THINGS, generator), END]
    what, second = len(words) - 2, len(words)
    words += [pronoun, _verb(pronoun, generator), "the", words[what], END]
    return Text(tuple(words), {"verb": (did, who), "pronoun": (second, who), "verb2": (second + 1, second),
                               "thing": (second + 3, what)})


def _choose(words: Sequence[str], generator: torch.Generator | None) -> str:
    return words[int(torch.randint(len(words), (), generator=generator))]


def _half(generator: torch.Generator | None) -> bool:
    return bool(torch.rand((), generator=generator) < 0.5)


def _being(generator: torch.Generator | None) -> tuple[str, str]:
    """Sample a noun, singular or plural; return it and its pronoun."""
    name = _choose(list(BEINGS), generator)
    plural, pronoun = BEINGS[name]
    return (plural, MANY) if _half(generator) else (name, pronoun)


def _adjective(generator: torch.Generator | None) -> list[str]:
    return [_choose(ADJECTIVES, generator)] if _half(generator) else []


def _verb(pronoun: str, generator: torch.Generator | None) -> str:
    return _choose(VERBS, generator) + ("" if pronoun == MANY else "s")


def entropy() -> float:
    """The entropy of the distribution from which `texts` samples, in nats per text."""
    beings, adjective = math.log(2 * len(BEINGS)), math.log(2) + 0.5 * math.log(len(ADJECTIVES))
    near = math.log(2) + 0.5 * beings
    return 2 * adjective + beings + near + 2 * math.log(len(VERBS)) + math.log(len(THINGS))


def vocabulary() -> Vocabulary:
    """The vocabulary: the start symbol, with id 0, and the words of the grammar."""
    beings = [word for name, (plural, _) in BEINGS.items() for word in (name, plural)]
    pronouns = [*dict.fromkeys(pronoun for _, pronoun in BEINGS.values()), MANY]
    return Vocabulary([BOS, "the", "near", END, *pronouns, *beings, *VERBS, *(verb + "s" for verb in VERBS), *THINGS,
                       *ADJECTIVES], bos=BOS)


def to_ids(drawn: Sequence[Text | str]) -> tuple[Int[Tensor, "B T"], Bool[Tensor, "B T"]]:
    """Encode the texts `drawn`. Returns ids (B, T) and a mask (B, T), which is True where ids are not padding.

    A row begins with the start symbol and is padded on the right. Raises ValueError if a word is outside the grammar.
    """
    words = vocabulary()
    return pad([torch.tensor([words.id(word) for word in (BOS, *str(text).split())]) for text in drawn], words.id(BOS))
