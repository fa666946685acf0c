"""TF-IDF as on the slide."""
from __future__ import annotations

import math

import torch

from course_lib.exercises.draws import integer
from course_lib.grading.exercise import Exercise

exercise = Exercise(
    "tfidf", chapter="documents", place=1, title="TF-IDF",
    contract="docs is a list of documents, each a list of words. Return a list of dicts, one a document: each word that the "
             "document holds -> tf * idf, where tf is its count in the document divided by the document's length, and idf = "
             "ln((N + 1) / (df + 1)) + 1 with N documents, df of them with the word. An empty document has an empty dict.",
    points=["tf-idf", "bag-of-words"], difficulty=1, minutes=15)


@exercise.step
def document_frequency(word, docs):
    return sum(word in doc for doc in docs)


@exercise.step
def ratio(N, df):
    return (N + 1) / (df + 1)


@exercise.step
def logarithm(x):
    return math.log(x)


@exercise.step
def inverse_frequency(N, df):
    return logarithm(ratio(N, df)) + 1


@exercise.step
def term_frequency(word, doc):
    return doc.count(word) / len(doc)


@exercise.reference()
@exercise.step
def tfidf_reference(docs):
    return [{word: term_frequency(word, doc) * inverse_frequency(len(docs), document_frequency(word, docs)) for word in doc}
            for doc in docs]


@exercise.misconception(term_frequency, "Your tf is the raw count. In the formula it is divided by the length of the document.")
def raw_counts(word, doc):
    return doc.count(word)


@exercise.misconception(term_frequency, "You divide by the number of different words. The length of a document counts every word.")
def over_distinct(word, doc):
    return doc.count(word) / len(set(doc))


@exercise.misconception(
    term_frequency,
    "You divide by the count of the document's most frequent word. The formula divides by the length of the document, so that the tf of its "
    "words sum to 1.")
def over_most_frequent(word, doc):
    return doc.count(word) / max(map(doc.count, doc))


@exercise.misconception(
    document_frequency,
    "Your df counts how often the word occurs in all documents. It counts the documents that contain it.")
def occurrences(word, docs):
    return sum(doc.count(word) for doc in docs)


@exercise.misconception(inverse_frequency, "The 1 after the logarithm is missing, so a word of every document has weight 0.")
def no_added_one(N, df):
    return logarithm(ratio(N, df))


@exercise.misconception(ratio, "Your idf divides N by df. The formula adds 1 to numerator and denominator.")
def not_smoothed(N, df):
    return N / df


@exercise.misconception(ratio, "Your idf adds 1 to df alone. The formula adds 1 to the number of documents too.")
def half_smoothed(N, df):
    return N / (df + 1)


@exercise.misconception(logarithm, "Your logarithm has base 10. ln is the natural one.")
def base_ten(x):
    return math.log10(x)


@exercise.misconception(logarithm, "Your logarithm has base 2. ln is the natural one.")
def base_two(x):
    return math.log2(x)


@exercise.misconception(tfidf_reference, "You divide each row by its Euclidean norm, as scikit-learn's TfidfVectorizer does by default. The formula does not.")
def unit_rows(docs):
    rows = tfidf_reference.original(docs)
    norms = [math.sqrt(sum(weight ** 2 for weight in row.values())) for row in rows]
    return [{word: weight / norm for word, weight in row.items()} for row, norm in zip(rows, norms, strict=True)]


@exercise.misconception(tfidf_reference, "Your N leaves out the empty documents. N is the number of all documents.")
def empty_left_out(docs):
    rows = iter(tfidf_reference.original([doc for doc in docs if doc]))
    return [next(rows) if doc else {} for doc in docs]


WORDS = "sea salt ship wind rope sail".split()


def document_cases(generator):
    """Words that repeat, one word that all documents hold and one that a single one holds; an empty document; two equal
    ones, and a word that is part of another."""
    cases = []
    for _ in range(3):
        docs = []
        for _ in range(integer(generator, 3, 5)):
            length = integer(generator, 2, 6)
            docs.append(["sea", "sea", *(WORDS[i] for i in torch.randint(1, 5, (length,), generator=generator).tolist())])
        docs[1].append("sail")
        cases.append((docs,))
    return [*cases, (([[], *cases[0][0]]),), ([["sea", "salt", "sea"]],), ([["sea", "seal"], ["seal", "salt"], ["sea", "seal"]],)]


exercise.compare("values", document_cases, points=3)
exercise.unchanged(document_cases)
exercise.hint(
    "You do not know where to begin.",
    "Two loops: over the documents, and over the different words of each. doc.count(word) and len(doc) give the tf.")
exercise.hint(
    "Your values are near, but not right.",
    "df counts documents: sum(word in other for other in docs). N is len(docs), the empty ones included.")
exercise.hint(
    "An empty document stops your function.",
    "It has no words, so nothing is divided by its length: its dict is empty.")
