"""One step of byte-pair encoding."""
from __future__ import annotations

from collections import Counter

import torch

from course_lib.exercises.draws import integer
from course_lib.exercises.telling import telling
from course_lib.grading.exercise import Exercise

exercise = Exercise(
    "byte_pair_step", chapter="training-a-transformer", place=1, title="One merge of byte pairs",
    contract="words is a list of [pieces, count]: the symbols of a word, a list of strings, and how often the text has the word. "
             "Return [pair, merged]. pair is a list of two strings, the pair of neighbouring symbols within a word that the text "
             "has most often (a word that occurs 5 times gives each of its pairs 5 times); of equally frequent pairs the one that "
             "is first in alphabetical order, by the left symbol and then by the right. merged is words after the merge: in every "
             "word, from left to right, the pair becomes one symbol. Some word has two symbols or more.",
    points=["tokenization"], difficulty=3, minutes=20)


@exercise.step
def pairs_of(pieces):
    """The pairs of neighboring symbols, with repetitions."""
    return list(zip(pieces, pieces[1:]))


@exercise.step
def pair_counts(words):
    counts = Counter()
    for pieces, count in words:
        for pair in pairs_of(pieces):
            counts[pair] += count
    return counts


@exercise.step
def most_frequent(counts):
    """The pair that is first in alphabetical order among those with the largest count."""
    return min(counts, key=lambda pair: (-counts[pair], pair))


@exercise.step
def best_pair(words):
    return most_frequent(pair_counts(words))


@exercise.step
def merged(pieces, pair):
    symbols, i = [], 0
    while i < len(pieces):
        size = 2 if tuple(pieces[i:i + 2]) == pair else 1
        symbols.append("".join(pieces[i:i + size]))
        i += size
    return symbols


@exercise.reference()
def byte_pair_step_reference(words):
    pair = best_pair(words)
    return [list(pair), [[merged(pieces, pair), count] for pieces, count in words]]


@exercise.misconception(pairs_of, "You count a pair once in each word, however often the word holds it.")
def once_counted(pieces):
    return list(dict.fromkeys(pairs_of.original(pieces)))


@exercise.misconception(
    pair_counts,
    "You count each word once. A word that the text has 5 times gives each of its pairs 5 times.")
def unweighted(words):
    return pair_counts.original([(pieces, 1) for pieces, _ in words])


@exercise.misconception(pair_counts, "You count pairs across the end of a word. A pair lies within one word.")
def across_words(words):
    counts = pair_counts.original(words)
    for (left, count), (right, _) in zip(words, words[1:]):
        counts[left[-1], right[0]] += count
    return counts


@exercise.misconception(
    most_frequent,
    "Of equally frequent pairs you take the last in alphabetical order. The first is asked for.")
def last_of_equals(counts):
    return max(counts, key=lambda pair: (counts[pair], pair))


@exercise.misconception(
    most_frequent,
    "Of equally frequent pairs you take the one that is seen first. The first in alphabetical order is asked for.")
def first_seen(counts):
    return max(counts, key=counts.get)


@exercise.misconception(most_frequent, "You merge the rarest pair. The most frequent is asked for.")
def rarest(counts):
    return min(counts, key=lambda pair: (counts[pair], pair))


@exercise.misconception(best_pair, "You join the two most frequent symbols, which need not be neighbors. Count the pairs.")
def single_symbols(words):
    counts = Counter()
    for pieces, count in words:
        for piece in pieces:
            counts[piece] += count
    symbols = sorted(counts, key=lambda symbol: (-counts[symbol], symbol))
    return symbols[0], symbols[min(1, len(symbols) - 1)]


@exercise.misconception(merged, "You merge the pair at its first place in a word only. It is merged at every place.")
def once_a_word(pieces, pair):
    i = next((i for i in range(len(pieces)) if tuple(pieces[i:i + 2]) == pair), len(pieces))
    return pieces[:i] + ["".join(pieces[i:i + 2])] * (i < len(pieces)) + pieces[i + 2:]


@exercise.misconception(merged, "You merge from the right, so a, a, a becomes a and aa. From the left it becomes aa and a.")
def from_the_right(pieces, pair):
    symbols, end = [], len(pieces)
    while end > 0:
        size = 2 if tuple(pieces[max(0, end - 2):end]) == pair else 1
        symbols.insert(0, "".join(pieces[end - size:end]))
        end -= size
    return symbols


@exercise.misconception(
    merged,
    "You replace text in the joined word, so the pair is also merged where a longer symbol ends or begins with its letters. Compare whole symbols.")
def inside_symbols(pieces, pair):
    return " ".join(pieces).replace(" ".join(pair), "".join(pair)).split(" ")


def texts(generator):
    """Small texts, until each way of going wrong gives another answer, and no two the same."""
    def draw():
        letters = ["a", "b", "c", "ca"][:integer(generator, 2, 4)]
        words = [[[letters[i] for i in torch.randint(len(letters), (integer(generator, 1, 5),), generator=generator)],
                  integer(generator, 1, 4)] for _ in range(integer(generator, 2, 4))]
        return (words,) if any(len(pieces) > 1 for pieces, _ in words) else draw()

    cases = telling(draw, exercise.solve, exercise.misconceptions)
    again = exercise.solve(*cases[0])[1]                 # symbols of several letters
    return cases if all(len(pieces) < 2 for pieces, _ in again) else [*cases, (again,)]


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
