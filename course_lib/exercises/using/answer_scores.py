"""Exact match and the F1 of words, as SQuAD counts them."""
from __future__ import annotations

import re
from collections import Counter

from course_lib.exercises.draws import integer
from course_lib.exercises.telling import telling
from course_lib.grading.exercise import Exercise

exercise = Exercise(
    "answer_scores", chapter="20", place=5, title="Scores of answers, as SQuAD counts",
    contract="said is a list of strings, truths a list of lists of strings, at least one, with all right answers to each question. Texts are "
             "compared normalized: in lower case, then every character of string.punctuation deleted, then the words a, an and the left "
             "out, then split at white space. Return two floats, means over the questions in per cent: exact match, 1 if the words are those "
             "of one of the truths, else 0; and F1, for each truth 2 c / (n + m), with n and m the numbers of words of both and c of those "
             "they share, a word as often as both have it, and the best over the truths. If one of both has no words left, its F1 is 1 if "
             "the other has none either, else 0.",
    points=["benchmarks"], difficulty=2, minutes=20)


@exercise.reference(
    as_written="Your texts are compared as they are written. Normalize what was said, and the truths too.",
    truths_as_written="You normalize what was said and not the truths.",
    case_kept="Upper and lower case differ in your comparison.",
    signs_kept="Your words keep their punctuation: 1873. is not 1873.",
    signs_to_spaces="You put a space where a sign was: U.S. becomes two words. Delete it.",
    articles_kept="Your words keep a, an and the.",
    articles_inside="You delete the letters a, an and the inside words too. They are words of their own.",
    articles_first="You leave out the articles before the signs are gone: 'the' in quotes stays. First the signs, then the articles.",
    as_sets="You count a word that both have twice once. It counts as often as both have it.",
    recall="Your F1 is the share of the true words that were said. It has both lengths below the line.",
    precision="Your F1 is the share of said words that are true. It has both lengths below the line.",
    first_truth="You compare with the first truth. The best of all counts.",
    mean_over_truths="You take the mean over the truths. The best counts.",
    f1_over_truths="Your F1 is the mean over the truths. The best of them counts, as in your exact match.",
    pooled="You put the words of all truths together. Each truth is compared by itself, and the best counts.",
    nothing_said="Where neither has words left your F1 is 0. They agree: it is 1.",
    in_any_order="Your exact match does not look at the order of the words.",
    held="Your exact match counts an answer that holds the truth and more. It has to be all of it.",
    shares="You return shares. Per cent are asked for.",
    exchanged="Your two numbers are exchanged: exact match first.",
)
def answer_scores_reference(said, truths, bugs=frozenset()):
    def words(text, own=True):
        if "as_written" in bugs or ("truths_as_written" in bugs and not own):
            return text.split()
        text = text if "case_kept" in bugs else text.lower()

        def without_articles(text):
            if "articles_kept" in bugs:
                return text
            if "articles_inside" in bugs:
                return re.sub(r"the|an|a", "", text)
            return " ".join(word for word in text.split() if word not in ("a", "an", "the"))

        if "articles_first" in bugs:
            text = without_articles(text)
        if "signs_kept" not in bugs:
            text = re.sub(r"[!-/:-@\[-`{-~]", " " if "signs_to_spaces" in bugs else "", text)
        return (text if "articles_first" in bugs else without_articles(text)).split()

    def f1(mine, true):
        if not mine or not true:
            return float(mine == true and "nothing_said" not in bugs)
        if "as_sets" in bugs:
            return 2 * len(set(mine) & set(true)) / (len(mine) + len(true))
        shared = sum((Counter(mine) & Counter(true)).values())
        return shared / len(true) if "recall" in bugs else shared / len(mine) if "precision" in bugs else 2 * shared / (len(mine) + len(true))

    def same(mine, true):
        if "held" in bugs:
            return " ".join(true) in " ".join(mine)
        return sorted(mine) == sorted(true) if "in_any_order" in bugs else mine == true

    exact, overlap = [], []
    for answer, each in zip(said, truths):
        mine, right = words(answer), [words(truth, own=False) for truth in each]
        if "first_truth" in bugs:
            right = right[:1]
        if "pooled" in bugs:
            right = [[word for truth in right for word in truth]]
        hits, scores = [float(same(mine, true)) for true in right], [f1(mine, true) for true in right]
        if "mean_over_truths" in bugs:
            hits, scores = [sum(hits) / len(hits)], [sum(scores) / len(scores)]
        if "f1_over_truths" in bugs:
            scores = [sum(scores) / len(scores)]
        exact.append(max(hits))
        overlap.append(max(scores))
    scale = (1 if "shares" in bugs else 100) / len(said)
    both = scale * sum(exact), scale * sum(overlap)
    return both[::-1] if "exchanged" in bugs else both


FAULTS = ["as_written", "truths_as_written", "case_kept", "signs_kept", "signs_to_spaces", "articles_kept", "articles_inside",
          "articles_first", "as_sets", "recall", "precision", "first_truth", "mean_over_truths",
          "f1_over_truths", "pooled", "nothing_said", "in_any_order",
          "held", "shares", "exchanged"]
WORDS = ("the", "The", "a", "an", "'the'", "theatre", "Ana", "ana", "an.", "U.S.", "us", "1873", "1873.", "New", "new", "York", "(york)",
         "of", "\"of\"", "B-52", "b52", "york,")


def answers(generator):
    """Short texts of few words that differ in case, signs and articles, repeated ones among them, and ones of articles and signs
    alone; one to three truths, some of them the answer in other dress or order. Until every fault tells."""
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

    return telling(draw, lambda *case, bugs=frozenset(): tuple(round(x, 6) for x in answer_scores_reference(*case, bugs=bugs)), FAULTS)


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
