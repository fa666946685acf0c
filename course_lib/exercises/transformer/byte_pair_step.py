"""One step of byte-pair encoding."""
from __future__ import annotations

from collections import Counter

import torch

from course_lib.exercises.draws import integer
from course_lib.exercises.telling import telling
from course_lib.grading.exercise import Exercise

exercise = Exercise(
    "byte_pair_step", chapter="15", place=5, title="One merge of byte pairs",
    contract="words is a list of [pieces, count]: the symbols of a word, a list of strings, and how often the text has the word. "
             "Return [pair, merged]. pair is a list of two strings, the pair of neighbouring symbols within a word that the text "
             "has most often (a word that occurs 5 times gives each of its pairs 5 times); of equally frequent pairs the one that "
             "is first in alphabetical order, by the left symbol and then by the right. merged is words after the merge: in every "
             "word, from left to right, the pair becomes one symbol. Some word has two symbols or more.",
    points=["tokenization"], difficulty=3, minutes=20)


@exercise.reference(
    unweighted="You count each word once. A word that the text has 5 times gives each of its pairs 5 times.",
    across_words="You count pairs across the end of a word. A pair lies within one word.",
    once_a_word="You merge the pair at its first place in a word only. It is merged at every place.",
    from_the_right="You merge from the right: of a, a, a yours makes a and aa. From the left it is aa and a.",
    last_of_equals="Of equally frequent pairs you take the last in alphabetical order. The first is asked for.",
    first_seen="Of equally frequent pairs you take the one that is seen first. The first in alphabetical order is asked for.",
    once_counted="You count a pair once in each word, however often the word holds it.",
    rarest="You merge the rarest pair. The most frequent is asked for.",
    single_symbols="Your pair joins the two most frequent symbols. They need not stand beside each other: count the pairs.",
)
def byte_pair_step_reference(words, bugs=frozenset()):
    counts = Counter()
    for pieces, count in words:
        pairs = list(zip(pieces, pieces[1:]))
        for pair in dict.fromkeys(pairs) if "once_counted" in bugs else pairs:
            counts[pair] += 1 if "unweighted" in bugs else count
    if "across_words" in bugs:
        for (left, count), (right, _) in zip(words, words[1:]):
            counts[left[-1], right[0]] += count
    most = min(counts.values()) if "rarest" in bugs else max(counts.values())
    best = [pair for pair in counts if counts[pair] == most]
    pair = max(best) if "last_of_equals" in bugs else best[0] if "first_seen" in bugs else min(best)
    if "single_symbols" in bugs:
        symbols = Counter()
        for pieces, count in words:
            for piece in pieces:
                symbols[piece] += count
        pair = tuple(sorted(symbols, key=lambda s: (-symbols[s], s))[:2])
        pair = (*pair, *pair)[:2]
    return [list(pair), [[merged(pieces, pair, bugs), count] for pieces, count in words]]


def merged(pieces, pair, bugs):
    """The symbols with the pair made one, from the left unless a bug says otherwise."""
    if "from_the_right" in bugs:
        turned = merged(pieces[::-1], pair[::-1], bugs - {"from_the_right"})
        joined = pair[1] + pair[0]
        return [pair[0] + pair[1] if one == joined else one for one in turned[::-1]]
    found, i, free = [], 0, True
    while i < len(pieces):
        if free and tuple(pieces[i:i + 2]) == tuple(pair):
            found.append(pair[0] + pair[1])
            i, free = i + 2, "once_a_word" not in bugs
        else:
            found.append(pieces[i])
            i += 1
    return found


FAULTS = ["unweighted", "across_words", "once_a_word", "from_the_right", "last_of_equals", "first_seen", "once_counted", "rarest",
          "single_symbols"]


def texts(generator):
    """Small texts, until each way of going wrong gives another answer, and no two the same."""
    def draw():
        letters = "abc"[:integer(generator, 2, 3)]
        words = [[[letters[i] for i in torch.randint(len(letters), (integer(generator, 1, 5),), generator=generator)],
                  integer(generator, 1, 4)] for _ in range(integer(generator, 2, 4))]
        return (words,) if any(len(pieces) > 1 for pieces, _ in words) else draw()

    found = telling(draw, byte_pair_step_reference, FAULTS)
    again = [[pieces, count] for pieces, count in byte_pair_step_reference(*found[0])[1]]    # symbols of several letters
    return found if all(len(pieces) < 2 for pieces, _ in again) else [*found, (again,)]


exercise.compare("values", texts, points=5)
exercise.unchanged(texts)
exercise.hint(
    "Where to begin.",
    "zip(pieces, pieces[1:]) gives the neighbouring pairs of a word. A collections.Counter adds them up, each with the word's "
    "count.")
exercise.hint(
    "Your pair is another one that is as frequent.",
    "min(counts, key=lambda pair: (-counts[pair], pair)) is the most frequent, and of equals the first in alphabetical order.")
exercise.hint(
    "Your pair is right and the words are not.",
    "Walk from the left with an index: where the pair begins, put the joined symbol and go on by two, else go on by one.")
