"""A toy translation task from passive to active voice: "the ball was kicked by Kayla" becomes "Kayla kicked the ball".

The first target word is the last source word, and every adjective increases the distance between them by one. Slides:
"Sequence to sequence".
"""
from __future__ import annotations

import torch

from course_lib.data.toy_translation import BOS, EOS, PAD, Pair
from course_lib.tokenizers.vocabulary import Vocabulary

NAMES = ("Kayla", "Omid", "Sara", "Tomas", "Mei", "Ada", "Jonas", "Lena")
VERBS = ("kicked", "painted", "cleaned", "carried", "washed", "moved")
THINGS = ("ball", "box", "chair", "door", "bike", "boat")
ADJECTIVES = ("red", "old", "small", "heavy", "round", "wet", "green", "broken")


def to_active(sentence: str) -> Pair:
    """Convert a sentence of the form "the (adjective ...) thing was verb by name" to active voice, with the alignment.

    The verb of the target is aligned with "was" and the verb, and the name with "by" and the name. Raises ValueError
    for any other sentence.
    """
    source = tuple(sentence.split())
    described = len(source) - 6                                      # the, thing, was, verb, by, name
    fits = described >= 0 and source[0] == "the" and (source[-4], source[-2]) == ("was", "by")
    kinds = ((ADJECTIVES, source[1:1 + described]), (THINGS, source[-5:-4]), (VERBS, source[-3:-2]),
             (NAMES, source[-1:]))
    if not fits or any(word not in known for known, words in kinds for word in words):
        raise ValueError(f"sentence is {sentence!r}; expected a passive sentence such as 'the {ADJECTIVES[0]} "
                         f"{THINGS[0]} was {VERBS[0]} by {NAMES[0]}', with words from ADJECTIVES, THINGS, VERBS and "
                         f"NAMES of {__name__}")
    n = len(source)
    phrase = tuple((i,) for i in range(described + 2))
    return Pair(source, (source[-1], source[-3], *source[:described + 2]), ((n - 2, n - 1), (n - 4, n - 3), *phrase))


def draw_voices(num: int, generator: torch.Generator, least: int = 0, most: int = 3) -> list[Pair]:
    """Sample `num` pairs of a passive sentence and its active form, with `least` to `most` distinct adjectives each."""
    if not 0 <= least <= most <= len(ADJECTIVES):
        raise ValueError(f"least is {least} and most is {most}; expected 0 <= least <= most <= {len(ADJECTIVES)}")

    def draw_word(words: tuple[str, ...]) -> str:
        return words[int(torch.randint(len(words), (), generator=generator))]

    pairs = []
    for _ in range(num):
        many = int(torch.randint(least, most + 1, (), generator=generator))
        adjectives = [ADJECTIVES[i] for i in torch.randperm(len(ADJECTIVES), generator=generator)[:many].tolist()]
        pairs.append(to_active(" ".join(["the", *adjectives, draw_word(THINGS), "was", draw_word(VERBS), "by", draw_word(NAMES)])))
    return pairs


def vocabulary() -> Vocabulary:
    """The vocabulary of both voices, with the padding, start and end symbols first."""
    words = [*NAMES, *VERBS, *THINGS, *ADJECTIVES, "the", "was", "by"]
    return Vocabulary([PAD, BOS, EOS, *words], bos=BOS, eos=EOS, pad=PAD)
