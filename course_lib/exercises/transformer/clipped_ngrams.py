"""The counts of which BLEU is made."""
from __future__ import annotations

from collections import Counter

import torch

from course_lib.exercises.draws import integer
from course_lib.exercises.telling import telling
from course_lib.grading.exercise import Exercise

exercise = Exercise(
    "clipped_ngrams", chapter="15", place=6, title="The counts of BLEU",
    contract="hypothesis is a list of words, references a list of such lists, n at least 1. Return (matches, total), two whole "
             "numbers: total is the number of n-grams in the hypothesis, with repetitions; matches adds up, for each different "
             "n-gram of the hypothesis, the smaller of its count there and its largest count in any one reference. A hypothesis "
             "of fewer than n words has (0, 0).",
    points=["wmt-bleu"], difficulty=2, minutes=15)


@exercise.reference(
    not_clipped="You count every n-gram that occurs in a reference. It counts at most as often as the reference that has it most.",
    references_added="You add up the counts of all references. The largest count in any one of them is the limit.",
    first_reference="You look at the first reference only.",
    all_references="You ask that every reference has the n-gram. The one that has it most often is the limit.",
    one_reference="You take the reference that matches best as a whole. The limit is set anew for each n-gram, whichever reference has "
                  "it most.",
    different="You count each different n-gram once.",
    of_the_reference="Your total is that of a reference, which is recall. BLEU is a precision: count the hypothesis.",
    one_short="You miss the last n-gram: a hypothesis of T words has T - n + 1.",
    words_apart="You compare words whatever n is. Compare n words in a row.",
    blocks="Your n-grams do not overlap. One begins at every word.",
)
def clipped_ngrams_reference(hypothesis, references, n, bugs=frozenset()):
    size = 1 if "words_apart" in bugs else n

    def grams(words):
        last = len(words) - size + ("one_short" not in bugs)
        return Counter(tuple(words[i:i + size]) for i in range(0, max(0, last), size if "blocks" in bugs else 1))

    mine, theirs = grams(hypothesis), [grams(reference) for reference in references]
    if "one_reference" in bugs:
        return max((mine & other).total() for other in theirs), mine.total()
    matches = 0
    for gram, count in mine.items():
        counts = [other[gram] for other in theirs]
        limit = sum(counts) if "references_added" in bugs else counts[0] if "first_reference" in bugs else \
            min(counts) if "all_references" in bugs else max(counts)
        if "not_clipped" in bugs:
            limit = count if limit else 0
        matches += min(1, limit) if "different" in bugs else min(count, limit)
    total = sum(theirs[0].values()) if "of_the_reference" in bugs else len(mine) if "different" in bugs else sum(mine.values())
    return matches, total


FAULTS = ["not_clipped", "references_added", "first_reference", "all_references", "one_reference", "different", "of_the_reference", "one_short",
          "words_apart", "blocks"]
WORDS = ["the", "cat", "sat", "on", "mat"]


def sentences(generator):
    """Sentences of few words, which repeat, until each way of going wrong gives other counts, and no two the same."""
    def sentence(low, high):
        return [WORDS[i] for i in torch.randint(3, (integer(generator, low, high),), generator=generator)]

    def draw():
        return sentence(4, 8), [sentence(3, 7) for _ in range(integer(generator, 2, 3))], integer(generator, 1, 3)

    found = telling(draw, clipped_ngrams_reference, FAULTS)
    return [*found, (WORDS[:2], [WORDS], 3), (WORDS, [WORDS], 5)]


exercise.compare("values", sentences, points=5)
exercise.unchanged(sentences)
exercise.hint(
    "Where to begin.",
    "Counter(tuple(words[i:i + n]) for i in range(len(words) - n + 1)) counts the n-grams of a sentence.")
exercise.hint(
    "Your matches are too many.",
    "The hypothesis the the the against the cat: one match. The count in the hypothesis is cut to the largest count in any one "
    "reference.")
exercise.hint(
    "It fails with several references only.",
    "For each n-gram take the count in every reference, and of these the maximum.")
