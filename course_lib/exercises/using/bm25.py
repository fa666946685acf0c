"""BM25 of one question for every document."""
from __future__ import annotations

import math

import torch

from course_lib.exercises.draws import integer
from course_lib.grading.exercise import Exercise

exercise = Exercise(
    "bm25", chapter="20", place=2, title="BM25",
    contract="docs is a list of documents, each a list of words; question is a list of words; k1 and b are numbers. Return a list, a "
             "float for each document: the sum over the words t of the question, a repeated one as often as it stands there, of "
             "idf(t) n (k1 + 1) / (n + k1 (1 - b + b L / M)), with n the count of t in the document, L the document's length, M the "
             "mean length of all, and idf(t) = ln(1 + (N - df + 0.5) / (df + 0.5)), df of the N documents holding t. A document "
             "without t gets nothing for it.",
    points=["rag"], difficulty=2, minutes=20)


@exercise.reference(
    no_saturation="Your score grows with n without end. Below the line n stands too: more occurrences count less and less.",
    no_k1_above="The factor k1 + 1 above the line is missing. It changes no order, and it is in the formula.",
    length_upside_down="Your lengths are upside down: M / L favours long documents. It is L / M.",
    no_length="The length of a document plays no part in your score. b L / M holds a long one back.",
    length_of_all="The factor of the length multiplies n too below the line. It belongs to k1 alone: n + k1 (1 - b + b L / M).",
    b_exchanged="b and 1 - b are exchanged: with b = 0 the length must play no part.",
    slide_idf="Your idf is that of TF-IDF, ln((N + 1) / (df + 1)) + 1. BM25 has its own.",
    negative_idf="Your idf is ln((N - df + 0.5) / (df + 0.5)), below 0 for a word of most documents. The formula adds 1 inside the "
                 "logarithm.",
    occurrences="Your df counts how often the word occurs in all. It counts the documents that hold it.",
    question_as_set="A word that stands twice in the question counts twice; yours counts once.",
    distinct_length="Your lengths count different words. The length of a document counts every word.",
    base_ten="Your logarithm has base 10. ln is the natural one.",
)
def bm25_reference(docs, question, k1, b, bugs=frozenset()):
    N = len(docs)
    lengths = [len(set(doc)) if "distinct_length" in bugs else len(doc) for doc in docs]
    mean = sum(lengths) / N
    found = []
    for doc, L in zip(docs, lengths):
        total = 0.0
        for word in dict.fromkeys(question) if "question_as_set" in bugs else question:
            df = sum(other.count(word) if "occurrences" in bugs else word in other for other in docs)
            n = doc.count(word)
            if not n:
                continue
            odds = abs(N - df) + 0.5
            inside = odds / (df + 0.5) + (0 if "negative_idf" in bugs else 1)
            idf = math.log(inside, 10 if "base_ten" in bugs else math.e)
            if "slide_idf" in bugs:
                idf = math.log((N + 1) / (df + 1)) + 1
            ratio = mean / L if "length_upside_down" in bugs else L / mean
            share = 1 - b if "b_exchanged" in bugs else b
            norm = 1.0 if "no_length" in bugs else 1 - share + share * ratio
            above = n if "no_k1_above" in bugs else n * (k1 + 1)
            below = 1.0 if "no_saturation" in bugs else (n + k1) * norm if "length_of_all" in bugs else n + k1 * norm
            total += idf * above / below
        found.append(total)
    return found


WORDS = "sea salt ship wind rope sail".split()


def collections(generator):
    """Lengths far apart, repeated words, a word in most documents, one in none; b small, large and 0; one document alone."""
    cases = []
    for k1, b in ((1.2, 0.75), (2.0, 0.3), (0.5, 1.0), (1.5, 0.0)):
        docs = []
        for extra in (1, 9, 4, integer(generator, 2, 6)):
            docs.append(["sea", "sea", *(WORDS[i] for i in torch.randint(1, 5, (extra,), generator=generator).tolist())])
        docs[1] += ["wind", "wind", "rope"]
        docs[3] = docs[3][2:] + ["sail", "wind"]
        cases.append((docs, ["sea", "wind", "wind", "sail", "moon"], k1, b))
    return [*cases, ([["sea", "salt"]], ["salt", "sea"], 1.2, 0.75)]


exercise.compare("values", collections, points=4)
exercise.unchanged(collections)
exercise.hint(
    "You do not know where to begin.",
    "Two loops: over the documents, and over the words of the question. doc.count(word) is n; leave out the word if it is 0.")
exercise.hint(
    "Your values are near, but not right.",
    "Try one document with one word: then n = 1, L = M, df = N = 1, and the score is ln(1 + 0.5 / 1.5) (k1 + 1) / (1 + k1).")
exercise.hint(
    "Only questions with a repeated word are wrong.",
    "Go through the question as it stands. set(question) forgets how often a word was asked for.")
