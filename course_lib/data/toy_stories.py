"""Short stories sampled from a grammar, for the pre-training of a small encoder.

A story has a person, named in the first sentence and "he" or "she" in later sentences, and a subject: sea, baking, garden
or school. Persons, verbs, things and places depend on the subject or, with a small probability, on another subject.
Co-occurring words therefore predict the subject of a sentence, the order of two sentences, and whether they are from the
same story.
"""
from __future__ import annotations

from typing import NamedTuple

import torch

# persons (he, then she), verbs, things, places
SUBJECTS = {
    "sea": ("fisherman captain / diver fisherwoman", "mends steers ties cleans paints", "net boat rope anchor sail hook",
            "harbour pier island"),
    "baking": ("baker miller / cook pastrycook", "kneads warms slices weighs covers", "dough bread flour cake oven pan",
               "kitchen bakery pantry"),
    "garden": ("gardener beekeeper / florist herbalist", "waters plants prunes picks digs",
               "rose hedge apple tulip bean tree", "orchard meadow greenhouse"),
    "school": ("pupil janitor / teacher librarian", "reads copies explains studies marks", "book poem map lesson letter exam",
               "classroom library schoolyard"),
}
ADJECTIVES = ("old", "young", "small", "quiet", "new", "heavy")
STRANGE = 0.1                                      # probability that a word is from any subject


class Sentence(NamedTuple):
    """A sentence with known parts of speech and roles: subject ("who"), object ("what") and place ("where")."""

    words: tuple[str, ...]
    tags: tuple[str, ...]                                            # part of speech of each word, such as "NOUN"
    spans: dict[str, tuple[int, int]]                                # {"who", "what" or "where": first, last position,
                                                                     # from 0}

    def __str__(self) -> str:
        return " ".join(self.words)


class Story(NamedTuple):
    """A story: `sentences` on one `subject`, a key of SUBJECTS."""

    subject: str
    sentences: tuple[Sentence, ...]


def stories(num: int, generator: torch.Generator | None = None, sentences: int = 3) -> list[Story]:
    """Sample `num` stories of `sentences` sentences each, with uniform subjects. Both numbers must be at least 1."""
    if num < 1 or sentences < 1:
        raise ValueError(f"num is {num} and sentences is {sentences}; expected at least 1 of each")
    return [_story(sentences, generator) for _ in range(num)]


def _story(count: int, generator: torch.Generator | None) -> Story:
    subject = _pick(tuple(SUBJECTS), generator)
    men, women = (_words(subject, 0, generator, half) for half in (0, 1))
    person, pronoun = _pick(((men, "he"), (women, "she")), generator)
    written = []
    for i in range(count):
        parts = [_phrase(person, generator) if i == 0 else [(pronoun, "PRONOUN")]]
        parts += [[(_words(subject, 1, generator), "VERB")], _phrase(_words(subject, 2, generator), generator)]
        parts += [[(_words(subject, 3, generator), "NOUN")]]
        ends = torch.tensor([len(part) for part in parts]).cumsum(0).tolist()
        begins = [0, *ends[:-1]]
        spans = {name: (begins[k], ends[k] - 1) for name, k in (("who", 0), ("what", 2), ("where", 3))}
        words, tags = zip(*(pair for part in parts for pair in part))
        written.append(Sentence(words, tags, spans))
    return Story(subject, tuple(written))


def _phrase(noun: str, generator: torch.Generator | None) -> list[tuple[str, str]]:
    """List of (word, tag): the noun, preceded by an adjective with probability 1/2."""
    described = bool(torch.rand((), generator=generator) < 0.5)
    return [*([(_pick(ADJECTIVES, generator), "ADJECTIVE")] if described else []), (noun, "NOUN")]


def _words(subject: str, kind: int, generator: torch.Generator | None, half: int = 0) -> str:
    if torch.rand((), generator=generator) < STRANGE:
        subject = _pick(tuple(SUBJECTS), generator)
    text = SUBJECTS[subject][kind]
    return _pick(tuple(text.split(" / ")[half].split()), generator)


def _pick(choices: tuple, generator: torch.Generator | None):
    return choices[int(torch.randint(len(choices), (), generator=generator))]
