"""Exact match and the F1 of words, as SQuAD counts them."""
from __future__ import annotations

import re
import string
from collections import Counter

from course_lib.exercises.draws import integer
from course_lib.exercises.telling import telling
from course_lib.grading.exercise import Exercise

exercise = Exercise(
    "answer_scores", chapter="prompting-and-retrieval", place=1, title="Scores of answers, as SQuAD counts",
    contract="said is a list of strings, truths a list of lists of strings, at least one, with all right answers to each question. Texts are "
             "compared normalized: in lower case, then every character of string.punctuation deleted, then the words a, an and the left "
             "out, then split at white space. Return two floats, means over the questions in per cent: exact match, 1 if the words are those "
             "of one of the truths, else 0; and F1, for each truth 2 c / (n + m), with n and m the numbers of words of both and c of those "
             "they share, a word as often as both have it, and the best over the truths. If one of both has no words left, its F1 is 1 if "
             "the other has none either, else 0.",
    points=["benchmarks"], difficulty=2, minutes=20)

PUNCTUATION = f"[{re.escape(string.punctuation)}]"
ARTICLES = ("a", "an", "the")


@exercise.step
def without_punctuation(text):
    return re.sub(PUNCTUATION, "", text)


@exercise.step
def words(text):
    return [word for word in without_punctuation(text.lower()).split() if word not in ARTICLES]


@exercise.step
def exact(mine, true):
    return float(mine == true)


@exercise.step
def shared(mine, true):
    return sum((Counter(mine) & Counter(true)).values())


@exercise.step
def f1(mine, true):
    return 2 * shared(mine, true) / (len(mine) + len(true)) if mine and true else float(mine == true)


@exercise.step
def scores(answer, truths):
    """Exact match and F1 of an answer: the best over the truths."""
    mine, truths = words(answer), [words(truth) for truth in truths]
    return max(exact(mine, true) for true in truths), max(f1(mine, true) for true in truths)


@exercise.reference()
def answer_scores_reference(said, truths):
    matches, overlaps = zip(*map(scores, said, truths))
    return 100 / len(said) * sum(matches), 100 / len(said) * sum(overlaps)


@exercise.misconception(words, "You delete the letters a, an and the inside words too. They are words of their own.")
def articles_inside(text):
    return re.sub("the|an|a", "", without_punctuation(text.lower())).split()


@exercise.misconception(without_punctuation, "You put a space where a sign was: U.S. becomes two words. Delete it.")
def signs_to_spaces(text):
    return re.sub(PUNCTUATION, " ", text)


@exercise.misconception(
    words,
    "You leave out the articles before the signs are gone: 'the' in quotes stays. First the signs, then the articles.")
def articles_first(text):
    return without_punctuation(" ".join(word for word in text.lower().split() if word not in ARTICLES)).split()


@exercise.misconception(
    words,
    "You take out the articles at the borders of words before the signs are gone: of 'a-list', which is the word alist, the a goes. First the "
    "signs, then the articles.")
def articles_at_borders(text):
    return without_punctuation(re.sub(r"\b(a|an|the)\b", " ", text.lower())).split()


@exercise.misconception(shared, "You count a word that both have twice once. It counts as often as both have it.")
def as_sets(mine, true):
    return len(set(mine) & set(true))


@exercise.misconception(f1, "Your F1 is the share of the true words that were said. It has both lengths below the line.")
def recall(mine, true):
    return shared(mine, true) / len(true) if mine and true else float(mine == true)


@exercise.misconception(f1, "Where neither has words left your F1 is 0. They agree: it is 1.")
def nothing_said(mine, true):
    return f1.original(mine, true) if mine and true else 0.0


@exercise.misconception(exact, "Your exact match does not depend on the order of the words.")
def in_any_order(mine, true):
    return float(sorted(mine) == sorted(true))


@exercise.misconception(exact, "Your exact match counts an answer that holds the truth and more. It has to be all of it.")
def held(mine, true):
    return float(" ".join(true) in " ".join(mine))


@exercise.misconception(scores, "You compare with the first truth. The best of all counts.")
def first_truth(answer, truths):
    return scores.original(answer, truths[:1])


@exercise.misconception(scores, "Your F1 is the mean over the truths. The best of them counts, as in your exact match.")
def f1_over_truths(answer, truths):
    mine = words(answer)
    return scores.original(answer, truths)[0], sum(f1(mine, words(truth)) for truth in truths) / len(truths)


WORDS = ("the", "The", "a", "an", "'the'", "theatre", "Ana", "ana", "an.", "U.S.", "us", "1873", "1873.", "New", "new", "York", "(york)",
         "of", "\"of\"", "B-52", "b52", "york,", "a-list", "alist")


def answers(generator):
    """Short texts of few words that differ in case, signs and articles, repeated ones among them, and ones of articles and signs
    alone; one to three truths, some of them the answer in other dress or order. Until every misconception gives another answer."""
    def text(most):
        return " ".join(WORDS[integer(generator, 0, len(WORDS) - 1)] for _ in range(integer(generator, 1, most)))

    def draw():
        said, truths = [], []
        for _ in range(integer(generator, 2, 4)):
            mine = ("", "the", "A -")[integer(generator, 0, 2)] if not integer(generator, 0, 5) else text(4)
            turned = " ".join(mine.split()[::-1])
            dressed = (f"The {mine}.", mine.title(), mine.upper(), turned, f"{mine} {mine}", "an", text(3), text(3))
            said.append(mine)
            truths.append([dressed[integer(generator, 0, len(dressed) - 1)] for _ in range(integer(generator, 1, 3))])
        return said, truths

    return telling(draw, lambda *case, bugs=(): tuple(round(x, 6) for x in exercise.solve(*case, bugs=bugs)),
                   exercise.misconceptions)


exercise.compare("values", answers, points=4)
exercise.unchanged(answers)
exercise.hint(
    "Where to begin.",
    "A function from a text to its list of words, in the order of the statement: lower case, signs, articles, split. All else compares "
    "lists.")
exercise.hint(
    "Your exact match is right and the F1 is not.",
    "collections.Counter(a) & Counter(b) keeps each word as often as both have it.")
exercise.hint(
    "Both are near.",
    "Try 'the U.S.' against ['US', 'an']: after normalizing both sides have one word, us, and the second truth has none.")
