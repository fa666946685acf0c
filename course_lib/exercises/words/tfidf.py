"""TF-IDF as on the slide."""
from __future__ import annotations

import math

import torch

from course_lib.exercises.draws import integer
from course_lib.grading.exercise import Exercise

exercise = Exercise(
    "tfidf", chapter="10", place=1, title="TF-IDF",
    contract="docs is a list of documents, each a list of words. Return a list of dicts, one a document: each word that the "
             "document holds -> tf * idf, where tf is its count in the document divided by the document's length, and idf = "
             "ln((N + 1) / (df + 1)) + 1 with N documents, df of them with the word. An empty document has an empty dict.",
    points=["tf-idf", "bag-of-words"], difficulty=1, minutes=15)


@exercise.reference(
    raw_counts="Your tf is the raw count. On the slide it is divided by the length of the document.",
    over_distinct="You divide by the number of different words. The length of a document counts every word.",
    occurrences="Your df counts how often the word occurs in all documents. It counts the documents that hold it.",
    no_added_one="The 1 after the logarithm is missing: a word of every document then has weight 0.",
    not_smoothed="Your idf is ln(N / df) + 1. The slide adds 1 above and below the line.",
    base_ten="Your logarithm has base 10. ln is the natural one.",
    unit_rows="You divide each row by its Euclidean norm, as scikit-learn does. The slide does not.",
    tf_alone="Your values are the tf alone. They are multiplied by the idf.",
)
def tfidf_reference(docs, bugs=frozenset()):
    N, found = len(docs), []
    for doc in docs:
        row = {}
        for word in dict.fromkeys(doc):
            df = sum(other.count(word) if "occurrences" in bugs else word in other for other in docs)
            one = 0 if "not_smoothed" in bugs else 1
            log = math.log10 if "base_ten" in bugs else math.log
            idf = log((N + one) / (df + one)) + (0 if "no_added_one" in bugs else 1)
            length = 1 if "raw_counts" in bugs else len(set(doc)) if "over_distinct" in bugs else len(doc)
            row[word] = doc.count(word) / length * (1 if "tf_alone" in bugs else idf)
        norm = math.sqrt(sum(value**2 for value in row.values())) if "unit_rows" in bugs else 1
        found.append({word: value / norm for word, value in row.items()})
    return found


WORDS = "sea salt ship wind rope sail".split()


def document_cases(generator):
    """Words that repeat, one word that all documents hold and one that a single one holds; one document is empty."""
    cases = []
    for _ in range(3):
        docs = []
        for _ in range(integer(generator, 3, 5)):
            length = integer(generator, 2, 6)
            docs.append(["sea", "sea", *(WORDS[i] for i in torch.randint(1, 5, (length,), generator=generator).tolist())])
        docs[1].append("sail")
        cases.append((docs,))
    return [*cases, (([[], *cases[0][0]]),), ([["sea", "salt", "sea"]],)]


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
