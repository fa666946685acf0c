"""Pegasus's gap-sentence generation: the most important sentences of a text, selected by ROUGE, are masked and
generated."""

from __future__ import annotations

from collections import Counter
from typing import Hashable, NamedTuple, Sequence

import torch

from course_lib.validation import check_sizes

Words = Sequence[Hashable]
WAYS = ("independent", "sequential", "lead", "random")


class Rouge(NamedTuple):
    """Precision, recall and F1 of a candidate text with respect to a reference text.

    The numerator is the number of common n-grams, or of words in the longest common subsequence; it is divided by the
    number of n-grams, or words, in a text.
    """

    precision: float                                                 # numerator / number in the candidate
    recall: float                                                    # numerator / number in the reference
    f1: float                                                        # harmonic mean of precision and recall


def rouge_n(candidate: Words, reference: Words, n: int = 1) -> Rouge:
    """ROUGE-N: precision, recall and F1 of the n-grams (n words) that two texts have in common.

    Precision is relative to the n-grams of `candidate`, recall to the n-grams of `reference`; texts are lists of words.
    An n-gram that occurs several times in both counts as often as in the text where it occurs less often.

    >>> rouge_n("the cat sat".split(), "the cat and the dog".split())
    Rouge(precision=0.66..., recall=0.4, f1=0.5)

    Paper: Lin 2004.
    """
    check_sizes(n=n)
    ours, theirs = (Counter(zip(*(text[i:] for i in range(n)))) for text in (list(candidate), list(reference)))
    return _rouge((ours & theirs).total(), ours.total(), theirs.total())


def rouge_l(candidate: Words, reference: Words) -> Rouge:
    """ROUGE-L: precision, recall and F1 of the longest common subsequence, whose words need not be adjacent.

    Precision is relative to the length of `candidate`, recall to the length of `reference`, both lists of words.

    >>> rouge_l("the cat sat".split(), "the old cat".split()).f1
    0.66...
    """
    row = [0] * (len(reference) + 1)                                 # of the dynamic program, for one word of candidate
    for word in candidate:
        above, row = row, [0]
        for j, other in enumerate(reference):
            row.append(above[j] + 1 if word == other else max(above[j + 1], row[j]))
    return _rouge(row[-1], len(candidate), len(reference))


def _rouge(common: int, ours: int, theirs: int) -> Rouge:
    precision, recall = common / ours if ours else 0.0, common / theirs if theirs else 0.0
    return Rouge(precision, recall, 2 * precision * recall / (precision + recall) if common else 0.0)


class Gaps(NamedTuple):
    """A text with masked sentences, and the masked sentences as the target; a sentence is a list of words."""

    read: list[Words]                                                # all sentences; [mask] replaces selected sentences
    target: list[Words]                                              # the selected sentences, in the order of the text
    chosen: list[int]                                                # indices, from 0, of the selected sentences


def gap_sentences(sentences: Sequence[Words], number: int = 1, by: str = "independent",
                  mask: Hashable = "[MASK1]",
                  generator: torch.Generator | None = None) -> Gaps:
    """Mask `number` sentences of a text, each with one mask; together they are the target.

    by  "independent": the sentences with the highest ROUGE-1 F1 with the rest of the text;
        "sequential": greedily, one after another, each maximizing the ROUGE-1 F1 of the
        selected sentences with the rest; "lead": the first sentences; "random"

    Among sentences with equal scores, earlier ones are selected. Slides: "Other models".
    Paper: Zhang et al. 2020, section 3.1.

    >>> text = [s.split() for s in ("a cat sat", "it rained", "the cat sat on a mat")]
    >>> gap_sentences(text).target
    [['a', 'cat', 'sat']]
    """
    if by not in WAYS:
        raise ValueError(f"by is {by!r}; expected one of {', '.join(WAYS)}")
    if not 1 <= number < len(sentences):
        raise ValueError(f"number is {number}; expected 1 to {len(sentences) - 1}, for "
                         f"{len(sentences)} sentences")
    everyone = range(len(sentences))
    if by == "lead":
        chosen = list(range(number))
    elif by == "random":
        chosen = torch.randperm(len(sentences), generator=generator)[:number].tolist()
    elif by == "independent":
        scores = [_against_the_rest(sentences, [i]) for i in everyone]
        chosen = sorted(everyone, key=lambda i: -scores[i])[:number]
    else:
        chosen = []
        for _ in range(number):
            chosen.append(max((i for i in everyone if i not in chosen),
                              key=lambda i: _against_the_rest(sentences, [*chosen, i])))
    chosen = sorted(chosen)
    return Gaps([[mask] if i in chosen else sentences[i] for i in everyone],
                [sentences[i] for i in chosen], chosen)


def _against_the_rest(sentences: Sequence[Words], taken: Sequence[int]) -> float:
    """ROUGE-1 F1 of the sentences with the indices `taken`, with the other sentences as the reference."""
    ours, rest = ([w for i, s in enumerate(sentences) if (i in taken) is inside for w in s] for inside in (True, False))
    return rouge_n(ours, rest).f1
