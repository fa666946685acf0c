"""The counts of which BLEU is made."""
from __future__ import annotations

from collections import Counter

import torch

from course_lib.exercises.draws import integer
from course_lib.exercises.telling import telling
from course_lib.grading.exercise import Exercise

exercise = Exercise(
    "clipped_ngrams", chapter="training-a-transformer", place=6, title="The counts of BLEU",
    contract="hypothesis is a list of words, references a list of such lists, n at least 1. Return (matches, total), two whole "
             "numbers: total is the number of n-grams in the hypothesis, with repetitions; matches adds up, for each different "
             "n-gram of the hypothesis, the smaller of its count there and its largest count in any one reference. A hypothesis "
             "of fewer than n words has (0, 0).",
    points=["wmt-bleu"], difficulty=2, minutes=15)


@exercise.step
def ngrams(words, n):
    return Counter(tuple(words[i:i + n]) for i in range(len(words) - n + 1))


@exercise.step
def limit(counts):
    """Of the counts of one n-gram in the references."""
    return max(counts)


@exercise.step
def matches(hypothesis, references):
    """Of Counters."""
    return sum(min(count, limit([reference[gram] for reference in references])) for gram, count in hypothesis.items())


@exercise.step
def matches_and_total(hypothesis, references):
    return matches(hypothesis, references), hypothesis.total()


@exercise.reference()
def clipped_ngrams_reference(hypothesis, references, n):
    return matches_and_total(ngrams(hypothesis, n), [ngrams(reference, n) for reference in references])


@exercise.misconception(ngrams, "You miss the last n-gram: a hypothesis of T words has T - n + 1.")
def one_short(words, n):
    return ngrams.original(words[:-1], n)


@exercise.misconception(ngrams, "You compare single words whatever n is. Compare n words in a row.")
def words_apart(words, n):
    return ngrams.original(words, 1)


@exercise.misconception(ngrams, "Your n-grams do not overlap. An n-gram begins at every word.")
def blocks(words, n):
    return Counter(tuple(words[i:i + n]) for i in range(0, len(words) - n + 1, n))


@exercise.misconception(limit, "You add up the counts of all references. The largest count in any one of them is the limit.")
def references_added(counts):
    return sum(counts)


@exercise.misconception(limit, "You compare with the first reference only.")
def first_reference(counts):
    return counts[0]


@exercise.misconception(
    limit,
    "You count an n-gram only where every reference has it. The reference that has it most often is the limit.")
def all_references(counts):
    return min(counts)


@exercise.misconception(
    matches,
    "You count every n-gram that occurs in a reference. It counts at most as often as in the reference that has it most "
    "often.")
def not_clipped(hypothesis, references):
    return sum(count for gram, count in hypothesis.items() if any(gram in reference for reference in references))


@exercise.misconception(
    matches,
    "You take the reference that matches best as a whole. The limit is set anew for each n-gram, whichever reference has it "
    "most often.")
def one_reference(hypothesis, references):
    return max((hypothesis & reference).total() for reference in references)


@exercise.misconception(matches_and_total, "You count each different n-gram once.")
def different(hypothesis, references):
    return matches_and_total.original(Counter([*hypothesis]), references)


@exercise.misconception(
    matches_and_total,
    "Your total is that of a reference, which gives the recall. BLEU is a precision: count the n-grams of the hypothesis.")
def of_the_reference(hypothesis, references):
    return matches(hypothesis, references), references[0].total()


WORDS = ["the", "cat", "sat", "on", "mat"]


def sentences(generator):
    """Sentences of few words, which repeat, until each way of going wrong gives other counts, and no two the same."""
    def sentence(low, high):
        return [WORDS[i] for i in torch.randint(3, (integer(generator, low, high),), generator=generator)]

    def draw():
        return sentence(4, 8), [sentence(3, 7) for _ in range(integer(generator, 2, 3))], integer(generator, 1, 3)

    cases = telling(draw, exercise.solve, exercise.misconceptions)
    return [*cases, (WORDS[:2], [WORDS], 3), (WORDS, [WORDS], 5)]


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
