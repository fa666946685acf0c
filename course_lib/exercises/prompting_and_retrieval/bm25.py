"""BM25 of one question for every document."""
from __future__ import annotations

import math

import torch

from course_lib.exercises.draws import integer
from course_lib.grading.exercise import Exercise

exercise = Exercise(
    "bm25", chapter="prompting-and-retrieval", place=2, title="BM25",
    contract="docs is a list of documents, each a list of words; question is a list of words; k1 and b are numbers. Return a list, a "
             "float for each document: the sum over the words t of the question, a repeated one as often as it stands there, of "
             "idf(t) n (k1 + 1) / (n + k1 (1 - b + b L / M)), with n the count of t in the document, L the document's length, M the "
             "mean length of all, and idf(t) = ln(1 + (N - df + 0.5) / (df + 0.5)), df of the N documents holding t. A document "
             "without t gets nothing for it.",
    points=["rag"], difficulty=2, minutes=20)


@exercise.step
def idf(word, docs):
    N, df = len(docs), sum(word in doc for doc in docs)
    return math.log(1 + (N - df + 0.5) / (df + 0.5))


@exercise.step
def length_factor(L, M, b):
    return 1 - b + b * L / M


@exercise.step
def saturated(n, k1, factor):
    return n * (k1 + 1) / (n + k1 * factor)


@exercise.reference()
@exercise.step
def bm25_reference(docs, question, k1, b):
    M = sum(map(len, docs)) / len(docs)
    return [sum((idf(word, docs) * saturated(doc.count(word), k1, length_factor(len(doc), M, b)) for word in question if word in doc), 0.0)
            for doc in docs]


@exercise.misconception(
    saturated,
    "Your score grows with n without end. Below the line n stands too: more occurrences count less and less.")
def no_saturation(n, k1, factor):
    return n * (k1 + 1)


@exercise.misconception(
    saturated,
    "The factor k1 + 1 above the line is missing. It does not change the order, but it is in the formula.")
def no_k1_above(n, k1, factor):
    return n / (n + k1 * factor)


@exercise.misconception(
    length_factor,
    "Your score does not depend on the length of a document. b L / M lowers the score of a long one.")
def no_length(L, M, b):
    return 1.0


@exercise.misconception(
    saturated,
    "The factor of the length multiplies n too below the line. It belongs to k1 alone: n + k1 (1 - b + b L / M).")
def length_of_all(n, k1, factor):
    return n * (k1 + 1) / ((n + k1) * factor)


@exercise.misconception(length_factor, "b and 1 - b are exchanged: with b = 0 the score must not depend on the length.")
def b_exchanged(L, M, b):
    return length_factor.original(L, M, 1 - b)


@exercise.misconception(idf, "Your idf is that of TF-IDF, ln((N + 1) / (df + 1)) + 1. BM25 has its own.")
def slide_idf(word, docs):
    return math.log((len(docs) + 1) / (sum(word in doc for doc in docs) + 1)) + 1


@exercise.misconception(
    idf,
    "Your idf is ln((N - df + 0.5) / (df + 0.5)), below 0 for a word of most documents. The formula adds 1 inside the logarithm.")
def negative_idf(word, docs):
    df = sum(word in doc for doc in docs)
    return math.log((len(docs) - df + 0.5) / (df + 0.5))


@exercise.misconception(
    idf,
    "Your idf is that of the package rank_bm25: ln((N - df + 0.5) / (df + 0.5)), with a quarter of the mean idf in the place of a "
    "negative one. The formula adds 1 inside the logarithm instead.")
def okapi_idf(word, docs):
    values = {other: negative_idf(other, docs) for doc in docs for other in doc}
    value = values.get(word, 0.0)
    return value if value >= 0 else 0.25 * sum(values.values()) / len(values)


@exercise.misconception(idf, "Your df counts how often the word occurs in all. It counts the documents that hold it.")
def occurrences(word, docs):
    df = sum(doc.count(word) for doc in docs)
    return math.log(1 + (abs(len(docs) - df) + 0.5) / (df + 0.5))


@exercise.misconception(
    bm25_reference,
    "A word that stands twice in the question counts twice; in your score it counts once.")
def question_as_set(docs, question, k1, b):
    return bm25_reference.original(docs, list(dict.fromkeys(question)), k1, b)


WORDS = "sea salt ship wind rope sail".split()


def collections(generator):
    """Lengths far apart, repeated words, a word in most documents, one in none; b small, large and 0; one document alone, and beside an empty one."""
    cases = []
    for k1, b in ((1.2, 0.75), (2.0, 0.3), (0.5, 1.0), (1.5, 0.0)):
        docs = []
        for extra in (1, 9, 4, integer(generator, 2, 6)):
            docs.append(["sea", "sea", *(WORDS[i] for i in torch.randint(1, 5, (extra,), generator=generator).tolist())])
        docs[1] += ["wind", "wind", "rope"]
        docs[3] = docs[3][2:] + ["sail", "wind"]
        cases.append((docs, ["sea", "wind", "wind", "sail", "moon"], k1, b))
    return [*cases, ([["sea", "salt"]], ["salt", "sea"], 1.2, 0.75), ([[], ["sea"], ["salt", "sea"]], ["salt"], 1.2, 0.75)]


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
