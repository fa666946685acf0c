"""A toy translation task, English to Italian, from a grammar and a lexicon, with known alignments.

A sentence is a subject, a verb that may be negated, and an object: "I love hiking", "the small dog does not see the red
house". A translation is more than a lookup of words: the adjective follows its noun; article and adjective agree with the
gender of the noun; a pronoun is expressed by the form of the verb; "do not" is one word. The articles are "il" and "la" for
all nouns of the lexicon.
"""
from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from course_lib.tokenizers.batching import pad
from course_lib.tokenizers.vocabulary import Vocabulary

PAD, BOS, EOS = "<pad>", "<s>", "</s>"
PRONOUNS = {"I": 0, "we": 1, "they": 2}                              # form of the verb; 3 after a noun
VERBS = {"love": ("adoro", "adoriamo", "adorano", "adora"), "see": ("vedo", "vediamo", "vedono", "vede"),
         "want": ("voglio", "vogliamo", "vogliono", "vuole"), "find": ("trovo", "troviamo", "trovano", "trova"),
         "paint": ("dipingo", "dipingiamo", "dipingono", "dipinge")}
NOUNS = {"dog": ("il", "cane"), "cat": ("il", "gatto"), "book": ("il", "libro"), "garden": ("il", "giardino"),
         "boy": ("il", "ragazzo"), "table": ("il", "tavolo"), "house": ("la", "casa"), "girl": ("la", "ragazza"),
         "car": ("la", "macchina"), "mountain": ("la", "montagna"), "letter": ("la", "lettera"),
         "street": ("la", "strada")}
ADJECTIVES = {"red": ("rosso", "rossa"), "small": ("piccolo", "piccola"), "old": ("vecchio", "vecchia"),
              "white": ("bianco", "bianca"), "new": ("nuovo", "nuova"), "quiet": ("tranquillo", "tranquilla")}
PASTIMES = {"hiking": ("le", "escursioni"), "cooking": ("la", "cucina"), "reading": ("la", "lettura"),
            "music": ("la", "musica")}


class Pair(NamedTuple):
    """A sentence pair: the words of the source and of its translation, with their word alignment."""

    source: tuple[str, ...]
    target: tuple[str, ...]
    alignment: tuple[tuple[int, ...], ...]                           # for each target word, the indices, from 0, of its
                                                                     # source words


def translate(sentence: str) -> Pair:
    """Translate an English sentence of the grammar; return it with its translation and their alignment.

    Raises ValueError if the sentence is not in the grammar.
    """
    source = tuple(sentence.split())
    subject, verb = _noun_phrase(source, 0), 3
    if subject is None:
        if not source or source[0] not in PRONOUNS:
            raise ValueError(f"sentence is {sentence!r}; expected a pronoun ({', '.join(PRONOUNS)}) or "
                             "'the' and a noun at the start")
        subject, verb = ([], 1), PRONOUNS[source[0]]
    target, i = subject
    carried = (0,) if verb < 3 else ()                               # the verb expresses the pronoun
    denied = source[i:i + 2] == ("does" if verb == 3 else "do", "not")
    if denied:
        target = [*target, ("non", (i, i + 1))]
        i += 2
    word = source[i] if i < len(source) else ""
    stem = word.removesuffix("s") if verb == 3 and not denied and word.endswith("s") else word
    if stem not in VERBS or (verb == 3 and not denied) != (word == stem + "s"):
        raise ValueError(f"sentence is {sentence!r}; expected word {i + 1} to be a verb of the grammar that agrees with the "
                         f"subject, such as {'sees' if verb == 3 and not denied else 'see'!r}")
    target = [*target, (VERBS[stem][verb], (*carried, i))]
    i += 1
    if source[i:] and source[i] in PASTIMES:
        article, noun = PASTIMES[source[i]]
        phrase = ([(article, (i,)), (noun, (i,))], i + 1)
    else:
        phrase = _noun_phrase(source, i)
    if phrase is None or phrase[1] != len(source):
        raise ValueError(f"sentence is {sentence!r}; from word {i + 1} on, expected an object such as 'the red house', or one "
                         f"of {', '.join(PASTIMES)}")
    words, alignment = zip(*target, *phrase[0])
    return Pair(source, words, alignment)


def _noun_phrase(source: Sequence[str], i: int) -> tuple[list[tuple[str, tuple[int, ...]]], int] | None:
    """Translate the phrase "the (adjective) noun" that starts at word i of `source`; None if there is another phrase.

    Returns a list of (target word, positions of its source words), and the position of the word after the phrase.
    """
    if i >= len(source) or source[i] != "the":
        return None
    described = i + 1 < len(source) and source[i + 1] in ADJECTIVES
    at = i + 1 + described
    if at >= len(source) or source[at] not in NOUNS:
        return None
    article, noun = NOUNS[source[at]]
    words = [(article, (i,)), (noun, (at,))]
    if described:
        words.append((ADJECTIVES[source[i + 1]][article == "la"], (i + 1,)))
    return words, at + 1


def draw_pairs(num: int, generator: torch.Generator) -> list[Pair]:
    """Sample `num` pairs of a sentence and its translation.

    The subject is a pronoun with probability 1/3, the verb is negated with probability 1/4, the object is a pastime
    with probability 0.3, and any other noun has an adjective with probability 1/2.
    """
    def choose(words) -> str:
        words = list(words)
        return words[int(torch.randint(len(words), (), generator=generator))]

    def chance(p: float) -> bool:
        return float(torch.rand((), generator=generator)) < p

    def phrase() -> str:
        return " ".join(["the", *([choose(ADJECTIVES)] if chance(0.5) else []), choose(NOUNS)])

    pairs = []
    for _ in range(num):
        pronoun = chance(1 / 3)
        subject, verb = choose(PRONOUNS) if pronoun else phrase(), choose(VERBS)
        if chance(0.25):
            verb = f"{'do' if pronoun else 'does'} not {verb}"
        elif not pronoun:
            verb += "s"
        pairs.append(translate(f"{subject} {verb} {choose(PASTIMES) if chance(0.3) else phrase()}"))
    return pairs


def vocabularies() -> tuple[Vocabulary, Vocabulary]:
    """The vocabularies of source (English) and target (Italian); the first ids are padding, start and end symbol."""
    english = [*PRONOUNS, *VERBS, *(verb + "s" for verb in VERBS), *NOUNS, *ADJECTIVES, *PASTIMES,
               "the", "do", "does", "not"]
    italian = [*sum(VERBS.values(), ()), *(word for _, word in NOUNS.values()), *sum(ADJECTIVES.values(), ()),
               *(word for _, word in PASTIMES.values()), "il", "la", "le", "non"]
    return tuple(Vocabulary([PAD, BOS, EOS, *words], bos=BOS, eos=EOS, pad=PAD) for words in (english, italian))


def to_ids(pairs: Sequence[Pair],
           words: tuple[Vocabulary, Vocabulary] | None = None) -> tuple[Int[Tensor, "B S"], Int[Tensor, "B T"]]:
    """Encode pairs as ids of sources (B, S) and targets (B, T), padded on the right.

    Targets end with the end symbol and have no start symbol; sources have neither.

    words  vocabularies of source and target; default `vocabularies()`
    """
    first, second = words or vocabularies()
    sources = [torch.tensor([first.id(word) for word in pair.source]) for pair in pairs]
    targets = [torch.tensor([second.id(word) for word in (*pair.target, EOS)]) for pair in pairs]
    return pad(sources, first.id(PAD))[0], pad(targets, second.id(PAD))[0]


def to_text(ids: Int[Tensor, "T"], words: Vocabulary | None = None) -> str:
    """Decode ids to a sentence, up to the end symbol; `words` is the vocabulary, by default the Italian one."""
    words = [(words or vocabularies()[1]).symbol(i) for i in ids.tolist()]
    return " ".join(words[:words.index(EOS)] if EOS in words else words)


def aligned(pair: Pair) -> Bool[Tensor, "T S"]:
    """The alignment matrix: True where a target word (row) comes from a source word (column)."""
    table = torch.zeros(len(pair.target), len(pair.source), dtype=torch.bool)
    for t, places in enumerate(pair.alignment):
        table[t, list(places)] = True
    return table


def alignment_score(weights: Sequence[Float[Tensor, "_ _"]], pairs: Sequence[Pair],
                    without: Sequence[str] = ()) -> float:
    """The fraction, 0 to 1, of target words whose largest attention weight is on a source word of their alignment.

    weights  for each pair, attention weights with a row for each target word, a column for each source word; further
             rows and columns, such as padding, are ignored
    without  target words to exclude, such as articles
    """
    hits = []
    for w, pair in zip(weights, pairs, strict=True):
        table = aligned(pair)
        best = w[:len(table), :table.shape[1]].argmax(dim=1)
        hits += [bool(table[t, best[t]]) for t, word in enumerate(pair.target) if word not in without]
    if not hits:
        raise ValueError(f"pairs has {len(pairs)} pairs and no target word to score, where without is {list(without)}; "
                         "expected at least one target word that is not in without")
    return sum(hits) / len(hits)
